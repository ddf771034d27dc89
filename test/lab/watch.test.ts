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

const alerts = async () => (await nas.api.list('system/alert/')).map(({ message }) => String(message));

/** The received message to these recipients with this text, which may be wrapped. */
async function letterTo(people: string, words: string): Promise<string> {
  return eventually(90, async () => {
    const found = post.letters.find((letter) => letter.includes(`To: ${people}\r\n`) && letter.includes(words));
    assert.ok(
      found !== undefined,
      `${JSON.stringify(post.letters)}\n${await journal(nas.machine)}\n${await nas.machine.run('journalctl -q -u nut-monitor -t disk-report -o cat -n 20')}`,
    );
    return found;
  });
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
    await eventually(60, async () =>
      assert.deepEqual(updates[0], expected, await nas.machine.run('journalctl -q -u inadyn -o cat -n 20')),
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

test('the UPS service can be switched before a UPS exists', async () => {
  assert.equal((await switchTo('ups', true))['srv_state'], 'RUNNING');
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
});

test('only upsmon and root may send commands to the daemon', async () => {
  const asNobody = await nas.machine.run('runuser -u nobody -- /usr/sbin/holdfast notify ups ONBATT 2>&1 || true');
  assert.match(asNobody, /the daemon could not be notified: .*EACCES/);
});

test('a driver that does not start is answered with its message', async () => {
  await battery('OL');
  const answer = await nas.api.put('services/ups/', { ups_options: 'no_such_setting = 1' });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /no_such_setting/);
  assert.equal((await nas.api.expect(200, 'GET', 'services/ups/'))['ups_options'], '');
});

test('nothing differs from the configuration', async () => {
  const reports = await nas.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});
