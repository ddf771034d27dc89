/** docs/first-hour.md on a machine with the Debian package, and what the doctor finds there. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { blocksOf, follow, Shell } from '../support/guide.ts';
import { type Nas, startNas } from '../support/lab/nas.ts';

let nas: Nas;

before(async () => {
  nas = await startNas({ disks: 3, memory: 1536 });
});

after(() => nas?.[Symbol.asyncDispose]());

test('the first hour of the guide is what root of an appliance sees', async () => {
  const page = readFileSync(new URL('../../docs/first-hour.md', import.meta.url), 'utf8');
  await using shell = new Shell({ cwd: '/' });
  // The blocks are for a shell of the appliance.
  const blocks = blocksOf(page).map((block) => ({ ...block, roles: [...block.roles, 'hypervisor' as const] }));
  await follow(blocks, {
    shell,
    values: { PASSWORD: 'a long password', DISKS: 'ubdc,ubdd,ubde' },
    hypervisor: (script) =>
      nas.machine.tryRun(`bash -euo pipefail /dev/fd/3 3<<'END_OF_BLOCK' 2>&1\n${script}\nEND_OF_BLOCK`),
  });
});

test('the doctor finds a file that its program refuses, and names the command that mends it', async () => {
  await nas.machine.run(`
    holdfast set service ftp --on
    holdfast api PUT /api/holdfast/v1/drift/ftp '{"policy": "report"}'
    echo 'NoSuchDirective on' >>/etc/proftpd/proftpd.conf`);
  const ill = await nas.machine.tryRun('holdfast doctor');
  assert.equal(ill.status, 1, ill.output);
  assert.match(
    ill.output,
    /critical {2}files .*\/etc\/proftpd\/proftpd\.conf.*\n(?: .*\n)*? {24}holdfast heal subsystem ftp\n/,
  );
  await nas.machine.run('holdfast heal subsystem ftp; holdfast doctor');
});

test('the doctor names the program that has the port of a service, and the command that mends it', async () => {
  await nas.machine.run(`
    systemctl stop proftpd
    systemd-run --quiet --unit=other systemd-socket-activate --listen=21 /bin/true
    until ss -Hltn 'sport = :21' | grep -q .; do sleep 0.2; done`);
  const ill = await nas.machine.tryRun('holdfast doctor');
  assert.equal(ill.status, 1, ill.output);
  assert.match(
    ill.output,
    /critical {2}ports .*has the TCP port 21 of the service ftp: systemd-socket-\S* \(process \d+, unit other\)\./,
  );
  const [, command = ''] = /\n {24}(systemctl disable --now other; systemctl restart proftpd)\n/.exec(ill.output) ?? [];
  // A unit that systemd-run made cannot be disabled, and still is stopped.
  await nas.machine.run(
    `systemctl stop other; ${command.replace('systemctl disable --now other; ', '')}; holdfast doctor`,
  );
});

test('the doctor says what ails a daemon that does not run', async () => {
  await nas.machine.run('systemctl stop holdfast; chmod 755 /var/lib/holdfast');
  const ill = await nas.machine.tryRun('holdfast doctor');
  assert.equal(ill.status, 1, ill.output);
  assert.match(ill.output, /critical {2}rights .*\n {24}chmod 700 \/var\/lib\/holdfast\n/);
  assert.match(
    ill.output,
    /critical {2}daemon .*does not run: systemd reports the service as inactive\.\n {24}systemctl start holdfast\n/,
  );
  await nas.machine.run('chmod 700 /var/lib/holdfast; systemctl start holdfast; holdfast doctor');
});

test('the doctor names the program that has the port of a daemon which cannot start', async () => {
  await nas.machine.run(`
    port=$(sed -n 's/^HOLDFAST_LISTEN=.*://p' /etc/holdfast/holdfast.conf)
    systemctl stop holdfast
    systemd-run --quiet --unit=other systemd-socket-activate --listen="\${port:-8080}" /bin/true
    sleep 1
    systemctl start holdfast || true`);
  const ill = await nas.machine.tryRun('holdfast doctor');
  assert.equal(ill.status, 1, ill.output);
  assert.match(ill.output, /critical {2}port .*Another program listens on .*\n {24}ss -ltnp 'sport = :\d+'\n/);
  assert.match(ill.output, /critical {2}daemon .*systemd reports the service as (?:failed|activating)\./);
  await nas.machine.run(
    'systemctl stop other; systemctl reset-failed holdfast; systemctl start holdfast; holdfast doctor',
  );
});
