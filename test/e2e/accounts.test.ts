import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';

const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIGYVv5yF59dVE+s9VyzlqKp6/JHUXR6r3/JdkF+rdsO';
const keysOf = (name: string) => `/mnt/tank/${name}/.ssh/authorized_keys`;

async function withVolume(t: TestContext): Promise<Appliance> {
  const one = await appliance();
  t.after(() => one[Symbol.asyncDispose]());
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  return one;
}

const person = (name: string) => ({
  bsdusr_username: name,
  bsdusr_full_name: name,
  bsdusr_password: 'a secret',
  bsdusr_creategroup: true,
  bsdusr_home: `/mnt/tank/${name}`,
  bsdusr_shell: '/bin/bash',
});

test('a shell of FreeBSD that the machine lacks is answered as the shell that the account has', async (t) => {
  const { api, host } = await withVolume(t);
  const made = await api.expect(201, 'POST', 'account/users/', {
    ...person('joe'),
    bsdusr_shell: '/usr/local/bin/zsh',
  });
  const account = (await host.accounts.known()).users.find(({ name }) => name === 'joe');
  assert.deepEqual([made['bsdusr_shell'], account?.shell], ['/bin/bash', '/bin/bash']);
});

test('SSH keys lie in the home folder, are replaced, and go when the text is empty', async (t) => {
  const { api, host } = await withVolume(t);
  const made = await api.expect(201, 'POST', 'account/users/', {
    ...person('mary'),
    bsdusr_sshpubkey: `${key}   desk`,
  });
  assert.equal(made['bsdusr_sshpubkey'], `${key} desk\n`);
  assert.equal(await host.files.read(keysOf('mary')), `${key} desk\n`);
  assert.equal(await host.files.mode(keysOf('mary')), 0o600);
  const address = `account/users/${made['id']}/`;
  await api.expect(200, 'PUT', address, { bsdusr_sshpubkey: key });
  assert.equal(await host.files.read(keysOf('mary')), `${key}\n`);
  // What a person adds by hand stays until the field changes.
  await host.files.write(keysOf('mary'), 'by hand\n', { mode: 0o600 });
  await api.expect(200, 'PUT', address, { bsdusr_full_name: 'Mary' });
  assert.equal(await host.files.read(keysOf('mary')), 'by hand\n');
  await api.expect(200, 'PUT', address, { bsdusr_home: '/mnt/tank/elsewhere' });
  assert.equal(await host.files.read(keysOf('elsewhere')), `${key}\n`);
  await api.expect(200, 'PUT', address, { bsdusr_sshpubkey: '' });
  assert.equal(await host.files.kind('/mnt/tank/elsewhere/.ssh'), undefined);
});

test('root may have keys, accounts without a home may not', async (t) => {
  const { api, host } = await withVolume(t);
  await api.expect(200, 'PUT', 'account/users/1/', { bsdusr_sshpubkey: key });
  assert.equal(await host.files.read('/root/.ssh/authorized_keys'), `${key}\n`);
  for (const [path, body] of [
    ['account/users/', { ...person('bob'), bsdusr_home: '/nonexistent', bsdusr_sshpubkey: key }],
    ['account/users/', { ...person('bob'), bsdusr_sshpubkey: 'nonsense' }],
  ] as const) {
    const answer = await api.post(path, body);
    assert.equal(answer.status, 409);
    assert.match(answer.text, /bsdusr_sshpubkey/);
  }
  const web = await api.put('account/users/19/', { bsdusr_sshpubkey: key });
  assert.equal(web.status, 409);
});

test('keys are written through no link that a user has put into the home', async (t) => {
  const one = await withVolume(t);
  const made = await one.api.expect(201, 'POST', 'account/users/', person('eve'));
  const root = join(one.folder, 'virtual', 'root');
  mkdirSync(join(root, 'mnt/tank/bob/.ssh'), { recursive: true });
  symlinkSync('../bob/.ssh', join(root, 'mnt/tank/eve/.ssh'));
  const answer = await one.api.put(`account/users/${made['id']}/`, { bsdusr_sshpubkey: key });
  assert.match(answer.text, /\.ssh is a link/);
  assert.equal(await one.host.files.read(keysOf('bob')), undefined);
  assert.equal((await one.api.expect(200, 'GET', `account/users/${made['id']}/`))['bsdusr_sshpubkey'], '');
});

test("the guest account of Samba becomes nobody when its user goes, and the user's own group goes too", async (t) => {
  const { api } = await withVolume(t);
  const made = await api.expect(201, 'POST', 'account/users/', person('visitor'));
  await api.expect(200, 'PUT', 'services/cifs/', { cifs_srv_guest: 'visitor' });
  assert.equal((await api.delete(`account/users/${made['id']}/`)).status, 204);
  assert.equal((await api.expect(200, 'GET', 'services/cifs/'))['cifs_srv_guest'], 'nobody');
  assert.equal((await api.get(`account/groups/${made['bsdusr_group']}/`)).status, 404);
});

test('builtin accounts keep what they are, and stay', async (t) => {
  const { api } = await withVolume(t);
  const before = await api.expect(200, 'GET', 'account/users/20/');
  const after = await api.expect(200, 'PUT', 'account/users/20/', {
    bsdusr_username: 'other',
    bsdusr_uid: 4711,
    bsdusr_group: 1,
    bsdusr_home: '/mnt/tank/other',
  });
  assert.deepEqual(after, before);
  assert.notEqual((await api.delete('account/users/20/')).status, 204);
  assert.notEqual((await api.delete('account/groups/1/')).status, 204);
});

test('the password that opens the interface has at least eight characters, those of users need not', async (t) => {
  const one = await withVolume(t);
  const short = { bsdusr_password: '7 chars' };
  for (const answer of [
    await one.api.post('account/users/1/password/', short),
    await one.api.put('account/users/1/', short),
  ])
    assert.match(answer.text, /"bsdusr_password":\["Expected at least 8 characters for root, .*; got 7\."\]/);
  await one.api.expect(200, 'GET', 'account/users/1/');
  const { id } = await one.api.expect(201, 'POST', 'account/users/', person('ann'));
  await one.api.expect(200, 'POST', `account/users/${id}/password/`, short);
});

test('a builtin account gets no password for shares', async (t) => {
  const { api, host } = await withVolume(t);
  const { id } = await api.expect(201, 'POST', 'account/users/', person('ann'));
  for (const user of [19, 20, id])
    await api.expect(200, 'POST', `account/users/${user}/password/`, { bsdusr_password: 'for the shares' });
  assert.match(String(await host.files.read('/etc/samba/smbpasswd')), /^ann:\d+:[^\n]+\n$/);
});
