/** Accounts of a directory that use the interface with the password that they have there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostError } from '../../src/host/ports/index.ts';
import { Api } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { standingClock } from '../support/hosts.ts';
import { managementRoot } from '../support/management.ts';

const people = `${managementRoot}/people`;
const anna = { user: 'CORP\\anna', password: 'annas secret' };
const lena = { user: 'lena', password: 'lenas own secret' };
const sees = async (one: Appliance, as: { readonly user: string; readonly password: string }) =>
  (await new Api(one.api.url, as).get('tasks/cronjob/')).status;

/** Counts how often the directory is asked, and can be cut off from it. */
async function joined(options: { readonly now?: () => number } = {}) {
  const asked: string[] = [];
  const link = { isUp: true };
  const one = await appliance({
    ...options,
    around: (host) => {
      const { accounts } = host;
      const directoryAccepts = async (name: string, password: string) => {
        asked.push(name);
        if (!link.isUp) throw new HostError('the directory does not answer');
        return accounts.directoryAccepts(name, password);
      };
      const watched = new Proxy(accounts, {
        get(target, name) {
          if (name === 'directoryAccepts') return directoryAccepts;
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      return Object.freeze({ ...host, accounts: watched });
    },
  });
  await one.api.expect(200, 'PUT', 'directoryservice/activedirectory/', {
    ...{ ad_enable: true, ad_domainname: 'corp.example.com', ad_netbiosname_a: 'archive' },
    ...{ ad_bindname: 'Administrator', ad_bindpw: 'domain secret' },
  });
  return { one, asked, link };
}

test('an account of a domain that was given rights logs in with its password of the domain, until it has none', async () => {
  const { one } = await joined();
  await using nas = one;
  assert.equal(await sees(nas, anna), 401, 'it has no rights yet');
  const made = await nas.api.expect(201, 'POST', people, { account: anna.user, role: 'operator' });
  assert.deepEqual([made['account'], made['in_directory']], [anna.user, true]);
  assert.equal(await sees(nas, anna), 200);
  for (const password of ['annas Secret', '', 'domain secret'])
    assert.equal(await sees(nas, { ...anna, password }), 401, password);
  const own = new Api(nas.api.url, anna);
  await own.expect(200, 'PUT', 'services/snmp/', { snmp_location: 'here' });
  const [revision] = await nas.api.list(`${managementRoot}/revisions?limit=1`);
  assert.equal(revision?.['actor'], anna.user);
  assert.equal((await own.get(people)).status, 403, 'an operator manages no people');
  const again = await nas.api.post(people, { account: anna.user, role: 'metrics' });
  assert.match(again.text, /has rights already/);
  await nas.api.expect(204, 'DELETE', `${people}/${String(made['id'])}`);
  assert.equal(await sees(nas, anna), 401);
});

test('an account of an LDAP directory logs in with its password there, and names of the machine stay those of the machine', async () => {
  await using nas = await appliance();
  await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', {
    ...{ ldap_enable: true, ldap_hostname: 'ldap.example.com', ldap_basedn: 'dc=example,dc=com' },
    ...{ ldap_binddn: 'cn=reader,dc=example,dc=com', ldap_bindpw: 'directory secret' },
  });
  await nas.api.expect(201, 'POST', people, { account: lena.user, role: 'operator' });
  assert.equal(await sees(nas, lena), 200);
  for (const account of ['nobody-of-this-name', 'daemon'])
    assert.equal((await nas.api.post(people, { account, role: 'operator' })).status, account === 'daemon' ? 201 : 400);
  await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', { ldap_enable: false });
  // What was checked is known for five minutes; another credential is not.
  assert.equal(await sees(nas, { ...lena, password: 'another secret' }), 401);
});

test('a guess is asked of the directory once, so that it does not lock the account, and a right password for five minutes', async () => {
  const clock = standingClock();
  const { one, asked, link } = await joined({ now: clock.now });
  await using nas = one;
  await nas.api.expect(201, 'POST', people, { account: anna.user, role: 'operator' });
  const wrong = { ...anna, password: 'a wrong password' };
  for (let times = 0; times < 3; times += 1) assert.equal(await sees(nas, wrong), 401);
  assert.equal(asked.length, 1);
  for (let times = 0; times < 3; times += 1) assert.equal(await sees(nas, anna), 200);
  assert.equal(asked.length, 2);
  link.isUp = false;
  assert.equal(await sees(nas, anna), 200, 'it is known');
  clock.advance(5 * 60_000);
  assert.equal(await sees(nas, anna), 429, 'the directory does not answer');
  link.isUp = true;
  assert.equal(await sees(nas, anna), 200);
});

test('a session of an account of a directory lasts, and ends with its rights', async () => {
  const clock = standingClock();
  const { one } = await joined({ now: clock.now });
  await using nas = one;
  const { id } = await nas.api.expect(201, 'POST', people, { account: anna.user, role: 'operator' });
  const begun = await new Api(nas.api.url, anna).send('POST', `${managementRoot}/sessions`);
  assert.equal(begun.status, 201, begun.text);
  const cookie = String(begun.headers.get('set-cookie')).split(';')[0] ?? '';
  const inSession = async () => (await fetch(`${nas.api.url}/api/v1.0/tasks/cronjob/`, { headers: { cookie } })).status;
  clock.advance(20 * 60_000);
  assert.equal(await inSession(), 200);
  const factor = await new Api(nas.api.url, anna).send('POST', `${people}/current/factor`);
  assert.match(factor.text, /Only accounts of this appliance have a second factor/);
  await nas.api.expect(200, 'PUT', `${people}/${String(id)}`, { enabled: false });
  assert.equal(await inSession(), 401);
});
