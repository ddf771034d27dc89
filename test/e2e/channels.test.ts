import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { createServer as createTcp } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Appliance, appliance } from '../support/appliance.ts';

const root = '/api/holdfast/v1';
const channels = `${root}/channels`;

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 15_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within 15 s: ${what}`);
    await pause(20);
  }
}

/** A receiver on the loopback that answers with this status. */
async function receiver(answer: { status: number } = { status: 200 }) {
  const received: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      received.push({ url: request.url ?? '', headers: request.headers, body });
      response.writeHead(answer.status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    received,
    url: `http://127.0.0.1:${address.port}/hook`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const fault = async ({ api }: Appliance, kind: string, target = '') =>
  `${root}/virtual/faults/${String((await api.expect(201, 'POST', `${root}/virtual/faults`, { kind, target }))['id'])}`;

const made = async ({ api }: Appliance, body: Readonly<Record<string, unknown>>) =>
  `${channels}/${String((await api.expect(201, 'POST', channels, { gather_seconds: 0, ...body }))['id'])}`;

const textIn = (body: string) => String(Object(JSON.parse(body)).text);

test('a storm is one message, its end another, and the secrets of a channel are not shown', async () => {
  await using chat = await receiver();
  await using nas = await appliance({ sendsWebhooks: true, settles: 0 });
  const body = { name: 'chat', kind: 'slack', address: `${chat.url}/T0/secret-path`, gather_seconds: 1 };
  const answer = await nas.api.expect(201, 'POST', channels, body);
  assert.doesNotMatch(JSON.stringify(answer), /secret-path/);
  assert.equal(answer['receiver'], new URL(chat.url).origin);
  const ends = [];
  for (const disk of ['ada1', 'ada2', 'ada3', 'ada4']) ends.push(await fault(nas, 'wear', disk));
  await until('the storm arrives', () => chat.received.length > 0);
  assert.equal(textIn(chat.received[0]?.body ?? ''), 'nas: 4 problems, the worst is warning');
  for (const end of ends) await nas.api.expect(204, 'DELETE', end);
  await until('the end arrives', () => chat.received.length > 1);
  assert.equal(textIn(chat.received[1]?.body ?? ''), 'nas: 4 problems ended');
  assert.equal(chat.received.length, 2);
  assert.equal((await nas.api.list(channels))[0]?.['reported'], 0);
});

test('what a receiver refused arrives once it accepts, also after a restart', async () => {
  const state = { status: 503 };
  await using hook = await receiver(state);
  await using nas = await appliance({ sendsWebhooks: true, settles: 0 });
  const path = await made(nas, { name: 'hook', kind: 'webhook', address: hook.url, token: 'bearer of the hook' });
  await fault(nas, 'memory');
  await until('an attempt', () => hook.received.length > 0);
  assert.equal(hook.received[0]?.headers.authorization, 'Bearer bearer of the hook');
  await until('the failure is shown', async () => (await nas.api.expect(200, 'GET', path))['failed_attempts'] !== 0);
  assert.equal((await nas.api.expect(200, 'GET', path))['problem'], 'The receiver answered 503.');
  state.status = 204;
  const again = await nas.restart();
  await until('it is accepted', async () => (await again.api.expect(200, 'GET', path))['reported'] === 1);
  const count = hook.received.length;
  const [alert] = Object(JSON.parse(hook.received.at(-1)?.body ?? '')).alerts;
  assert.deepEqual([alert.kind, alert.severity, alert.state], ['memory', 'critical', 'began']);
  await pause(1500);
  assert.equal(hook.received.length, count, 'it is not sent twice');
  await again.app.close();
});

test('a problem that is snoozed or acknowledged is not reported', async () => {
  await using hook = await receiver();
  await using nas = await appliance({ sendsWebhooks: true, settles: 0 });
  await fault(nas, 'memory');
  const [problem] = await nas.api.list(`${root}/problems`);
  const id = String(problem?.['id']);
  const snoozed = await nas.api.expect(200, 'POST', `${root}/problems/${id}/snooze`, { minutes: 60 });
  assert.ok(Date.parse(String(snoozed['snoozed_until'])) > Date.now() + 59 * 60_000);
  await made(nas, { name: 'hook', kind: 'webhook', address: hook.url });
  await pause(1500);
  assert.equal(hook.received.length, 0);
  await nas.api.expect(200, 'POST', `${root}/problems/${id}/snooze`, { minutes: 0 });
  await until('it is reported', () => hook.received.length > 0);
  assert.equal((await nas.api.send('POST', `${root}/problems/none/snooze`, { minutes: 5 })).status, 404);
});

test('syslog by UDP and TCP and traps of SNMP arrive, and a test message shows what came of it', async () => {
  await using nas = await appliance({ sendsWebhooks: true, settles: 0 });
  const udp = createSocket('udp4');
  const datagrams: Buffer[] = [];
  udp.on('message', (message) => datagrams.push(message)).bind(0, '127.0.0.1');
  await once(udp, 'listening');
  let stream = '';
  const tcp = createTcp((socket) => socket.setEncoding('utf8').on('data', (part) => (stream += String(part))));
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const bound = tcp.address();
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0;
  try {
    const at = `udp://127.0.0.1:${udp.address().port}`;
    const attempt = async (name: string, body: Readonly<Record<string, unknown>>) =>
      nas.api.expect(200, 'POST', `${await made(nas, { name, ...body })}/test`);
    const sent = await attempt('udp', { kind: 'syslog', address: at });
    assert.deepEqual([sent['accepted'], sent['status'], sent['problem']], [true, null, '']);
    await until('the datagram', () => datagrams.length === 1);
    assert.match(String(datagrams[0]), /^<30>1 \S+ nas holdfast - test \[holdfast@32473 .*This is a test/);
    await attempt('trap', { kind: 'snmp', address: at, token: 'community' });
    await until('the trap', () => datagrams.length === 2);
    assert.ok(datagrams[1]?.includes('community') && datagrams[1].includes('This is a test'));
    await attempt('tcp', { kind: 'syslog', address: `tcp://127.0.0.1:${port}` });
    await until('the line', () => stream.includes('This is a test'));
    assert.equal(Buffer.byteLength(stream), Number(stream.split(' ')[0]) + `${stream.split(' ')[0]} `.length);
    const refused = await attempt('none', { kind: 'ntfy', address: 'http://127.0.0.1:1/topic' });
    assert.equal(refused['accepted'], false);
    assert.match(String(refused['problem']), /could not be reached/);
  } finally {
    udp.close();
    tcp.close();
  }
});

test('a virtual host keeps its alerts, and addresses that a kind cannot have are refused', async () => {
  await using nas = await appliance({ settles: 0 });
  await made(nas, { name: 'chat', kind: 'discord', address: 'https://chat.example.org/secret' });
  await fault(nas, 'memory');
  const kept = () => nas.api.list(`${root}/virtual/alerts`);
  await until('it is kept', async () => (await kept()).length === 1);
  assert.equal((await kept())[0]?.['channel'], 'chat');
  for (const body of [
    { kind: 'syslog', address: 'https://logs.example.org' },
    { kind: 'snmp', address: 'udp://traps.example.org' },
    { kind: 'slack', address: '' },
    { kind: 'pagerduty' },
    { kind: 'ntfy', address: 'https://user:secret@ntfy.example.org/nas' },
    { kind: 'webhook', address: 'https://receiver.example.org', quiet_from: '22:00' },
  ])
    assert.ok(
      [400, 409].includes((await nas.api.post(channels, { name: 'wrong', ...body })).status),
      JSON.stringify(body),
    );
});
