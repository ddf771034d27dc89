/** Quiet hours and repetitions of channels, through a daemon whose clock the test moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { type AlertReceiver, alertReceiver } from '../support/alert-receivers.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const minute = 60_000;
const root = '/api/holdfast/v1';

/** The alerts of each message of a webhook, as `kind of what: state`. */
const messages = ({ received }: AlertReceiver) =>
  received.map(({ body }) => {
    const message: unknown = JSON.parse(body);
    const alerts = isObject(message) && Array.isArray(message['alerts']) ? message['alerts'].filter(isObject) : [];
    return alerts.map(({ kind, about, state }) => `${String(kind)} of ${String(about)}: ${String(state)}`).toSorted();
  });

/** Lets the channels look, and waits for what they send. */
async function looked({ app }: Appliance): Promise<void> {
  // By themselves, problems are looked at a moment after each change, when the test may have moved the clock.
  await app.engine.inspect();
  app.channels.look();
  await app.channels.settled();
}

async function begin(nas: Appliance, kind: string, target = '') {
  const { id } = await nas.api.expect(201, 'POST', `${root}/virtual/faults`, { kind, target });
  await looked(nas);
  return async () => {
    await nas.api.expect(204, 'DELETE', `${root}/virtual/faults/${String(id)}`);
    await looked(nas);
  };
}

const made = ({ api }: Appliance, body: Readonly<Record<string, unknown>>) =>
  api.expect(201, 'POST', `${root}/channels`, { name: 'hook', kind: 'webhook', gather_seconds: 0, ...body });

const wearOf = (disk: number, state: string) => `wear of storage/disk/{serial}VIRT000${disk}: ${state}`;

test('in quiet hours, only what is critical is reported; the rest is one message at their end, if it lasts', async () => {
  await using hook = await alertReceiver();
  // In Berlin it is 21:30, and summer.
  let clock = Date.UTC(2026, 5, 1, 19, 30);
  await using nas = await appliance({ now: () => clock, sendsWebhooks: true, settles: 0 });
  await nas.api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'Europe/Berlin' });
  await made(nas, { address: hook.url, quiet_from: '22:00', quiet_until: '06:00' });
  const endFirst = await begin(nas, 'wear', 'ada0');
  const evening = [[wearOf(1, 'began')]];
  assert.deepEqual(messages(hook), evening);
  clock += 30 * minute;
  await begin(nas, 'wear', 'ada1');
  await endFirst();
  const endThird = await begin(nas, 'wear', 'ada2');
  assert.deepEqual(messages(hook), evening, 'neither the begin nor the end of a warning');
  const endMemory = await begin(nas, 'memory');
  await endMemory();
  const night = [...evening, ['memory of memory: began'], ['memory of memory: ended']];
  assert.deepEqual(messages(hook), night);
  clock += 3 * 60 * minute;
  await endThird();
  clock = Date.UTC(2026, 5, 2, 3, 59, 59);
  await looked(nas);
  assert.deepEqual(messages(hook), night, 'a second before the end of the quiet hours');
  clock += 1000;
  await looked(nas);
  assert.deepEqual(messages(hook), [...night, [wearOf(1, 'ended'), wearOf(2, 'began')]]);
  await looked(nas);
  assert.equal(hook.received.length, 4);
  const sent: unknown = JSON.parse(hook.received[3]?.body ?? '');
  assert.ok(isObject(sent) && Array.isArray(sent['alerts']));
  assert.deepEqual(
    sent['alerts'].filter(({ state }) => state === 'began').map(({ since }) => since),
    ['2026-06-01T20:00:00.000Z'],
    'since when it lasts, not when it was reported',
  );
});

test('a problem is repeated until it is acknowledged, also after a restart', async () => {
  await using hook = await alertReceiver();
  let clock = Date.UTC(2026, 5, 1, 8);
  let nas = await appliance({ now: () => clock, sendsWebhooks: true, settles: minute });
  try {
    await made(nas, { address: hook.url, repeat_minutes: 30 });
    const states = () =>
      messages(hook)
        .flat()
        .map((line) => line.replace(/^.*: /, ''));
    await begin(nas, 'memory');
    const after = async (minutes: number) => {
      clock += minutes * minute;
      await looked(nas);
      return states();
    };
    assert.deepEqual(await after(29), ['began']);
    assert.deepEqual(await after(1), ['began', 'lasts']);
    nas = await nas.restart();
    await nas.engine.renew('condition');
    assert.deepEqual(await after(29), ['began', 'lasts'], 'the time counts from the last report');
    assert.deepEqual(await after(1), ['began', 'lasts', 'lasts']);
    const [problem] = await nas.api.list(`${root}/problems`);
    const id = String(problem?.['id']);
    await nas.api.expect(200, 'POST', `${root}/problems/${id}/snooze`, { minutes: 120 });
    assert.equal((await after(119)).length, 3);
    assert.equal((await after(1)).length, 4, 'once the snooze is over');
    assert.equal((await nas.api.send('PUT', `system/alert/${id}/dismiss/`, true)).status, 202);
    assert.equal((await after(7 * 24 * 60)).length, 4);
    const [fault] = await nas.api.list(`${root}/virtual/faults`);
    await nas.api.expect(204, 'DELETE', `${root}/virtual/faults/${String(fault?.['id'])}`);
    assert.deepEqual(
      (await after(0)).slice(4),
      ['ended'],
      'the end of what was reported, although it was acknowledged',
    );
  } finally {
    await nas[Symbol.asyncDispose]();
  }
});

test('a receiver that failed once gets the message after about a second, and what begins meanwhile soon after', async () => {
  const statuses = [503, 200, 200];
  await using hook = await alertReceiver(async () => {
    await pause(300);
    return statuses.shift() ?? 500;
  });
  await using nas = await appliance({ sendsWebhooks: true, settles: 0 });
  await made(nas, { address: hook.url });
  const begun = performance.now();
  await nas.api.expect(201, 'POST', `${root}/virtual/faults`, { kind: 'memory' });
  const until = async (count: number) => {
    while (hook.received.length < count && performance.now() - begun < 12_000) await pause(10);
    assert.equal(hook.received.length, count);
  };
  await until(2);
  // The receiver has not answered yet.
  await nas.api.expect(201, 'POST', `${root}/virtual/faults`, { kind: 'wear', target: 'ada0' });
  await until(3);
  assert.deepEqual(messages(hook), [['memory of memory: began'], ['memory of memory: began'], [wearOf(1, 'began')]]);
});
