import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ldapSettings } from '../../../src/areas/directoryservice/ldap.ts';
import type { SentOf } from '../../../src/engine/declare/resource.ts';
import { sambaSubsystem } from '../../../src/subsystems/samba/subsystem.ts';
import { fileOf, freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const settings: SentOf<typeof ldapSettings.fields> = {
  ldap_enable: true,
  ldap_has_samba_schema: true,
  ldap_hostname: 'ldap.example.com',
  ldap_basedn: 'dc=example,dc=com',
  ldap_binddn: 'cn=reader,dc=example,dc=com',
  ldap_bindpw: 'may # read',
  ldap_usersuffix: 'ou=people',
  ldap_machinesuffix: 'ou=machines',
  ldap_timeout: 7,
};

function rendered(sent: SentOf<typeof ldapSettings.fields>) {
  const draft = freshConfiguration();
  switchOn(draft, 'cifs');
  draft.update(ldapSettings, 1, { ...settings, ...sent });
  assert.deepEqual(draft.issues.toIssues(), {});
  return sambaSubsystem.render(draft, machine);
}

const linesOf = (sent: SentOf<typeof ldapSettings.fields>) =>
  (fileOf(rendered(sent), '/etc/samba/smb.conf') ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(passdb|ldap) /.test(line));

test('Samba uses a directory with its schema, and its own password file otherwise', () => {
  assert.deepEqual(linesOf({}), [
    'passdb backend = ldapsam:ldap://ldap.example.com/',
    'ldap ssl = off',
    'ldap suffix = dc=example,dc=com',
    'ldap user suffix = ou=people',
    'ldap machine suffix = ou=machines',
    'ldap admin dn = cn=reader,dc=example,dc=com',
    'ldap timeout = 7',
    'ldap connection timeout = 7',
  ]);
  for (const change of [{ ldap_has_samba_schema: false }, { ldap_enable: false }])
    assert.deepEqual(linesOf(change), ['passdb backend = smbpasswd:/etc/samba/smbpasswd']);
});

test('the password for the directory is only in a file that root can read', () => {
  const { files = [], services = [] } = rendered({});
  assert.deepEqual(
    files
      .filter(({ content }) => content?.includes('may # read'))
      .map(({ path, mode, content }) => [path, mode, content]),
    [['/etc/holdfast/samba-directory-password', 0o600, 'cn=reader,dc=example,dc=com\nmay # read\n']],
  );
  const place = services.findIndex(({ name }) => name === 'holdfast-samba-directory');
  assert.equal(services[place]?.running, true);
  assert.ok(place < services.findIndex(({ name }) => name === 'smbd'), 'it is there before smbd asks');
  assert.equal(rendered({ ldap_enable: false }).services?.[place]?.running, false);
});

test('a different directory restarts smbd but not nmbd', () => {
  const [one, another] = [rendered({}), rendered({ ldap_hostname: 'ldap2.example.com' })].map(
    ({ services = [] }) => new Map(services.map((service) => [service.name, service.readAtStart])),
  );
  assert.notEqual(one?.get('smbd'), another?.get('smbd'));
  assert.equal(one?.get('nmbd'), another?.get('nmbd'));
});
