import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Machine } from '../support/lab/machine.ts';
import { eventually } from '../support/lab/nas.ts';

test('the machine has systemd, kernel ZFS and empty disks', async () => {
  await using machine = await Machine.start();
  assert.equal((await machine.run('systemctl is-system-running --wait')).trim(), 'running');
  await machine.run(
    'zpool create tank raidz /dev/ubdc /dev/ubdd /dev/ubde && zfs create -V 64M tank/vol && udevadm settle && test -b /dev/zvol/tank/vol',
  );
  assert.match(await machine.run('zpool list -j --json-int'), /"name":"tank","type":"POOL","state":"ONLINE"/);
});

test('synced data survives a power cut', async () => {
  await using machine = await Machine.start({ disks: 2 });
  await machine.run(
    'zpool create -m /mnt/tank tank mirror /dev/ubdc /dev/ubdd && echo kept >/mnt/tank/file && zpool sync tank',
  );
  await machine.cutPower();
  await machine.boot();
  await machine.run('udevadm settle; zpool import -f -d /dev tank');
  assert.equal((await machine.run('cat /mnt/tank/file')).trim(), 'kept');
});

test('a pool can be imported again after a reboot', async () => {
  await using machine = await Machine.start({ disks: 1 });
  await machine.run('zpool create tank /dev/ubdc');
  await machine.reboot();
  assert.match(await machine.run('udevadm settle; zpool import -d /dev'), /pool: tank/);
});

test('all processes of a machine are on one core, also after a reboot', async () => {
  await using machine = await Machine.start({ disks: 0 });
  const onOne = async () => {
    const [cores = '', ...others] = await machine.cores();
    assert.match(cores, /^\d+$/);
    // Some of its processes may be on the way to another core.
    if (others.length > 0) throw new Error(`on ${[cores, ...others].join(' and ')}`);
  };
  await eventually(20, onOne);
  await machine.reboot();
  await eventually(20, onOne);
});

test('two machines on two networks reach each other on both', async () => {
  await using one = await Machine.start({ disks: 0, networks: [0, 1], memory: 1024 });
  await using other = await Machine.start({ disks: 0, networks: [0, 1], memory: 1024 });
  for (const address of other.addresses) assert.match(await one.run(`ping -c 1 -W 2 ${address}`), /1 received/);
});
