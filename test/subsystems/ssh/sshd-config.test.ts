import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newKeyFiles } from '../../../src/areas/services/openssh.ts';
import { sshSettings } from '../../../src/areas/services/ssh.ts';
import { lines } from '../../../src/lib/text.ts';
import { sshSubsystem } from '../../../src/subsystems/ssh/subsystem.ts';
import { fileOf, freshConfiguration, machine, messagesOf, switchOn } from '../support/configuration.ts';

const conf = '/etc/ssh/holdfast/sshd_config';
const base64 = (text: string) => Buffer.from(text).toString('base64');

test('a fresh system accepts keys only', () => {
  const desired = sshSubsystem.render(freshConfiguration(), machine);
  assert.equal(
    fileOf(desired, conf),
    lines(
      '# Written by Holdfast.',
      'Port 22',
      'UsePAM yes',
      'PermitRootLogin prohibit-password',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'GSSAPIAuthentication no',
      'AllowTcpForwarding no',
      'Compression no',
      'PrintMotd no',
      'AcceptEnv LANG LC_*',
      'Subsystem sftp /usr/lib/openssh/sftp-server',
    ),
  );
  assert.deepEqual(desired.services, [{ name: 'ssh', running: false, onChange: 'restart' }]);
});

test('every setting has its line, host keys come first and auxiliary lines last', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'ssh');
  const { key } = newKeyFiles('ed25519', 'given');
  draft.update(
    sshSettings,
    1,
    {
      ssh_tcpport: 2222,
      ssh_rootlogin: true,
      ssh_passwordauth: true,
      ssh_kerberosauth: true,
      ssh_tcpfwd: true,
      ssh_compression: true,
      ssh_privatekey: key.trim(),
      ssh_sftp_log_level: 'VERBOSE',
      ssh_sftp_log_facility: 'LOCAL3',
      ssh_options: 'MaxAuthTries 2\nMatch User mary\n  X11Forwarding no',
    },
    {
      ssh_host_ed25519_key: base64('a key\n'),
      ssh_host_ed25519_key_cert_pub: base64('a certificate\n'),
      ssh_host_rsa_key: base64('another key\n'),
    },
  );
  const desired = sshSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, conf),
    lines(
      '# Written by Holdfast.',
      'Port 2222',
      'HostKey /etc/ssh/holdfast/ssh_host_given_key',
      'HostKey /etc/ssh/holdfast/ssh_host_ed25519_key',
      'HostCertificate /etc/ssh/holdfast/ssh_host_ed25519_key-cert.pub',
      'HostKey /etc/ssh/holdfast/ssh_host_rsa_key',
      'UsePAM yes',
      'PermitRootLogin yes',
      'PasswordAuthentication yes',
      'KbdInteractiveAuthentication yes',
      'GSSAPIAuthentication yes',
      'AllowTcpForwarding yes',
      'Compression yes',
      'PrintMotd no',
      'AcceptEnv LANG LC_*',
      'Subsystem sftp /usr/lib/openssh/sftp-server -l VERBOSE -f LOCAL3',
      'MaxAuthTries 2',
      'Match User mary',
      '  X11Forwarding no',
    ),
  );
  assert.equal(fileOf(desired, '/etc/ssh/holdfast/ssh_host_given_key'), key);
  assert.equal(fileOf(desired, '/etc/ssh/holdfast/ssh_host_ed25519_key'), 'a key\n');
  assert.equal(fileOf(desired, '/etc/ssh/holdfast/ssh_host_ed25519_key-cert.pub'), 'a certificate\n');
  assert.equal(fileOf(desired, '/etc/ssh/holdfast/ssh_host_rsa_key'), 'another key\n');
  for (const file of desired.files ?? []) if (/_key$/.test(file.path)) assert.equal(file.mode, 0o600, file.path);
});

test('sshd listens on the addresses of its interfaces, and is stopped while they have none', () => {
  const link = (name: string, addresses: readonly string[]) => ({
    name,
    kind: '',
    up: true,
    carrier: true,
    mtu: 1500,
    master: undefined,
    addresses,
  });
  const facts = {
    ...machine,
    network: {
      ...machine.network,
      links: [link('eth0', ['192.0.2.7/24', '2001:db8::7/64']), link('eth1', []), link('eth2', ['192.0.2.9/24'])],
    },
  };
  const draft = freshConfiguration(facts);
  switchOn(draft, 'ssh');
  draft.update(sshSettings, 1, { ssh_bindiface: ['eth0', 'eth1'] });
  assert.match(
    fileOf(sshSubsystem.render(draft, facts), conf) ?? '',
    /^Port 22\nListenAddress 192\.0\.2\.7\nListenAddress 2001:db8::7\nUsePAM/m,
  );
  draft.update(sshSettings, 1, { ssh_bindiface: ['eth1'] });
  const desired = sshSubsystem.render(draft, facts);
  assert.equal(desired.services?.[0]?.running, false);
  switchOn(draft, 'ssh');
  assert.deepEqual(messagesOf(sshSubsystem, draft, facts), [
    'SSH is not served, because no interface of ssh_bindiface (eth1) has an address.',
  ]);
  draft.update(sshSettings, 1, { ssh_bindiface: ['none'] });
  assert.deepEqual(draft.issues.toIssues(), { ssh_bindiface: ['Network interface "none" does not exist.'] });
});

test('a server that runs at installation keeps its own file until the settings are changed', () => {
  const running = { ...machine, services: new Map([['ssh', { running: true, enabled: true, installed: true }]]) };
  assert.deepEqual(sshSettings.seed(running), { ssh_untouched: true });
  assert.deepEqual(sshSettings.seed(machine), { ssh_untouched: false });
  const draft = freshConfiguration(running);
  switchOn(draft, 'ssh');
  const before = sshSubsystem.render(draft, running);
  assert.deepEqual(
    before.files?.filter(({ content }) => content !== undefined),
    [],
  );
  assert.equal(before.services?.[0]?.running, true);
  draft.update(sshSettings, 1, {});
  assert.match(fileOf(sshSubsystem.render(draft, running), conf) ?? '', /^Port 22$/m);
});

test('private keys are stored as secrets, and other text is refused', () => {
  const { fields } = sshSettings;
  for (const name of [
    'ssh_privatekey',
    'ssh_host_rsa_key',
    'ssh_host_dsa_key',
    'ssh_host_ecdsa_key',
    'ssh_host_ed25519_key',
  ] as const)
    assert.equal(fields[name].secret, true, name);
  assert.equal(fields.ssh_privatekey.read('ssh-rsa AAAA').ok, false);
  assert.equal(fields.ssh_privatekey.read(newKeyFiles('ecdsa', '').key).ok, true);
});
