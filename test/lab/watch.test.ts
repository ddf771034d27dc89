import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

/** Programs that watch something and tell somebody. */
let nas: Nas;

before(async () => {
  nas = await startNas({ disks: 1, memory: 1024 });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const switchTo = (service: string, srv_enable: boolean) => nas.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable });

// SMART --------------------------------------------------------------------------------------------------------------

test('smartd watches with the settings, and reads its lines without a complaint', async () => {
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
  assert.match(await nas.machine.run('cat /etc/smartd.conf'), /-n standby,q -W 0,40,45 -m a@example\.com,b@example\.com/);
  // 17 is: nothing there to watch. 2 would be: a line that it cannot read.
  assert.match(await nas.machine.run('smartd -q onecheck -c /etc/smartd.conf >/dev/null 2>&1; echo $?'), /^(0|17)$/m);
});

// Dynamic DNS --------------------------------------------------------------------------------------------------------

test('a provider is told the address, and again when it changes', async () => {
  let address = '203.0.113.7';
  const told: { readonly url: string; readonly authorization: string }[] = [];
  const provider = createServer((request, response) => {
    if (request.url === '/mine') return void response.end(`<html>Current IP Address: ${address}</html>`);
    told.push({ url: request.url ?? '', authorization: request.headers.authorization ?? '' });
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
    const expected = { url: '/update?host=nas.example.com&ip=203.0.113.7', authorization: `Basic ${Buffer.from(`mary:it's "$HOME" \\`).toString('base64')}` };
    await eventually(60, async () => assert.deepEqual(told[0], expected, await nas.machine.run('journalctl -q -u inadyn -o cat -n 20')));
    address = '203.0.113.8';
    await eventually(90, async () => assert.match(told.at(-1)?.url ?? '', /203\.0\.113\.8/));
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
  nas.machine.run(`printf 'ups.status: ${status}\\nbattery.charge: 90\\nups.mfr: Test\\n' >/etc/nut/test.new && mv /etc/nut/test.new /etc/nut/test.dev`);

test('the switch of the UPS works before there is one', async () => {
  assert.equal((await switchTo('ups', true))['srv_state'], 'RUNNING');
});

test('a UPS is watched, and other machines may ask when the settings say so', async () => {
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
  await eventually(30, async () => assert.match((await upsc(`rack@${nas.machine.address}`, 'ups.status')).stdout, /^OL$/m));
  assert.match((await upsc('-L', nas.machine.address)).stdout, /rack: the "test" one/);
  await eventually(60, async () => assert.match(await nas.machine.run('upsc -c rack@localhost'), /127\.0\.0\.1|::1|localhost/));
});

test('the machine is shut down some seconds after the power went, unless it comes back', async () => {
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_shutdown: 'batt', ups_shutdowntimer: 20 });
  await eventually(60, async () => assert.match(await nas.machine.run('upsc -c rack@localhost'), /127\.0\.0\.1|::1|localhost/));
  await battery('OB');
  await eventually(60, async () => assert.match(await nas.machine.run('journalctl -q -u nut-monitor -o cat'), /on battery/));
  await battery('OL');
  await eventually(60, async () => assert.match(await nas.machine.run('journalctl -q -u nut-monitor -o cat'), /on line power/));
  await pause(22_000);
  assert.equal(await nas.machine.run('ls /tmp/shut-down 2>/dev/null || true'), '', 'the power came back in time');
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_shutdowntimer: 2 });
  await eventually(60, async () => assert.match(await nas.machine.run('upsc -c rack@localhost'), /127\.0\.0\.1|::1|localhost/));
  await battery('OB');
  await eventually(90, async () => assert.match(await nas.machine.run('ls -l /tmp/shut-down'), /root/));
});

test('a low battery shuts it down at once, and somebody is told by mail', async () => {
  await nas.machine.run(`rm /tmp/shut-down; printf '#!/bin/sh\\ncat >/tmp/mail\\n' >/usr/sbin/sendmail; chmod 755 /usr/sbin/sendmail`);
  await battery('OL');
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_shutdown: 'lowbatt', ups_emailnotify: true, ups_toemail: 'a@example.com;b@example.com', ups_subject: 'UPS of %h' });
  await eventually(60, async () => assert.match(await nas.machine.run('upsc -c rack@localhost'), /127\.0\.0\.1|::1|localhost/));
  await battery('OB LB');
  await eventually(90, async () => assert.match(await nas.machine.run('ls -l /tmp/shut-down'), /root/));
  await eventually(30, async () => assert.match(await nas.machine.run('cat /tmp/mail'), /^To: a@example\.com, b@example\.com\nSubject: UPS of nas0\n/));
});

test('a driver that does not start is answered with its words', async () => {
  await battery('OL');
  const answer = await nas.api.put('services/ups/', { ups_options: 'no_such_setting = 1' });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /no_such_setting/);
  assert.equal((await nas.api.expect(200, 'GET', 'services/ups/'))['ups_options'], '');
});

test('the machine is what the configuration says', async () => {
  const reports = await nas.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});
