import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isKeptResource } from '../../src/engine/engine.ts';
import { isObject } from '../../src/lib/json.ts';
import { Api } from '../support/api.ts';
import { type Appliance, appliance, GiB } from '../support/appliance.ts';

const root = '/api/holdfast/v1';
let box: Appliance;

before(async () => {
  box = await appliance({ disks: Array<number>(8).fill(2 * GiB) });
  await box.api.expect(201, 'POST', 'storage/volume/', {
    ...{ volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ada0'] }] },
  });
});

after(() => box?.[Symbol.asyncDispose]());

interface Request_ {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly name?: string;
  readonly if_match?: string;
}

const transact = (requests: readonly Request_[], query = '', api = box.api) =>
  api.post(`${root}/transactions${query}`, { requests });
const revisions = async () => (await box.api.list(`${root}/revisions?limit=1000`)).length;
const configuration = () =>
  JSON.stringify(
    box.engine.resources.filter(isKeptResource).map((one) => [one.path, [...box.engine.table(one).all()]]),
  );
const datasets = async () => (await box.host.zfs.datasets()).map(({ name }) => name).toSorted();
const entries = (value: unknown) => (Array.isArray(value) ? value.filter(isObject) : []);
const problemsOf = (value: unknown) => entries(isObject(value) ? value['problems'] : undefined);

const layout = (disk: string) => [{ vdevtype: 'stripe', disks: [disk] }];
const provision = (name: string): readonly Request_[] => [
  { method: 'POST', path: 'storage/volume/tank/datasets/', body: { name }, name: 'place' },
  {
    ...{ method: 'POST', path: 'sharing/nfs/', name: 'share' },
    body: { nfs_paths: [{ $ref: 'place.mountpoint' }], nfs_comment: name },
  },
  { method: 'PUT', path: 'sharing/nfs/{share.id}/', body: { nfs_comment: `the share of ${name}` } },
];

test('a dataset and its share are one change, with results of earlier requests in later ones', async () => {
  const before = await revisions();
  const answer = await transact(provision('media'));
  assert.equal(answer.status, 200, answer.text);
  const [dataset, share, changed] = entries(answer.json);
  assert.deepEqual([dataset?.['status'], share?.['status'], changed?.['status']], [201, 201, 200]);
  assert.ok(isObject(changed?.['body']));
  assert.deepEqual(changed['body'], await box.api.expect(200, 'GET', `sharing/nfs/${Number(changed['body']['id'])}/`));
  assert.equal(changed['body']['nfs_comment'], 'the share of media');
  assert.deepEqual(changed['body']['nfs_paths'], ['/mnt/tank/media']);
  assert.ok((await datasets()).includes('tank/media'));
  assert.equal(await revisions(), before + 1);
});

test('a plan shows the steps of all of them, and changes nothing', async () => {
  const before = [configuration(), await datasets()];
  const request = { requests: provision('planned') };
  const own = await transact(provision('planned'), '?plan=1');
  const other = await box.api.post(`${root}/plan`, { method: 'POST', path: `${root}/transactions`, body: request });
  assert.equal(own.status, 200, own.text);
  assert.deepEqual(own.json, other.json);
  assert.ok(Array.isArray(own.json) && own.json.includes('create the dataset tank/planned'));
  assert.ok(
    own.json.some((step) => /exports/.test(String(step))),
    own.text,
  );
  assert.deepEqual([configuration(), await datasets()], before);
});

test('a pool, a dataset on it and a share of that come together, with the GUID that ZFS gave the pool', async () => {
  const answer = await transact([
    { method: 'POST', path: 'storage/volume/', body: { volume_name: 'dock', layout: layout('ada1') }, name: 'volume' },
    { method: 'POST', path: 'storage/volume/{volume.id}/datasets/', body: { name: 'a' } },
    { method: 'POST', path: 'sharing/cifs/', body: { cifs_name: 'a', cifs_path: '/mnt/dock/a' } },
  ]);
  assert.equal(answer.status, 200, answer.text);
  const [volume] = (await box.api.list('storage/volume/')).filter((one) => one['vol_name'] === 'dock');
  const [pool] = await box.host.zfs.pools(['dock']);
  assert.equal(volume?.['vol_guid'], pool?.guid);
  assert.deepEqual(entries(answer.json)[0]?.['body'], volume);
  const [revision] = await box.api.list(`${root}/revisions?limit=1`);
  assert.ok(JSON.stringify(revision).includes(String(pool?.guid)), 'the revision has the GUID');
  const other = await box.restart();
  box = other;
  assert.equal(
    (await box.api.list('storage/volume/')).find((one) => one['vol_name'] === 'dock')?.['id'],
    volume?.['id'],
  );
});

test('all problems of all requests are answered, each with its index, and nothing is changed', async () => {
  const before = [configuration(), await datasets(), await revisions()];
  const answer = await transact([
    { method: 'POST', path: 'tasks/cronjob/', body: { cron_user: 'nobody-at-all', cron_command: 'true' }, name: 'job' },
    { method: 'POST', path: 'storage/volume/tank/datasets/', body: { name: 'kept' } },
    { method: 'PUT', path: 'tasks/cronjob/{job.id}/', body: { cron_description: 'follows the refused one' } },
    { method: 'POST', path: 'sharing/nfs/', body: { nfs_paths: ['/mnt/nowhere/x'] } },
    { method: 'DELETE', path: 'sharing/nfs/999/' },
    { method: 'POST', path: 'sharing/nfs/', body: { nfs_comment: { $ref: 'nothing.id' } } },
    { method: 'POST', path: 'no/such/', body: {} },
  ]);
  assert.equal(answer.status, 409);
  assert.deepEqual(
    problemsOf(answer.json).map(({ index, status }) => [index, status]),
    [
      [0, 409],
      [3, 409],
      [4, 404],
      [5, 400],
      [6, 400],
    ],
  );
  assert.ok(answer.text.includes('cron_user') && answer.text.includes('nfs_paths'));
  assert.deepEqual([configuration(), await datasets(), await revisions()], before);
});

test('rules between records are judged for the whole: two services can exchange their ports', async () => {
  await box.api.expect(200, 'PUT', 'services/ssh/', { ssh_tcpport: 2222 });
  await box.api.expect(200, 'PUT', 'services/ftp/', { ftp_port: 2121 });
  for (const service of ['ssh', 'ftp'])
    await box.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable: true });
  const exchange = (ssh: number, ftp: number) =>
    transact([
      { method: 'PUT', path: 'services/ssh/', body: { ssh_tcpport: ssh } },
      { method: 'PUT', path: 'services/ftp/', body: { ftp_port: ftp } },
    ]);
  const both = await exchange(2121, 2222);
  assert.equal(both.status, 200, both.text);
  assert.equal((await box.api.expect(200, 'GET', 'services/ssh/'))['ssh_tcpport'], 2121);
  const clash = await exchange(2300, 2300);
  assert.equal(clash.status, 409, clash.text);
  assert.deepEqual(
    problemsOf(clash.json).map(({ index }) => index),
    [1],
  );
});

test('steps that cannot be taken back come last, and belong to one request', async () => {
  for (const name of ['one', 'two']) await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  const remove = (name: string) => ({ method: 'DELETE', path: `storage/volume/tank/datasets/${name}/` });
  const create = { method: 'POST', path: 'storage/volume/tank/datasets/', body: { name: 'three' } };
  const before = await datasets();
  const two = await transact([remove('one'), remove('two')]);
  assert.equal(two.status, 400);
  assert.match(two.text, /cannot be taken back/);
  assert.deepEqual(await datasets(), before);
  const steps = await transact([remove('one'), create], '?plan=1');
  assert.equal(steps.status, 200, steps.text);
  const one = await transact([remove('one'), create]);
  assert.equal(one.status, 200, one.text);
  assert.deepEqual(await datasets(), [...before.filter((name) => name !== 'tank/one'), 'tank/three'].toSorted());
});

test('a record that was changed meanwhile is not overwritten', async () => {
  const read = await box.api.get('services/snmp/');
  await box.api.expect(200, 'PUT', 'services/snmp/', { snmp_location: 'elsewhere' });
  const answer = await transact([
    { method: 'POST', path: 'tasks/cronjob/', body: { cron_user: 'root', cron_command: 'true' } },
    {
      method: 'PUT',
      path: 'services/snmp/',
      body: { snmp_location: 'here' },
      if_match: read.headers.get('etag') ?? '',
    },
  ]);
  assert.equal(answer.status, 409);
  assert.deepEqual(
    problemsOf(answer.json).map(({ index, status }) => [index, status]),
    [[1, 412]],
  );
});

test('transactions beside one another refer to their own records', async () => {
  const pair = (name: string) => [
    { method: 'POST', path: 'account/groups/', body: { bsdgrp_group: name }, name: 'group' },
    {
      ...{ method: 'POST', path: 'account/users/' },
      body: {
        ...{ bsdusr_username: name, bsdusr_full_name: name, bsdusr_password: 'plain as day' },
        bsdusr_group: { $ref: 'group.id' },
      },
    },
  ];
  const names = Array.from({ length: 12 }, (_, index) => `pair${index}`);
  const answers = await Promise.all([
    ...names.map((name) => transact(pair(name))),
    ...names.map((name) => box.api.post('account/groups/', { bsdgrp_group: `alone${name}` })),
  ]);
  for (const { status, text } of answers) assert.ok(status < 300, text);
  const groups = await box.api.list('account/groups/?limit=0');
  for (const user of await box.api.list('account/users/?limit=0'))
    if (names.includes(String(user['bsdusr_username'])))
      assert.equal(groups.find(({ id }) => id === user['bsdusr_group'])?.['bsdgrp_group'], user['bsdusr_username']);
});

describe('a key', () => {
  const key = async (body: { readonly name: string; readonly [member: string]: unknown }) => {
    const { key } = await box.api.expect(201, 'POST', `${root}/keys`, body);
    return new Api(box.api.url, { user: body.name, password: String(key) });
  };

  test('needs the permission for each request', async () => {
    const api = await key({
      name: 'sharer',
      permissions: [{ resources: ['holdfast/transactions', 'sharing/**'], verbs: ['*'] }],
    });
    const before = await datasets();
    const answer = await transact(provision('forbidden'), '', api);
    assert.equal(answer.status, 409, answer.text);
    assert.deepEqual(
      problemsOf(answer.json).map(({ index, status }) => [index, status]),
      [[0, 403]],
    );
    assert.deepEqual(await datasets(), before);
  });

  test('that is confined to a dataset stays there, and does no single steps', async () => {
    await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'k' });
    const api = await key({
      ...{ name: 'confined', dataset: 'tank/k' },
      permissions: [{ resources: ['holdfast/transactions', 'sharing/**', 'storage/**'], verbs: ['*'] }],
    });
    const at = (parent: string, name: string) => [
      { method: 'POST', path: `storage/dataset/${parent}/`, body: { name }, name: 'place' },
      { method: 'POST', path: 'sharing/nfs/', body: { nfs_paths: [{ $ref: 'place.mountpoint' }] } },
    ];
    const own = await transact(at('tank/k', 'own'), '', api);
    assert.equal(own.status, 200, own.text);
    const outside = await transact(at('tank', 'outside'), '', api);
    assert.equal(outside.status, 409, outside.text);
    assert.ok(!(await datasets()).includes('tank/outside'));
  });
});

test('an Idempotency-Key carries a transaction out once', async () => {
  const headers = { 'idempotency-key': 'transaction-1' };
  const body = { requests: provision('once') };
  const first = await box.api.send('POST', `${root}/transactions`, body, headers);
  const again = await box.api.send('POST', `${root}/transactions`, body, headers);
  assert.equal(first.status, 200, first.text);
  assert.equal(again.text, first.text);
});

test('a dataset, its share and a key for them come together, and none of them if one is refused', async () => {
  const parts = (role: string): readonly Request_[] => [
    { method: 'POST', path: 'storage/volume/tank/datasets/', body: { name: 'tenant' }, name: 'place' },
    { method: 'POST', path: 'sharing/nfs/', body: { nfs_paths: [{ $ref: 'place.mountpoint' }] } },
    {
      ...{ method: 'POST', path: `${root}/keys`, name: 'key' },
      body: { name: 'tenant', role, dataset: { $ref: 'place.name' } },
    },
    { method: 'PUT', path: `${root}/keys/{key.id}`, body: { addresses: ['127.0.0.1'] } },
  ];
  const before = [configuration(), await datasets(), await revisions()];
  const refused = await transact(parts('no such role'));
  assert.equal(refused.status, 409);
  assert.deepEqual(
    problemsOf(refused.json).map(({ index, status }) => [index, status]),
    [[2, 400]],
  );
  assert.deepEqual([configuration(), await datasets(), await revisions()], before);
  const answer = await transact(parts('provisioner'));
  assert.equal(answer.status, 200, answer.text);
  const [, , key, changed] = entries(answer.json).map(({ body }) => (isObject(body) ? body : {}));
  assert.deepEqual(changed?.['addresses'], ['127.0.0.1']);
  const api = new Api(box.api.url, { user: 'tenant', password: String(key?.['key']) });
  await api.expect(201, 'POST', 'storage/dataset/tank/tenant/', { name: 'inside' });
  assert.equal((await api.post('storage/dataset/tank/', { name: 'outside' })).status, 403);
  const [revision] = await box.api.list(`${root}/revisions?limit=1&filter=title~transaction`);
  assert.ok(!JSON.stringify(revision).includes(String(key?.['key'])));
});

test('a key needs its rights for requests of our own interface in a transaction, and if_match is refused', async () => {
  const permissions = [{ resources: ['holdfast/transactions', 'sharing/nfs'], verbs: ['*'] }];
  const made = await box.api.expect(201, 'POST', `${root}/keys`, { name: 'limited', permissions });
  const api = new Api(box.api.url, { user: 'limited', password: String(made['key']) });
  const create = { method: 'POST', path: `${root}/keys`, body: { name: 'stronger', role: 'administrator' } };
  const answer = await transact([create], '', api);
  assert.deepEqual([answer.status, problemsOf(answer.json).map(({ status }) => status)], [409, [403]]);
  const tagged = await transact([{ ...create, if_match: '"a"' }]);
  assert.match(tagged.text, /if_match is for records of \/api\/v1\.0\//);
});
