import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { withKey } from '../support/keys.ts';
import { startReceiver } from '../support/webhooks.ts';

const root = '/api/holdfast/v1';
const hooks = `${root}/webhooks`;
const hour = 3_600_000;
const job = { cron_user: 'root', cron_command: 'true' };

/** Waits until the condition holds. */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 15_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within 15 s: ${what}`);
    await pause(20);
  }
}

async function made({ api }: Appliance, body: Readonly<Record<string, unknown>>) {
  const answer = await api.expect(201, 'POST', hooks, body);
  return { id: Number(answer['id']), secret: String(answer['secret']), path: `${hooks}/${String(answer['id'])}` };
}

const idOf = ({ data }: Readonly<Record<string, unknown>>) => (isObject(data) ? data['id'] : undefined);

/** A server on the loopback whose answers the test decides; `asked` has the paths and ids that it got. */
async function server(answer: (response: ServerResponse, id: string) => void) {
  const asked: string[] = [];
  const made = createServer((request, response) => {
    request.resume();
    asked.push(`${request.url} ${String(request.headers['webhook-id'])}`);
    answer(response, String(request.headers['webhook-id']));
  });
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  const address = made.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    asked,
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      made.closeAllConnections();
      await new Promise((resolve) => made.close(resolve));
    },
  };
}

test('a webhook gets the events that it wants, from its creation on and over a restart', async () => {
  await using receiver = await startReceiver();
  let nas = await appliance({ sendsWebhooks: true });
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  const { secret } = await made(nas, {
    ...{ name: 'crons', url: receiver.url, kind: 'record', resource: 'tasks/cronjob' },
  });
  await receiver.knows(secret);
  const first = await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await nas.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'unwanted' });
  await until('the first event', () => receiver.received.length > 0);
  nas = await nas.restart();
  await using box = nas;
  const second = await box.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await until('the second event', () => receiver.received.length > 1);
  assert.deepEqual(
    receiver.received.map(({ body, signed, outcome }) => [idOf(body), body['type'], signed, outcome]),
    [first, second].map(({ id }) => [id, 'record.changed', true, 'accepted']),
  );
});

test('the secret is shown once, sealed, and in no revision; a new one signs beside the former one', async () => {
  await using receiver = await startReceiver();
  await using nas = await appliance({ sendsWebhooks: true });
  const { path, secret } = await made(nas, { name: 'one', url: receiver.url, kind: 'none.such' });
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const answers = [path, hooks, `${root}/revisions`, `${root}/revisions/${nas.engine.revisions(1)[0]?.number}`];
  for (const address of answers) assert.doesNotMatch((await nas.api.get(address)).text, /whsec_/, address);
  for (const file of readdirSync(nas.folder).filter((name) => name.startsWith('holdfast.sqlite')))
    assert.ok(!readFileSync(join(nas.folder, file)).includes(secret), file);
  await receiver.knows(secret);
  await nas.api.expect(200, 'POST', `${path}/test`);
  const renewed = String((await nas.api.expect(200, 'POST', `${path}/secret`))['secret']);
  assert.notEqual(renewed, secret);
  await nas.api.expect(200, 'POST', `${path}/test`);
  assert.deepEqual(
    receiver.received.map(({ signed, body }) => [signed, body['type']]),
    [
      [true, 'webhook.test'],
      [true, 'webhook.test'],
    ],
  );
  await using other = await startReceiver();
  await other.knows(renewed);
  await nas.api.expect(200, 'PUT', path, { url: other.url });
  await nas.api.expect(200, 'POST', `${path}/test`);
  assert.deepEqual(
    other.received.map(({ signed }) => signed),
    [true],
  );
});

test('a redirect and an error are failures, the event stays the next one, and its id stays the same', async () => {
  await using elsewhere = await server((response) => response.writeHead(204).end());
  let status = 307;
  await using receiver = await server((response) =>
    response.writeHead(status, { location: `${elsewhere.url}/other` }).end(),
  );
  await using nas = await appliance({ sendsWebhooks: true });
  const { path } = await made(nas, { name: 'one', url: `${receiver.url}/in`, kind: 'record', resource: 'tasks' });
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await until('two attempts', () => receiver.asked.length >= 2);
  status = 410;
  const refused = await nas.api.expect(200, 'POST', `${path}/test`);
  assert.deepEqual(
    [refused['accepted'], refused['status'], refused['problem']],
    [false, 410, 'The receiver answered 410.'],
  );
  const failing = await nas.api.expect(200, 'GET', path);
  assert.equal(failing['problem'], 'The receiver answered 307.');
  assert.ok(Number(failing['failed_attempts']) >= 2 && failing['enabled'] === true);
  assert.notEqual(failing['next_attempt'], null);
  status = 200;
  await nas.api.expect(200, 'POST', `${path}/test`);
  const events = () => receiver.asked.filter((one) => !one.includes('test_'));
  // The first one that is accepted ends the failure, and the second follows.
  await until('both events', () => new Set(events()).size === 2);
  await until('no failure', async () => (await nas.api.expect(200, 'GET', path))['failing_since'] === null);
  assert.deepEqual(events(), events().toSorted(), 'the first event is not overtaken by the second');
  assert.deepEqual(elsewhere.asked, []);
});

test('what is not accepted for long is a problem, then a dead letter that can be sent again', async () => {
  let isDown = true;
  await using receiver = await server((response) => response.writeHead(isDown ? 500 : 200).end());
  let offset = 0;
  const now = () => Date.now() + offset;
  let nas = await appliance({ sendsWebhooks: true, now });
  const hook = { name: 'one', url: receiver.url, kind: 'record', resource: 'tasks', give_up_after: 2 };
  const { id, path } = await made(nas, hook);
  const kinds = () =>
    nas.engine.problems.filter(({ about }) => about === `holdfast/webhook/${id}`).map(({ kind }) => kind);
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await until('a failure', () => receiver.asked.length > 0);
  assert.deepEqual(kinds(), []);
  offset = hour / 2;
  assert.deepEqual(kinds(), ['not accepted']);
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  // The pauses and the beginning of the failures outlive the daemon.
  nas = await nas.restart();
  await using box = nas;
  assert.deepEqual(kinds(), ['not accepted']);
  offset = 2.25 * hour;
  await box.api.expect(200, 'PUT', path, { name: 'renamed' });
  await until('a dead letter', async () => (await box.api.list(`${path}/dead`)).length > 0);
  const [letter] = await box.api.list(`${path}/dead`);
  assert.deepEqual([letter?.['name'], letter?.['problem']], ['record.changed', 'The receiver answered 500.']);
  assert.deepEqual((await box.api.list(`${path}/dead`)).length, 1, 'the younger event waits');
  assert.deepEqual(kinds(), ['not accepted', 'dead letters']);
  const vain = await box.api.expect(200, 'POST', `${path}/dead/retry`, {});
  assert.deepEqual(vain, { accepted: 0, left: 1, problem: 'The receiver answered 500.' });
  isDown = false;
  assert.equal((await box.api.post(`${path}/dead/retry`, { number: 999_999 })).status, 400);
  const done = await box.api.expect(200, 'POST', `${path}/dead/retry`, { number: letter?.['number'] });
  assert.deepEqual(done, { accepted: 1, left: 0, problem: '' });
  assert.equal(receiver.asked.at(-1), `/ ${letter?.['number']}`);
  await box.api.expect(200, 'POST', `${path}/test`);
  await until('the younger event', async () => (await box.api.expect(200, 'GET', path))['failing_since'] === null);
  assert.deepEqual(kinds(), []);
});

test('dead letters can be forgotten, and go with their webhook', async () => {
  await using receiver = await server((response) => response.writeHead(500).end());
  let offset = 0;
  await using nas = await appliance({ sendsWebhooks: true, now: () => Date.now() + offset });
  const { path } = await made(nas, { name: 'one', url: receiver.url, resource: 'tasks', give_up_after: 1 });
  for (let count = 0; count < 5; count += 1) await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await until('a failure', () => receiver.asked.length > 0);
  offset = 1.5 * hour;
  await nas.api.expect(200, 'PUT', path, { name: 'two' });
  await until('all five', async () => (await nas.api.list(`${path}/dead`)).length === 5);
  await nas.api.expect(204, 'DELETE', `${path}/dead`);
  assert.deepEqual(await nas.api.list(`${path}/dead`), []);
  await nas.api.expect(204, 'DELETE', path);
  assert.equal((await nas.api.get(`${path}/dead`)).status, 404);
});

test('several receivers do not wait for one that does not answer', async () => {
  await using silent = await server(() => {});
  await using receiver = await server((response) => response.writeHead(200).end());
  await using nas = await appliance({ sendsWebhooks: true });
  await made(nas, { name: 'silent', url: silent.url, resource: 'tasks' });
  await made(nas, { name: 'quick', url: receiver.url, resource: 'tasks' });
  for (let count = 0; count < 3; count += 1) await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await until('three events', () => receiver.asked.length === 3);
  assert.equal(silent.asked.length, 1);
});

test('a disabled webhook keeps its place', async () => {
  await using receiver = await server((response) => response.writeHead(200).end());
  await using nas = await appliance({ sendsWebhooks: true });
  const { path } = await made(nas, { name: 'one', url: receiver.url, resource: 'tasks', enabled: false });
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await pause(200);
  assert.deepEqual(receiver.asked, []);
  await nas.api.expect(200, 'PUT', path, { enabled: true });
  await until('both events', () => receiver.asked.length === 2);
});

test('the virtual host keeps posts instead of sending them, signed as they would be sent', async () => {
  await using receiver = await server((response) => response.writeHead(200).end());
  await using nas = await appliance();
  await made(nas, { name: 'one', url: receiver.url, resource: 'tasks' });
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', job);
  await until('a kept post', async () => (await nas.api.list(`${root}/virtual/webhooks`)).length === 1);
  const [post] = await nas.api.list(`${root}/virtual/webhooks`);
  const { headers, body } = post ?? {};
  assert.ok(isObject(headers) && /^v1,/.test(String(headers['webhook-signature'])));
  assert.equal(isObject(JSON.parse(String(body))), true);
  assert.deepEqual(receiver.asked, []);
});

test('an address that is none, or that has a password, is refused', async () => {
  await using nas = await appliance();
  for (const url of ['receiver', 'ftp://127.0.0.1/', 'http://user:password@127.0.0.1/', 'http://127.0.0.1/#part', ''])
    assert.equal((await nas.api.post(hooks, { name: 'one', url })).status, 400, url);
});

test('a reader without the right to secrets sees the server of a webhook, not the rest of its address', async () => {
  await using nas = await appliance();
  const { path } = await made(nas, { name: 'chat', url: 'https://chat.example.org/hooks/the-password?key=more' });
  const { api: reader } = await withKey(nas, { name: 'reader', role: 'read-only' });
  assert.equal((await reader.expect(200, 'GET', path))['url'], 'https://chat.example.org');
  assert.equal((await nas.api.expect(200, 'GET', path))['url'], 'https://chat.example.org/hooks/the-password?key=more');
});
