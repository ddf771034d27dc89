import type { LdapSettings } from '../../areas/directoryservice/ldap.ts';
import type { LdapServer } from '../../areas/directoryservice/ldap-bind.ts';
import { lines } from '../../lib/text.ts';

/** The authority that the LDAP server's certificate must be signed by. */
export const authorityFile = '/etc/holdfast/ldap-authority.pem';

/** `/etc/nslcd.conf`: a word, then its value up to the end of the line. */
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
    account === undefined ? undefined : [`binddn ${account.name}`, `bindpw ${account.password}`],
    startTls ? 'ssl start_tls' : undefined,
    authority === undefined ? undefined : ['tls_reqcert demand', `tls_cacertfile ${authorityFile}`],
    `bind_timelimit ${seconds}`,
    `timelimit ${seconds}`,
    // Members by name only: no entry is asked for to find out what a name in it is.
    settings.ldap_schema === 'rfc2307' ? 'map group member ""' : undefined,
    // The machine's own accounts are nobody else's to have.
    'nss_min_uid 1000',
    'nss_initgroups_ignoreusers ALLLOCAL',
    settings.ldap_auxiliary_parameters === '' ? undefined : settings.ldap_auxiliary_parameters,
  );
}

function mapBase(map: string, base: string | undefined): string | undefined {
  return base === undefined ? undefined : `base ${map} ${base}`;
}
