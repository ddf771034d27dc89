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

test('works that are under way at once share a turn of the event loop', async () => {
  const works = 8;
  let [inTurn, most, isOver] = [0, 0, false];
  const turn = () => {
    most = Math.max(most, inTurn);
    inTurn = 0;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  function* counted() {
    for (const piece of busy(12, 2)) {
      inTurn += 1;
      yield piece;
    }
  }
  await Promise.all(Array.from({ length: works }, () => collected(counted())));
  isOver = true;
  // Each piece takes longer than an eighth of a slice. The first work begins before the others are under way.
  assert.ok(most <= 2 * works, `${most} pieces in a turn`);
});
