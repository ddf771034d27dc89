import type { LdapSettings } from '../../areas/directoryservice/ldap.ts';
import type { LdapServer } from '../../areas/directoryservice/ldap-bind.ts';
import { lines } from '../../lib/text.ts';

/** The certificate authority that must have signed the LDAP server's certificate. */
export const authorityFile = '/etc/holdfast/ldap-authority.pem';

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
    account === undefined ? undefined : [`binddn ${account.name}`, `bindpw ${account.password}`],
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
