import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainSettings } from '../../../src/areas/directoryservice/activedirectory.ts';
import { kerberosKeytab } from '../../../src/areas/directoryservice/kerberoskeytab.ts';
import { kerberosPrincipal } from '../../../src/areas/directoryservice/kerberosprincipal.ts';
import { kerberosRealm } from '../../../src/areas/directoryservice/kerberosrealm.ts';
import { kerberosSubsystem } from '../../../src/subsystems/kerberos/subsystem.ts';
import { exampleKeytab } from '../../support/keytabs.ts';
import { fileOf, freshConfiguration, machine } from '../support/configuration.ts';

const member = {
  ad_enable: true,
  ad_domainname: 'corp.example.com',
  ad_bindname: 'Administrator',
  ad_bindpw: 'secret',
};

test('the realm of the domain comes first, with its known servers', () => {
  const draft = freshConfiguration();
  const realms = () => {
    const file = fileOf(kerberosSubsystem.render(draft, machine), '/etc/krb5.conf') ?? '';
    return file.slice(file.indexOf('[realms]'), file.indexOf('[domain_realm]'));
  };
  draft.create(kerberosRealm, { krb_realm: 'OTHER.ORG', krb_kdc: 'kdc.other.org' });
  draft.update(domainSettings, 1, member);
  assert.equal(realms(), '[realms]\n  CORP.EXAMPLE.COM = {\n  }\n  OTHER.ORG = {\n    kdc = kdc.other.org\n  }\n\n');
  draft.update(domainSettings, 1, { ad_dcname: 'dc1.corp.example.com:389' });
  assert.match(realms(), /CORP\.EXAMPLE\.COM = \{\n {4}kdc = dc1\.corp\.example\.com\n {2}\}/);
  draft.create(kerberosRealm, { krb_realm: 'CORP.EXAMPLE.COM', krb_kdc: 'kdc1 kdc2' });
  assert.equal(
    realms(),
    '[realms]\n  CORP.EXAMPLE.COM = {\n    kdc = kdc1\n    kdc = kdc2\n  }\n  OTHER.ORG = {\n    kdc = kdc.other.org\n  }\n\n',
  );
});

test('each keytab is a binary file that only root can read', () => {
  const draft = freshConfiguration();
  draft.create(kerberosKeytab, { keytab_name: 'nfs', keytab_file: exampleKeytab('nfs').replace(/.{20}/g, '$&\r\n') });
  assert.deepEqual(draft.issues.toIssues(), {});
  assert.deepEqual(kerberosSubsystem.render(draft, machine).files?.slice(1), [
    { path: '/etc/holdfast/keytabs/nfs', content: exampleKeytab('nfs'), mode: 0o600, encoding: 'base64' },
  ]);
  assert.deepEqual(
    draft.all(kerberosPrincipal).map(({ principal_name }) => principal_name),
    ['nfs/nas.example.com@EXAMPLE.COM'],
  );
});
