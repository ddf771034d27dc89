import assert from 'node:assert/strict';
import { test } from 'node:test';
import { upsSettings } from '../../../src/areas/services/ups.ts';
import { lines } from '../../../src/lib/text.ts';
import { upsSubsystem } from '../../../src/subsystems/ups/subsystem.ts';
import { fileOf, freshConfiguration, machine, messagesOf, switchOn } from '../support/configuration.ts';

const header = '# Written by Holdfast.';
const events = ['ONLINE', 'ONBATT', 'LOWBATT', 'FSD', 'SHUTDOWN', 'COMMOK', 'COMMBAD', 'NOCOMM', 'REPLBATT'];
type Draft = ReturnType<typeof freshConfiguration>;

const file = (draft: Draft, name: string) => fileOf(upsSubsystem.render(draft, machine), `/etc/nut/${name}`);
const running = (draft: Draft) =>
  upsSubsystem.render(draft, machine).services?.flatMap((one) => (one.running ? one.name : []));
const master = { ups_driver: 'usbhid-ups$Back-UPS', ups_port: 'auto' } as const;

test('on a fresh system upsmon runs without a UPS', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'ups');
  assert.equal(file(draft, 'nut.conf'), lines(header, 'MODE=netclient'));
  assert.equal(
    file(draft, 'upsmon.conf'),
    lines(
      header,
      'MINSUPPLIES 0',
      'SHUTDOWNCMD "/sbin/shutdown -P now"',
      'POWERDOWNFLAG "/etc/killpower"',
      'NOTIFYCMD /usr/sbin/upssched',
      events.map((event) => `NOTIFYFLAG ${event} SYSLOG+EXEC`),
    ),
  );
  assert.deepEqual(running(draft), ['nut-monitor']);
  assert.deepEqual(messagesOf(upsSubsystem, draft), ['No UPS is monitored, because ups_driver is empty.']);
});

test('a master runs the driver, the server and the monitor', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'ups');
  draft.update(upsSettings, 1, {
    ...master,
    ups_driver: 'genericups upstype=3$Any "model"',
    ups_port: '/dev/tty "S0"',
    ups_identifier: 'rack',
    ups_description: 'In the \\ rack',
    ups_options: 'mincharge = 20\nignorelb',
    ups_optionsupsd: 'MAXAGE 30',
    ups_monuser: 'watcher',
    ups_monpwd: "it's",
    ups_extrausers: '[mary]\npassword = hers\nupsmon secondary',
    ups_rmonitor: true,
    ups_remoteport: 3500,
    ups_nocommwarntime: 60,
    ups_shutdowntimer: 90,
    ups_powerdown: false,
  });
  assert.equal(file(draft, 'nut.conf'), lines(header, 'MODE=netserver'));
  assert.equal(
    file(draft, 'ups.conf'),
    lines(
      header,
      '[rack]',
      'driver = genericups',
      'upstype = 3',
      'port = "/dev/tty \\"S0\\""',
      'desc = "In the \\\\ rack"',
      'mincharge = 20',
      'ignorelb',
    ),
  );
  assert.equal(file(draft, 'upsd.conf'), lines(header, 'LISTEN 0.0.0.0 3500', 'MAXAGE 30'));
  assert.equal(
    file(draft, 'upsd.users'),
    lines(header, '[watcher]', `password = "it's"`, 'upsmon primary', '[mary]', 'password = hers', 'upsmon secondary'),
  );
  assert.equal(
    file(draft, 'upsmon.conf'),
    lines(
      header,
      `MONITOR rack@localhost:3500 1 "watcher" "it's" primary`,
      'MINSUPPLIES 1',
      'SHUTDOWNCMD "/sbin/shutdown -P now"',
      'NOCOMMWARNTIME 60',
      'NOTIFYCMD /usr/sbin/upssched',
      events.map((event) => `NOTIFYFLAG ${event} SYSLOG+EXEC`),
    ),
  );
  assert.equal(
    file(draft, 'upssched.conf'),
    lines(
      header,
      'CMDSCRIPT /usr/lib/holdfast/ups-event',
      'PIPEFN /run/nut/upssched/upssched.pipe',
      'LOCKFN /run/nut/upssched/upssched.lock',
      'AT ONBATT * START-TIMER shutdown 90',
      'AT ONLINE * CANCEL-TIMER shutdown',
      events.map((event) => `AT ${event} * EXECUTE ${event}`),
    ),
  );
  assert.deepEqual(running(draft), ['holdfast-ups-driver', 'nut-server', 'nut-monitor']);
});

test('a slave runs the monitor only', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'ups');
  draft.update(upsSettings, 1, { ups_mode: 'slave', ups_remotehost: '2001:db8::7', ups_shutdown: 'lowbatt' });
  assert.equal(file(draft, 'ups.conf'), lines(header));
  assert.match(
    file(draft, 'upsmon.conf') ?? '',
    /^MONITOR ups@\[2001:db8::7\]:3493 1 "upsmon" "fixmepass" secondary$/m,
  );
  assert.deepEqual(running(draft), ['nut-monitor']);
});

test('every event is reported to the daemon, and upsmon has the permission to do so while it runs', () => {
  const draft = freshConfiguration();
  const dropIn = () =>
    fileOf(upsSubsystem.render(draft, machine), '/etc/systemd/system/nut-monitor.service.d/holdfast.conf');
  assert.equal(dropIn(), undefined);
  switchOn(draft, 'ups');
  draft.update(upsSettings, 1, { ...master, ups_shutdown: 'lowbatt' });
  assert.equal(
    dropIn(),
    lines(
      header,
      '[Service]',
      'ExecStartPre=+/usr/bin/install -d -m 0710 -o root -g nut /run/holdfast-notices',
      'ExecStartPre=+-/usr/bin/chgrp nut /run/holdfast-notices/notices.socket',
    ),
  );
  assert.equal(
    file(draft, 'upssched.conf'),
    lines(
      header,
      'CMDSCRIPT /usr/lib/holdfast/ups-event',
      'PIPEFN /run/nut/upssched/upssched.pipe',
      'LOCKFN /run/nut/upssched/upssched.lock',
      events.map((event) => `AT ${event} * EXECUTE ${event}`),
    ),
  );
});

test('a slave without a host, a driver without a port and an unknown driver are refused', () => {
  const issuesOf = (sent: Parameters<Draft['update']>[2]) => {
    const draft = freshConfiguration();
    draft.update(upsSettings, 1, sent);
    return Object.keys(draft.issues.toIssues());
  };
  assert.deepEqual(issuesOf({ ups_port: '/dev/ttyS0', ups_rmonitor: true }), []);
  assert.deepEqual(issuesOf({ ups_mode: 'slave' }), ['ups_remotehost']);
  assert.deepEqual(issuesOf({ ups_driver: 'usbhid-ups$x', ups_emailnotify: true }), ['ups_port']);
  assert.equal(upsSettings.fields.ups_driver.read('nosuch-ups$Model').ok, false);
  assert.equal(upsSettings.fields.ups_driver.read('usbhid-ups$Model "X" 100%').ok, true);
  for (const name of ['ups_monpwd', 'ups_extrausers'] as const)
    assert.equal(upsSettings.fields[name].secret, true, name);
});
