import { port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { rsyncLines } from './rsync-parameters.ts';

export const rsyncdSettings = singleton('services/rsyncd', {
  title: 'rsync daemon settings',
  description: 'Settings of the rsync daemon as a whole.',
  fields: {
    rsyncd_port: port({ description: 'TCP port the daemon listens on.', initial: 873 }),
    rsyncd_auxiliary: rsyncLines({ description: 'Further lines of rsyncd.conf before all modules.', within: 'all' }),
  },
});
