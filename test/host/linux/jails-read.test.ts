import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLeaders, readMountPoints, readRunning } from '../../../src/host/linux/jails-read.ts';

test('the jails that run are units that are active', () => {
  const listed = [
    'holdfast-jail-web.service loaded active running Jail web',
    'holdfast-jail-a_b-1.service loaded active running Jail a_b-1',
    'holdfast-jails.service loaded active exited Bridge',
    '',
  ];
  assert.deepEqual(readRunning(listed.join('\n')), ['web', 'a_b-1']);
  assert.deepEqual(readRunning(''), []);
});

test('the first processes are listed by name, for machines that are known', () => {
  assert.deepEqual(
    readLeaders('Name=web\nLeader=319\n\nName=b\nLeader=5120\n'),
    new Map([
      ['web', 319],
      ['b', 5120],
    ]),
  );
  assert.deepEqual(readLeaders(''), new Map());
});

test('the mounts of a jail are read without those of every container', () => {
  const mountinfo = [
    '200 199 0:36 / / rw,relatime shared:1 - zfs tank/jails/web rw,xattr,noacl',
    '201 200 0:40 / /proc rw,nosuid - proc proc rw',
    '205 200 0:41 / /dev/pts rw - devpts devpts rw',
    '211 200 0:37 / /mnt/my\\040films ro,relatime shared:175 master:141 - zfs tank/media rw',
    '224 200 0:34 /more /running rw,relatime - zfs tank rw',
    '',
  ];
  assert.deepEqual(readMountPoints(mountinfo.join('\n')), ['/mnt/my films', '/running']);
});
