import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collected } from '../../src/lib/slices.ts';

function* busy(pieces: number, milliseconds: number): Generator<number> {
  for (let piece = 0; piece < pieces; piece += 1) {
    for (const end = performance.now() + milliseconds; performance.now() < end; );
    yield piece;
  }
}

test('all pieces are collected in their order, and other work runs between them', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  assert.deepEqual(
    await collected(busy(10, 6)),
    Array.from({ length: 10 }, (_, piece) => piece),
  );
  clearInterval(timer);
  assert.ok(turns >= 4, `${turns} turns of the event loop`);
});
