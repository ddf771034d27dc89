/** The codes of errors: each of the list is produced here, by both interfaces in the form of RFC 9457. */
import assert from 'node:assert/strict';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openApp } from '../../src/app.ts';
import { codeOf, fromBase32, periodOf } from '../../src/areas/people/totp.ts';
import { type ErrorCode, errorCodes } from '../../src/engine/declare/error-codes.ts';
import { processesUsing } from '../../src/host/linux/processes.ts';
import { readHolds } from '../../src/host/linux/zfs/read-snapshots.ts';
import { type Host, HostError } from '../../src/host/ports/index.ts';
import { openVirtualHost } from '../../src/host/virtual/index.ts';
import { isObject } from '../../src/lib/json.ts';
import { Store } from '../../src/store/store.ts';
import { programs } from '../../src/subsystems/index.ts';
import { startDaemon, stateFolder } from '../crash/daemon.ts';
import { Api, type ApiAnswer } from '../support/api.ts';
import { type Appliance, appliance, GiB, rootPassword } from '../support/appliance.ts';
import { at, checker } from '../support/description.ts';
import { withPorts } from '../support/ports.ts';
import { smallDisk } from '../support/small-disk.ts';

const own = '/api/holdfast/v1';
const problem = { accept: 'application/problem+json' };
const stripe = (disk: string) => [{ vdevtype: 'stripe', disks: [disk] }];

let box: Appliance;
let description: Readonly<Record<string, unknown>>;
/** What the machine answers instead, by the name of the call. */
const answers = new Map<string, () => unknown>();

const scripted = (host: Host): Host =>
  withPorts(
    host,
    (name, port) =>
      new Proxy(port, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key);
          if (typeof value !== 'function') return value;
          return (...values: readonly unknown[]): unknown => {
            const instead = answers.get(`${name}.${String(key)}`);
            return instead === undefined ? Reflect.apply(value, target, values) : instead();
          };
        },
      }),
  );

before(async () => {
  box = await appliance({
    disks: Array<number>(4).fill(GiB),
    nics: 2,
    around: scripted,
    limits: { bodyBytes: 400_000 },
  });
  await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout: stripe('ada0') });
  await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/media', cifs_name: 'media' });
  const { json } = await box.api.get('/openapi.json');
  assert.ok(isObject(json));
  description = json;
});

after(() => box?.[Symbol.asyncDispose]());

const send = (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
  box.api.send(method, path, body, { ...problem, ...headers });

/** Each code: a request that is answered with it, and what helps. */
const producers: Readonly<Record<ErrorCode, () => Promise<ApiAnswer>>> = {
  invalid: () => send('POST', `${own}/keys`, {}),
  invalid_query: () => send('GET', 'account/users/?filter=nothing'),
  invalid_header: () => send('POST', 'tasks/cronjob/', {}, { 'idempotency-key': 'ä'.repeat(3) }),
  invalid_body: () => send('POST', 'tasks/cronjob/', '{'),
  too_large: () => send('POST', 'tasks/cronjob/', 'x'.repeat(2 * 1024 ** 2)),
  unknown_path: () => send('GET', `${own}/nothing`),
  wrong_method: () => send('DELETE', `${own}/jobs`),
  not_found: () => send('POST', 'storage/volume/none/scrub/'),
  unauthorized: () => new Api(box.api.url, { user: 'root', password: 'wrong' }).get(`${own}/jobs`),
  async too_many_attempts() {
    const person = { user: 'anna', password: 'a long password' };
    await box.api.expect(201, 'POST', 'account/users/', {
      ...{ bsdusr_username: person.user, bsdusr_full_name: 'Anna', bsdusr_password: person.password },
      bsdusr_creategroup: true,
    });
    await box.api.expect(201, 'POST', `${own}/people`, { account: person.user, role: 'read-only' });
    const api = new Api(box.api.url, person);
    const { secret } = await api.expect(201, 'POST', `${own}/people/current/factor`);
    const key = fromBase32(String(secret));
    await api.expect(200, 'PUT', `${own}/people/current/factor`, { code: codeOf(key, periodOf(Date.now())) });
    const login = (code: string) => api.send('POST', `${own}/sessions`, undefined, { 'x-holdfast-code': code });
    for (let count = 0; count < 5; count += 1) assert.equal((await login(`00000${count}`)).status, 401);
    return login('000005');
  },
  async forbidden() {
    const { key } = await box.api.expect(201, 'POST', `${own}/keys`, { name: 'reader', role: 'read-only' });
    return send('POST', 'tasks/cronjob/', {}, { authorization: `Bearer ${String(key)}` });
  },
  cross_site: () => send('POST', 'tasks/cronjob/', {}, { origin: 'https://example.com' }),
  wrong_host: () => withHost('example.com'),
  refused: () => send('DELETE', 'storage/dataset/tank/'),
  busy: () => busyDataset(),
  async locked() {
    await box.api.expect(201, 'POST', `${own}/encryption/create`, {
      dataset: 'tank/secret',
      passphrase: 'correct horse',
    });
    await box.api.expect(200, 'POST', `${own}/encryption/lock`, { dataset: 'tank/secret' });
    return send('POST', `${own}/encryption/create`, { dataset: 'tank/secret/more' });
  },
  async unconfirmed() {
    await box.api.expect(201, 'POST', 'tasks/cronjob/?confirm_within=600', { cron_user: 'root', cron_command: 'one' });
    // Without the header, the second request would confirm the change of the first.
    const headers = { 'x-holdfast-confirm': 'no' };
    return send('POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'two' }, headers);
  },
  async conflict() {
    await box.api.expect(200, 'PUT', 'services/tftp/', { tftp_options: '-v' });
    const [first] = await box.api.list(`${own}/revisions?limit=1`);
    await box.api.expect(200, 'PUT', 'services/tftp/', { tftp_options: '-4' });
    return send('POST', `${own}/revisions/${String(first?.['number'])}/revert`);
  },
  changed: () => send('PUT', 'services/ftp/', { ftp_banner: 'hello' }, { 'if-match': '"another"' }),
  async key_reused() {
    const headers = { 'idempotency-key': 'once' };
    assert.equal((await send('PUT', 'services/ftp/', { ftp_banner: 'a' }, headers)).status, 200);
    return send('PUT', 'services/ftp/', { ftp_banner: 'b' }, headers);
  },
  async failed() {
    answers.set('zfs.createDataset', () => Promise.reject(new HostError('out of luck')));
    return send('POST', 'storage/volume/tank/datasets/', { name: 'a' });
  },
  starting: () => whileStarting(),
  unavailable: () => onFullDisk(),
  overloaded: () => send('POST', 'tasks/cronjob/', 'x'.repeat(500_000)),
  async unexpected() {
    answers.set('zfs.createDataset', () => Promise.reject(new TypeError('a defect')));
    return send('POST', 'storage/volume/tank/datasets/', { name: 'b' });
  },
};

for (const code of Object.keys(errorCodes))
  test(`the code ${code} is produced, as it is described`, async () => {
    const produce = Object.entries(producers).find(([name]) => name === code)?.[1];
    assert.ok(produce, 'no statement produces it');
    answers.clear();
    const answer = await produce();
    answers.clear();
    assert.equal(answer.headers.get('content-type'), 'application/problem+json', answer.text);
    const body = answer.json;
    assert.ok(isObject(body));
    assert.deepEqual([body['code'], body['status']], [code, answer.status], answer.text);
    assert.equal(body['type'], `urn:holdfast:problem:${code}`);
    const schema = at(description, 'components', 'schemas', 'ErrorAnswer');
    assert.ok(isObject(schema));
    assert.equal(checker(description, JSON.parse(JSON.stringify(schema)), 'closed')(body), undefined, answer.text);
    assert.match(String(at(schema, 'description')), new RegExp(`\`${code}\``));
    // A GET that is named as a help is answered.
    const help = body['help'];
    if (isObject(help) && help['method'] === 'GET' && code !== 'starting')
      assert.equal((await box.api.get(String(help['path']))).status, 200, answer.text);
  });

test('an error says what helps: the fields, the list, the record, the time to wait', async () => {
  const read = async (answer: Promise<ApiAnswer>) => {
    const { json } = await answer;
    assert.ok(isObject(json));
    return json;
  };
  assert.deepEqual((await read(producers.invalid()))['fields'], { name: ['This field is required.'] });
  assert.deepEqual((await read(producers.not_found()))['help'], { method: 'GET', path: '/api/v1.0/storage/volume/' });
  assert.deepEqual((await read(send('GET', `${own}/jobs/999999`)))['help'], { method: 'GET', path: `${own}/jobs` });
  const changed = await read(producers.changed());
  assert.deepEqual(changed['record'], (await box.api.get('services/ftp/')).json);
  assert.deepEqual((await read(producers.wrong_method()))['methods'], ['GET']);
});

test('without naming the type, the document is answered as before', async () => {
  for (const accept of ['*/*', 'application/json', '']) {
    const answer = await box.api.send('DELETE', 'storage/dataset/tank/', undefined, { accept });
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [400, 'application/json'], accept);
    assert.equal(typeof answer.json, 'string');
  }
});

test('busy names the records, clones, holds, sessions and processes that use it', async () => {
  const { json } = await busyDataset();
  assert.deepEqual(at(json, 'holders'), [
    { kind: 'record', title: 'CIFS share "media"', name: 'sharing/cifs/1' },
    { kind: 'clone', title: 'clone of tank/media@monday', name: 'tank/copy' },
    { kind: 'hold', title: 'hold "backup"', name: 'tank/media@monday' },
    { kind: 'process', title: 'rsync', name: '4711' },
  ]);
  assert.match(String(at(json, 'detail')), /busy\. On it: CIFS share/);
});

test('processes are found by what they have open, and holds are read with their tags', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-open-'));
  const file = await open(join(folder, 'file'), 'w');
  try {
    const found = await processesUsing([folder]);
    assert.deepEqual(
      found.map(({ id }) => id),
      [process.pid],
    );
    assert.deepEqual(await processesUsing([`${folder}/fil`]), []);
    assert.deepEqual(await processesUsing([]), []);
  } finally {
    await file.close();
    await rm(folder, { recursive: true });
  }
  assert.deepEqual(
    readHolds('tank/a@one\tbackup\tMon Nov 23 14:00 2026\ntank/a@one\tother one\tMon Nov 23 14:00 2026\n'),
    [
      { snapshot: 'tank/a@one', tag: 'backup' },
      { snapshot: 'tank/a@one', tag: 'other one' },
    ],
  );
});

/** A dataset that ZFS does not destroy, with all that can use it. */
async function busyDataset(): Promise<ApiAnswer> {
  if ((await box.api.get('storage/dataset/tank/copy/')).status === 404) {
    await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/media', name: 'monday' });
    await box.api.expect(202, 'POST', 'storage/snapshot/tank/media@monday/clone/', { name: 'tank/copy' });
  }
  answers.set('zfs.destroyDataset', () =>
    Promise.reject(new HostError("cannot destroy 'tank/media': dataset is busy")),
  );
  answers.set('zfs.holds', () => Promise.resolve([{ snapshot: 'tank/media@monday', tag: 'backup' }]));
  answers.set('machine.processesUsing', () => Promise.resolve([{ id: 4711, name: 'rsync' }]));
  try {
    return await send('DELETE', 'storage/dataset/tank/media/');
  } finally {
    answers.clear();
  }
}

/** fetch does not let its caller set Host. */
function withHost(host: string): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${box.api.url}/api/v1.0/`, { headers: { ...problem, host } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => {
        const headers = new Headers({ 'content-type': answer.headers['content-type'] ?? '' });
        const json: unknown = JSON.parse(text);
        resolve({ status: answer.statusCode ?? 0, headers, text, json });
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** A change before the daemon has read the machine. */
async function whileStarting(): Promise<ApiAnswer> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-starting-'));
  const app = await openApp({
    host: await openVirtualHost({ programs, folder: join(folder, 'virtual'), disks: [GiB], now: Date.now }),
    store: Store.open(folder),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    ...{ now: Date.now, profile: 'document', version: 'test', rootPassword },
  });
  try {
    const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
    return await new Api(url, { user: 'root', password: rootPassword }).send('POST', 'tasks/cronjob/', {}, problem);
  } finally {
    await app.close();
    await rm(folder, { recursive: true });
  }
}

/** A change while the disk of the state is full. The daemon runs in the name space of that disk. */
async function onFullDisk(): Promise<ApiAnswer> {
  await using state = await stateFolder();
  await using disk = await smallDisk(state.path, 24);
  const daemon = await startDaemon(state.path, disk.within);
  try {
    await disk.fill();
    return await daemon.api.send('POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' }, problem);
  } finally {
    await daemon.end('SIGKILL');
  }
}
