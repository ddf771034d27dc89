import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { Api } from '../support/api.ts';
import { appliance } from '../support/appliance.ts';
import { widest, withKey } from '../support/keys.ts';
import { managementRoot } from '../support/management.ts';

const keys = `${managementRoot}/keys`;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const errorOf = (value: unknown) => (isObject(value) ? String(value['detail'] ?? value['error']) : '');

test('a key is shown once, and is accepted as bearer and as the password of its name', async () => {
  await using nas = await appliance();
  const { key, id, api } = await withKey(nas, { name: 'backup', role: 'operator' });
  assert.match(key, /^hf_[0-9A-Za-z]{49}$/);
  assert.equal((await api.get('sharing/cifs/')).status, 200);
  assert.equal((await nas.api.get('sharing/cifs/', bearer(key))).status, 200);
  for (const path of [keys, `${keys}/${id}`, `${managementRoot}/revisions`]) {
    const { text } = await nas.api.get(path);
    assert.ok(text.includes('backup') && !text.includes(key.slice(3, 30)), path);
  }
  const record = await nas.api.expect(200, 'GET', `${keys}/${id}`);
  assert.deepEqual([record['last_address'], record['created_by'], record['role']], ['127.0.0.1', 'root', 'operator']);
  assert.equal('digest' in record, false);
  // Another name, a changed key, another key, and a key in another scheme.
  const other = new Api(nas.api.url, { user: 'root', password: key });
  assert.match(errorOf((await other.get('sharing/cifs/')).json), /user name, which is "backup"/);
  for (const wrong of [`${key}x`, `hf_${'0'.repeat(49)}`, key.slice(0, -1), key.toLowerCase()])
    assert.equal((await nas.api.get('sharing/cifs/', bearer(wrong))).status, 401, wrong);
  assert.equal((await nas.api.get('sharing/cifs/', { authorization: `Token ${key}` })).status, 401);
});

test('a change by a key names it in the revisions, and survives a restart with it', async () => {
  await using first = await appliance();
  await first.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  const { key, id, api } = await withKey(first, {
    name: 'shares',
    permissions: [{ resources: ['sharing/*'], verbs: ['*'] }],
  });
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/a' });
  const [revision] = await first.api.list(`${managementRoot}/revisions?limit=1`);
  assert.equal(revision?.['actor'], 'key shares');
  const { last_used: used } = await first.api.expect(200, 'GET', `${keys}/${id}`);
  await using nas = await first.restart();
  const kept = await nas.api.expect(200, 'GET', `${keys}/${id}`);
  assert.deepEqual([kept['last_used'], kept['last_address']], [used, '127.0.0.1']);
  assert.equal(
    (await nas.api.list(`${managementRoot}/revisions`)).filter(({ title }) => /key/.test(String(title))).length,
    1,
  );
  const [share] = await nas.api.list('sharing/cifs/');
  assert.equal((await nas.api.get(`sharing/cifs/${share?.['id']}/`, bearer(key))).status, 200);
  const refused = await nas.api.get('sharing/../account/users/', bearer(key));
  assert.equal(refused.status, 403);
  assert.equal(errorOf(refused.json), 'The key "shares" lacks the permission for "read" of "account/users".');
});

test('a key that is refused says why and since when', async () => {
  let now = Date.parse('2027-01-01T00:00:00Z');
  await using nas = await appliance({ now: () => now });
  const refusal = async (api: Api) => {
    const answer = await api.get('sharing/cifs/');
    assert.equal(answer.status, 401);
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic /);
    return errorOf(answer.json);
  };
  const expiring = await withKey(nas, { name: 'a', role: 'read-only', expires: '2027-01-02T00:00:00Z' });
  assert.equal((await expiring.api.get('sharing/cifs/')).status, 200);
  const elsewhere = await withKey(nas, { name: 'b', role: 'read-only', addresses: ['192.0.2.0/24', '::1'] });
  assert.equal(await refusal(elsewhere.api), 'The key "b" may not be used from the address 127.0.0.1.');
  const disabled = await withKey(nas, { name: 'c', role: 'read-only', addresses: ['127.0.0.0/8'] });
  assert.equal((await disabled.api.get('sharing/cifs/')).status, 200);
  await nas.api.expect(200, 'PUT', `${keys}/${disabled.id}`, { enabled: false });
  now = Date.parse('2027-01-03T00:00:00Z');
  assert.equal(await refusal(disabled.api), 'The key "c" is disabled since 2027-01-01T00:00:00.000Z.');
  await nas.api.expect(200, 'PUT', `${keys}/${disabled.id}`, { enabled: true });
  assert.equal((await disabled.api.get('sharing/cifs/')).status, 200);
  assert.equal(await refusal(expiring.api), 'The key "a" expired on 2027-01-02T00:00:00.000Z.');
  assert.deepEqual((await nas.api.get(`${keys}/${expiring.id}/may?method=GET&path=sharing/cifs/`)).json, {
    may: false,
    why: 'The key "a" expired on 2027-01-02T00:00:00Z.',
  });
  await nas.api.expect(204, 'DELETE', `${keys}/${disabled.id}`);
  assert.equal(await refusal(disabled.api), 'The key "c" was removed on 2027-01-03T00:00:00.000Z by root.');
  // Another key may have the name; the removed one is still known.
  await withKey(nas, { name: 'c', role: 'read-only' });
  assert.match(await refusal(disabled.api), /was removed on/);
});

test('may answers as the request would be answered', async () => {
  await using nas = await appliance();
  const { id, api } = await withKey(nas, {
    name: 'one',
    permissions: [{ resources: ['sharing/*', 'account/users/7'], verbs: ['read', 'update'] }],
  });
  for (const [method, path, may] of [
    ['GET', 'sharing/cifs/', true],
    ['GET', '/api/v1.0/sharing/cifs/3/', true],
    ['PUT', 'sharing/nfs/3/', true],
    ['POST', 'sharing/nfs/', false],
    ['GET', 'account/users/7/', true],
    ['PUT', 'account/users/7/', false],
    ['GET', 'account/users/', false],
    ['GET', 'account/users/77/', false],
    ['GET', '/system/debug/download/', false],
    ['GET', '/openapi.json', true],
    ['POST', `${keys}`, false],
    ['GET', `${managementRoot}/problems`, false],
  ] as const) {
    const answer = await nas.api.expect(
      200,
      'GET',
      `${keys}/${id}/may?method=${method}&path=${encodeURIComponent(path)}`,
    );
    const { status } = await api.send(method, path, method === 'GET' ? undefined : {});
    assert.deepEqual(
      [answer['may'], status !== 403],
      [may, may],
      `${method} ${path}: ${JSON.stringify(answer)}, ${status}`,
    );
    assert.equal(answer['why'] === null, may);
  }
  assert.equal((await nas.api.get(`${keys}/${id}/may?method=GET&path=no/such`)).status, 400);
});

test('a method in a header, another spelling of the path and a dry run are judged as what they are', async () => {
  await using nas = await appliance();
  const reader = await withKey(nas, { name: 'reader', role: 'read-only' });
  const operator = await withKey(nas, { name: 'operator', role: 'operator' });
  for (const [method, path, headers] of [
    ['GET', 'tasks/cronjob/', { 'x-http-method-override': 'DELETE' }],
    ['GET', '/system/debug/download/', {}],
    ['GET', '/system/debug/download/', { 'x-http-method-override': 'PATCH' }],
    ['GET', '/system/debug/downloa%64/', {}],
    ['POST', '//api//v1.0//tasks//cronjob//', {}],
    ['POST', '/api/v1%2E0/tasks/cronjob/', {}],
    ['DELETE', '/api/v1.0/tasks/cronjob?x=/sharing', {}],
  ] as const)
    assert.equal((await reader.api.send(method, path, undefined, headers)).status, 403, `${method} ${path}`);
  const plan = (body: unknown) => operator.api.send('POST', `${managementRoot}/plan`, body);
  for (const body of [
    { method: 'POST', path: 'account/groups/', body: { bsdgrp_group: 'a' } },
    { method: 'PUT', path: 'services/snmp/', body: { snmp_options: 'extend x /bin/sh' } },
    { method: 'DELETE', path: 'sharing/cifs/1/' },
    { method: 'POST', path: '/api/holdfast/v1/keys', body: { name: 'more', role: 'read-only' } },
    { method: 'POST', path: '//api//holdfast/v1//config/restore', body: { backup: 1 } },
  ])
    assert.equal((await plan(body)).status, 403, JSON.stringify(body));
  assert.equal((await plan({ method: 'PUT', path: 'services/snmp/', body: { snmp_location: 'here' } })).status, 200);
});

test('a key makes and changes only keys that may do no more than itself', async () => {
  await using nas = await appliance();
  const sharing = { resources: ['sharing/*', 'holdfast/keys'], verbs: ['*'], raw: true };
  const maker = await withKey(nas, {
    name: 'maker',
    permissions: [sharing],
    addresses: ['127.0.0.0/8'],
    expires: '2999-01-01',
  });
  const limits = { addresses: ['127.0.0.1'], expires: '2998-01-01' };
  const part = { resources: ['sharing/cifs'], verbs: ['read'] };
  const child = await maker.api.expect(201, 'POST', keys, { name: 'child', permissions: [part], ...limits });
  for (const more of [
    { role: 'administrator' },
    { role: 'read-only' },
    { permissions: [{ resources: ['**'], verbs: ['read'] }] },
    { permissions: [{ resources: ['sharing/**'], verbs: ['read'] }] },
    { permissions: [{ resources: ['services/ftp'], verbs: ['read'] }] },
    { permissions: [part], expires: '' },
    { permissions: [part], expires: '2999-01-02' },
    { permissions: [part], addresses: [] },
    { permissions: [part], addresses: ['127.0.0.1', '0.0.0.0/0'] },
  ]) {
    const name = 'more';
    assert.equal((await maker.api.post(keys, { name, ...limits, ...more })).status, 400, JSON.stringify(more));
    assert.equal((await maker.api.put(`${keys}/${child['id']}`, more)).status, 400, JSON.stringify(more));
    assert.equal((await maker.api.put(`${keys}/${maker.id}`, more)).status, 400, JSON.stringify(more));
  }
  const root = await withKey(nas, { name: 'all', role: 'administrator' });
  for (const method of ['PUT', 'DELETE'])
    assert.equal((await maker.api.send(method, `${keys}/${root.id}`, { enabled: false })).status, 400);
  await root.api.expect(201, 'POST', keys, { name: 'other', role: 'administrator' });
  await maker.api.expect(204, 'DELETE', `${keys}/${child['id']}`);
});

test('fields limit what may be sent, and secrets and raw lines are left out of answers', async () => {
  await using nas = await appliance();
  const { api } = await withKey(nas, {
    name: 'one',
    permissions: [
      { resources: ['services/snmp'], verbs: ['update'], fields: ['snmp_location'] },
      { resources: ['**'], verbs: ['read'] },
    ],
  });
  await nas.api.expect(200, 'PUT', 'services/snmp/', { snmp_community: 'a-secret-one', snmp_options: '# a raw line' });
  await api.expect(200, 'PUT', 'services/snmp/', { snmp_location: 'here' });
  const refused = await api.put('services/snmp/', { snmp_location: 'here', snmp_contact: 'me' });
  assert.equal(refused.status, 403);
  assert.match(refused.text, /do not include the field snmp_contact/);
  const all = await nas.api.expect(200, 'GET', 'services/snmp/');
  const shown = await api.expect(200, 'GET', 'services/snmp/');
  assert.deepEqual(
    Object.keys(all).filter((name) => !(name in shown)),
    ['snmp_community', 'snmp_options', 'snmp_v3_password', 'snmp_v3_privpassphrase'],
  );
  const outdated = await api.send('PUT', 'services/snmp/', { snmp_location: 'there' }, { 'if-match': '"another"' });
  assert.equal(outdated.status, 412);
  assert.doesNotMatch(outdated.text, /a raw line|a-secret-one/);
  assert.doesNotMatch((await api.get(`${managementRoot}/revisions`)).text, /a raw line|a-secret-one/);
  assert.match((await nas.api.get(`${managementRoot}/revisions`)).text, /a raw line/);
});

test('a list is not in the order of what a key may not read', async () => {
  await using nas = await appliance();
  const { api } = await withKey(nas, { name: 'reader', role: 'read-only' });
  for (const field of ['bsdusr_unixhash', 'bsdusr_smbhash', '-bsdusr_unixhash']) {
    assert.equal((await nas.api.get(`account/users/?sort(${field})`)).status, 200);
    assert.equal((await api.get(`account/users/?sort(${field})`)).status, 400, field);
    assert.equal((await api.get(`account/users/?sort(bsdusr_uid,${field})`)).status, 400, field);
  }
  assert.equal((await api.get('tasks/cronjob/?sort(cron_command)')).status, 400);
  assert.equal((await api.get('account/users/?sort(-bsdusr_uid)')).status, 200);
});

test('a record can be sent back as a program has read it', async () => {
  await using nas = await appliance();
  const { api } = await withKey(nas, widest);
  await nas.api.expect(200, 'PUT', 'services/snmp/', { snmp_options: '# a raw line' });
  const record = await api.expect(200, 'GET', 'services/snmp/');
  await api.expect(200, 'PUT', 'services/snmp/', { ...record, snmp_location: 'here' });
  await api.expect(200, 'PUT', 'services/snmp/', { ...record, snmp_options: '# a raw line' });
  assert.equal((await api.put('services/snmp/', { ...record, snmp_options: '' })).status, 403);
  assert.equal((await nas.api.expect(200, 'GET', 'services/snmp/'))['snmp_options'], '# a raw line');
});

test('who may only share cannot share what an account or root runs or trusts', async () => {
  await using nas = await appliance();
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  for (const name of ['home', 'media', 'free'])
    await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  await nas.api.expect(201, 'POST', 'account/users/', {
    ...{ bsdusr_username: 'anna', bsdusr_full_name: 'Anna', bsdusr_password: 'a password', bsdusr_creategroup: true },
    bsdusr_home: '/mnt/tank/home/anna',
  });
  const { api } = await withKey(nas, widest);
  for (const path of ['/mnt/tank', '/mnt/tank/home', '/mnt/tank/home/anna', '/mnt/tank/home/anna/.ssh']) {
    for (const [resource, body] of [
      ['sharing/nfs', { nfs_paths: [path], nfs_maproot_user: 'root' }],
      ['sharing/cifs', { cifs_path: path, cifs_guestok: true }],
      ['services/rsyncmod', { rsyncmod_name: 'a', rsyncmod_path: path, rsyncmod_user: 'root' }],
      ['services/tftp', { tftp_directory: path, tftp_username: 'root', tftp_newfiles: true }],
    ] as const) {
      const answer = await api.send(resource === 'services/tftp' ? 'PUT' : 'POST', `${resource}/`, body);
      assert.equal(answer.status, 403, `${resource} ${path}: ${answer.text}`);
      assert.match(answer.text, /account\/users/);
    }
  }
  await api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/free'], nfs_maproot_user: 'root' });
  // Later changes that would bring a home below the share are made by who may make accounts.
  const share = await nas.api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/home'] });
  assert.equal((await api.put(`sharing/nfs/${share['id']}/`, { nfs_maproot_user: 'root' })).status, 403);
  await api.expect(204, 'DELETE', `sharing/nfs/${share['id']}/`);
});
