import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangeQueue } from '../../../src/engine/change/change-queue.ts';

test('a group whose execution throws is rejected, and later items are carried out', async () => {
  let isBroken = true;
  const queue = new ChangeQueue<string>(async (group) => {
    if (isBroken) throw new TypeError('a defect');
    for (const { settle } of group) settle();
    return [];
  });
  await assert.rejects(queue.enter('first'), /a defect/);
  isBroken = false;
  await queue.enter('second');
});
