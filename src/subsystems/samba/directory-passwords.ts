import type { LdapSettings } from '../../areas/directoryservice/ldap.ts';
import type { LdapServer, PasswordAccount } from '../../areas/directoryservice/ldap-bind.ts';
import { lines } from '../../lib/text.ts';
import { authorityFile } from '../directory/nslcd-conf.ts';
import type { Options } from './smb-conf.ts';

/** Options with which Samba reads passwords from an LDAP directory with Samba's schema. */
export function directoryOptions(
  settings: LdapSettings,
  { uri, startTls, account, base, seconds }: LdapServer,
): Options {
  return [
    ['passdb backend', `ldapsam:${uri}`],
    // The default of Samba is StartTLS.
    ['ldap ssl', startTls ? 'start tls' : 'off'],
    ['ldap suffix', base],
    ['ldap user suffix', settings.ldap_usersuffix],
    ['ldap group suffix', settings.ldap_groupsuffix],
    ['ldap machine suffix', settings.ldap_machinesuffix],
    ['ldap admin dn', account?.name],
    ['ldap timeout', seconds],
    ['ldap connection timeout', seconds],
  ];
}

/**
 * Samba reads the password of its LDAP account from its secrets database. This service copies it there from a file when
 * it starts, and removes it when it stops.
 */
export const directoryPasswordFile = '/etc/holdfast/samba-directory-password';
export const directoryPasswordName = 'holdfast-samba-directory';

export const directoryPasswordUnit: string = lines(
  '# Written by Holdfast.',
  '[Unit]',
  "Description=Samba's password for the LDAP directory",
  'Before=smbd.service',
  '',
  '[Service]',
  'Type=oneshot',
  'RemainAfterExit=yes',
  `ExecStart=/usr/lib/holdfast/samba-directory keep ${directoryPasswordFile}`,
  'ExecStop=/usr/lib/holdfast/samba-directory forget',
  '',
  '[Install]',
  'WantedBy=multi-user.target',
);

/** Two lines: the bind DN and its password. */
export function passwordOf({ account }: LdapServer<PasswordAccount>): string | undefined {
  return account === undefined ? undefined : lines(account.name, account.password);
}

/** smbd uses the LDAP library, which reads its certificate authorities from the environment. */
export const smbdDropIn: string = lines(
  '# Written by Holdfast.',
  '[Service]',
  'Environment=LDAPTLS_REQCERT=demand',
  `Environment=LDAPTLS_CACERT=${authorityFile}`,
);
