import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LdapSettings } from '../../../src/areas/directoryservice/ldap.ts';
import { nslcdConf } from '../../../src/subsystems/directory/nslcd-conf.ts';
import { nsswitchConf } from '../../../src/subsystems/directory/nsswitch-conf.ts';
import { ypbindDefaults, ypConf } from '../../../src/subsystems/directory/yp-conf.ts';

const ldap: LdapSettings = {
  id: 1,
  ldap_enable: true,
  ldap_hostname: 'ldap.example.com:3890',
  ldap_basedn: 'dc=example,dc=com',
  ldap_binddn: 'cn=reader,dc=example,dc=com',
  ldap_bindpw: 'may # read',
  ldap_anonbind: false,
  ldap_usersuffix: 'ou=people',
  ldap_groupsuffix: '',
  ldap_passwordsuffix: '',
  ldap_machinesuffix: '',
  ldap_sudosuffix: '',
  ldap_netbiosname_a: 'holdfast',
  ldap_netbiosalias: null,
  ldap_ssl: 'start_tls',
  ldap_certificate: 3,
  ldap_schema: 'rfc2307',
  ldap_timeout: 7,
  ldap_dns_timeout: 3,
  ldap_has_samba_schema: false,
  ldap_idmap_backend: 'ldap',
  ldap_kerberos_realm: null,
  ldap_kerberos_principal: null,
  ldap_auxiliary_parameters: 'pagesize 500',
};

const server = {
  uri: 'ldap://ldap.example.com:3890/',
  startTls: true,
  authority: 'PEM',
  account: { name: 'cn=reader,dc=example,dc=com', password: 'may # read' },
  base: 'dc=example,dc=com',
  seconds: 7,
  patience: 10,
};

test('nslcd binds as an account, with StartTLS, below the suffixes', () => {
  assert.equal(
    nslcdConf(ldap, server),
    `# Written by Holdfast.
uid nslcd
gid nslcd
uri ldap://ldap.example.com:3890/
base dc=example,dc=com
base passwd ou=people,dc=example,dc=com
base shadow ou=people,dc=example,dc=com
binddn cn=reader,dc=example,dc=com
bindpw may # read
ssl start_tls
tls_reqcert demand
tls_cacertfile /etc/holdfast/ldap-authority.pem
bind_timelimit 7
timelimit 7
map group member ""
nss_min_uid 1000
nss_initgroups_ignoreusers ALLLOCAL
pagesize 500
`,
  );
});

test('nslcd binds anonymously over LDAPS, and reads members by distinguished name', () => {
  const settings: LdapSettings = {
    ...ldap,
    ldap_schema: 'rfc2307bis',
    ldap_usersuffix: '',
    ldap_auxiliary_parameters: '',
  };
  const text = nslcdConf(settings, {
    ...server,
    uri: 'ldaps://ldap.example.com:3890/',
    startTls: false,
    account: undefined,
  });
  assert.equal(
    text,
    `# Written by Holdfast.
uid nslcd
gid nslcd
uri ldaps://ldap.example.com:3890/
base dc=example,dc=com
tls_reqcert demand
tls_cacertfile /etc/holdfast/ldap-authority.pem
bind_timelimit 7
timelimit 7
nss_min_uid 1000
nss_initgroups_ignoreusers ALLLOCAL
`,
  );
});

test('nslcd queries as a Kerberos principal, without a password', () => {
  const text = nslcdConf(ldap, { ...server, account: { name: 'nfs/nas.example.com@EXAMPLE.COM', keytab: 'BQI=' } });
  assert.match(text, /^sasl_mech GSSAPI$/m);
  assert.doesNotMatch(text, /binddn|bindpw|BQI=/);
});

test("the machine's own accounts come first", () => {
  assert.match(nsswitchConf(['ldap', 'nis']), /^passwd: files systemd ldap nis\ngroup: files systemd ldap nis$/m);
  assert.match(nsswitchConf([]), /^passwd: files systemd\n/m);
});

test('ypbind has each server, and broadcasts if there is none', () => {
  const nis = {
    id: 1,
    nis_enable: true,
    nis_domain: 'lab',
    nis_servers: '192.0.2.7, yp.example.com',
    nis_secure_mode: false,
    nis_manycast: false,
  };
  assert.equal(ypConf(nis), '# Written by Holdfast.\ndomain lab server 192.0.2.7\ndomain lab server yp.example.com\n');
  assert.equal(ypConf({ ...nis, nis_servers: '' }), '# Written by Holdfast.\ndomain lab broadcast\n');
  assert.equal(ypbindDefaults(nis), '# Written by Holdfast.\nYPBINDARGS=-broken-server\n');
  assert.equal(ypbindDefaults({ ...nis, nis_secure_mode: true }), '# Written by Holdfast.\nYPBINDARGS=\n');
});

test('winbind is a source of accounts and groups, but not of shadow', () => {
  const lines = nsswitchConf(['ldap', 'winbind']).split('\n');
  for (const line of [
    'passwd: files systemd ldap winbind',
    'group: files systemd ldap winbind',
    'shadow: files systemd ldap',
  ])
    assert.ok(lines.includes(line), line);
});
