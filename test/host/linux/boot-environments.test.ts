import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvironments, readLocation, readMountPoints } from '../../../src/host/linux/boot-environments.ts';

const mounts =
  'proc /proc proc rw 0 0\nrpool/ROOT/default / zfs rw,relatime,xattr,posixacl 0 0\ntank/a /mnt/tank/a zfs rw 0 0\n';
const place = { pool: 'rpool', folder: 'rpool/ROOT', running: 'rpool/ROOT/default', fixed: undefined };

test('the location of the environments is read from the mount at /', () => {
  assert.deepEqual(readLocation(mounts, 'quiet'), place);
  assert.equal(readLocation(mounts.replace('rpool/ROOT/default / zfs', '/dev/vda1 / ext4'), 'quiet'), undefined);
  assert.equal(
    readLocation(mounts.replace('rpool/ROOT/default', 'rpool'), 'quiet'),
    undefined,
    'there is no place for another beside a root dataset',
  );
});

test('a boot loader that names the root itself is recognised by its kernel parameters', () => {
  const fixed = (argv: string) => readLocation(mounts, argv)?.fixed;
  assert.equal(
    fixed('BOOT_IMAGE=/ROOT/default@/boot/vmlinuz-6.12.57 root=ZFS=rpool/ROOT/default ro quiet\n'),
    'rpool/ROOT/default',
  );
  assert.equal(fixed('initrd=\\debian\\initrd.img root=zfs:rpool/ROOT/default rw\n'), 'rpool/ROOT/default');
  assert.equal(fixed('root=zfs:rpool/ROOT/default spl_hostid=0x00bab10c quiet\n'), undefined);
  assert.equal(fixed('BOOT_IMAGE=/vmlinuz root=zfs:AUTO ro\n'), undefined);
});

test('environments are the file systems there, with the running and the next one marked', () => {
  const listed =
    'rpool/ROOT\t1767225000\t300000\nrpool/ROOT/default\t1767225600\t250610688\nrpool/ROOT/next\t1767229200\t8192\n';
  assert.deepEqual(
    readEnvironments(listed, { folder: 'rpool/ROOT', running: 'rpool/ROOT/default', booted: 'rpool/ROOT/next' }),
    [
      { name: 'default', now: true, onReboot: false, created: 1_767_225_600, space: 250_610_688 },
      { name: 'next', now: false, onReboot: true, created: 1_767_229_200, space: 8192 },
    ],
  );
});

test('the boot process mounts a copy, and the datasets below it keep the mount points of the originals', () => {
  const listed = [
    'rpool/ROOT/a\t/\tlocal',
    'rpool/ROOT/a/opt\t/elsewhere\tlocal',
    'rpool/ROOT/a/var\t/var\tinherited from rpool/ROOT/a',
    '',
  ].join('\n');
  assert.deepEqual(readMountPoints(listed), [
    { dataset: 'rpool/ROOT/a', settings: ['-o', 'canmount=noauto', '-o', 'mountpoint=/'] },
    { dataset: 'rpool/ROOT/a/opt', settings: ['-o', 'canmount=noauto', '-o', 'mountpoint=/elsewhere'] },
    { dataset: 'rpool/ROOT/a/var', settings: ['-o', 'canmount=noauto'] },
  ]);
});
