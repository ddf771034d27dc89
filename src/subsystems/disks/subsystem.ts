import { diskRecord, settingsFor } from '../../areas/storage/disks.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { hdparmConf } from './hdparm-conf.ts';

export const disksSubsystem: Subsystem = {
  name: 'disks',
  description: 'Standby, power management and acoustic settings of the disks.',
  reads: [diskRecord],
  uses: ['disks'],
  render: (view, { disks }) => ({
    files: [{ path: '/etc/hdparm.conf', content: hdparmConf(disks.map((disk) => [disk, settingsFor(disk, view)])) }],
  }),
};
