import type { LdapSettings } from '../../areas/directoryservice/ldap.ts';
import type { LdapServer } from '../../areas/directoryservice/ldap-bind.ts';
import { lines } from '../../lib/text.ts';

/** The certificate authority that must have signed the LDAP server's certificate. */
export const authorityFile = '/etc/holdfast/ldap-authority.pem';

/** The key with which nslcd queries the directory, in base64, if it is a Kerberos principal. */
export function keytabFor({ account }: LdapServer): string | undefined {
  return account !== undefined && 'keytab' in account ? account.keytab : undefined;
}

export const keytabFile = '/etc/holdfast/ldap.keytab';

/** A copy of the key for nslcd, which gives up root before it uses it. */
export const clientKeytab = '/run/nslcd.keytab';

/**
 * Drop-in of `nslcd.service` for a Kerberos principal. nslcd clears its environment, so `/etc/krb5.conf` names the key. The
 * Kerberos library gets tickets with it by itself, and renews them.
 */
export const keytabDropIn = lines(
  '# Written by Holdfast.',
  '[Service]',
  `ExecStartPre=/usr/bin/install -o nslcd -g nslcd -m 0400 ${keytabFile} ${clientKeytab}`,
);

/** `/etc/nslcd.conf`: each line is a keyword and its value. */
export function nslcdConf(
  settings: LdapSettings,
  { uri, startTls, authority, account, base, seconds }: LdapServer,
): string {
  const below = (suffix: string) => (suffix === '' ? undefined : `${suffix},${base}`);
  return lines(
    '# Written by Holdfast.',
    'uid nslcd',
    'gid nslcd',
    `uri ${uri}`,
    `base ${base}`,
    mapBase('passwd', below(settings.ldap_usersuffix)),
    mapBase('group', below(settings.ldap_groupsuffix)),
    mapBase('shadow', below(settings.ldap_passwordsuffix) ?? below(settings.ldap_usersuffix)),
    account === undefined
      ? undefined
      : 'keytab' in account
        ? // The ticket is for the name in the settings, not for the one that DNS has for the address.
          ['sasl_mech GSSAPI', 'sasl_canonicalize no', 'krb5_ccname MEMORY:nslcd']
        : [`binddn ${account.name}`, `bindpw ${account.password}`],
    startTls ? 'ssl start_tls' : undefined,
    authority === undefined ? undefined : ['tls_reqcert demand', `tls_cacertfile ${authorityFile}`],
    `bind_timelimit ${seconds}`,
    `timelimit ${seconds}`,
    // In rfc2307, groups list members by name. This saves a lookup of member distinguished names.
    settings.ldap_schema === 'rfc2307' ? 'map group member ""' : undefined,
    // The directory must not override accounts of the machine.
    'nss_min_uid 1000',
    'nss_initgroups_ignoreusers ALLLOCAL',
    settings.ldap_auxiliary_parameters === '' ? undefined : settings.ldap_auxiliary_parameters,
  );
}

function mapBase(map: string, base: string | undefined): string | undefined {
  return base === undefined ? undefined : `base ${map} ${base}`;
}
