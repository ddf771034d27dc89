/** What channels report when the daemon is killed: nothing that lasts is lost, and only the last message may come twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { alertReceiver, type ReceivedRequest } from '../support/alert-receivers.ts';
import { startDaemon, stateFolder } from './daemon.ts';

const root = '/api/holdfast/v1';
const sending = ['--send-webhooks'];

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 30_000; !(await holds()); await pause(20))
    if (performance.now() > end) throw new Error(`not within 30 s: ${what}`);
}

const parsed = ({ body }: ReceivedRequest) => {
  const message: unknown = JSON.parse(body);
  return isObject(message) ? message : {};
};

test('killed while a receiver has a message, the daemon sends that message again, and no other', async (t) => {
  await using state = await stateFolder();
  let daemon = await startDaemon(state.path, [], sending);
  t.after(() => daemon.end('SIGKILL'));
  const lives: string[][] = [[]];
  await using pager = await alertReceiver(async (request) => {
    const life = lives.at(-1);
    life?.push(String(parsed(request)['dedup_key']));
    if (lives.length > 1 || life?.length !== 2) return 202;
    // It was received, but the daemon does not live to see the answer.
    await daemon.end('SIGKILL');
    return undefined;
  });
  const next = async () => {
    lives.push([]);
    daemon = await startDaemon(state.path, [], sending);
  };
  for (const target of ['ada0', 'ada1', 'ada2'])
    await daemon.api.expect(201, 'POST', `${root}/virtual/faults`, { kind: 'wear', target });
  const body = { name: 'pager', kind: 'pagerduty', address: pager.url, token: 'key', gather_seconds: 0 };
  const { id } = await daemon.api.expect(201, 'POST', `${root}/channels`, body);
  const reported = async () => (await daemon.api.expect(200, 'GET', `${root}/channels/${String(id)}`))['reported'];
  await until('it was killed', () => lives[0]?.length === 2);
  await next();
  await until('all are reported', async () => (await reported()) === 3);
  const [[first, second] = [], repeated = []] = lives;
  assert.equal(repeated[0], second);
  assert.equal(new Set([first, ...repeated]).size, 3);
  assert.equal(repeated.length, 2);
  await daemon.end('SIGKILL');
  await next();
  await daemon.api.expect(201, 'POST', `${root}/virtual/faults`, { kind: 'wear', target: 'ada3' });
  await until('the new one is reported', async () => (await reported()) === 4);
  assert.equal(lives[2]?.length, 1, 'what was accepted before the kill does not come again');
  assert.ok(![first, ...repeated].includes(lives[2][0]));
});

test('killed at any moment, it loses nothing that lasts, and repeats at most its last message', async (t) => {
  await using state = await stateFolder();
  let daemon = await startDaemon(state.path, [], sending);
  t.after(() => daemon.end('SIGKILL'));
  /** The ids in each message of each life. */
  const lives: string[][][] = [[]];
  await using hook = await alertReceiver((request) => {
    const alerts = parsed(request)['alerts'];
    lives.at(-1)?.push((Array.isArray(alerts) ? alerts : []).map(({ id }) => String(id)));
    return 204;
  });
  const body = { name: 'hook', kind: 'webhook', address: hook.url, gather_seconds: 0 };
  const { id } = await daemon.api.expect(201, 'POST', `${root}/channels`, body);
  let disk = 0;
  // Milliseconds from the first fault to the kill. A look comes about 200 ms after a fault.
  for (const delay of [60, 180, 240, 300]) {
    const sent = Array.from({ length: 4 }, () => {
      disk += 1;
      const fault = { kind: 'wear', target: `ada${disk}` };
      return daemon.api.post(`${root}/virtual/faults`, fault).catch(() => undefined);
    });
    await pause(delay);
    await daemon.end('SIGKILL');
    await Promise.all(sent);
    lives.push([]);
    daemon = await startDaemon(state.path, [], sending);
  }
  await daemon.api.expect(201, 'POST', `${root}/virtual/faults`, { kind: 'memory' });
  const problems = (await daemon.api.list(`${root}/problems`)).map((one) => String(one['id']));
  await until('all are reported', async () => {
    const channel = await daemon.api.expect(200, 'GET', `${root}/channels/${String(id)}`);
    return channel['reported'] === problems.length;
  });
  assert.deepEqual(new Set(lives.flat(2)), new Set(problems));
  for (const [number, life] of lives.entries()) {
    const own = life.flat();
    assert.equal(new Set(own).size, own.length, `nothing comes twice in life ${number}`);
    const before = lives.slice(0, number);
    const unsure = new Set(before.flatMap((one) => one.at(-1) ?? []));
    const again = own.filter((one) => before.flat(2).includes(one));
    assert.deepEqual(
      again.filter((one) => !unsure.has(one)),
      [],
      'only what was in the last message of a life',
    );
  }
});
