import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, fromBase32, periodOf } from '../../src/areas/people/totp.ts';
import { isObject } from '../../src/lib/json.ts';
import { Api } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { withKey } from '../support/keys.ts';
import { managementRoot } from '../support/management.ts';

const sessions = `${managementRoot}/sessions`;
const factor = `${managementRoot}/people/current/factor`;
const minute = 60_000;
const errorOf = (value: unknown) => (isObject(value) ? String(value['detail'] ?? value['error']) : '');

/** Logs in as a page does. */
async function loggedIn(api: Api, headers: Readonly<Record<string, string>> = {}) {
  const answer = await api.send('POST', sessions, undefined, { origin: api.url, ...headers });
  assert.equal(answer.status, 201, answer.text);
  const set = answer.headers.get('set-cookie') ?? '';
  assert.ok(isObject(answer.json));
  return { id: String(answer.json['id']), set, api: api.inSession(set.replace(/;.*/, '')) };
}

async function withPerson({ api }: Pick<Appliance, 'api'>, user: string, role: string) {
  const password = 'a long password';
  await api.expect(201, 'POST', 'account/users/', {
    ...{ bsdusr_username: user, bsdusr_full_name: user, bsdusr_password: password, bsdusr_creategroup: true },
  });
  const { id } = await api.expect(201, 'POST', `${managementRoot}/people`, { account: user, role });
  return { id: Number(id), api: new Api(api.url, { user, password }) };
}

test('a session has the rights of its account, and its cookie cannot be read by pages or sent elsewhere', async () => {
  await using nas = await appliance();
  const root = await loggedIn(nas.api);
  assert.match(root.set, /^holdfast=[\w-]{43}; Path=\/api; HttpOnly; SameSite=Strict$/);
  await root.api.expect(200, 'PUT', 'services/snmp/', { snmp_location: 'here' });
  const person = await withPerson(nas, 'anna', 'read-only');
  const anna = await loggedIn(person.api);
  assert.equal((await anna.api.get('tasks/cronjob/')).status, 200);
  assert.equal((await anna.api.put('services/snmp/', { snmp_location: 'here' })).status, 403);
  assert.equal((await anna.api.get('/api/openapi.json')).status, 200);
  const who = await anna.api.expect(200, 'GET', `${sessions}/current`);
  assert.deepEqual([who['name'], who['credential'], who['administrator']], ['anna', 'session', false]);
  const [permission] = Array.isArray(who['permissions']) ? who['permissions'] : [];
  assert.deepEqual(permission, { resources: ['**'], verbs: ['read'], fields: [], raw: false });
  const key = await withKey(nas, { name: 'one', role: 'administrator' });
  assert.equal((await key.api.send('POST', sessions)).status, 400);
  assert.equal((await key.api.expect(200, 'GET', `${sessions}/current`))['credential'], 'key');
});

test('a change in a session must come from a page of this machine', async () => {
  await using nas = await appliance();
  const { set } = await loggedIn(nas.api);
  const cookie = set.replace(/;.*/, '');
  const change = async (headers: Readonly<Record<string, string>>) =>
    (
      await fetch(`${nas.api.url}/api/v1.0/services/snmp/`, {
        method: 'PUT',
        body: '{"snmp_location":"there"}',
        headers: { cookie, 'content-type': 'application/json', ...headers },
      })
    ).status;
  assert.equal(await change({}), 403);
  assert.equal(await change({ origin: 'http://elsewhere.example.org' }), 403);
  assert.equal(await change({ origin: nas.api.url.replace(/\d+$/, '81') }), 403);
  assert.equal(await change({ 'sec-fetch-site': 'same-site' }), 403);
  assert.equal(await change({ origin: 'null' }), 403);
  assert.equal(await change({ origin: nas.api.url }), 200);
  assert.equal(await change({ 'sec-fetch-site': 'same-origin' }), 200);
  assert.equal((await fetch(`${nas.api.url}/api/v1.0/services/snmp/`, { headers: { cookie } })).status, 200);
  // Also where another credential comes with it.
  assert.equal(await change({ authorization: 'Basic eDp5', origin: nas.api.url }), 401);
});

test('a session ends when it is idle, after half a day, and not by requests that a page sends by itself', async () => {
  let now = Date.parse('2027-01-01T00:00:00Z');
  await using nas = await appliance({ now: () => now });
  const status = async (api: Api, headers = {}) => (await api.get('tasks/cronjob/', headers)).status;
  const idle = await loggedIn(nas.api);
  const passive = await loggedIn(nas.api);
  now += 20 * minute;
  assert.deepEqual([await status(idle.api), await status(passive.api, { 'x-holdfast-passive': '1' })], [200, 200]);
  now += 20 * minute;
  assert.deepEqual([await status(idle.api), await status(passive.api)], [200, 401]);
  for (let passed = 40; passed < 12 * 60 - 20; passed += 20) {
    now += 20 * minute;
    assert.equal(await status(idle.api), 200);
  }
  now += 20 * minute;
  const ended = await idle.api.get('tasks/cronjob/');
  assert.deepEqual([ended.status, ended.headers.get('www-authenticate')], [401, null]);
});

test('sessions end with the password, the rights and the lock of their account, and with the daemon', async () => {
  await using first = await appliance();
  const anna = await withPerson(first, 'anna', 'read-only');
  const [{ id: user } = { id: 0 }] = (await first.api.list('account/users/?limit=0')).filter(
    ({ bsdusr_username }) => bsdusr_username === 'anna',
  );
  const people = `${managementRoot}/people/${anna.id}`;
  for (const [method, path, body] of [
    ['PUT', people, { enabled: false }],
    ['PUT', `account/users/${user}/`, { bsdusr_locked: true }],
    ['POST', `account/users/${user}/password/`, { bsdusr_password: 'another password' }],
  ] as const) {
    const { api } = await loggedIn(anna.api);
    assert.equal((await api.get('tasks/cronjob/')).status, 200);
    await first.api.expect(200, method, path, body);
    assert.equal((await api.get('tasks/cronjob/')).status, 401, path);
    await first.api.expect(200, 'PUT', people, { enabled: true });
    if (path !== people) await first.api.expect(200, 'PUT', `account/users/${user}/`, { bsdusr_locked: false });
  }
  const root = await loggedIn(first.api);
  await using nas = await first.restart();
  assert.equal((await nas.api.inSession(root.set.replace(/;.*/, '')).get('tasks/cronjob/')).status, 401);
});

test('people list and end their own sessions, and who manages sessions those of all', async () => {
  await using nas = await appliance();
  const person = await withPerson(nas, 'anna', 'read-only');
  const [one, other, root] = [await loggedIn(person.api), await loggedIn(person.api), await loggedIn(nas.api)];
  const ids = async (api: Api) => (await api.list(sessions)).map(({ id }) => id);
  assert.deepEqual(await ids(one.api), [one.id, other.id]);
  assert.deepEqual(await ids(nas.api), [one.id, other.id, root.id]);
  assert.equal((await one.api.delete(`${sessions}/${root.id}`)).status, 404);
  await one.api.expect(204, 'DELETE', `${sessions}?account=root`);
  assert.equal((await root.api.get('tasks/cronjob/')).status, 200);
  await one.api.expect(204, 'DELETE', sessions);
  assert.equal((await other.api.get('tasks/cronjob/')).status, 401);
  assert.deepEqual(await ids(one.api), [one.id]);
  const out = await one.api.delete(`${sessions}/current`);
  assert.deepEqual(
    [out.status, out.headers.get('set-cookie')],
    [204, 'holdfast=; Path=/api; HttpOnly; SameSite=Strict; Max-Age=0'],
  );
  assert.equal((await one.api.get('tasks/cronjob/')).status, 401);
  const again = await loggedIn(person.api);
  await nas.api.expect(204, 'DELETE', `${sessions}/${again.id}`);
  assert.equal((await again.api.get('tasks/cronjob/')).status, 401);
  // The oldest of more than twenty ends.
  const many = [];
  for (let count = 0; count < 21; count += 1) many.push(await loggedIn(person.api));
  assert.deepEqual(
    [await many[0]?.api.get('tasks/cronjob/'), await many[1]?.api.get('tasks/cronjob/')].map(
      (answer) => answer?.status,
    ),
    [401, 200],
  );
});

test('a second factor is required to log in, and each code is accepted once', async () => {
  let now = Date.parse('2027-01-01T00:00:00Z');
  await using nas = await appliance({ now: () => now });
  const person = await withPerson(nas, 'anna', 'read-only');
  const begun = await person.api.expect(201, 'POST', factor);
  const secret = fromBase32(String(begun['secret']));
  assert.match(String(begun['url']), /^otpauth:\/\/totp\/[^/]+:anna\?secret=[A-Z2-7]{32}&issuer=/);
  const code = (ahead = 0) => codeOf(secret, periodOf(now) + ahead);
  assert.equal((await person.api.put(factor, { code: '000000' })).status, 400);
  const { recovery_codes: recovery } = await person.api.expect(200, 'PUT', factor, { code: code() });
  assert.ok(Array.isArray(recovery) && recovery.length === 10);
  const alone = await person.api.get('tasks/cronjob/');
  assert.equal(alone.status, 401);
  assert.match(errorOf(alone.json), /has a second factor: begin a session/);
  const login = (value?: string) =>
    person.api.send('POST', sessions, undefined, value === undefined ? {} : { 'x-holdfast-code': value });
  const asked = await login();
  assert.deepEqual([asked.status, asked.headers.get('x-holdfast-code')], [401, 'required']);
  assert.equal((await login(code())).status, 401, 'the code of the set-up was used');
  now += minute;
  const session = await loggedIn(person.api, { 'x-holdfast-code': code() });
  assert.equal((await session.api.get('tasks/cronjob/')).status, 200);
  assert.equal((await login(code())).status, 401);
  // A recovery code, in any spelling, is accepted once, also after a restart.
  const [first, second] = recovery.map(String);
  assert.equal((await login(first?.toUpperCase().replaceAll('-', ' '))).status, 201);
  await using later = await nas.restart();
  const api = new Api(later.api.url, { user: 'anna', password: 'a long password' });
  const again = (value = '') => api.send('POST', sessions, undefined, { 'x-holdfast-code': value });
  assert.deepEqual([(await again(first)).status, (await again(second)).status], [401, 201]);
  // Removed by a code in a session, or by who may change the account.
  now += minute;
  const last = await loggedIn(api, { 'x-holdfast-code': code() });
  assert.equal((await last.api.post(`${factor}/remove`, { code: '000000' })).status, 400);
  await last.api.expect(204, 'POST', `${factor}/remove`, { code: code(1) });
  assert.equal((await api.get('tasks/cronjob/')).status, 200);
});

test('wrong codes make an account wait, from every address', async () => {
  let now = Date.parse('2027-01-01T00:00:00Z');
  await using nas = await appliance({ now: () => now });
  const person = await withPerson(nas, 'anna', 'read-only');
  const begun = await person.api.expect(201, 'POST', factor);
  const secret = fromBase32(String(begun['secret']));
  await person.api.expect(200, 'PUT', factor, { code: codeOf(secret, periodOf(now)) });
  now += minute;
  const login = async (code: string) =>
    (await person.api.send('POST', sessions, undefined, { 'x-holdfast-code': code })).status;
  for (let count = 0; count < 5; count += 1) assert.equal(await login(`00000${count}`), 401);
  assert.equal(await login(codeOf(secret, periodOf(now))), 429);
  now += minute;
  assert.equal(await login(codeOf(secret, periodOf(now))), 201);
  await nas.api.expect(204, 'DELETE', `${managementRoot}/people/${person.id}/factor`);
  assert.equal((await person.api.get('tasks/cronjob/')).status, 200);
});
