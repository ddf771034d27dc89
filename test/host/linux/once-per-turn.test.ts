import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oncePerTurn } from '../../../src/host/linux/once-per-turn.ts';

test('callers of one turn share a look that begins after all of them, and a later one gets another', async () => {
  let state = 'before';
  let looks = 0;
  const look = oncePerTurn(async () => {
    looks += 1;
    return state;
  });
  const first = look();
  state = 'after';
  const second = look();
  assert.deepEqual([await first, await second, looks], ['after', 'after', 1]);
  state = 'later';
  assert.deepEqual([await look(), looks], ['later', 2]);
});

test('a look that fails fails for its callers only', async () => {
  let fails = true;
  const look = oncePerTurn(async () => {
    if (fails) throw new Error('no answer');
    return 'seen';
  });
  const asked = [look(), look()];
  for (const one of asked) await assert.rejects(one, /no answer/);
  fails = false;
  assert.equal(await look(), 'seen');
});
