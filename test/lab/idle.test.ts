import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Nas, startNas } from '../support/lab/nas.ts';

/** A machine that is not used. */
let nas: Nas;

before(async () => {
  nas = await startNas({ disks: 1, memory: 1024 });
});

after(() => nas?.[Symbol.asyncDispose]());

test('the daemon is idle after Samba was reloaded', async () => {
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await nas.machine.run('systemctl reload smbd');
  // Facts that are slow to read are read some seconds after the start.
  await pause(20_000);
  // Most of what asks for states is programs, which are counted too.
  const used = async () => Number(await nas.machine.run('systemctl show -P CPUUsageNSec holdfast')) / 1e9;
  const earlier = await used();
  await pause(15_000);
  const seconds = (await used()) - earlier;
  assert.ok(seconds < 2, `${seconds.toFixed(2)} s of processor time in 15 s`);
});
