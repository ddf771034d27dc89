import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { preferred } from '../../../src/host/linux/devices.ts';
import { type InUse, readDisks } from '../../../src/host/linux/disks-read.ts';
import { readMounts, readSwaps } from '../../../src/host/linux/mounts.ts';
import { recording } from './support.ts';

const plain = {
  type: 'disk',
  size: 1000,
  rota: true,
  ro: false,
  serial: ' S1 ',
  wwn: '0x5000c500a1b2c3d4',
  model: 'MAKER 1T',
  fstype: null,
  label: null,
};
const unused: InUse = { mounts: [], swaps: [] };
const found = (...devices: readonly object[]) => among(unused, ...devices);
const among = (inUse: InUse, ...devices: readonly object[]) =>
  readDisks(JSON.stringify({ blockdevices: devices.map((device) => ({ ...plain, ...device })) }), inUse);
const useOf = (device: object, inUse = unused) => among(inUse, { name: 'sda', ...device })[0]?.usedBy;
const mounted = (...lines: readonly string[]): InUse => ({ mounts: readMounts(lines.join('\n')), swaps: [] });

describe('disks', () => {
  test('of the test machine only the data disks are reported', () => {
    const disks = readDisks(recording('lsblk.json'), unused);
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
    const children = [{ ...plain, name: 'sda1', kname: 'sda1', path: '/dev/sda1', 'maj:min': '8:1', type: 'part' }];
    const isSystem = (inUse: InUse) => among(inUse, { name: 'sda', children })[0]?.system;
    assert.equal(isSystem(mounted('30 1 8:1 / /boot/efi rw - vfat /dev/sda1 rw')), true);
    // The kernel calls the root that it mounts itself so, and btrfs shows a number that no device has.
    assert.equal(isSystem(mounted('30 1 8:1 / / rw - ext4 /dev/root rw')), true);
    assert.equal(isSystem(mounted('30 1 0:27 /@ / rw - btrfs /dev/sda1 rw')), true);
    assert.equal(
      isSystem(mounted('30 1 8:17 / / rw - ext4 /dev/sdb1 rw', '31 1 0:5 / /dev rw - tmpfs none rw')),
      false,
    );
    assert.equal(isSystem(mounted('30 1 8:1 / /srv rw - ext4 /dev/sda1 rw')), false);
  });

  test('a logical volume is found by the number, the path and the name that the kernel has for it', () => {
    const volume = {
      ...plain,
      name: 'vg-root',
      kname: 'dm-0',
      path: '/dev/mapper/vg-root',
      'maj:min': '253:0',
      type: 'lvm',
    };
    const children = [{ ...plain, name: 'sda1', type: 'part', children: [volume] }];
    for (const source of [
      '253:0 / / rw - ext4 /dev/root',
      '0:27 / / rw - btrfs /dev/mapper/vg-root',
      '0:27 / / rw - btrfs /dev/dm-0',
    ])
      assert.equal(among(mounted(`30 1 ${source} rw`), { name: 'sda', children })[0]?.system, true, source);
    const swaps = readSwaps('Filename\tType\tSize\tUsed\tPriority\n/dev/dm-0 partition\t999420\t0\t-2\n');
    assert.equal(useOf({ children }, { mounts: [], swaps }), 'it is used as swap space');
  });

  test('the use of a disk is described', () => {
    const part = (members: object) => ({ children: [{ ...plain, name: 'sda1', type: 'part', ...members }] });
    const first = { 'maj:min': '8:1', kname: 'sda1' };
    const files = mounted(
      '30 1 8:1 / /srv/my\\040files rw - ext4 /dev/sda1 rw',
      '31 1 8:1 / /mnt rw - ext4 /dev/sda1 rw',
    );
    assert.equal(useOf(part(first), files), 'it is mounted at /srv/my files');
    assert.equal(useOf(part(first), { mounts: [], swaps: ['/dev/sda1'] }), 'it is used as swap space');
    assert.equal(useOf(part(first), { mounts: [], swaps: ['/dev/sda2', '/swap file'] }), undefined);
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
