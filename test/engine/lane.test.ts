import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lane } from '../../src/engine/lane.ts';

test('a group whose carrying out breaks is refused, and what comes later is carried out', async () => {
  let isBroken = true;
  const lane = new Lane<string>(async (group) => {
    if (isBroken) throw new TypeError('a defect');
    for (const { settle } of group) settle();
    return [];
  });
  await assert.rejects(lane.enter('first'), /a defect/);
  isBroken = false;
  await lane.enter('second');
});
