/** Channels against receivers on the loopback that check what the services document. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ntfyServer, opsgenie, pagerDuty } from '../support/alert-receivers.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const root = '/api/holdfast/v1';

async function until(what: string, holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 15_000; !holds(); await pause(20))
    if (performance.now() > end) throw new Error(`not within 15 s: ${what}`);
}

async function begin({ api }: Appliance, kind: string, target = '', value?: number) {
  const body = { kind, target, ...(value !== undefined && { value }) };
  const { id } = await api.expect(201, 'POST', `${root}/virtual/faults`, body);
  return () => api.expect(204, 'DELETE', `${root}/virtual/faults/${String(id)}`);
}

async function made({ api }: Appliance, body: Readonly<Record<string, unknown>>) {
  const { id } = await api.expect(201, 'POST', `${root}/channels`, { gather_seconds: 0, ...body });
  return `${root}/channels/${String(id)}`;
}

test('ntfy gets a title, a priority and a tag for what begins and what ends', async () => {
  await using server = await ntfyServer({ topic: 'nas_alerts', token: 'tk_0123456789abcdef' });
  await using nas = await appliance({ sendsWebhooks: true, settles: 0 });
  const body = { name: 'phone', kind: 'ntfy', address: `${server.url}/nas_alerts`, token: 'tk_0123456789abcdef' };
  const path = await made(nas, body);
  const end = await begin(nas, 'memory');
  await until('the note', () => server.notes.length === 1);
  const { message, ...note } = server.notes[0] ?? assert.fail();
  assert.deepEqual(note, { title: 'nas: 1 problem, critical', priority: 5, tags: ['rotating_light'] });
  assert.match(message, /^\[critical\] The memory is almost used up: /);
  await end();
  await until('the end', () => server.notes.length === 2);
  const { title, priority, tags } = server.notes[1] ?? assert.fail();
  assert.deepEqual(
    { title, priority, tags },
    { title: 'nas: 1 problem ended', priority: 3, tags: ['white_check_mark'] },
  );
  const attempt = await nas.api.expect(200, 'POST', `${path}/test`);
  assert.deepEqual([attempt['accepted'], attempt['status']], [true, 200]);
  assert.equal(server.notes[2]?.message, '[info] This is a test: alerts of this appliance arrive here.');
  assert.deepEqual(server.refused, []);
  await nas.api.expect(200, 'PUT', path, { token: 'tk_wrong' });
  const refused = await nas.api.expect(200, 'POST', `${path}/test`);
  assert.deepEqual([refused['accepted'], refused['problem']], [false, 'The receiver answered 401.']);
});

test('a paging service has one incident for each problem, which gets worse and is resolved with it', async () => {
  const routingKey = '0123456789abcdef0123456789abcdef';
  await using pager = await pagerDuty(routingKey);
  await using genie = await opsgenie('a-key-of-opsgenie');
  await using nas = await appliance({ sendsWebhooks: true, settles: 0 });
  const paths = [
    await made(nas, { name: 'pager', kind: 'pagerduty', address: `${pager.url}/v2/enqueue`, token: routingKey }),
    await made(nas, { name: 'genie', kind: 'opsgenie', address: `${genie.url}/v2/alerts`, token: 'a-key-of-opsgenie' }),
  ];
  const endMemory = await begin(nas, 'memory');
  const endWear = await begin(nas, 'wear', 'ada0', 95);
  await until('two incidents', () => pager.open.size === 2 && genie.open.size === 2);
  const problems = await nas.api.list(`${root}/problems`);
  const idOf = (kind: string) => String(problems.find((one) => one['kind'] === kind)?.['id']);
  const severities = () => Object.fromEntries([...pager.open].map(([id, { severity }]) => [id, severity]));
  assert.deepEqual(severities(), { [idOf('memory')]: 'critical', [idOf('wear')]: 'warning' });
  const { message = '' } = genie.open.get(idOf('wear')) ?? {};
  assert.match(message, /^The disk ada0 has used up 95 % of the writes/, 'the list of alerts shows what is wrong');
  assert.deepEqual([genie.open.get(idOf('memory'))?.priority, genie.open.get(idOf('wear'))?.priority], ['P1', 'P3']);
  await begin(nas, 'wear', 'ada0', 100);
  // There is no event of it: the next regular look would come within half a minute.
  nas.app.channels.look();
  await until('it became worse', () => severities()[idOf('wear')] === 'critical');
  assert.equal(pager.open.get(idOf('wear'))?.triggers, 2);
  await until('it became worse there too', () => genie.open.get(idOf('wear'))?.priority === 'P1');
  await endMemory();
  await until('one is resolved', () => pager.open.size === 1 && genie.open.size === 1);
  assert.deepEqual(pager.resolved, [idOf('memory')]);
  await endWear();
  await until('both are resolved', () => pager.open.size === 0 && genie.open.size === 0);
  for (const path of paths) {
    const attempt = await nas.api.expect(200, 'POST', `${path}/test`);
    assert.deepEqual([attempt['accepted'], attempt['status']], [true, 202]);
  }
  assert.deepEqual([pager.open.size, genie.open.size], [0, 0], 'a test leaves no incident open');
  assert.deepEqual([...pager.refused, ...genie.refused], []);
});
