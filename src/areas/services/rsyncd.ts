import { titled } from '../../engine/declare/fields.ts';
import { port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { rsyncLines } from './rsync-parameters.ts';
import { service, tcp } from './service.ts';

export const rsyncdSettings = singleton('services/rsyncd', {
  shortName: 'service/rsync',
  title: 'rsync daemon settings',
  description: 'Global settings of the rsync daemon.',
  fields: {
    rsyncd_port: port({ description: 'TCP port the daemon listens on.', initial: 873 }),
    rsyncd_auxiliary: titled(
      'Additional lines',
      rsyncLines({
        description: 'Additional lines of the global section of rsyncd.conf.',
        within: 'all',
      }),
    ),
  },
});

export const rsyncService = service('rsync', {
  settings: rsyncdSettings,
  programs: ['rsync'],
  listens: ({ rsyncd_port }) => [tcp(rsyncd_port, 'rsyncd_port')],
});
