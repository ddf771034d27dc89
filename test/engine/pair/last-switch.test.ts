import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRelease, readSwitch, switchOf } from '../../../src/engine/pair/last-switch.ts';

const times = { asked: 14_000, imported: 17_040, served: 21_000 };

test('a planned switch begins when the first machine was asked for the pool', () => {
  const last = switchOf({ from: 'alpha', began: 10_000, ended: 12_500 }, 'beta', times);
  assert.deepEqual(last, {
    from: 'alpha',
    to: 'beta',
    began: 10_000,
    served: 21_000,
    steps: [
      { title: 'end what uses the pool on alpha', seconds: 2.5 },
      { title: 'export the pool, and ask the other machine', seconds: 1.5 },
      { title: 'import the pool on beta', seconds: 3 },
      { title: 'start the services', seconds: 4 },
    ],
  });
  assert.deepEqual(readSwitch(JSON.parse(JSON.stringify(last))), last);
});

test('after a machine that failed, only what the other one did is known', () => {
  const last = switchOf(undefined, 'beta', times);
  assert.deepEqual([last.from, last.began, last.steps.length], [undefined, 14_000, 2]);
  assert.deepEqual(readSwitch(JSON.parse(JSON.stringify(last))), last);
});

test('a clock that is behind the other one makes no negative times', () => {
  const last = switchOf({ from: 'alpha', began: 15_000, ended: 16_000 }, 'beta', times);
  assert.equal(last.steps[1]?.seconds, 0);
});

test('what is no record of a switch is not taken for one', () => {
  for (const value of [undefined, [], { from: 'alpha' }, { to: 'beta', began: '1', served: 2, steps: [] }])
    assert.deepEqual([readRelease(value), readSwitch(value)], [undefined, undefined]);
});
