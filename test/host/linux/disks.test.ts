import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { preferred } from '../../../src/host/linux/devices.ts';
import { readDisks } from '../../../src/host/linux/disks-read.ts';
import { recording } from './support.ts';

const plain = {
  type: 'disk',
  size: 1000,
  rota: true,
  ro: false,
  serial: ' S1 ',
  wwn: '0x5000c500a1b2c3d4',
  model: 'MAKER 1T',
  mountpoints: [null],
  fstype: null,
  label: null,
};
const found = (...devices: readonly object[]) =>
  readDisks(JSON.stringify({ blockdevices: devices.map((device) => ({ ...plain, ...device })) }));
const useOf = (device: object) => found({ name: 'sda', ...device })[0]?.usedBy;

describe('disks', () => {
  test('of the test machine only the data disks are reported', () => {
    const disks = readDisks(recording('lsblk.json'));
    assert.deepEqual(
      disks.map((one) => one.disk.name),
      ['ubdc', 'ubdd', 'ubde', 'ubdf', 'ubdg', 'ubdh', 'ubdi', 'ubdj'],
    );
    assert.deepEqual(disks[0]?.disk, {
      name: 'ubdc',
      serial: '',
      lunid: '',
      model: '',
      size: 1073741824,
      rotational: false,
    });
    assert.deepEqual(disks[0].labelled, ['ubdc']);
    assert.equal(disks[0].usedBy, undefined);
  });

  test('a disk has its serial number, model and size', () => {
    assert.deepEqual(found({ name: 'sda' })[0]?.disk, {
      name: 'sda',
      serial: 'S1',
      lunid: '5000c500a1b2c3d4',
      model: 'MAKER 1T',
      size: 1000,
      rotational: true,
    });
  });

  test('devices that only look like disks are left out', () => {
    const names = ['zram0', 'ram3', 'loop0', 'zd16', 'fd0', 'nbd1', 'mmcblk0boot0', 'sdb', 'nvme0n1', 'mmcblk0'];
    assert.deepEqual(
      found(...names.map((name) => ({ name }))).map((one) => one.disk.name),
      ['sdb', 'nvme0n1', 'mmcblk0'],
    );
    assert.deepEqual(found({ name: 'sr0', type: 'rom' }, { name: 'sdc', ro: true }, { name: 'sdd', size: 0 }), []);
  });

  test('the disk that the machine runs from is recognised by its mounts', () => {
    const children = [{ ...plain, name: 'sda1', type: 'part', mountpoints: ['/boot/efi'] }];
    assert.equal(found({ name: 'sda', children })[0]?.system, true);
    assert.equal(found({ name: 'sda' })[0]?.system, false);
  });

  test('the use of a disk is described', () => {
    const part = (members: object) => ({ children: [{ ...plain, name: 'sda1', type: 'part', ...members }] });
    assert.equal(useOf(part({ mountpoints: ['/srv'] })), 'it is mounted at /srv');
    assert.equal(useOf(part({ mountpoints: ['[SWAP]'] })), 'it is used as swap space');
    assert.equal(useOf(part({ fstype: 'LVM2_member' })), 'it is a physical volume of LVM');
    assert.equal(
      useOf(part({ children: [{ ...plain, name: 'md0', type: 'raid1' }] })),
      'it is part of the software RAID md0',
    );
    assert.equal(useOf(part({ fstype: 'ext4' })), undefined);
  });

  test('a device on a disk that carries a ZFS label is listed', () => {
    const children = [
      { ...plain, name: 'sda1', type: 'part', fstype: 'zfs_member', label: 'tank' },
      { ...plain, name: 'sda9', type: 'part' },
    ];
    assert.deepEqual(found({ name: 'sda', children })[0]?.labelled, ['sda1']);
  });

  test('the path with the maker’s number is preferred', () => {
    assert.equal(preferred(['wwn-0x5000c500a1b2c3d4', 'ata-MAKER_1T_S1']), 'ata-MAKER_1T_S1');
    assert.equal(preferred(['nvme-eui.0025385b', 'nvme-MAKER_S2_1', 'nvme-MAKER_S2']), 'nvme-MAKER_S2');
    assert.equal(preferred(['lab-ubdc']), 'lab-ubdc');
  });
});
