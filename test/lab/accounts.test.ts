import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Nas, startNas } from '../support/lab/nas.ts';
import { run, runClient } from '../support/lab/network.ts';

/** Each test builds on the earlier ones. */
let nas: Nas;
let folder: string;
let mary = '';

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keys-'));
  await run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'mary@desk', '-f', join(folder, 'key'));
  nas = await startNas({ disks: 2, memory: 1024 });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
  await nas.api.expect(200, 'PUT', 'services/ssh/', { ssh_passwordauth: true });
  await nas.api.expect(200, 'PUT', 'services/services/ssh/', { srv_enable: true });
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

const options = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR'];
const byKey = (user: string, command: string) =>
  runClient([
    'ssh',
    ...options,
    '-o',
    'BatchMode=yes',
    '-o',
    'IdentitiesOnly=yes',
    '-i',
    join(folder, 'key'),
    `${user}@${nas.machine.address}`,
    command,
  ]);
const byPassword = (user: string, password: string, command: string) =>
  runClient([
    'sshpass',
    '-p',
    password,
    'ssh',
    ...options,
    '-o',
    'PubkeyAuthentication=no',
    '-o',
    'NumberOfPasswordPrompts=1',
    `${user}@${nas.machine.address}`,
    command,
  ]);
const byFtp = (user: string, password: string) =>
  runClient(['curl', '-s', '--list-only', '--user', `${user}:${password}`, `ftp://${nas.machine.address}/`]);

test('a new user logs in with a key and with a password, into their own home folder', async () => {
  const made = await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'first secret',
    bsdusr_creategroup: true,
    bsdusr_home: '/mnt/tank/mary',
    bsdusr_mode: '750',
    bsdusr_shell: '/bin/bash',
    bsdusr_sshpubkey: await readFile(join(folder, 'key.pub'), 'utf8'),
  });
  mary = `account/users/${made['id']}/`;
  const there = await byKey('mary', 'pwd; id -un; stat -c "%a %U" . .ssh .ssh/authorized_keys');
  assert.equal(there.stdout, '/mnt/tank/mary\nmary\n750 mary\n700 mary\n600 mary\n', there.stderr);
  assert.equal((await byPassword('mary', 'first secret', 'id -un')).stdout, 'mary\n');
});

test('a new password is valid at once for SSH and FTP, and the old one is not', async () => {
  await nas.api.expect(200, 'POST', `${mary}password/`, { bsdusr_password: 'second secret' });
  assert.equal((await byPassword('mary', 'second secret', 'id -un')).stdout, 'mary\n');
  assert.notEqual((await byPassword('mary', 'first secret', 'id -un')).status, 0);
  assert.equal((await byFtp('mary', 'second secret')).status, 0);
  assert.notEqual((await byFtp('mary', 'first secret')).status, 0);
});

test('by FTP an account without a home folder starts at the volumes, or sees nothing where it is restricted to its home folder', async () => {
  await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'carl',
    bsdusr_full_name: 'Carl',
    bsdusr_password: 'carls secret',
    bsdusr_creategroup: true,
  });
  await nas.machine.run('mkdir /mnt/tank/drop; chown carl /mnt/tank/drop');
  const put = (name: string) =>
    runClient([
      'curl',
      '-sS',
      '--user',
      'carl:carls secret',
      '-T',
      join(folder, 'key.pub'),
      `ftp://${nas.machine.address}/${name}`,
    ]);
  assert.equal((await byFtp('carl', 'carls secret')).stdout, 'tank\n');
  assert.equal((await put('tank/drop/letter')).status, 0);
  assert.equal((await nas.machine.run("stat -c '%U' /mnt/tank/drop/letter")).trim(), 'carl');
  assert.notEqual((await put('tank/letter')).status, 0, 'as far as the permissions go');
  assert.notEqual((await byFtp('carl', 'another')).status, 0);
  assert.match((await byFtp('mary', 'second secret')).stdout, /^\.ssh$|^$/m, 'who has a home begins there');
  await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_defaultroot: true });
  const shown = await byFtp('carl', 'carls secret');
  assert.deepEqual([shown.status, shown.stdout], [0, '']);
  assert.notEqual((await put('letter')).status, 0);
  const away = await runClient([
    'curl',
    '-s',
    '--list-only',
    '--user',
    'carl:carls secret',
    `ftp://${nas.machine.address}//mnt/`,
  ]);
  assert.notEqual(away.stdout, 'tank\n');
  await nas.machine.run('mkdir -p /mnt/tank/mary && touch /mnt/tank/mary/hers');
  assert.match((await byFtp('mary', 'second secret')).stdout, /^hers$/m);
  await nas.machine.run('rm /mnt/tank/mary/hers');
  await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_defaultroot: false });
});

test('sudo works when the record allows it', async () => {
  assert.notEqual((await byKey('mary', 'echo second secret | sudo -S -k true')).status, 0);
  await nas.api.expect(200, 'PUT', mary, { bsdusr_sudo: true });
  assert.equal((await byKey('mary', 'echo second secret | sudo -S -k id -un')).stdout, 'root\n');
});

test('keys are not written through a link, wherever it leads', async () => {
  await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'bob',
    bsdusr_full_name: 'Bob',
    bsdusr_password: 'his secret',
    bsdusr_creategroup: true,
    bsdusr_home: '/mnt/tank/bob',
  });
  await nas.machine.run(
    'mv /mnt/tank/mary/.ssh /mnt/tank/mary/kept; mkdir /mnt/tank/bob/.ssh; ln -s /mnt/tank/bob/.ssh /mnt/tank/mary/.ssh',
  );
  const key = await readFile(join(folder, 'key.pub'), 'utf8');
  const linked = await nas.api.put(mary, { bsdusr_sshpubkey: `${key}${key}` });
  assert.match(linked.text, /\.ssh is not a folder, or is a link to one/);
  await nas.machine.run(
    'rm /mnt/tank/mary/.ssh; mkdir /mnt/tank/mary/.ssh; ln /etc/shadow /mnt/tank/mary/.ssh/authorized_keys 2>/dev/null || ln -s /etc/shadow /mnt/tank/mary/.ssh/authorized_keys',
  );
  assert.match((await nas.api.put(mary, { bsdusr_sshpubkey: `${key}${key}` })).text, /authorized_keys is a link/);
  assert.equal((await nas.machine.run('ls -A /mnt/tank/bob/.ssh')).trim(), '');
  await nas.machine.run(
    'grep -q ^root: /etc/shadow; rm -r /mnt/tank/mary/.ssh; mv /mnt/tank/mary/kept /mnt/tank/mary/.ssh',
  );
});

test('a locked account cannot log in by any protocol, not even with a key', async () => {
  await nas.api.expect(200, 'PUT', mary, { bsdusr_locked: true });
  assert.notEqual((await byKey('mary', 'true')).status, 0);
  assert.notEqual((await byPassword('mary', 'second secret', 'true')).status, 0);
  assert.notEqual((await byFtp('mary', 'second secret')).status, 0);
  await nas.api.expect(200, 'PUT', mary, { bsdusr_locked: false });
  assert.equal((await byKey('mary', 'id -un')).stdout, 'mary\n');
});

test('without keys in the record there is no key file, and the key is refused', async () => {
  await nas.api.expect(200, 'PUT', mary, { bsdusr_sshpubkey: '' });
  await nas.machine.run('test ! -e /mnt/tank/mary/.ssh');
  assert.notEqual((await byKey('mary', 'true')).status, 0);
});
