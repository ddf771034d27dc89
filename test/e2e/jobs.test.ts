import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { stallsAfter } from '../../src/engine/upkeep/job-run.ts';
import { isObject } from '../../src/lib/json.ts';
import type { Api, ApiAnswer } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { type GatedHost, withGates } from '../support/gates.ts';
import { withKey } from '../support/keys.ts';

const root = '/api/holdfast/v1';
let box: Appliance;
let gates: GatedHost;
let passed = 0;

before(async () => {
  box = await appliance({
    now: () => Date.now() + passed,
    around: (host) => {
      gates = withGates(host);
      return gates.host;
    },
  });
  await box.api.expect(201, 'POST', 'storage/volume/', volume('tank', 'ada0'));
});

after(async () => {
  gates?.open();
  await box?.[Symbol.asyncDispose]();
});

const volume = (name: string, disk: string) => ({
  ...{ volume_name: name, layout: [{ vdevtype: 'stripe', disks: [disk] }] },
});
const cron = { cron_user: 'root', cron_command: 'true' };
const ask = (prefer: string, method: string, path: string, body: unknown, headers = {}, api: Api = box.api) =>
  api.send(method, path, body, { prefer, ...headers });
const addressOf = (answer: ApiAnswer) => answer.headers.get('location') ?? assert.fail(answer.text);
const read = (address: string, api: Api = box.api) => api.expect(200, 'GET', address);

/** Waits until the job has ended, as a program would. */
async function ended(address: string, api: Api = box.api) {
  for (;;) {
    const job = await read(address, api);
    if (job['state'] !== 'running') return job;
    await pause(20);
  }
}

/** Waits until the step has begun. */
async function inStep(address: string, title: RegExp) {
  for (;;) {
    const { steps } = await read(address);
    const found = (Array.isArray(steps) ? steps : []).filter(isObject);
    if (found.some((step) => step['state'] === 'running' && title.test(String(step['title'])))) return found;
    await pause(10);
  }
}

test('what is done in time is answered as without the header, and what takes longer becomes one job', async () => {
  const quick = await ask('wait=10', 'POST', 'tasks/cronjob/', cron);
  assert.equal(quick.status, 201);
  assert.equal(quick.headers.get('preference-applied'), 'wait=10');
  const refused = await ask('respond-async', 'POST', 'tasks/cronjob/', { cron_user: 7 });
  assert.equal(refused.status, 409, 'a refusal needs no job');
  const release = gates.hold((call) => call === 'zfs.createPool');
  const jobsBefore = await box.api.list(`${root}/jobs?limit=1000`);
  const slow = await ask('wait=0', 'POST', 'storage/volume/', volume('slow', 'ada1'));
  assert.equal(slow.status, 202);
  assert.equal(slow.headers.get('preference-applied'), 'wait=0');
  const address = addressOf(slow);
  const steps = await inStep(address, /create the volume slow|create.*slow/);
  assert.ok(steps.length > 0);
  assert.equal((await box.api.get(`${address}/answer`)).status, 404, 'it has not ended');
  const jobsNow = await box.api.list(`${root}/jobs?limit=1000`);
  assert.equal(jobsNow.length, jobsBefore.length + 1, 'the work of the request is no second job');
  release();
  const job = await ended(address);
  assert.equal(job['state'], 'finished', JSON.stringify(job));
  assert.deepEqual(
    { cannot: job['cannot_abort'], safe: job['safe_to_retry'], subject: job['subject'] },
    { cannot: 'It has ended.', safe: null, subject: 'storage/volume' },
  );
  const answer = await read(`${address}/answer`);
  assert.equal(answer['status'], 201);
  assert.ok(isObject(answer['body']) && answer['body']['name'] === 'slow');
  const output = await read(`${address}/output?limit=1`);
  const [line] = Array.isArray(output['lines']) ? output['lines'].filter(isObject) : [];
  assert.match(String(line?.['text']), /^Step: /);
  const rest = await read(`${address}/output?after=${String(output['last'])}`);
  assert.ok(Array.isArray(rest['lines']) && !JSON.stringify(rest['lines']).includes(`"number":${line?.['number']},`));
  assert.equal(rest['ended'], true);
  const byRequest = await box.api.list(`${root}/jobs?filter=request=${slow.headers.get('x-request-id')}`);
  assert.deepEqual(
    byRequest.map(({ id }) => `${root}/jobs/${String(id)}`),
    [address],
  );
});

test('a request that fails as a job says why, and its key can be used again', async () => {
  const key = { 'idempotency-key': randomUUID() };
  const body = { name: 'late' };
  const release = gates.hold((call) => call === 'zfs.createDataset');
  const first = await ask('respond-async', 'POST', 'storage/volume/tank/datasets/', body, key);
  assert.equal(first.status, 202);
  const again = ask('wait=10', 'POST', 'storage/volume/tank/datasets/', body, key);
  await pause(30);
  release();
  const second = await again;
  assert.equal(second.status, 201, 'the repetition waits for the same work');
  assert.equal(second.headers.get('idempotency-replayed'), 'true');
  assert.equal((await ended(addressOf(first)))['state'], 'finished');
  // The machine refuses it after the client was answered.
  const hold = gates.hold((call) => call === 'zfs.createDataset');
  const refused = await ask('wait=0', 'POST', 'storage/volume/tank/datasets/', { name: 'twice' });
  await box.machine.zfs.createDataset('tank/twice', {});
  hold();
  const job = await ended(addressOf(refused));
  assert.deepEqual([job['state'], job['safe_to_retry']], ['failed', true]);
  assert.match(String(job['error']), /twice.*already exists/);
});

test('an aborted job takes back what it did, and an act that cannot be interrupted says so', async () => {
  const release = gates.hold((call) => call === 'zfs.createPool');
  const made = await ask('respond-async', 'POST', 'storage/volume/', volume('gone', 'ada2'));
  await inStep(addressOf(made), /gone/);
  await box.api.expect(204, 'POST', `${addressOf(made)}/abort`);
  release();
  const job = await ended(addressOf(made));
  assert.deepEqual([job['state'], job['safe_to_retry']], ['aborted', true], JSON.stringify(job));
  assert.equal((await box.api.get('storage/volume/gone/')).status, 404);

  const hold = gates.hold((call) => call === 'zfs.destroyDataset');
  const removal = await ask('respond-async', 'DELETE', 'storage/volume/tank/datasets/late/', undefined);
  await inStep(addressOf(removal), /destroy/);
  const refusal = await box.api.post(`${addressOf(removal)}/abort`);
  assert.equal(refusal.status, 409);
  assert.match(refusal.text, /cannot be interrupted/);
  hold();
  assert.equal((await ended(addressOf(removal)))['state'], 'finished');
});

test('a job of which nothing is heard is a problem, one that waits for another is not', async () => {
  const release = gates.hold((call) => call === 'zfs.createPool');
  const stuck = await ask('respond-async', 'POST', 'storage/volume/', volume('stuck', 'ada3'));
  await inStep(addressOf(stuck), /stuck/);
  const stalled = async () =>
    (await box.api.list(`${root}/problems`)).filter(({ kind }) => kind === 'stalled').map(({ message }) => message);
  assert.deepEqual(await stalled(), []);
  passed += stallsAfter + 60_000;
  const [message] = await stalled();
  assert.match(String(message), /Nothing was heard of the job \d+.*abort/);
  assert.notEqual((await read(addressOf(stuck)))['stalled_since'], null);
  release();
  await ended(addressOf(stuck));
  assert.deepEqual(await stalled(), []);
});

test('a key without the right to jobs sees and aborts those of its own requests, and no others', async () => {
  const { api } = await withKey(box, {
    ...{ name: 'crons', permissions: [{ resources: ['tasks/cronjob'], verbs: ['*'], raw: true }] },
  });
  const release = gates.hold((call) => call.startsWith('files.'));
  const own = await ask('wait=0', 'POST', 'tasks/cronjob/', cron, {}, api);
  assert.equal(own.status, 202, own.text);
  const foreign = await ask('wait=0', 'POST', 'tasks/cronjob/', cron);
  release();
  assert.equal((await ended(addressOf(own), api))['state'], 'finished');
  assert.equal((await read(`${addressOf(own)}/answer`, api))['status'], 201);
  assert.equal((await box.api.get(`${addressOf(own)}/answer`)).status, 404, 'the answer is for who asked');
  const listed = await api.list(`${root}/jobs`);
  assert.deepEqual(
    listed.map(({ id }) => `${root}/jobs/${String(id)}`),
    [addressOf(own)],
  );
  for (const path of ['', '/answer', '/output'])
    assert.equal((await api.get(`${addressOf(foreign)}${path}`)).status, 404);
  assert.equal((await api.post(`${addressOf(foreign)}/abort`)).status, 404);
});
