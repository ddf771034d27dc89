import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { startReceiver } from '../support/webhooks.ts';
import { startDaemon, stateFolder } from './daemon.ts';

const root = '/api/holdfast/v1';
/** Milliseconds from the first request of a round to the kill. */
const delays = [5, 20, 60, 250, 600];
const everyOutcome = ['accepted', 'cut before', 'repeated', 'unavailable'];
const job = { cron_user: 'root', cron_command: 'true' };

test('a receiver that fails gets every event of a daemon that is killed, in order, and each accepted once', async (t) => {
  await using state = await stateFolder();
  await using receiver = await startReceiver({ faults: 0.35, seed: 7 });
  const start = () => startDaemon(state.path, [], ['--send-webhooks']);
  let daemon = await start();
  t.after(() => daemon.end('SIGKILL'));
  const made = await daemon.api.expect(201, 'POST', `${root}/webhooks`, {
    name: 'all',
    url: receiver.url,
    enabled: false,
  });
  await receiver.knows(String(made['secret']));
  await daemon.api.expect(200, 'PUT', `${root}/webhooks/${String(made['id'])}`, { enabled: true });
  const since = Number(made['last']);
  for (const delay of delays) {
    const sent = Array.from({ length: 10 }, () => daemon.api.post('tasks/cronjob/', job).catch(() => undefined));
    await pause(delay);
    await daemon.end('SIGKILL');
    await Promise.all(sent);
    daemon = await start();
  }
  const outcomes = () => [...new Set(receiver.received.map(({ outcome }) => outcome))].toSorted();
  // How many events the daemon sent before each kill depends on the speed of the computer.
  for (let round = 0; round < 200 && (round === 0 || outcomes().length < everyOutcome.length); round += 1) {
    await daemon.api.expect(201, 'POST', 'tasks/cronjob/', job);
    await pause(50);
  }
  const kept = await daemon.api.expect(200, 'GET', `${root}/events/poll?after=${since}&limit=1000`);
  const all = (Array.isArray(kept['events']) ? kept['events'] : []).filter(isObject);
  const last = Number(kept['last']);
  const until = performance.now() + 120_000;
  while ((receiver.accepted.at(-1) ?? 0) < last && performance.now() < until) await pause(50);
  const accepted = receiver.accepted.filter((number) => number <= last);
  assert.deepEqual(
    accepted,
    all.map(({ number }) => Number(number)),
    'what was accepted is the journal',
  );
  assert.ok(receiver.received.every(({ signed }) => signed));
  // The body is the event of this number, also in what was sent again.
  for (const { number, at, name, payload } of all)
    for (const { body } of receiver.received.filter(({ id }) => id === String(number)))
      assert.deepEqual(body, { type: name, timestamp: at, data: payload });
  assert.deepEqual(outcomes(), everyOutcome);
});
