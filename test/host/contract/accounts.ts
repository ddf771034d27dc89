import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Accounts, UserSpec } from '../../../src/host/ports/accounts.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { freshName, refused } from './support.ts';

const gid = 54321;
const uid = 54321;

function userOf(name: string, members: Partial<UserSpec> = {}): UserSpec {
  return {
    name,
    uid,
    gid,
    fullName: 'A Person',
    home: '/nonexistent',
    shell: '/usr/sbin/nologin',
    passwordHash: '*',
    groups: [],
    ...members,
  };
}

async function groupOn(accounts: Accounts, t: TestContext, number = gid): Promise<string> {
  const name = freshName('hfg');
  await accounts.createGroup({ name, gid: number });
  finallyOf(t, async () => {
    if ((await accounts.owned()).groups.some((group) => group.name === name)) await accounts.removeGroup(name);
  });
  return name;
}

async function userOn(accounts: Accounts, t: TestContext, members: Partial<UserSpec> = {}): Promise<UserSpec> {
  const user = userOf(freshName('hfu'), members);
  await accounts.createUser(user);
  finallyOf(t, async () => {
    if ((await accounts.owned()).users.some((one) => one.name === user.name)) await accounts.removeUser(user.name);
  });
  return user;
}

const ownedUser = async (accounts: Accounts, name: string) =>
  (await accounts.owned()).users.find((user) => user.name === name);
const ownedGroup = async (accounts: Accounts, name: string) =>
  (await accounts.owned()).groups.find((group) => group.name === name);

export function describeAccounts(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`accounts on the ${title} host`, () => {
      test('root is known and is not owned', async (t) => {
        const { accounts } = await start(t);
        const known = await accounts.known();
        assert.equal(known.users.find((user) => user.name === 'root')?.uid, 0);
        assert.ok(known.groups.some((group) => group.gid === 0));
        assert.ok(known.shells.includes('/bin/sh'));
        assert.equal(await ownedUser(accounts, 'root'), undefined);
      });

      test('an account of the machine is in no directory, and no directory accepts its password', async (t) => {
        const { accounts } = await start(t);
        for (const name of ['root', 'no-account-has-this-name', '', '-s', 'a:b']) {
          assert.equal(await accounts.inDirectory(name), undefined, name);
          for (const password of ['', 'x']) assert.equal(await accounts.directoryAccepts(name, password), false, name);
        }
      });

      test('a created group is known and owned until it is removed', async (t) => {
        const { accounts } = await start(t);
        const name = await groupOn(accounts, t);
        assert.deepEqual(await ownedGroup(accounts, name), { name, gid });
        assert.ok((await accounts.known()).groups.some((group) => group.name === name && group.gid === gid));
        await accounts.removeGroup(name);
        assert.equal(await ownedGroup(accounts, name), undefined);
        assert.ok(!(await accounts.known()).groups.some((group) => group.name === name));
      });

      test('a created user is owned with the given properties', async (t) => {
        const { accounts } = await start(t);
        const primary = await groupOn(accounts, t);
        const other = await groupOn(accounts, t, gid + 1);
        assert.notEqual(primary, other);
        const user = await userOn(accounts, t, {
          fullName: 'Jürgen A. Person',
          passwordHash: '$6$salt$hash',
          groups: [other],
        });
        assert.deepEqual(await ownedUser(accounts, user.name), user);
        const { passwordHash: _hash, groups: _groups, ...system } = user;
        assert.deepEqual(
          (await accounts.known()).users.find((one) => one.name === user.name),
          system,
        );
      });

      test('every property of a user except the name may change', async (t) => {
        const { accounts } = await start(t);
        await groupOn(accounts, t);
        const second = await groupOn(accounts, t, gid + 1);
        const { name } = await userOn(accounts, t);
        const changed = userOf(name, {
          uid: uid + 7,
          gid: gid + 1,
          fullName: 'Other',
          home: '/mnt/x',
          shell: '/bin/sh',
          passwordHash: '!*',
          groups: [second],
        });
        await accounts.changeUser(changed);
        assert.deepEqual(await ownedUser(accounts, name), changed);
        await accounts.changeUser(userOf(name));
        assert.deepEqual(await ownedUser(accounts, name), userOf(name));
      });

      test('two users may have the same uid', async (t) => {
        const { accounts } = await start(t);
        await groupOn(accounts, t);
        const first = await userOn(accounts, t);
        const second = await userOn(accounts, t);
        assert.equal((await ownedUser(accounts, first.name))?.uid, (await ownedUser(accounts, second.name))?.uid);
      });

      test('a name in use is refused', async (t) => {
        const { accounts } = await start(t);
        const group = await groupOn(accounts, t);
        const user = await userOn(accounts, t);
        await refused(accounts.createUser(user), /exists/);
        await refused(accounts.createUser(userOf('root')), /exists/);
        await refused(accounts.createGroup({ name: group, gid: gid + 5 }), /exists/);
        assert.deepEqual(await ownedGroup(accounts, group), { name: group, gid });
      });

      test('a user cannot be in a group that does not exist', async (t) => {
        const { accounts } = await start(t);
        await groupOn(accounts, t);
        const name = freshName('hfu');
        await refused(accounts.createUser(userOf(name, { gid: 54399 })), /54399/);
        await refused(accounts.createUser(userOf(name, { groups: ['hf-no-such-group'] })), /hf-no-such-group/);
        assert.equal(await ownedUser(accounts, name), undefined);
      });

      test('the primary group of a user cannot be removed', async (t) => {
        const { accounts } = await start(t);
        const group = await groupOn(accounts, t);
        const user = await userOn(accounts, t);
        await refused(accounts.removeGroup(group), /primary group/);
        await accounts.removeUser(user.name);
        await accounts.removeGroup(group);
        assert.equal(await ownedGroup(accounts, group), undefined);
      });

      test('a group may get another gid, which its primary members then have', async (t) => {
        const { accounts } = await start(t);
        const group = await groupOn(accounts, t);
        const user = await userOn(accounts, t);
        await accounts.changeGroup({ name: group, gid: gid + 9 });
        assert.deepEqual(await ownedGroup(accounts, group), { name: group, gid: gid + 9 });
        assert.equal((await ownedUser(accounts, user.name))?.gid, gid + 9);
        await refused(accounts.changeGroup({ name: 'daemon', gid: gid + 9 }), /daemon/);
        await accounts.removeUser(user.name);
      });

      test('users are no longer members of a removed group', async (t) => {
        const { accounts } = await start(t);
        await groupOn(accounts, t);
        const extra = await groupOn(accounts, t, gid + 1);
        const user = await userOn(accounts, t, { groups: [extra] });
        await accounts.removeGroup(extra);
        assert.deepEqual((await ownedUser(accounts, user.name))?.groups, []);
      });

      test('accounts that Holdfast did not create are not changed', async (t) => {
        const { accounts } = await start(t);
        const root = (await accounts.known()).users.find((user) => user.name === 'root');
        await refused(accounts.removeUser('root'), /root/);
        await refused(accounts.changeUser(userOf('root', { uid: 0, gid: 0 })), /root/);
        await refused(accounts.removeGroup('daemon'), /daemon/);
        await refused(accounts.removeUser('hf-no-such-user'), /hf-no-such-user/);
        assert.deepEqual(
          (await accounts.known()).users.find((user) => user.name === 'root'),
          root,
        );
      });
    });
  }
}
