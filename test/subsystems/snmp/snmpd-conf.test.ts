import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snmpSettings } from '../../../src/areas/services/snmp.ts';
import { lines } from '../../../src/lib/text.ts';
import { snmpSubsystem } from '../../../src/subsystems/snmp/subsystem.ts';
import { fileOf, freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const conf = '/etc/snmp/snmpd.conf';

test('a fresh system answers the community public and publishes its pools', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'snmp');
  const desired = snmpSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, conf),
    lines(
      '# Written by Holdfast.',
      'agentaddress udp:161',
      'sysservices 76',
      'rocommunity "public"',
      'pass_persist .1.3.6.1.4.1.50536.1.1 /usr/lib/holdfast/snmp-pools pools',
      'authtrapenable 2',
    ),
  );
  assert.match(
    fileOf(desired, '/etc/systemd/system/snmpd.service.d/holdfast.conf') ?? '',
    /^ExecStart=\/usr\/sbin\/snmpd -LO3 /m,
  );
  assert.equal(desired.files?.find(({ path }) => path === conf)?.mode, 0o600);
  assert.deepEqual(desired.services, [{ name: 'snmpd', running: true, onChange: 'restart' }]);
});

test('every setting has its line, and quotes in a pass phrase stay in it', () => {
  const draft = freshConfiguration();
  draft.update(snmpSettings, 1, {
    snmp_location: 'the "cold" room',
    snmp_contact: 'admin@example.com',
    snmp_traps: true,
    snmp_community: 'our readers',
    snmp_v3: true,
    snmp_v3_username: 'monitor',
    snmp_v3_password: 'pass "word" \\',
    snmp_v3_privproto: 'AES',
    snmp_v3_privpassphrase: 'another phrase',
    snmp_loglevel: 7,
    snmp_zilstat: true,
    snmp_options: 'trap2sink 192.0.2.9\nload 5',
  });
  const desired = snmpSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, conf),
    lines(
      '# Written by Holdfast.',
      'agentaddress udp:161',
      'syslocation the "cold" room',
      'syscontact admin@example.com',
      'sysservices 76',
      'rocommunity "our readers"',
      'createUser "monitor" SHA "pass \\"word\\" \\\\" AES "another phrase"',
      'rouser "monitor" priv',
      'pass_persist .1.3.6.1.4.1.50536.1.1 /usr/lib/holdfast/snmp-pools pools',
      'pass_persist .1.3.6.1.4.1.50536.1.5 /usr/lib/holdfast/snmp-pools intent-log',
      'authtrapenable 1',
      'trapcommunity "our readers"',
      'trap2sink 192.0.2.9',
      'load 5',
    ),
  );
});

test('an account uses its authentication and privacy protocols', () => {
  const draft = freshConfiguration();
  const account = (sent: Parameters<typeof draft.update<typeof snmpSettings.fields>>[2]) => {
    draft.update(snmpSettings, 1, { snmp_v3: true, snmp_v3_username: 'monitor', ...sent });
    return /createUser.*\nrouser.*/.exec(fileOf(snmpSubsystem.render(draft, machine), conf) ?? '')?.[0];
  };
  assert.equal(account({ snmp_v3_authtype: '' }), 'createUser "monitor"\nrouser "monitor" noauth');
  assert.equal(
    account({ snmp_v3_authtype: 'MD5', snmp_v3_password: 'long enough' }),
    'createUser "monitor" MD5 "long enough"\nrouser "monitor" auth',
  );
});

test('all missing settings for version 3 are reported in one answer, and none while it is off', () => {
  const issuesOf = (sent: Parameters<ReturnType<typeof freshConfiguration>['update']>[2]) => {
    const draft = freshConfiguration();
    draft.update(snmpSettings, 1, sent);
    return Object.keys(draft.issues.toIssues());
  };
  assert.deepEqual(issuesOf({ snmp_contact: 'nobody' }), []);
  assert.deepEqual(issuesOf({ snmp_v3: true, snmp_v3_privproto: 'AES' }), [
    'snmp_v3_username',
    'snmp_v3_password',
    'snmp_v3_privpassphrase',
  ]);
  assert.deepEqual(
    issuesOf({
      snmp_v3: true,
      snmp_v3_username: 'monitor',
      snmp_v3_authtype: '',
      snmp_v3_privproto: 'AES',
      snmp_v3_privpassphrase: 'long enough',
    }),
    ['snmp_v3_privproto'],
  );
  assert.deepEqual(issuesOf({ snmp_community: '' }), ['snmp_community']);
});

test('a line that the server would ignore is refused by name', () => {
  const { snmp_options: options } = snmpSettings.fields;
  assert.equal(options.read('# a remark\n  Proc sshd\nextend test /bin/true').ok, true);
  assert.deepEqual(options.read('proc sshd\nnosuch thing'), {
    ok: false,
    wrong: '"nosuch thing" is not a directive of the SNMP server.',
  });
});
