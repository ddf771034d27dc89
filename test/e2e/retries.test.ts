import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import Database from 'better-sqlite3';
import { databaseFile } from '../../src/store/marks.ts';
import type { ApiAnswer } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { headOf, rootCredential } from '../support/raw.ts';

const hour = 3_600_000;
let box: Appliance;
let now = Date.parse('2026-05-04T10:00:00Z');

before(async () => {
  box = await appliance({ now: () => now });
});

after(() => box?.[Symbol.asyncDispose]());

const job = (description: string) => ({ cron_user: 'root', cron_command: 'true', cron_description: description });
const send = (method: string, path: string, body: unknown, key: string) =>
  box.api.send(method, path, body, { 'idempotency-key': key });
const jobs = async (description: string) =>
  (await box.api.list('tasks/cronjob/?limit=0')).filter((one) => one['cron_description'] === description);
const isReplayed = ({ headers }: ApiAnswer) => headers.get('idempotency-replayed') === 'true';

test('the same request under the same key is carried out once, also after a restart, for 24 hours', async () => {
  const key = randomUUID();
  const first = await send('POST', 'tasks/cronjob/', job('once'), key);
  assert.equal(first.status, 201);
  assert.ok(!isReplayed(first));
  for (const restarts of [false, true]) {
    if (restarts) box = await box.restart();
    const again = await send('POST', 'tasks/cronjob/', job('once'), key);
    assert.equal(again.status, 201);
    assert.equal(again.text, first.text);
    for (const name of ['location', 'etag', 'content-type'])
      assert.equal(again.headers.get(name), first.headers.get(name), name);
    assert.ok(isReplayed(again));
  }
  assert.equal((await jobs('once')).length, 1);
  now += 25 * hour;
  const later = await send('POST', 'tasks/cronjob/', job('once'), key);
  assert.ok(later.status === 201 && !isReplayed(later));
  assert.equal((await jobs('once')).length, 2);
});

test('another request under the same key is refused, and changes nothing', async () => {
  const key = randomUUID();
  await send('POST', 'tasks/cronjob/', job('mine'), key);
  for (const [method, path, body] of [
    ['POST', 'tasks/cronjob/', job('another')],
    ['POST', 'tasks/cronjob/?confirm_within=0', job('mine')],
    ['DELETE', 'tasks/cronjob/', job('mine')],
  ] as const) {
    const answer = await send(method, path, body, key);
    assert.equal(answer.status, 422, answer.text);
    assert.match(answer.text, /used for another request/);
  }
  assert.equal((await jobs('mine')).length, 1);
  assert.equal((await jobs('another')).length, 0);
  assert.equal((await send('POST', 'tasks/cronjob/', job('mine'), 'has a space')).status, 400);
});

test('requests that come while the first still runs wait for its answer', async () => {
  const key = randomUUID();
  const answers = await Promise.all(Array.from({ length: 20 }, () => send('POST', 'tasks/cronjob/', job('many'), key)));
  assert.deepEqual(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
  assert.equal(answers.filter((answer) => !isReplayed(answer)).length, 1);
  assert.equal((await jobs('many')).length, 1);
});

test('a refused request is forgotten, and can be sent again under its key', async () => {
  const key = randomUUID();
  const refused = await send('POST', 'tasks/cronjob/', { ...job('fixed'), cron_user: 'mary' }, key);
  assert.equal(refused.status, 409, refused.text);
  assert.equal((await send('POST', 'tasks/cronjob/', job('fixed'), key)).status, 201);
});

test('GET ignores the key', async () => {
  const key = randomUUID();
  assert.ok(!isReplayed(await send('GET', 'tasks/cronjob/', undefined, key)));
  assert.ok(!isReplayed(await send('GET', 'tasks/cronjob/', undefined, key)));
});

test('a connection that is cut after any byte of the answer leaves one record, and the retry gets its answer', async () => {
  const whole = await sendAndCut(job('cut'), randomUUID(), Number.POSITIVE_INFINITY);
  for (let length = 0; length < whole.length; length += 1) {
    const key = randomUUID();
    await sendAndCut(job('cut'), key, length);
    const again = await send('POST', 'tasks/cronjob/', job('cut'), key);
    assert.equal(again.status, 201, `cut after ${length} bytes: ${again.text}`);
  }
  assert.equal((await jobs('cut')).length, 1 + whole.length);
});

/** Sends the request, and cuts the connection after this number of bytes of the answer. */
async function sendAndCut(body: object, key: string, length: number): Promise<string> {
  const text = JSON.stringify(body);
  const head = headOf('POST', '/api/v1.0/tasks/cronjob/', {
    authorization: rootCredential,
    'content-type': 'application/json',
    'content-length': String(text.length),
    'idempotency-key': key,
    connection: 'close',
  });
  const socket = connect(Number(new URL(box.api.url).port), '127.0.0.1');
  let seen = '';
  socket.on('data', (data) => {
    seen += String(data);
    if (seen.length >= length) socket.destroy();
  });
  socket.on('error', () => {});
  socket.write(`${head}${text}`);
  if (length === 0) socket.destroySoon();
  await once(socket, 'close');
  return seen;
}

/** The state after a daemon was killed between the commit of a change and that of its answer. */
async function loseAnswers(): Promise<void> {
  const { folder } = box;
  await box.app.close();
  const database = new Database(databaseFile(folder));
  database.prepare('UPDATE retries SET answer = NULL').run();
  database.close();
  box = await box.restart();
}

test('a request whose answer was lost with the process is not carried out again', async () => {
  const keys = { create: randomUUID(), update: randomUUID(), remove: randomUUID() };
  const created = await send('POST', 'tasks/cronjob/', job('lost'), keys.create);
  const { id: other } = await box.api.expect(201, 'POST', 'tasks/cronjob/', job('removed'));
  await send('PUT', 'services/snmp/', { snmp_location: 'attic' }, keys.update);
  await send('DELETE', `tasks/cronjob/${other}/`, undefined, keys.remove);
  await loseAnswers();
  const again = await send('POST', 'tasks/cronjob/', job('lost'), keys.create);
  assert.equal(again.status, 201);
  assert.equal(again.text, created.text);
  assert.equal(again.headers.get('location'), created.headers.get('location'));
  assert.equal((await jobs('lost')).length, 1);
  assert.equal((await send('PUT', 'services/snmp/', { snmp_location: 'attic' }, keys.update)).status, 200);
  assert.equal((await send('DELETE', `tasks/cronjob/${other}/`, undefined, keys.remove)).status, 204);
});

test('a kept answer cannot be read in the database', async () => {
  const key = randomUUID();
  await send('PUT', 'services/snmp/', { snmp_v3_username: 'watcher', snmp_v3_password: 'a canary of secrets' }, key);
  await box.app.close();
  const files = readdirSync(box.folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  assert.ok(files.length > 1);
  for (const { name } of files) assert.ok(!readFileSync(join(box.folder, name)).includes('a canary of secrets'), name);
  box = await box.restart();
  assert.ok(
    isReplayed(
      await send(
        'PUT',
        'services/snmp/',
        { snmp_v3_username: 'watcher', snmp_v3_password: 'a canary of secrets' },
        key,
      ),
    ),
  );
});
