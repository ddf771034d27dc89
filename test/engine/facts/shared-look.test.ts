import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { SharedLook } from '../../../src/engine/facts/shared-look.ts';

/** Looks that end when the test releases them, with the scope of each. */
function slowLook() {
  const looks: {
    readonly scope: readonly number[];
    readonly end: () => void;
    readonly fail: (error: Error) => void;
  }[] = [];
  const look = new SharedLook<readonly number[]>(
    (scope) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      looks.push({ scope, end: resolve, fail: reject });
      return promise;
    },
    (a, b) => [...a, ...b],
  );
  return { look, looks };
}

test('one look is running and one is waiting, for any number of callers', async () => {
  const { look, looks } = slowLook();
  const first = look.ask([0]);
  const others = Array.from({ length: 1000 }, (_, index) => look.ask([index + 1]));
  assert.equal(looks.length, 1);
  looks[0]?.end();
  await first;
  await turn();
  assert.equal(looks.length, 2);
  assert.deepEqual(
    looks[1]?.scope,
    Array.from({ length: 1000 }, (_, index) => index + 1),
  );
  looks[1]?.end();
  await Promise.all(others);
  assert.equal(look.isRunning, false);
});

test('a failed look rejects for its callers, and the waiting look still runs', async () => {
  const { look, looks } = slowLook();
  const first = assert.rejects(look.ask([1]), /away/);
  const second = look.ask([2]);
  looks[0]?.fail(new Error('away'));
  await first;
  await turn();
  looks[1]?.end();
  await second;
});

test('a caller gets a look that began after its call and covers its scope', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), async (steps) => {
      const { look, looks } = slowLook();
      let ended = 0;
      const asked = new Map<number, number>();
      const answers: Promise<void>[] = [];
      for (const [name, asks] of steps.entries()) {
        if (asks) {
          asked.set(name, looks.length);
          answers.push(look.ask([name]));
        } else if (ended < looks.length) {
          looks[ended]?.end();
          ended += 1;
        }
        await turn();
      }
      while (ended < looks.length) {
        looks[ended]?.end();
        ended += 1;
        await turn();
      }
      await Promise.all(answers);
      for (const [name, before] of asked) assert.ok(looks.slice(before).some(({ scope }) => scope.includes(name)));
    }),
  );
});
