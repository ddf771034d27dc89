import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, journal, startNas, untilReady } from '../support/lab/nas.ts';

/** The label names the machine by its host id and name, so that one machine can play both. */
const as = (name: string, id: string) => `hostname ${name}; printf 0x${id} >/sys/module/spl/parameters/spl_hostid`;

test('a pool that another machine used last is not imported by a start, and is by a person who names it', async () => {
  await using nas = await startNas({ disks: 2 });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  // The disk as it is while the other machine works, on another disk: an export would free the pool.
  await nas.machine.run(`
    systemctl stop holdfast
    zpool export tank
    ${as('attic', '0a11c000')}
    zpool import -N tank
    zpool sync tank
    dd if=/dev/ubdc of=/dev/ubdd bs=1M conv=fsync 2>/dev/null
    zpool export tank
    zpool labelclear -f /dev/ubdc
    ${as('nas0', '00005afe')}
    udevadm trigger --subsystem-match=block && udevadm settle
    systemctl start holdfast`);
  await untilReady(nas.api);
  const alerts = async () => (await nas.api.list('system/alert/')).map(({ message }) => String(message)).join('\n');
  await eventually(30, async () =>
    assert.match(await alerts(), /The volume tank is not imported\. The machine attic used/),
  );
  assert.equal((await nas.machine.run('zpool list -H -o name')).trim(), '', await journal(nas.machine));

  const [found] = await nas.api.list('storage/volume_import/');
  await nas.api.expect(202, 'POST', 'storage/volume_import/', { volume_id: found?.['id'] });
  assert.equal((await nas.machine.run('zpool list -H -o name')).trim(), 'tank');
  assert.equal((await nas.api.list('storage/volume/')).length, 1);
  // The label names this machine now, which takes its pool up after a loss of power.
  await nas.machine.run('systemctl kill -s KILL holdfast; systemctl start holdfast');
  await untilReady(nas.api);
  assert.equal((await nas.machine.run('zpool list -H -o name')).trim(), 'tank');
});
