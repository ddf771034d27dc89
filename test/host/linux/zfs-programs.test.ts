import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HelperRunner } from '../../../src/host/linux/runner.ts';
import type { PoolStates } from '../../../src/host/linux/zfs/pool-states.ts';
import { Programs } from '../../../src/host/linux/zfs/programs.ts';

/** Real programs, and pools of which the test says whether they serve. */
function programs(t: TestContext, waitOf: () => string | undefined): Programs {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const runner = new HelperRunner();
  t.after(() => runner.close());
  const states: Pick<PoolStates, 'waitOf'> = { waitOf: async () => waitOf() };
  return new Programs(runner, states);
}

test('a program that waits for a pool that serves nothing is ended, and its failure says why', async (t) => {
  let reason: string | undefined;
  const zfs = programs(t, () => reason);
  const waiting = zfs.run('sleep', '60');
  const listening = zfs.heard(['sleep', '60'], () => {}, new AbortController().signal);
  t.mock.timers.tick(5000);
  reason = 'The pool tank is suspended.';
  t.mock.timers.tick(5000);
  const failure = { name: 'HostError', message: reason };
  // Together: which of the two ends first is open.
  await Promise.all([assert.rejects(waiting, failure), assert.rejects(listening, failure)]);
});

test('one whose caller gives up, or that succeeds in the end, is no failure', async (t) => {
  const zfs = programs(t, () => 'The pool tank is suspended.');
  const ending = new AbortController();
  const listening = zfs.heard(['sleep', '60'], () => {}, ending.signal);
  ending.abort();
  assert.equal((await listening).status, 143);
  assert.equal((await zfs.run('true')).status, 0);
});
