import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';
import { addressOn, runClient } from '../support/lab/network.ts';
import { mail, mailServer, type Post, trustMailServer } from '../support/mail-server.ts';

/** Services that monitor something and send notifications. */
let nas: Nas;
/** The mail server of the appliance. */
let post: Post;

before(async () => {
  nas = await startNas({ disks: 1, memory: 1024 });
  post = await mailServer({ secure: true, address: addressOn(0, 2) });
  await trustMailServer(nas.api);
  await nas.api.expect(
    200,
    'PUT',
    'system/email/',
    mail(post.port, { em_security: 'ssl', em_outgoingserver: addressOn(0, 2) }),
  );
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  await post?.[Symbol.asyncDispose]();
});

const stateOf = async (unit: string) => (await nas.machine.run(`systemctl is-active ${unit} || true`)).trim();
const alerts = async () => (await nas.api.list('system/alert/')).map(({ message }) => String(message));

/** The received message to these recipients with this text, which may be wrapped. */
async function letterTo(people: string, words: string): Promise<string> {
  return eventually(
    90,
    async () => {
      const found = post.letters.find((letter) => letter.includes(`To: ${people}\r\n`) && letter.includes(words));
      assert.ok(found !== undefined, JSON.stringify(post.letters));
      return found;
    },
    async () =>
      `${await journal(nas.machine)}\n${await nas.machine.run('journalctl -q -u nut-monitor -t disk-report -o cat -n 20')}`,
  );
}

const switchTo = (service: string, srv_enable: boolean) =>
  nas.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable });

// SMART --------------------------------------------------------------------------------------------------------------

test('smartd runs with its settings, and accepts all its lines', async () => {
  await nas.api.expect(200, 'PUT', 'services/smart/', {
    smart_interval: 5,
    smart_powermode: 'standby',
    smart_informational: 40,
    smart_critical: 45,
    smart_email: 'a@example.com b@example.com',
  });
  assert.equal((await nas.api.expect(200, 'GET', 'services/smart/'))['smart_email'], 'a@example.com,b@example.com');
  assert.equal((await switchTo('smartd', true))['srv_state'], 'RUNNING');
  assert.match(await nas.machine.run('ps -o args= -C smartd'), /--interval=300/);
  assert.match(
    await nas.machine.run('cat /etc/smartd.conf'),
    /-n standby,q -W 0,40,45 -m <nomailer> -M exec \/usr\/lib\/holdfast\/disk-report/,
  );
  // 17: no disk to monitor. 2 would be an invalid line.
  assert.match(await nas.machine.run('smartd -q onecheck -c /etc/smartd.conf >/dev/null 2>&1; echo $?'), /^(0|17)$/m);
});

test('a finding of smartd is an alert and a mail message', async () => {
  // Disks of this machine have no SMART, so the test runs smartd's notification program as smartd does.
  await nas.machine.run(
    `SMARTD_DEVICE=/dev/ubdc SMARTD_FAILTYPE=Health SMARTD_FULLMESSAGE='Device: /dev/ubdc, FAILED SMART self-check. BACK UP DATA NOW!' /usr/lib/holdfast/disk-report`,
  );
  await eventually(60, async () => assert.ok((await alerts()).some((message) => message.includes('BACK UP DATA NOW'))));
  assert.match(
    await letterTo('a@example.com, b@example.com', 'BACK UP DATA NOW'),
    /^Subject: \[Holdfast\] nas0: problem with the disk \/dev\/ubdc\r$/m,
  );
});

// Dynamic DNS --------------------------------------------------------------------------------------------------------

test('the address is sent to a provider, and again when it changes', async () => {
  let address = '203.0.113.7';
  const updates: { readonly url: string; readonly authorization: string }[] = [];
  const provider = createServer((request, response) => {
    if (request.url === '/mine') return void response.end(`<html>Current IP Address: ${address}</html>`);
    updates.push({ url: request.url ?? '', authorization: request.headers.authorization ?? '' });
    response.end(`good ${address}`);
  }).listen(8081, '10.0.2.2');
  try {
    assert.equal((await switchTo('dynamicdns', true))['srv_state'], 'STOPPED', 'nothing to tell yet');
    await nas.api.expect(200, 'PUT', 'services/dynamicdns/', {
      ddns_provider: 'custom',
      ddns_custom_ddns_server: '10.0.2.2:8081',
      ddns_custom_ddns_path: '/update?host=%h&ip=%i',
      ddns_checkip_server: '10.0.2.2:8081',
      ddns_checkip_path: '/mine',
      ddns_domain: 'nas.example.com',
      ddns_username: 'mary',
      ddns_password: `it's "$HOME" \\`,
      ddns_period: 30,
    });
    assert.equal((await nas.api.expect(200, 'GET', 'services/services/dynamicdns/'))['srv_state'], 'RUNNING');
    const expected = {
      url: '/update?host=nas.example.com&ip=203.0.113.7',
      authorization: `Basic ${Buffer.from(`mary:it's "$HOME" \\`).toString('base64')}`,
    };
    await eventually(
      60,
      async () => assert.deepEqual(updates[0], expected),
      () => nas.machine.run('journalctl -q -u inadyn -o cat -n 20'),
    );
    address = '203.0.113.8';
    await eventually(90, async () => assert.match(updates.at(-1)?.url ?? '', /203\.0\.113\.8/));
    assert.match(await nas.machine.run('ps -o user= -C inadyn'), /debian-/);
    assert.doesNotMatch(await nas.machine.run('journalctl -q -u inadyn -u holdfast -o cat; ps -eo args'), /\$HOME" /);
  } finally {
    provider.closeAllConnections();
    provider.close();
  }
});

// UPS ----------------------------------------------------------------------------------------------------------------

const upsc = (...words: readonly [string, ...string[]]) => runClient(['upsc', ...words]);
const battery = (status: string) =>
  nas.machine.run(
    `printf 'ups.status: ${status}\\nbattery.charge: 90\\nups.mfr: Test\\n' >/etc/nut/test.new && mv /etc/nut/test.new /etc/nut/test.dev`,
  );

test('the UPS service can be switched before a UPS exists, and runs once there is one', async () => {
  assert.equal((await switchTo('ups', true))['srv_state'], 'STOPPED');
});

test('a UPS is monitored, and other machines may query it when the settings allow it', async () => {
  await battery('OL');
  const settings = {
    ups_driver: 'dummy-ups$Dummy',
    ups_port: '/etc/nut/test.dev',
    ups_identifier: 'rack',
    ups_description: 'the "test" one',
    ups_shutdowncmd: '/usr/bin/touch /tmp/shut-down',
  };
  await nas.api.expect(200, 'PUT', 'services/ups/', { ...settings, ups_shutdown: 'lowbatt', ups_monpwd: 'secret' });
  assert.equal((await nas.api.expect(200, 'GET', 'services/services/ups/'))['srv_state'], 'RUNNING');
  assert.match(await nas.machine.run('upsc -l localhost 2>/dev/null'), /^rack$/m);
  assert.notEqual((await upsc(`rack@${nas.machine.address}`)).status, 0);
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_rmonitor: true });
  await eventually(30, async () =>
    assert.match((await upsc(`rack@${nas.machine.address}`, 'ups.status')).stdout, /^OL$/m),
  );
  assert.match((await upsc('-L', nas.machine.address)).stdout, /rack: the "test" one/);
  await eventually(60, async () =>
    assert.match(await nas.machine.run('upsc -c rack@localhost'), /127\.0\.0\.1|::1|localhost/),
  );
});

test('the machine is shut down some seconds after the power went, unless it comes back', async () => {
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_shutdown: 'batt', ups_shutdowntimer: 20 });
  await eventually(60, async () =>
    assert.match(await nas.machine.run('upsc -c rack@localhost'), /127\.0\.0\.1|::1|localhost/),
  );
  await battery('OB');
  await eventually(60, async () =>
    assert.match(await nas.machine.run('journalctl -q -u nut-monitor -o cat'), /on battery/),
  );
  await battery('OL');
  await eventually(60, async () =>
    assert.match(await nas.machine.run('journalctl -q -u nut-monitor -o cat'), /on line power/),
  );
  await pause(22_000);
  assert.equal(await nas.machine.run('ls /tmp/shut-down 2>/dev/null || true'), '', 'the power came back in time');
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_shutdowntimer: 2 });
  await eventually(60, async () =>
    assert.match(await nas.machine.run('upsc -c rack@localhost'), /127\.0\.0\.1|::1|localhost/),
  );
  await battery('OB');
  await eventually(90, async () => assert.match(await nas.machine.run('ls -l /tmp/shut-down'), /root/));
});

test('a low battery shuts it down at once; alerts and mail messages report each event', async () => {
  await nas.machine.run('rm /tmp/shut-down');
  await battery('OL');
  await nas.api.expect(200, 'PUT', 'services/ups/', {
    ups_shutdown: 'lowbatt',
    ups_emailnotify: true,
    ups_toemail: 'a@example.com;b@example.com',
    ups_subject: 'UPS of %h',
  });
  const isWatched = async () =>
    assert.match(await nas.machine.run('upsc -c rack@localhost'), /127\.0\.0\.1|::1|localhost/);
  await eventually(60, isWatched);
  const about = (message: string) => `The UPS rack@localhost:3493 ${message}`;
  await battery('OB');
  assert.match(
    await letterTo('a@example.com, b@example.com', about('runs on its battery.')),
    /^Subject: UPS of nas0\r$/m,
  );
  assert.ok((await alerts()).includes(about('runs on its battery.')));
  await battery('OL');
  await letterTo('a@example.com, b@example.com', about('has line power again.'));
  assert.ok(!(await alerts()).includes(about('runs on its battery.')));
  await battery('OB LB');
  await eventually(90, async () => assert.match(await nas.machine.run('ls -l /tmp/shut-down'), /root/));
  await letterTo('a@example.com, b@example.com', 'The battery of the UPS rack@localhost:3493 is low.');
  // The monitor ends after the command that shuts down, because a real machine would end with it.
  await battery('OL');
  await eventually(90, async () => assert.equal(await stateOf('nut-monitor'), 'inactive'));
  // The server remembers the shutdown until it is started again.
  await switchTo('ups', false);
  await switchTo('ups', true);
  await eventually(60, isWatched);
});

test('only upsmon and root may send commands to the daemon', async () => {
  const asNobody = await nas.machine.run('runuser -u nobody -- /usr/sbin/holdfast notify ups ONBATT 2>&1 || true');
  assert.match(asNobody, /the daemon could not be notified: .*EACCES/);
});

test('a driver that does not start is answered with its message', async () => {
  const answer = await nas.api.put('services/ups/', { ups_options: 'no_such_setting = 1' });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /no_such_setting/);
  assert.equal((await nas.api.expect(200, 'GET', 'services/ups/'))['ups_options'], '');
});

// Services that end without Holdfast ---------------------------------------------------------------------------------

const endings = async () =>
  (await nas.api.list('/api/holdfast/v1/problems'))
    .filter(({ kind }) => kind === 'ended')
    .map(({ message }) => message);

for (const how of ['kill --signal=KILL', 'stop'])
  test(`a service is a problem within two seconds after systemctl ${how}, and is started again`, async () => {
    const began = async () =>
      nas.machine.run(
        `journalctl -q -u holdfast -p warning -o cat | grep -c 'The service smartmontools ended, and not by Holdfast' || true`,
      );
    const before = Number(await began());
    const begin = Date.now();
    // On a machine that is busy with other tests, systemctl takes seconds, and the service runs again when it returns.
    const ending = nas.machine.run(`systemctl ${how} smartmontools`).then(() => Date.now() - begin);
    const seen = await eventually(60, async () => {
      const [message] = await endings();
      assert.match(String(message), /^The service smartmontools ended, and not by Holdfast/);
      return Date.now() - begin;
    });
    const took = await ending;
    assert.ok(seen < 2000 + 4 * took, `seen after ${seen} ms, systemctl took ${took} ms`);
    await eventually(30, async () => assert.equal(await stateOf('smartmontools'), 'active'));
    await eventually(30, async () => assert.deepEqual(await endings(), []));
    assert.equal(Number(await began()), before + 1, await journal(nas.machine));
  });

test('a UPS monitor that ended by itself stays as it is until a request', async () => {
  assert.equal(await stateOf('nut-monitor'), 'active');
  await nas.machine.run('systemctl kill nut-monitor');
  await eventually(20, async () => assert.match(String(await endings()), /nut-monitor ended.*stays as it is/));
  await pause(20_000);
  assert.equal(await stateOf('nut-monitor'), 'inactive', await journal(nas.machine));
  const healed = await nas.api.expect(200, 'POST', '/api/holdfast/v1/drift/ups/heal');
  assert.deepEqual(healed['actions'], ['start nut-monitor']);
  assert.equal(await stateOf('nut-monitor'), 'active');
  await eventually(20, async () => assert.deepEqual(await endings(), []));
});

test('the daemon has a name of its own, and the machine answers no LLMNR queries', async () => {
  assert.match(await nas.machine.run('ps -o comm= -p $(systemctl show -P MainPID holdfast)'), /^holdfast/);
  assert.equal(await nas.machine.run("ss -Hlun 'sport = 5355'"), '');
});

// Drift --------------------------------------------------------------------------------------------------------------

test('a file edited by hand is reported soon, and healed on request; the edited one is kept', async () => {
  const drift = '/api/holdfast/v1/drift';
  const report = async () => (await nas.api.list(drift)).find(({ subsystem }) => subsystem === 'smart');
  await nas.api.expect(200, 'PUT', `${drift}/smart`, { policy: 'report' });
  await nas.machine.run(`echo '# Edited by hand.' >>/etc/smartd.conf`);
  const begin = Date.now();
  await nas.machine.run(
    'busctl --json=short call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.DBus.Peer Ping',
  );
  const at = Date.now();
  assert.deepEqual((await report())?.['drift'], ['write /etc/smartd.conf', 'restart smartmontools']);
  const took = Date.now() - at;
  assert.ok(took < 2000 + 10 * (at - begin), `the report took ${took} ms, one call of busctl ${at - begin} ms`);
  const { kept } = await nas.api.expect(200, 'POST', `${drift}/smart/heal`);
  assert.deepEqual((await report())?.['drift'], []);
  assert.match(await nas.machine.run(`tail -n 1 ${String(kept)}`), /^# Edited by hand\.$/m);
  assert.equal((await nas.machine.run(`stat -c %a-%U /var/backups/holdfast/edited`)).trim(), '700-root');
});

test('nothing differs from the configuration', async () => {
  const reports = await nas.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});
