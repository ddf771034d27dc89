import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { Api } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { withKey } from '../support/keys.ts';
import { managementRoot } from '../support/management.ts';

const people = `${managementRoot}/people`;
const errorOf = (value: unknown) => (isObject(value) ? String(value['detail'] ?? value['error']) : '');

/** A new account with this password, as an API of its own. */
async function withAccount({ api }: Pick<Appliance, 'api'>, user: string, password: string) {
  const { id } = await api.expect(201, 'POST', 'account/users/', {
    ...{ bsdusr_username: user, bsdusr_full_name: user, bsdusr_password: password, bsdusr_creategroup: true },
  });
  return { id: Number(id), api: new Api(api.url, { user, password }) };
}

test('an account with a role logs in with its own password and may do what the role says', async () => {
  await using nas = await appliance();
  const anna = await withAccount(nas, 'anna', 'a long password');
  assert.equal((await anna.api.get('tasks/cronjob/')).status, 401);
  const { id } = await nas.api.expect(201, 'POST', people, { account: 'anna', role: 'operator' });
  assert.equal((await anna.api.get('tasks/cronjob/')).status, 200);
  await anna.api.expect(200, 'PUT', 'services/snmp/', { snmp_location: 'here' });
  const [revision] = await nas.api.list(`${managementRoot}/revisions?limit=1`);
  assert.equal(revision?.['actor'], 'anna');
  const refused = await anna.api.send('DELETE', 'tasks/cronjob/1/');
  assert.deepEqual(
    [refused.status, errorOf(refused.json)],
    [403, 'The account "anna" lacks the permission for "remove" of "tasks/cronjob/1".'],
  );
  assert.equal((await anna.api.get(people)).status, 403);
  // Fewer rights apply to the next request, none to the one after the removal.
  await nas.api.expect(200, 'PUT', `${people}/${id}`, { role: 'metrics' });
  assert.equal((await anna.api.get('tasks/cronjob/')).status, 403);
  await nas.api.expect(204, 'DELETE', `${people}/${id}`);
  assert.equal((await anna.api.get('tasks/cronjob/')).status, 401);
});

test('rights follow an account when it is renamed, and end with it', async () => {
  await using nas = await appliance();
  const { id } = await withAccount(nas, 'anna', 'a long password');
  await nas.api.expect(201, 'POST', people, { account: 'anna', role: 'read-only' });
  await nas.api.expect(200, 'PUT', `account/users/${id}/`, { bsdusr_username: 'anne' });
  const anne = new Api(nas.api.url, { user: 'anne', password: 'a long password' });
  assert.equal((await anne.get('tasks/cronjob/')).status, 200);
  assert.deepEqual(
    (await nas.api.list(people)).map(({ account }) => account),
    ['anne'],
  );
  await nas.api.expect(200, 'PUT', `account/users/${id}/`, { bsdusr_locked: true });
  assert.equal((await anne.get('tasks/cronjob/')).status, 401);
  await nas.api.expect(204, 'DELETE', `account/users/${id}/`);
  assert.deepEqual(await nas.api.list(people), []);
  const another = await withAccount(nas, 'anne', 'a long password');
  assert.equal((await another.api.get('tasks/cronjob/')).status, 401);
});

test('disabled and expired rights and another address are refused with a reason, after the password only', async () => {
  let now = Date.parse('2027-01-01T00:00:00Z');
  await using nas = await appliance({ now: () => now });
  const anna = await withAccount(nas, 'anna', 'a long password');
  const { id } = await nas.api.expect(201, 'POST', people, {
    ...{ account: 'anna', role: 'read-only', expires: '2027-01-02' },
  });
  const refusal = async (api: Api) => {
    const answer = await api.get('tasks/cronjob/');
    assert.equal(answer.status, 401);
    return errorOf(answer.json);
  };
  now = Date.parse('2027-01-02T00:00:00Z');
  assert.equal(await refusal(anna.api), 'The account "anna" expired on 2027-01-02T00:00:00.000Z.');
  await nas.api.expect(200, 'PUT', `${people}/${id}`, { expires: '', enabled: false });
  assert.equal(await refusal(anna.api), 'The account "anna" is disabled since 2027-01-02T00:00:00.000Z.');
  assert.equal(await refusal(new Api(nas.api.url, { user: 'anna', password: 'another one' })), '');
  await nas.api.expect(200, 'PUT', `${people}/${id}`, { enabled: true, addresses: ['192.0.2.0/24'] });
  assert.equal(await refusal(anna.api), 'The account "anna" may not be used from the address 127.0.0.1.');
});

test('a password that opens the interface has at least eight characters', async () => {
  await using nas = await appliance();
  const anna = await withAccount(nas, 'anna', 'short');
  await nas.api.expect(201, 'POST', people, { account: 'anna', role: 'read-only' });
  const answer = await anna.api.get('tasks/cronjob/');
  assert.equal(answer.status, 401);
  assert.match(answer.text, /at least 8 characters for this interface/);
  for (const [path, body] of [
    [`account/users/${anna.id}/password/`, { bsdusr_password: 'another' }],
    [`account/users/${anna.id}/`, { bsdusr_password: 'another' }],
  ] as const)
    assert.equal(
      (await nas.api.send(path.includes('password') ? 'POST' : 'PUT', path, body)).status,
      path.includes('password') ? 400 : 409,
      path,
    );
  await nas.api.expect(200, 'POST', `account/users/${anna.id}/password/`, { bsdusr_password: 'long enough' });
  const again = new Api(nas.api.url, { user: 'anna', password: 'long enough' });
  assert.equal((await again.get('tasks/cronjob/')).status, 200);
});

test('root keeps all rights, unknown accounts get none, and rights are given only by who has them', async () => {
  await using nas = await appliance();
  await withAccount(nas, 'anna', 'a long password');
  for (const account of ['root', 'nobody-at-all', '', 'key one'])
    assert.equal((await nas.api.post(people, { account, role: 'operator' })).status, 400, account);
  for (const rights of [{}, { role: 'provisioner' }, { role: 'administrator', dataset: 'tank/a' }])
    assert.equal((await nas.api.post(people, { account: 'anna', ...rights })).status, 400);
  const giver = await withKey(nas, {
    name: 'giver',
    permissions: [{ resources: ['sharing/*', 'holdfast/people'], verbs: ['*'], raw: true }],
  });
  assert.equal((await giver.api.post(people, { account: 'anna', role: 'operator' })).status, 400);
  const few = { account: 'anna', permissions: [{ resources: ['sharing/*'], verbs: ['read'] }] };
  const { id } = await giver.api.expect(201, 'POST', people, few);
  assert.equal((await giver.api.put(`${people}/${id}`, { role: 'administrator' })).status, 400);
  assert.match((await nas.api.post(people, few)).text, /has rights already/);
});

test('a key does not get the stored answer to a request of a removed key with its name', async () => {
  await using nas = await appliance();
  const headers = { 'idempotency-key': randomUUID() };
  const rights = { name: 'one', permissions: [{ resources: ['services/snmp'], verbs: ['*'] }] };
  const first = await withKey(nas, rights);
  const request = ['PUT', 'services/snmp/', { snmp_location: 'here' }, headers] as const;
  assert.equal((await first.api.send(...request)).headers.get('idempotency-replayed'), null);
  assert.equal((await first.api.send(...request)).headers.get('idempotency-replayed'), 'true');
  await nas.api.expect(204, 'DELETE', `${managementRoot}/keys/${first.id}`);
  const second = await withKey(nas, rights);
  assert.equal((await second.api.send(...request)).headers.get('idempotency-replayed'), null);
});
