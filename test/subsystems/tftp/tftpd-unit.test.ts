import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tftpSettings } from '../../../src/areas/services/tftp.ts';
import { lines } from '../../../src/lib/text.ts';
import { tftpSubsystem } from '../../../src/subsystems/tftp/subsystem.ts';
import { fileOf, freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const dropIn = '/etc/systemd/system/tftpd-hpa.service.d/holdfast.conf';

test('every setting is an argument of the command', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'tftp');
  draft.update(tftpSettings, 1, {
    tftp_directory: '/mnt/tank/boot 100%',
    tftp_newfiles: true,
    tftp_port: 6969,
    tftp_username: 'mary',
    tftp_options: '-v --blocksize  1024',
  });
  const desired = tftpSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, dropIn),
    lines(
      '# Written by Holdfast.',
      '[Service]',
      'ExecStart=',
      'ExecStart=/usr/sbin/in.tftpd --listen --user "mary" --address "0.0.0.0:6969" --secure --permissive --umask 022 --create "-v" "--blocksize" "1024" "/mnt/tank/boot 100%%"',
    ),
  );
  assert.deepEqual(desired.services, [{ name: 'tftpd-hpa', running: true, onChange: 'restart' }]);
});

test('tftpd listens on one address, on all IPv4 addresses, or on all addresses', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'tftp');
  for (const [host, address] of [
    ['192.0.2.1', '192.0.2.1:69'],
    ['2001:db8::1', '[2001:db8::1]:69'],
    ['::', ':69'],
  ] as const) {
    draft.update(tftpSettings, 1, { tftp_directory: '/mnt/tank', tftp_host: host });
    assert.match(
      fileOf(tftpSubsystem.render(draft, machine), dropIn) ?? '',
      new RegExp(` --address "${address.replaceAll(/[[\]]/g, '\\$&')}" `),
    );
  }
});

test('tftpd is stopped while the volume of its folder is not mounted', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'tftp');
  assert.equal(
    tftpSubsystem.render(draft, machine).services?.[0]?.running,
    true,
    'on a fresh system tftpd serves an empty folder',
  );
  draft.update(tftpSettings, 1, { tftp_directory: '/mnt/locked/boot' });
  const desired = tftpSubsystem.render(draft, machine);
  assert.equal(desired.services?.[0]?.running, false);
});

test('an argument that the server would ignore is refused by name', () => {
  const { tftp_options: options } = tftpSettings.fields;
  assert.deepEqual(options.read('-v --blocksize 1024 --refuse=blksize'), {
    ok: true,
    value: '-v --blocksize 1024 --refuse=blksize',
  });
  for (const bad of ['--no-such-option', '--user root', '-s /', '--address :70']) {
    const reading = options.read(`-v ${bad}`);
    assert.ok(!reading.ok && reading.wrong.includes(`"${bad.split(' ')[0]}"`), bad);
  }
});
