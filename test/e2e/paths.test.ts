import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { rawSend } from '../support/raw.ts';

let box: Appliance;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

const raw = (request: Parameters<typeof rawSend>[1]) => rawSend(box.api.url, request);
const statusOf = async (path: string, method = 'GET') => Number((await raw({ method, path })).status.split(' ')[1]);
const job = (description: string) => ({ cron_user: 'root', cron_command: 'true', cron_description: description });

test('H5: slashes are collapsed wherever they are repeated', async () => {
  for (const path of [
    '//api/v1.0/services/ftp/',
    '///api//v1.0//services//ftp',
    '/api/v1.0//services/ftp/',
    '/api//v1.0/services/ftp//',
    '/api/v1.0/services/services//ftp//',
    '/api/v1.0/storage//volume//tank//status//',
  ]) {
    assert.equal(await statusOf(path), 200, path);
  }
});

test('H6: the slash at the end may be missing, for every method, and nothing is redirected', async () => {
  const made = await raw({
    method: 'POST',
    path: '/api/v1.0/tasks/cronjob',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(job('H6')),
  });
  assert.match(made.status, / 201 /);
  const address = (made.headers.get('location') ?? '').replace(/\/$/, '');
  assert.equal(await statusOf(address), 200);
  assert.equal(await statusOf(`${address}?format=json`), 200);
  assert.equal((await box.api.put(address, { cron_enabled: false })).status, 200);
  assert.equal(await statusOf(`${address}/run`, 'POST'), 202);
  assert.equal(await statusOf(address, 'DELETE'), 204);
  assert.equal(await statusOf(address), 404);
});

test('H8: datasets are found with slashes raw and encoded, in both families of paths', async () => {
  await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'a' });
  await box.api.expect(201, 'POST', 'storage/dataset/tank/a/', { name: 'b' });
  await box.api.expect(201, 'POST', 'storage/dataset/tank%2Fa/b/', { name: 'c d' });
  for (const path of [
    '/api/v1.0/storage/dataset/tank/a/b/c%20d/',
    '/api/v1.0/storage/dataset/tank%2Fa%2Fb%2Fc%20d/',
    '/api/v1.0/storage/dataset/tank%2fa/b%2fc%20d',
    '/api/v1.0/storage/volume/tank/datasets/a/b/c%20d/',
    '/api/v1.0/storage/volume/1/datasets/a%2Fb%2Fc%20d',
    '/api/v1.0/%73torage/dataset/tank/a/b/c%20d/',
  ]) {
    assert.equal(await statusOf(path), 200, path);
  }
});

test('names in paths are decoded before they are looked up', async () => {
  assert.equal(await statusOf('/api/v1.0/storage/disk/%7Bserial%7DVIRT0001/'), 200);
  assert.equal(await statusOf('/api/v1.0/storage/disk/{serial}VIRT0001/'), 200);
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'a.b_c-d',
    layout: [{ vdevtype: 'stripe', disks: ['ada1'] }],
  });
  assert.equal(await statusOf('/api/v1.0/storage/volume/a%2Eb_c-d/'), 200);
  assert.equal(await statusOf('/api/v1.0/storage/dataset/tank%40none/'), 404);
});

test('a path that cannot be decoded is a 404 or a 400, never a fault', async () => {
  for (const path of [
    '/api/v1.0/%zz/',
    '/api/v1.0/tasks/cronjob/%',
    '/api/v1.0/tasks/cronjob/%ff%fe/',
    '/api/v1.0/tasks/cronjob/%00/',
  ]) {
    assert.ok([400, 404].includes(await statusOf(path)), `${path}: ${await statusOf(path)}`);
  }
});

test('H14: other versions of the interface are a 404, with nothing said elsewhere', async () => {
  for (const path of [
    '/api/v2.0/',
    '/api/v2.0/system/info',
    '/api/v1.1/services/ftp/',
    '/api/v1.0x/',
    '/api/',
    '/',
    '/storage/volume/',
  ]) {
    const answer = await raw({ path });
    assert.match(answer.status, / 404 /, path);
    assert.equal(answer.headers.get('location'), undefined);
  }
});

test('the index names every resource with its address', async () => {
  const { status, json } = await box.api.get('');
  assert.equal(status, 200);
  const addresses = Object.values(isObject(json) ? json : {}).map((one) =>
    isObject(one) ? String(one['list_endpoint']) : '',
  );
  assert.ok(addresses.includes('/api/v1.0/tasks/cronjob/'));
  for (const address of addresses) assert.equal(await statusOf(address), 200, address);
});

test('B1: every list has its records under their own addresses', async () => {
  await box.api.expect(201, 'POST', 'tasks/cronjob/', job('B1'));
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/B1' });
  for (const path of [
    'tasks/cronjob/',
    'sharing/cifs/',
    'services/services/',
    'account/users/',
    'account/groups/',
    'storage/volume/',
  ]) {
    const [first] = await box.api.list(path);
    assert.equal((await box.api.get(`${path}${first?.['id']}/`)).text, JSON.stringify(first), path);
    assert.equal((await box.api.get(`${path}99999/`)).status, 404, path);
  }
  const [disk] = await box.api.list('storage/disk/');
  assert.deepEqual((await box.api.get(`storage/disk/${disk?.['disk_identifier']}/`)).json, disk);
});

test('B1: services and volumes are found by name and by id', async () => {
  const ssh = await box.api.expect(200, 'GET', 'services/services/ssh/');
  assert.deepEqual(await box.api.expect(200, 'GET', `services/services/${ssh['id']}/`), ssh);
  assert.deepEqual(
    await box.api.expect(200, 'GET', 'storage/volume/tank/'),
    await box.api.expect(200, 'GET', 'storage/volume/1/'),
  );
  assert.equal((await box.api.get('services/services/telnet/')).status, 404);
  assert.equal((await box.api.put('services/services/telnet/', { srv_enable: true })).status, 404);
});

test('B2: a dataset is read, changed and destroyed at its own path', async () => {
  await box.api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'B2' });
  assert.equal((await box.api.expect(200, 'PUT', 'storage/dataset/tank/B2/', { atime: 'off' }))['atime'], 'off');
  assert.equal((await box.api.expect(200, 'GET', 'storage/dataset/tank/B2/'))['atime'], 'off');
  assert.equal((await box.api.delete('storage/dataset/tank/B2/')).status, 204);
  assert.equal((await box.api.get('storage/dataset/tank/B2/')).status, 404);
});

test('B12: a singleton answers under any id, and it is the same one', async () => {
  const ftp = (await box.api.get('services/ftp/')).text;
  for (const id of ['1', '7']) assert.equal((await box.api.get(`services/ftp/${id}/`)).text, ftp);
  assert.equal((await box.api.expect(200, 'PUT', 'services/ftp/1/', { ftp_banner: 'B12' }))['ftp_banner'], 'B12');
  assert.equal((await box.api.expect(200, 'GET', 'services/ftp/'))['ftp_banner'], 'B12');
});

const allowed: readonly (readonly [path: string, methods: string])[] = [
  ['tasks/cronjob/', 'GET,POST,DELETE'],
  ['tasks/cronjob/1/', 'GET,PUT,DELETE'],
  ['tasks/cronjob/1/run/', 'POST'],
  ['sharing/cifs/', 'GET,POST,DELETE'],
  ['services/services/', 'GET'],
  ['services/services/ftp/', 'GET,PUT'],
  ['services/ftp/', 'GET,PUT'],
  ['services/ftp/1/', 'GET,PUT'],
  ['account/users/1/password/', 'POST'],
  ['account/users/1/groups/', 'GET,POST'],
  ['storage/volume/', 'GET,POST'],
  ['storage/volume/tank/', 'GET,DELETE'],
  ['storage/volume/tank/status/', 'GET'],
  ['storage/volume/tank/scrub/', 'POST,DELETE'],
  ['storage/volume/tank/datasets/', 'GET,POST'],
  ['storage/volume/tank/datasets/a/', 'GET,PUT,DELETE'],
  ['storage/dataset/', 'GET,POST'],
  ['storage/dataset/tank/a/', 'GET,PUT,DELETE,POST'],
];

for (const [path, methods] of allowed) {
  test(`${path} allows ${methods}, says so to OPTIONS, and answers every other method 405`, async () => {
    const options = await raw({ method: 'OPTIONS', path: `/api/v1.0/${path}` });
    assert.deepEqual([options.status, options.headers.get('allow')], ['HTTP/1.1 200 OK', methods]);
    assert.equal(options.body.toUpperCase(), methods);
    const words = methods.split(',');
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE'].filter((one) => !words.includes(one))) {
      const answer = await raw({ method, path: `/api/v1.0/${path}` });
      assert.deepEqual(
        [answer.status, answer.headers.get('allow')],
        ['HTTP/1.1 405 Method Not Allowed', methods],
        method,
      );
    }
  });
}

test('the credential is asked for before a wrong method is told, and a wrong method before the body is looked at', async () => {
  assert.match((await raw({ method: 'POST', path: '/api/v1.0/services/ftp/', stranger: true })).status, / 401 /);
  assert.match((await raw({ method: 'POST', path: '/api/v1.0/services/ftp/', body: '{bad' })).status, / 405 /);
  const body = '{bad';
  const headers = { 'content-type': 'application/json' };
  assert.match(
    (await raw({ method: 'PUT', path: '/api/v1.0/services/ftp/', stranger: true, headers, body })).status,
    / 401 /,
  );
  assert.match((await raw({ method: 'PUT', path: '/api/v1.0/services/ftp/', headers, body })).status, / 400 /);
  assert.match(
    (await raw({ method: 'PUT', path: '/api/v1.0/services/ftp/', headers, body: '{"ftp_port":0}' })).status,
    / 409 /,
  );
});

test('strangers do not learn which addresses there are', async () => {
  for (const path of [
    '/',
    '/nowhere',
    '/api/v1.0/',
    '/api/v1.0/no/such/',
    '/api/v2.0/',
    '/metrics',
    '/openapi.json',
    '/api/holdfast/v1/jobs',
    '/api/holdfast/v1/none',
  ]) {
    assert.match((await raw({ path, stranger: true })).status, / 401 /, path);
  }
  assert.match((await raw({ method: 'OPTIONS', path: '/api/v1.0/services/ftp/', stranger: true })).status, / 401 /);
});

test('X-HTTP-Method-Override is the method, when it is one', async () => {
  const { id } = await box.api.expect(201, 'POST', 'tasks/cronjob/', job('override'));
  const override = (method: string, path: string, body?: unknown) =>
    box.api.send('POST', path, body, { 'x-http-method-override': method });
  assert.equal((await override('PUT', `tasks/cronjob/${id}/`, { cron_enabled: false })).status, 200);
  assert.equal((await override('get', `tasks/cronjob/${id}/`)).status, 200);
  assert.equal((await override('BREW', `tasks/cronjob/${id}/`)).status, 405);
  assert.equal((await override('DELETE', `tasks/cronjob/${id}/`)).status, 204);
  assert.equal((await box.api.get(`tasks/cronjob/${id}/`)).status, 404);
});

test('what lies beyond the document is found with and without a slash at its end', async () => {
  for (const path of [
    '/api/holdfast/v1/jobs',
    '/api/holdfast/v1/jobs/',
    '/api/holdfast/v1/drift/',
    '/api/holdfast/v1/revisions/',
  ])
    assert.equal(await statusOf(path), 200, path);
  const plan = { method: 'POST', path: 'tasks/cronjob/', body: job('planned') };
  for (const path of ['/api/holdfast/v1/plan', '/api/holdfast/v1/plan/'])
    assert.equal((await box.api.post(path, plan)).status, 200, path);
});
