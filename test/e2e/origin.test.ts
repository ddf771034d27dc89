import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';
import { rawBytes, rawSend, rootCredential } from '../support/raw.ts';

let box: Appliance;

before(async () => {
  box = await appliance({ names: ['proxy.example.com'] });
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0', 'ada1'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

const statusOf = async (request: Parameters<typeof rawSend>[1]) =>
  Number((await rawSend(box.api.url, request)).status.split(' ')[1]);
const json = { 'content-type': 'application/json' };
const evil = { origin: 'http://evil.example' };
const mary = JSON.stringify({
  bsdusr_username: 'mary',
  bsdusr_full_name: 'Mary',
  bsdusr_password: 'of the page',
  bsdusr_creategroup: true,
  bsdusr_sudo: true,
});

test('what a page of another server can make a browser send changes nothing', async () => {
  const revisions = (await box.api.get('/api/holdfast/v1/revisions?limit=1')).text;
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const attempts = [
    // A plain form, by an old browser and by one that says where it comes from.
    { method: 'POST', path: '/api/v1.0/system/config/factory_restore/', headers: { ...form, ...evil }, body: 'a=b' },
    {
      method: 'POST',
      path: '/api/v1.0/system/config/factory_restore/',
      headers: { ...form, ...evil, 'sec-fetch-site': 'cross-site' },
      body: '',
    },
    { method: 'POST', path: '/api/v1.0/system/shutdown/', headers: { 'sec-fetch-site': 'same-site' } },
    // A script that sends a body without a type.
    {
      method: 'POST',
      path: '/api/v1.0/account/users/',
      headers: { ...evil, 'sec-fetch-site': 'cross-site' },
      body: mary,
    },
    { method: 'POST', path: '/api/v1.0/account/users/', headers: { origin: 'null' }, body: mary },
    { method: 'POST', path: '/api/holdfast/v1/tokens/', headers: evil },
    { method: 'GET', path: '/api/v1.0/tasks/cronjob/', headers: { ...evil, 'x-http-method-override': 'DELETE' } },
    { method: 'DELETE', path: '/api/v1.0/storage/volume/tank/', headers: evil },
    { method: 'PATCH', path: '/api/v1.0/services/ftp/', headers: evil },
  ];
  for (const attempt of attempts) {
    const answer = await rawSend(box.api.url, attempt);
    assert.match(answer.status, / 403 /, `${attempt.method} ${attempt.path}`);
    assert.match(
      answer.body,
      /"(?:error|detail)":"Expected a page of this machine or a program as the sender of a change, got /,
    );
  }
  assert.equal((await box.api.get('/api/holdfast/v1/revisions?limit=1')).text, revisions);
});

test('a form without any header that tells its origin starts no action', async () => {
  const revisions = (await box.api.get('/api/holdfast/v1/revisions?limit=1')).text;
  for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain']) {
    for (const path of [
      '/api/v1.0/system/config/factory_restore/',
      '/api/v1.0/storage/volume/tank/scrub/',
      '/api/holdfast/v1/tokens/',
    ]) {
      const answer = await rawSend(box.api.url, {
        method: 'POST',
        path,
        headers: { 'content-type': type },
        body: 'a=b',
      });
      assert.match(answer.status, / 400 /, `${type} to ${path}`);
      assert.match(answer.body, /"(?:error_message|detail)":"Expected a body of type application\/json, got /);
    }
  }
  assert.equal((await box.api.get('/api/holdfast/v1/revisions?limit=1')).text, revisions);
});

test('a GET that dismisses an alert is a change, other GETs are not', async () => {
  // Many wrong logins are an alert.
  for (let count = 0; count < 25; count += 1)
    await statusOf({ path: '/healthz', headers: { authorization: `Basic ${btoa(`root:wrong ${count}`)}` } });
  const [alert] = await box.api.list('system/alert/');
  const path = `/api/v1.0/system/alert/${alert?.['id']}/dismiss/`;
  for (const method of ['GET', 'HEAD'])
    assert.equal(await statusOf({ method, path, headers: { 'sec-fetch-site': 'cross-site' } }), 403, method);
  assert.equal((await box.api.list('system/alert/'))[0]?.['dismissed'], false);
  assert.equal(await statusOf({ path: '/api/v1.0/system/alert/', headers: { 'sec-fetch-site': 'cross-site' } }), 200);
  assert.equal(await statusOf({ path: '/docs', headers: { 'sec-fetch-site': 'cross-site' } }), 200);
  assert.equal(await statusOf({ path, headers: { 'sec-fetch-site': 'same-origin' } }), 202);
});

test('the page of this machine, a proxy that was named and programs notice nothing', async () => {
  const job = JSON.stringify({ cron_user: 'root', cron_command: 'true' });
  const own = new URL(box.api.url).host;
  for (const headers of [
    { host: own, origin: box.api.url, 'sec-fetch-site': 'same-origin' },
    { host: own, 'sec-fetch-site': 'none' },
    { host: 'proxy.example.com', origin: 'https://proxy.example.com', 'sec-fetch-site': 'same-origin' },
    { host: own, origin: 'https://proxy.example.com' },
    { host: own },
  ])
    assert.equal(
      await statusOf({ method: 'POST', path: '/api/v1.0/tasks/cronjob/', headers: { ...json, ...headers }, body: job }),
      201,
      JSON.stringify(headers),
    );
});

test('Host is an address or a name of this machine, and the network settings change it', async () => {
  const under = (host: string) => statusOf({ path: '/api/v1.0/services/ftp/', headers: { host } });
  await box.api.expect(200, 'PUT', 'network/globalconfiguration/', { gc_hostname: 'vault', gc_domain: 'example.org' });
  for (const host of [
    'localhost',
    '192.0.2.7:8080',
    '[2001:db8::7]',
    'vault',
    'Vault.Example.org:8080',
    'vault.local',
    'proxy.example.com:443',
  ])
    assert.equal(await under(host), 200, host);
  const refused = await rawSend(box.api.url, { path: '/api/v1.0/services/ftp/', headers: { host: 'evil.example' } });
  assert.match(refused.status, / 421 /);
  assert.match(refused.body, /got \\"evil\.example\\".*add it to --names or HOLDFAST_NAMES/);
  await box.api.expect(200, 'PUT', 'network/globalconfiguration/', { gc_hostname: 'chest' });
  assert.deepEqual([await under('chest'), await under('vault')], [200, 421]);
});

test('HTTP/1.0 needs no Host', async () => {
  const answer = await rawBytes(
    box.api.url,
    `GET /api/v1.0/services/ftp/ HTTP/1.0\r\nauthorization: ${rootCredential}\r\n\r\n`,
  );
  assert.match(answer.status, / 200 /);
});
