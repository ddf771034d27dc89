import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dynamicDnsSettings } from '../../../src/areas/services/dynamicdns.ts';
import { lines } from '../../../src/lib/text.ts';
import { dynamicDnsSubsystem } from '../../../src/subsystems/dynamicdns/subsystem.ts';
import { fileOf, freshConfiguration, machine, messagesOf, switchOn } from '../support/configuration.ts';

const conf = '/etc/inadyn.conf';
const account = { ddns_domain: 'nas.example.com', ddns_username: 'mary', ddns_password: 'secret' } as const;

test('without a domain inadyn does not run', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'dynamicdns');
  const desired = dynamicDnsSubsystem.render(draft, machine);
  assert.equal(fileOf(desired, conf), lines('# Written by Holdfast.', 'period = 300', 'allow-ipv6 = true'));
  assert.equal(desired.services?.[0]?.running, false);
  assert.deepEqual(messagesOf(dynamicDnsSubsystem, draft), [
    'Dynamic DNS updates no address, because ddns_domain is empty.',
  ]);
});

test('a listed provider gets every domain', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'dynamicdns');
  draft.update(dynamicDnsSettings, 1, {
    ...account,
    ddns_domain: 'a.example.com; b.example.com,c.example.com',
    ddns_password: `it's "$HOME" \\`,
    ddns_ssl: true,
    ddns_period: 60,
  });
  const desired = dynamicDnsSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, conf),
    lines(
      '# Written by Holdfast.',
      'period = 60',
      'allow-ipv6 = true',
      'provider default@3322.org {',
      "  hostname = { 'a.example.com', 'b.example.com', 'c.example.com' }",
      "  username = 'mary'",
      `  password = 'it\\'s "$HOME" \\\\'`,
      '  ssl = true',
      '}',
    ),
  );
  assert.equal(desired.services?.[0]?.running, true);
  assert.equal(desired.files?.find(({ path }) => path === conf)?.mode, 0o600);
});

test('a custom provider and a check-IP server have a host and a path', () => {
  const draft = freshConfiguration();
  draft.update(dynamicDnsSettings, 1, {
    ...account,
    ddns_provider: 'custom',
    ddns_custom_ddns_server: '192.0.2.7:8081',
    ddns_custom_ddns_path: '/update?host=%h&ip=%i',
    ddns_checkip_server: 'ip.example.com',
    ddns_checkip_path: '/mine',
    ddns_checkip_ssl: true,
  });
  assert.equal(
    fileOf(dynamicDnsSubsystem.render(draft, machine), conf),
    lines(
      '# Written by Holdfast.',
      'period = 300',
      'allow-ipv6 = true',
      'custom holdfast {',
      "  hostname = { 'nas.example.com' }",
      "  username = 'mary'",
      "  password = 'secret'",
      '  ssl = false',
      "  ddns-server = '192.0.2.7:8081'",
      "  ddns-path = '/update?host=%h&ip=%i'",
      "  checkip-server = 'ip.example.com'",
      "  checkip-path = '/mine'",
      '  checkip-ssl = true',
      '}',
    ),
  );
});

test('all missing settings are reported in one answer', () => {
  const issuesOf = (sent: Parameters<ReturnType<typeof freshConfiguration>['update']>[2]) => {
    const draft = freshConfiguration();
    draft.update(dynamicDnsSettings, 1, sent);
    return Object.keys(draft.issues.toIssues());
  };
  assert.deepEqual(issuesOf({ ddns_period: 60 }), []);
  assert.deepEqual(issuesOf({ ddns_domain: 'a.example.com', ddns_provider: 'custom' }), [
    'ddns_username',
    'ddns_password',
    'ddns_custom_ddns_server',
    'ddns_custom_ddns_path',
  ]);
  assert.deepEqual(issuesOf({ ddns_provider: 'default@tzo.com' }), ['ddns_provider']);
});
