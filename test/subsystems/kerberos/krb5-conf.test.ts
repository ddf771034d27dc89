import assert from 'node:assert/strict';
import { test } from 'node:test';
import { krb5Conf } from '../../../src/subsystems/kerberos/krb5-conf.ts';

test('krb5.conf lists the realms with their servers, and the first is the default', () => {
  const realms = [
    {
      id: 1,
      krb_realm: 'EXAMPLE.COM',
      krb_kdc: 'kdc1.example.com kdc2.example.com:8888',
      krb_admin_server: 'kdc1.example.com',
      krb_kpasswd_server: '',
    },
    { id: 2, krb_realm: 'OTHER.ORG', krb_kdc: '', krb_admin_server: '', krb_kpasswd_server: '' },
  ];
  assert.equal(
    krb5Conf(realms, { id: 1, ks_appdefaults_aux: '  debug = true', ks_libdefaults_aux: '  ticket_lifetime = 1d' }),
    `# Written by Holdfast.
[libdefaults]
  default_realm = EXAMPLE.COM
  dns_lookup_realm = false
  dns_lookup_kdc = true
  rdns = false
  forwardable = true
  ticket_lifetime = 1d

[realms]
  EXAMPLE.COM = {
    kdc = kdc1.example.com
    kdc = kdc2.example.com:8888
    admin_server = kdc1.example.com
  }
  OTHER.ORG = {
  }

[domain_realm]
  .example.com = EXAMPLE.COM
  example.com = EXAMPLE.COM
  .other.org = OTHER.ORG
  other.org = OTHER.ORG

[appdefaults]
  debug = true
`,
  );
});
