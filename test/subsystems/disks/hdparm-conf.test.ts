import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DiskSettings } from '../../../src/areas/storage/disks.ts';
import { abilities, type Disk } from '../../../src/host/ports/disks.ts';
import { hdparmConf } from '../../../src/subsystems/disks/hdparm-conf.ts';

const disk: Disk = {
  name: 'sda',
  serial: 'S1',
  lunid: '',
  model: 'MAKER 1T',
  size: 1000,
  rotational: true,
  usedBy: undefined,
  path: '/dev/disk/by-id/ata-MAKER_1T_S1',
  can: abilities,
};

const settings: DiskSettings = {
  disk_description: 'the left one',
  disk_hddstandby: '30',
  disk_advpowermgmt: '127',
  disk_acousticlevel: 'Minimum',
  disk_togglesmart: true,
  disk_smartoptions: '',
};

test('each disk has a section with its settings, by a stable path', () => {
  assert.equal(
    hdparmConf([
      [disk, settings],
      [
        { ...disk, path: '/dev/sdb' },
        { ...settings, disk_hddstandby: '20', disk_advpowermgmt: 'Disabled', disk_acousticlevel: 'Disabled' },
      ],
    ]),
    `# Written by Holdfast.
/dev/disk/by-id/ata-MAKER_1T_S1 {
\tspindown_time = 241
\tapm = 127
\tacoustic_management = 128
}
/dev/sdb {
\tspindown_time = 240
}
`,
  );
});

test('a disk without settings, or without support for them, has no section', () => {
  const nothing: DiskSettings = {
    ...settings,
    disk_hddstandby: 'Always On',
    disk_advpowermgmt: 'Disabled',
    disk_acousticlevel: 'Disabled',
  };
  assert.equal(
    hdparmConf([
      [disk, nothing],
      [{ ...disk, can: ['smart'] }, settings],
    ]),
    '# Written by Holdfast.\n',
  );
});
