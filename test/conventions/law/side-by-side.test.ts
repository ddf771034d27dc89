import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Furnished, furnished } from '../../support/furnished.ts';
import { assertAgreement } from './law.ts';

const turn = ({ api }: Furnished, srv_enable: boolean) => api.put('services/services/ups/', { srv_enable });

/** The machine and what is kept, without the number of the next group. */
async function beneath(world: Furnished): Promise<string> {
  const kept = JSON.stringify(world.keptState());
  return JSON.stringify([
    await world.machineState(),
    kept.replace(/"resource":"account\/groups","lastId":\d+/, '"resource":"account/groups"'),
  ]);
}

test('a change that fails anywhere on the way takes back its own work, and not that of a change that ran beside it', async () => {
  await using world = await furnished();
  world.faults.heal();
  assert.equal((await turn(world, true)).status, 200);
  const calls = [...world.faults.titles];
  assert.equal((await turn(world, false)).status, 200);
  let failures = 0;
  for (const [index, call] of calls.entries()) {
    const told = `with call ${index + 1} (${call}) failing`;
    const before = await beneath(world);
    const held = world.faults.holdAt(index + 1);
    const slow = turn(world, true);
    await held.reached;
    const group = await world.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: `beside${index}` });
    held.fail();
    const answer = await slow;
    world.faults.heal();
    await assertAgreement(world, told);
    const groups = await world.machine.accounts.owned();
    assert.ok(
      groups.groups.some(({ name }) => name === `beside${index}`),
      `${told}: the group is not on the machine`,
    );
    assert.equal((await world.api.delete(`account/groups/${group['id']}/`)).status, 204, told);
    if (answer.status >= 400) failures += 1;
    else assert.equal((await turn(world, false)).status, 200, told);
    assert.equal(await beneath(world), before, told);
  }
  assert.ok(failures >= 4, `${failures} of ${calls.length} calls failed the change`);
});
