import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { eventually, journal, type Nas, startNas, untilReady } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

/** SSH and SNMP access to the appliance. Each test builds on the earlier ones. */
let nas: Nas;
let here: string;

before(async () => {
  nas = await startNas({ disks: 1, memory: 1024 });
  here = await mkdtemp(join(tmpdir(), 'holdfast-admin-'));
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'her secret',
    bsdusr_creategroup: true,
    bsdusr_home: '/mnt/tank/people',
    bsdusr_mode: '700',
    bsdusr_shell: '/bin/bash',
  });
  await runClient(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', join(here, 'id')]);
  const pub = (await readFile(join(here, 'id.pub'), 'utf8')).trim();
  await nas.machine.run(`
    echo 'root:a root secret' | chpasswd
    for home in /root /mnt/tank/people/mary; do mkdir -p -m 700 $home/.ssh; echo '${pub}' >$home/.ssh/authorized_keys; done
    chown -R mary: /mnt/tank/people/mary`);
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  if (here !== undefined) await rm(here, { recursive: true });
});

const switchTo = (service: string, srv_enable: boolean) =>
  nas.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable });

// SSH ----------------------------------------------------------------------------------------------------------------

const options = () => [
  '-o',
  `UserKnownHostsFile=${here}/known`,
  '-o',
  'StrictHostKeyChecking=accept-new',
  '-o',
  'ConnectTimeout=20',
  '-o',
  'LogLevel=ERROR',
];
const byKey = (user: string, port: number, ...command: string[]) =>
  runClient([
    'ssh',
    '-i',
    `${here}/id`,
    '-o',
    'BatchMode=yes',
    '-p',
    String(port),
    ...options(),
    `${user}@${nas.machine.address}`,
    ...command,
  ]);
const byPassword = (user: string, password: string, port: number, ...command: string[]) =>
  runClient([
    'sshpass',
    '-p',
    password,
    'ssh',
    '-o',
    'PubkeyAuthentication=no',
    '-p',
    String(port),
    ...options(),
    `${user}@${nas.machine.address}`,
    ...command,
  ]);

test('SSH is switched on and accepts a key, but no password', async () => {
  assert.equal((await switchTo('ssh', true))['srv_state'], 'RUNNING');
  await eventually(30, async () => {
    const outcome = await byKey('mary', 22, 'id -un');
    assert.equal(outcome.stdout, 'mary\n', outcome.stderr);
  });
  assert.equal((await byKey('root', 22, 'id -un')).stdout, 'root\n');
  assert.match((await byPassword('mary', 'her secret', 22, 'true')).stderr, /Permission denied \(publickey\)/);
  await nas.machine.run('systemctl daemon-reload');
  assert.match(await nas.machine.run('systemctl show ssh -p ActiveState'), /=active/, 'not lost after a daemon-reload');
});

test('the host keys are those that the machine had before, and the API shows them', async () => {
  const settings = await nas.api.expect(200, 'GET', 'services/ssh/');
  for (const kind of ['rsa', 'ecdsa', 'ed25519']) {
    for (const [field, file] of [
      [`ssh_host_${kind}_key`, `ssh_host_${kind}_key`],
      [`ssh_host_${kind}_key_pub`, `ssh_host_${kind}_key.pub`],
    ] as const) {
      assert.equal(
        Buffer.from(String(settings[field]), 'base64').toString(),
        await nas.machine.run(`cat /etc/ssh/${file}`),
        field,
      );
    }
  }
  assert.equal((await nas.machine.run('stat -c %a /etc/ssh/holdfast/ssh_host_rsa_key')).trim(), '600');
  assert.doesNotMatch(
    await nas.machine.run(
      'strings -n 20 /var/lib/holdfast/*.db* 2>/dev/null || cat /var/lib/holdfast/* | tr -c "[:print:]" "\\n"',
    ),
    /T1BFTlNTSCBQUklWQVRFIEtFWS/,
    'sealed in the store',
  );
});

test('passwords are accepted for accounts, and for root only when the settings allow it', async () => {
  await nas.api.expect(200, 'PUT', 'services/ssh/', { ssh_passwordauth: true });
  assert.equal((await eventually(20, () => byPassword('mary', 'her secret', 22, 'id -un'))).stdout, 'mary\n');
  assert.notEqual((await byPassword('mary', 'wrong', 22, 'true')).status, 0);
  assert.notEqual((await byPassword('root', 'a root secret', 22, 'true')).status, 0);
  await nas.api.expect(200, 'PUT', 'services/ssh/', { ssh_rootlogin: 'true' });
  assert.equal((await byPassword('root', 'a root secret', 22, 'id -un')).stdout, 'root\n');
});

test('connections are forwarded only when the settings allow it', async () => {
  const forwarded = () => byKey('mary', 22, '-W', '127.0.0.1:8080', '-o', 'ExitOnForwardFailure=yes');
  assert.match((await forwarded()).stderr, /forwarding failed/);
  await nas.api.expect(200, 'PUT', 'services/ssh/', { ssh_tcpfwd: true });
  assert.doesNotMatch((await forwarded()).stderr, /forwarding failed/);
});

test('files are transferred by SFTP, and logged as set', async () => {
  await nas.api.expect(200, 'PUT', 'services/ssh/', {
    ssh_sftp_log_level: 'INFO',
    ssh_sftp_log_facility: 'LOCAL3',
    ssh_compression: true,
  });
  await writeFile(join(here, 'batch'), `put ${here}/id.pub sent\nls -l\n`);
  const outcome = await runClient([
    'sftp',
    '-i',
    `${here}/id`,
    '-b',
    `${here}/batch`,
    ...options(),
    `mary@${nas.machine.address}`,
  ]);
  assert.equal(outcome.status, 0, outcome.stderr);
  assert.match(outcome.stdout, /mary .* sent/);
  const log = await eventually(10, async () => {
    const lines = await nas.machine.run(
      'journalctl --sync; journalctl -q -t sftp-server -o json --output-fields=MESSAGE,SYSLOG_FACILITY',
    );
    assert.match(lines, /open .*sent.* flags WRITE/);
    return lines;
  });
  assert.match(log, /"SYSLOG_FACILITY":"19"/);
});

test('a line that the server refuses is answered with its error, and a session survives a change of the port', async () => {
  const answer = await nas.api.put('services/ssh/', { ssh_options: 'MaxAuthTries 3\nNoSuchOption yes' });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /line \d+: Bad configuration option: NoSuchOption/);
  const session = byKey('mary', 22, 'sleep 15; echo still here');
  await eventually(10, async () => assert.match(await nas.machine.run('pgrep -u mary sleep'), /\d/));
  await nas.api.expect(200, 'PUT', 'services/ssh/', { ssh_tcpport: 2222, ssh_options: 'Banner /etc/hostname' });
  assert.match((await byKey('mary', 2222, 'id -un')).stdout, /^mary$/m);
  assert.notEqual((await byKey('mary', 22, 'true')).status, 0);
  assert.equal((await session).stdout, 'still here\n');
});

test('it listens on the named interfaces, and skips those that do not exist', async () => {
  await nas.api.expect(200, 'PUT', 'services/ssh/', { ssh_bindiface: ['vec0'] });
  const listeners = await nas.machine.run('ss -Hltn "sport = :2222"');
  assert.match(listeners, /10\.0\.2\.15:2222/);
  assert.doesNotMatch(listeners, /0\.0\.0\.0:2222|\[::\]:2222/);
  assert.equal((await byKey('mary', 2222, 'true')).status, 0);
  assert.equal((await nas.api.put('services/ssh/', { ssh_bindiface: ['none0'] })).status, 409);
  await nas.api.expect(200, 'PUT', 'services/ssh/', { ssh_bindiface: [] });
});

test('a key that is sent replaces the key of the same type', async () => {
  await runClient(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'given', '-f', join(here, 'host')]);
  assert.equal(
    (
      await nas.api.put('services/ssh/', {
        ssh_privatekey: '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----',
      })
    ).status,
    400,
  );
  await nas.api.expect(200, 'PUT', 'services/ssh/', { ssh_privatekey: await readFile(join(here, 'host'), 'utf8') });
  const scanned = await eventually(20, async () => {
    const { stdout } = await runClient(['ssh-keyscan', '-p', '2222', '-t', 'ed25519', nas.machine.address]);
    assert.notEqual(stdout, '');
    return stdout;
  });
  const [, body = ''] = (await readFile(join(here, 'host.pub'), 'utf8')).split(' ');
  assert.ok(scanned.includes(body), scanned);
});

test('a server that ran before the installation keeps its own file until Holdfast takes it over and its settings change', async () => {
  await using other = await startNas({
    disks: 0,
    memory: 768,
    name: 'inhabited',
    before: 'echo Port 2022 >>/etc/ssh/sshd_config; systemctl start ssh',
  });
  const login = (port: number) =>
    runClient(['ssh-keyscan', '-p', String(port), '-t', 'ed25519', other.machine.address]);
  const known = await eventually(20, async () => {
    const { stdout } = await login(2022);
    assert.notEqual(stdout, '');
    return stdout;
  });
  assert.equal((await other.api.expect(200, 'GET', 'services/services/ssh/'))['srv_enable'], true);
  await other.machine.run('systemctl restart holdfast');
  // The server delays a client that fetches its keys repeatedly.
  await eventually(60, async () => assert.equal((await login(2022)).stdout, known));
  await untilReady(other.api);
  assert.equal((await other.api.put('services/ssh/', { ssh_tcpport: 2023 })).status, 409);
  await other.api.expect(200, 'POST', '/api/holdfast/v1/found/ssh/take');
  await other.api.expect(200, 'PUT', 'services/ssh/', { ssh_tcpport: 2023 });
  const stdout = await eventually(60, async () => {
    const outcome = await login(2023);
    assert.notEqual(outcome.stdout, '');
    return outcome.stdout;
  });
  assert.equal(stdout.split(' ').slice(1).join(' '), known.split(' ').slice(1).join(' '), 'the same key');
  assert.equal(
    (await login(2022)).stdout,
    '',
    await other.machine.run('ss -ltnp; systemctl status ssh --no-pager; systemctl cat ssh'),
  );
});

// SNMP ---------------------------------------------------------------------------------------------------------------

const pools = '.1.3.6.1.4.1.50536.1.1';
const location = '.1.3.6.1.2.1.1.6.0';
const snmp = (program: 'snmpget' | 'snmpwalk', ...words: string[]) =>
  runClient([
    program,
    '-On',
    '-t',
    '3',
    '-r',
    '1',
    ...words.map((word) => (word === 'nas' ? nas.machine.address : word)),
  ]);
const version3 = (password: string) => [
  '-v3',
  '-u',
  'monitor',
  '-l',
  'authPriv',
  '-a',
  'SHA',
  '-A',
  password,
  '-x',
  'AES',
  '-X',
  'a pass phrase',
];

test('version 2c reads the values of the settings with the right community', async () => {
  await nas.api.expect(200, 'PUT', 'services/snmp/', {
    snmp_location: 'the "cold" room',
    snmp_contact: 'admin@example.com',
    snmp_community: 'our readers',
  });
  assert.equal((await switchTo('snmp', true))['srv_state'], 'RUNNING');
  await eventually(20, async () =>
    assert.match(
      (await snmp('snmpget', '-v2c', '-c', 'our readers', 'nas', location)).stdout,
      /STRING: "the .?"cold.?" room"/,
    ),
  );
  assert.match((await snmp('snmpget', '-v2c', '-c', 'public', 'nas', location)).stderr, /Timeout/);
  assert.match(
    (await snmp('snmpwalk', '-v2c', '-c', 'our readers', 'nas', '.1.3.6.1.2.1.1')).stdout,
    /admin@example\.com/,
  );
});

test('the private tree shows the pools, and the intent log when the settings enable it', async () => {
  const walked = async (tree: string) => (await snmp('snmpwalk', '-v2c', '-c', 'our readers', 'nas', tree)).stdout;
  const tree = await walked(pools);
  assert.match(tree, /\.1\.2\.1 = STRING: "tank"/);
  assert.match(tree, /\.1\.7\.1 = INTEGER: 0/);
  const size = Number(/\.1\.4\.1 = Gauge32: (\d+)/.exec(tree)?.[1]);
  assert.equal(size, Math.floor(Number((await nas.machine.run('zpool list -Hp -o size tank')).trim()) / 1024 ** 2));
  const zil = '.1.3.6.1.4.1.50536.1.5';
  assert.match(await walked(zil), /No Such|No more/);
  await nas.api.expect(200, 'PUT', 'services/snmp/', { snmp_zilstat: true });
  await eventually(20, async () => assert.match(await walked(zil), /zil_commit_count[\s\S]*Counter64/));
});

test('version 3 reads with its password and pass phrase, and a new password is valid at once', async () => {
  const account = {
    snmp_v3: true,
    snmp_v3_username: 'monitor',
    snmp_v3_privproto: 'AES',
    snmp_v3_privpassphrase: 'a pass phrase',
  };
  await nas.api.expect(200, 'PUT', 'services/snmp/', { ...account, snmp_v3_password: 'the first one' });
  await eventually(20, async () =>
    assert.match((await snmp('snmpget', ...version3('the first one'), 'nas', location)).stdout, /cold/),
  );
  await nas.api.expect(200, 'PUT', 'services/snmp/', { snmp_v3_password: 'the second one' });
  await eventually(20, async () =>
    assert.match((await snmp('snmpget', ...version3('the second one'), 'nas', location)).stdout, /cold/),
  );
  assert.notEqual((await snmp('snmpget', ...version3('the first one'), 'nas', location)).status, 0);
});

test('a trap about failed authentication is sent when the settings enable it', async () => {
  const socket = createSocket('udp4').bind(16200, '10.0.2.2');
  try {
    const trap = once(socket, 'message', { signal: AbortSignal.timeout(60_000) });
    await nas.api.expect(200, 'PUT', 'services/snmp/', { snmp_traps: true, snmp_options: 'trap2sink 10.0.2.2:16200' });
    await eventually(20, async () =>
      assert.match((await snmp('snmpget', ...version3('the second one'), 'nas', location)).stdout, /cold/),
    );
    await snmp('snmpget', '-v2c', '-c', 'wrong', 'nas', location);
    const [packet] = await trap;
    assert.ok(Buffer.isBuffer(packet) && packet.includes('our readers'));
  } finally {
    socket.close();
  }
});

test('nothing differs from the configuration', async () => {
  const reports = await nas.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});
