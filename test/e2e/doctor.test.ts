/** Each check of the daemon is seen failing by a fault of the machine, and being well without it. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { checks, helperFindings } from '../../src/areas/management/doctor-checks.ts';
import { LinuxCommands } from '../../src/host/linux/commands.ts';
import { HelperRunner } from '../../src/host/linux/runner.ts';
import { isObject } from '../../src/lib/json.ts';
import { configFile } from '../../src/subsystems/ssh/sshd-config.ts';
import { type Appliance, type ApplianceOptions, appliance } from '../support/appliance.ts';
import { Shell } from '../support/command-shell.ts';
import { freePort } from '../support/tls-client.ts';

// The daemon of a test is this process.
process.umask(0o077);

interface Seen {
  readonly check: string;
  readonly severity: string;
  readonly about: string;
  readonly message: string;
  readonly command: string | null;
}

/** What the doctor finds, in the order of its checks. */
async function findings(shell: Shell): Promise<readonly Seen[]> {
  const { exit, out } = await shell.run('doctor', '-o', 'json');
  const examined: unknown = JSON.parse(out);
  assert.ok(Array.isArray(examined));
  const seen = examined.filter(isObject).flatMap(({ check, findings: list }) => {
    assert.ok(Array.isArray(list));
    return list.filter(isObject).map(({ severity, about, message, command }) => ({
      ...{ check: String(check), severity: String(severity), about: String(about), message: String(message) },
      command: typeof command === 'string' ? command : null,
    }));
  });
  assert.equal(exit, seen.some(({ severity }) => severity !== 'info') ? 1 : 0);
  return seen;
}

async function withPool(options: ApplianceOptions = {}): Promise<Shell> {
  const shell = await Shell.open(options);
  await shell.does('create pool tank --layout mirror:ada0,ada1');
  return shell;
}

test('a machine that is well has no findings, and the exit code 0', async () => {
  await using shell = await withPool();
  assert.deepEqual(await findings(shell), []);
  const text = await shell.does('doctor');
  for (const { name, title } of checks) assert.ok(text.includes(`ok        ${name.padEnd(13)} ${title}\n`), name);
  assert.match(text, /\n\n\d+ checks, nothing is wrong\.\n$/);
});

test('pools: a disk is offline, and another one is failing', async () => {
  await using shell = await withPool();
  const [device] = (await shell.nas.host.zfs.pools())[0]?.groups[0]?.devices ?? [];
  await shell.does(`offline pool tank --label ${device?.guid}`);
  const [seen] = await findings(shell);
  assert.deepEqual(
    [seen?.check, seen?.message, seen?.command],
    [
      'pools',
      'The volume tank is DEGRADED.',
      'holdfast status pool tank; holdfast replace pool tank --label DISK --replace-disk NEW',
    ],
  );
  const text = await shell.run('doctor');
  assert.match(text.out, /critical {2}pools {9}The volume tank is DEGRADED\.\n {24}holdfast status pool tank/);
  assert.match(text.out, /\d+ checks, 1 finding\.\n$/);
  await shell.does(`online pool tank --label ${device?.guid}`);
  assert.deepEqual(await findings(shell), []);
  shell.nas.machine.disks.ail('ada1', true);
  assert.match((await findings(shell))[0]?.message ?? '', /ada1 reports by SMART/);
});

test('files and drift: a file that its program refuses is healed by the command that the doctor names', async () => {
  await using shell = await withPool();
  await shell.does('set service ftp --on');
  await shell.nas.machine.files.write('/etc/proftpd/proftpd.conf', 'NoSuchDirective on\n');
  const [file, drift, ...others] = await findings(shell);
  assert.deepEqual(others, []);
  assert.deepEqual([file?.check, file?.about], ['files', '/etc/proftpd/proftpd.conf']);
  assert.match(file?.message ?? '', /refuses it: .*NoSuchDirective/);
  assert.deepEqual([drift?.check, drift?.about], ['drift', 'subsystem/ftp']);
  assert.equal(file?.command, 'holdfast heal subsystem ftp');
  assert.equal(drift?.command, file?.command);
  await shell.does((file?.command ?? '').replace('holdfast ', ''));
  assert.deepEqual(await findings(shell), []);
});

test('files: what only root may read is not quoted', async () => {
  await using shell = await withPool();
  await shell.does('set service/ssh --tcpport 2222');
  await shell.nas.machine.files.write(configFile, 'NoSuchWord its-secret\n', { mode: 0o600 });
  const [file] = await findings(shell);
  assert.deepEqual([file?.check, file?.about], ['files', configFile]);
  assert.match(file?.message ?? '', /refuses it\. To see why: \S*sshd -G -f \S+$/);
});

test('others: a setting without an effect is mended by the command that the doctor names', async () => {
  await using shell = await withPool();
  await shell.does('set service/smb --authmodel share');
  const [seen, ...more] = await findings(shell);
  assert.deepEqual(more, []);
  assert.deepEqual([seen?.check, seen?.command], ['others', 'holdfast set service/smb --authmodel user']);
  await shell.does((seen?.command ?? '').replace('holdfast ', ''));
  assert.deepEqual(await findings(shell), []);
});

test('system and host id: another Debian, an old module, and no host id', async () => {
  await using shell = await withPool();
  const { files } = shell.nas.machine;
  await files.write('/etc/os-release', 'NAME="Debian"\nVERSION_ID="13"\n');
  await files.write('/sys/module/zfs/version', '2.3.2-2\n');
  assert.deepEqual(await findings(shell), []);
  await files.write('/etc/os-release', 'NAME="Debian"\nVERSION_ID="12"\n');
  await files.write('/sys/module/zfs/version', '2.1.11-1\n');
  await files.remove('/etc/hostid');
  assert.deepEqual(
    (await findings(shell)).map(({ check, message }) => [check, message]),
    [
      ['system', 'Expected Debian 13, got 12: Holdfast is not tested with its programs.'],
      ['system', 'Expected OpenZFS 2.3 or later in the kernel, got 2.1.11-1.'],
      [
        'host id',
        '/etc/hostid is missing: pools do not know the machine that uses them, and a second one could import them too.',
      ],
    ],
  );
  await files.write('/etc/hostid', '\0\0\0\0');
  assert.match((await findings(shell))[2]?.message ?? '', /not all zero, got 4 bytes/);
});

test('clock: it differs from the time servers', async () => {
  await using shell = await withPool();
  shell.nas.machine.machine.strayBy(-20);
  const [seen] = await findings(shell);
  assert.deepEqual([seen?.check, seen?.command], ['clock', 'chronyc makestep; holdfast list ntp']);
  assert.match(seen?.message ?? '', /by 20 seconds/);
});

test('certificates and backups: time passes', async () => {
  let passed = 0;
  await using shell = await withPool({ now: () => Date.now() + passed });
  await shell.does('renew https');
  passed = 400 * 86_400_000;
  const [certificate, backup, ...others] = await findings(shell);
  assert.deepEqual(others, []);
  assert.deepEqual([certificate?.check, certificate?.command], ['certificates', 'holdfast renew https']);
  assert.deepEqual([backup?.check, backup?.about], ['backups', 'storage/volume/tank']);
  assert.match(backup?.message ?? '', /has no backup of the configuration; the configuration has revision \d+/);
  await shell.does('renew https');
  passed += 3_600_000;
  assert.deepEqual(
    (await findings(shell)).map(({ check }) => check),
    ['backups'],
  );
});

test('ports: another program took the port of the interface while the daemon did not run', async () => {
  const port = await freePort();
  const exposure = { address: '127.0.0.1', offset: 9000, own: 0 };
  await using first = await appliance({ exposure });
  const ports = async ({ api }: Appliance) =>
    (await api.list('/api/holdfast/v1/doctor')).find(({ check }) => check === 'ports')?.['findings'];
  await first.api.expect(200, 'PUT', 'system/settings/', { stg_guiaddress: '192.0.2.7', stg_guiport: port });
  assert.deepEqual(await ports(first), []);
  await first.app.close();
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
  const again = await appliance({ exposure, folder: first.folder });
  try {
    const found = await ports(again);
    assert.ok(Array.isArray(found) && isObject(found[0]));
    assert.match(String(found[0]['message']), new RegExp(`does not listen on port ${port} of 192\\.0\\.2\\.7`));
    assert.match(String(found[0]['command']), /^ss -ltnp/);
    other.close();
    await again.api.expect(200, 'POST', '/api/holdfast/v1/drift/web/heal');
    assert.deepEqual(await ports(again), []);
  } finally {
    other.close();
    await again.app.close();
  }
});

test('ports: another program has the port of a service, and a service listens on none', async () => {
  await using shell = await withPool();
  await shell.does('set service ftp --on');
  await shell.does('set service tftp --on');
  assert.deepEqual(await findings(shell), []);
  const { services } = shell.nas.machine;
  services.occupy('TCP', 21, { program: 'vsftpd', pid: 812, unit: 'vsftpd' });
  services.occupy('UDP', 69, { program: 'dnsmasq', pid: 813, unit: undefined });
  const [ftp, tftp, ...more] = await findings(shell);
  assert.deepEqual(more, []);
  assert.deepEqual([ftp?.check, ftp?.severity, ftp?.about], ['ports', 'critical', 'services/services/ftp']);
  assert.equal(
    ftp?.message,
    'Another program has the TCP port 21 of the service ftp: vsftpd (process 812, unit vsftpd). End it, or set another port.',
  );
  assert.equal(ftp?.command, 'systemctl disable --now vsftpd; systemctl restart proftpd');
  assert.match(tftp?.message ?? '', /the UDP port 69 of the service tftp: dnsmasq \(process 813\)\./);
  assert.equal(tftp?.command, 'kill 813; systemctl restart tftpd-hpa');
  services.occupy('TCP', 21, undefined);
  services.occupy('UDP', 69, undefined);
  services.silence('proftpd');
  const [silent, ...others] = await findings(shell);
  assert.deepEqual(others, []);
  assert.equal(silent?.message, 'The service runs, but nothing listens on the TCP port 21 of the service ftp.');
  assert.equal(silent?.command, 'journalctl -u proftpd -n 20; systemctl restart proftpd');
  await services.restart('proftpd');
  assert.deepEqual(await findings(shell), []);
  await shell.does('set service ftp --no-on');
  services.occupy('TCP', 21, { program: 'vsftpd', pid: 812, unit: 'vsftpd' });
  assert.deepEqual(await findings(shell), [], 'the port of a service that is off is free for others');
});

test('another appliance is examined by its context, if its key may and if it answers', async () => {
  await using shell = await withPool();
  const keyOf = async (role: string) => {
    const made: unknown = JSON.parse(await shell.does(`create key ${role}-key --role ${role} -o json`));
    assert.ok(isObject(made));
    return String(made['key']);
  };
  const [reading, measuring] = [await keyOf('read-only'), await keyOf('metrics')];
  await shell.does(`context add nas ${shell.nas.api.url} --key ${reading}`);
  await shell.does(`context add metrics ${shell.nas.api.url} --key ${measuring}`);
  await shell.does('context add nothing http://127.0.0.1:1 --key x');
  shell.nas.machine.machine.strayBy(-20);
  const { exit, out } = await shell.run('doctor', '--context', 'nas');
  assert.equal(exit, 1, out);
  assert.match(out, /^warning {3}clock /m);
  assert.doesNotMatch(out, /state folder/, 'the machine of the command is not examined');
  assert.match(
    await shell.fails(4, 'create key other --role metrics --context nas'),
    /^holdfast: The key "read-only-key" lacks the permission/,
  );
  assert.match(await shell.fails(4, 'doctor --context metrics'), /does not let this key examine it/);
  assert.match(await shell.fails(6, 'doctor --context nothing'), /does not answer/);
});

test('helper: the program that starts programs is missing', async () => {
  const broken = new HelperRunner({ entry: '/nonexistent/helper.mjs' });
  await using _closed = { [Symbol.asyncDispose]: () => broken.close() };
  const [seen] = await helperFindings(new LinuxCommands({ runner: broken }));
  assert.match(seen?.message ?? '', /^The daemon cannot start programs: /);
  assert.equal(seen?.command, 'systemctl restart holdfast');
  const whole = new HelperRunner();
  await using _ended = { [Symbol.asyncDispose]: () => whole.close() };
  assert.deepEqual(await helperFindings(new LinuxCommands({ runner: whole })), []);
});
