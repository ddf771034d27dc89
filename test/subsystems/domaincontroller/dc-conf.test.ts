import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainControllerSettings } from '../../../src/areas/services/domaincontroller.ts';
import { lines } from '../../../src/lib/text.ts';
import { domainControllerSubsystem } from '../../../src/subsystems/domaincontroller/subsystem.ts';
import { fileOf, freshConfiguration, machine, messagesOf, switchOn } from '../support/configuration.ts';

const domain = {
  dc_realm: 'corp.example.com',
  dc_domain: 'CORP',
  dc_dns_forwarder: '192.0.2.53',
  dc_passwd: 'Secret "1"',
} as const;

test('without a realm no domain is served', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'domaincontroller');
  const desired = domainControllerSubsystem.render(draft, machine);
  assert.equal(desired.services?.[0]?.running, false);
  assert.deepEqual(messagesOf(domainControllerSubsystem, draft), [
    'The domain controller serves no domain, because dc_realm is empty.',
  ]);
});

test('the provisioned smb.conf is included before the parameters that can change', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'domaincontroller');
  draft.update(domainControllerSettings, 1, { ...domain, dc_dns_backend: 'NONE', dc_forest_level: '2008_R2' });
  const desired = domainControllerSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, '/etc/samba/holdfast-dc.conf'),
    lines(
      '# Written by Holdfast.',
      '[global]',
      'include = /var/lib/samba/holdfast-dc/etc/smb.conf',
      '[global]',
      'interfaces = *',
      'bind interfaces only = yes',
      'dns forwarder = 192.0.2.53',
      'ad dc functional level = 2016',
      'server services = -dns',
    ),
  );
  assert.equal(
    fileOf(desired, '/etc/samba/holdfast-dc.json'),
    '{"realm":"corp.example.com","domain":"CORP","dns":"NONE","level":"2008_R2","password":"Secret \\"1\\""}\n',
  );
  assert.equal(desired.files?.find(({ path }) => path.endsWith('.json'))?.mode, 0o600);
  assert.equal(desired.services?.[0]?.running, true);
});

test('all missing required settings are reported in one answer', () => {
  const draft = freshConfiguration();
  draft.update(domainControllerSettings, 1, { dc_domain: 'CORP' });
  assert.deepEqual(Object.keys(draft.issues.toIssues()), ['dc_realm', 'dc_dns_forwarder', 'dc_passwd']);
  assert.deepEqual(domainControllerSettings.fields.dc_dns_backend.read('SMBSRV_INTERNAL'), {
    ok: true,
    value: 'SAMBA_INTERNAL',
  });
  assert.equal(domainControllerSettings.fields.dc_passwd.secret, true);
});
