import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject } from '../../../src/lib/json.ts';
import { furnished } from '../../support/furnished.ts';
import { assertAgreement } from './law.ts';

test('of many creations at once, only the one that the machine refuses fails', async () => {
  await using world = await furnished();
  const bodies = Array.from({ length: 60 }, (_, n) => ({
    cifs_path: `/mnt/tank/many/${n}`,
    cifs_name: `many${n}`,
    // Samba's own checker refuses this one, whatever stands beside it.
    ...(n === 17 ? { cifs_auxsmbconf: 'no such parameter = yes' } : {}),
  }));
  const before = await world.api.list('sharing/cifs/?limit=0');
  const answers = await Promise.all(bodies.map((body) => world.api.post('sharing/cifs/', body)));
  assert.deepEqual(
    answers.flatMap(({ status }, n) => (status === 201 ? [] : [`${n}: ${status}`])),
    ['17: 400'],
  );
  assert.match(answers[17]?.text ?? '', /no such parameter/);
  const shares = await world.api.list('sharing/cifs/?limit=0');
  assert.equal(shares.length, before.length + 59);
  assert.ok(!shares.some((share) => share['cifs_name'] === 'many17'));
  assert.equal(await world.machine.files.kind('/mnt/tank/many/17'), undefined);
  await assertAgreement(world, 'after the group');
  const ids = answers.flatMap(({ json }) => (isObject(json) && typeof json['id'] === 'number' ? [json['id']] : []));
  assert.equal(new Set(ids).size, 59, 'every share has a number of its own');
});

test('of many creations at once, one failing call to the machine fails no more than one', async () => {
  await using world = await furnished();
  for (const n of [1, 2, 3, 30, 62, 63, 64]) {
    const bodies = Array.from({ length: 60 }, (_, index) => ({
      cifs_path: `/mnt/tank/group${n}/${index}`,
      cifs_name: `group${n}-${index}`,
    }));
    world.faults.failAt(n);
    const answers = await Promise.all(bodies.map((body) => world.api.post('sharing/cifs/', body)));
    world.faults.heal();
    const failed = answers.filter(({ status }) => status !== 201);
    assert.ok(failed.length <= 1, `with call ${n} failing, ${failed.length} failed: ${failed[0]?.text}`);
    for (const [index, { status }] of answers.entries()) {
      assert.equal(
        await world.machine.files.kind(`/mnt/tank/group${n}/${index}`),
        status === 201 ? 'folder' : undefined,
      );
    }
    await assertAgreement(world, `after the group with call ${n} failing`);
  }
});
