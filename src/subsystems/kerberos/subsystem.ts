import { domainSettings } from '../../areas/directoryservice/activedirectory.ts';
import { controllersOf } from '../../areas/directoryservice/domain-access.ts';
import type { DomainSettings } from '../../areas/directoryservice/domain-fields.ts';
import { kerberosKeytab } from '../../areas/directoryservice/kerberoskeytab.ts';
import { kerberosRealm } from '../../areas/directoryservice/kerberosrealm.ts';
import { kerberosSettings } from '../../areas/directoryservice/kerberossettings.ts';
import { type LdapSettings, ldapSettings } from '../../areas/directoryservice/ldap.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { clientKeytab } from '../directory/nslcd-conf.ts';
import { krb5Conf, type Realm } from './krb5-conf.ts';

/**
 * The keytabs of the configuration, by name, for programs that are configured with a keytab path. In a domain, Samba
 * writes the machine's own keytab to /etc/krb5.keytab.
 */
const keytabsFolder = '/etc/holdfast/keytabs/';

export const kerberosSubsystem: Subsystem = {
  name: 'kerberos',
  description: 'Kerberos realms and keytabs.',
  reads: [kerberosRealm, kerberosKeytab, kerberosSettings, domainSettings, ldapSettings],
  local: [{ path: '/etc/krb5.conf', isDefault: isPackagedKrb5 }],
  render(view) {
    const domain = view.only(domainSettings);
    const ldap = view.only(ldapSettings);
    const keytabs = view.all(kerberosKeytab).map((keytab) => ({
      path: `${keytabsFolder}${keytab.keytab_name}`,
      content: keytab.keytab_file,
      mode: 0o600,
      encoding: 'base64' as const,
    }));
    return {
      files: [
        {
          path: '/etc/krb5.conf',
          content: krb5Conf(
            realmsFor(domain, ldap, view.all(kerberosRealm)),
            view.only(kerberosSettings),
            ldap.ldap_enable && ldap.ldap_kerberos_principal !== null ? clientKeytab : undefined,
          ),
        },
        ...keytabs,
      ],
      owns: [keytabsFolder],
    };
  },
};

/**
 * Whether the file is Debian's own. That one lists the realms of some universities, and has a default realm only if
 * debconf was given one.
 */
export function isPackagedKrb5(content: string): boolean {
  const realm = /^\s*default_realm\s*=\s*(\S+)/m.exec(content)?.[1];
  return content.includes('ATHENA.MIT.EDU = {') && (realm === undefined || realm === 'ATHENA.MIT.EDU');
}

/**
 * The realm of the domain comes first, otherwise that of the LDAP directory, because the first realm is the default for
 * names without a realm.
 */
function realmsFor(
  domain: DomainSettings,
  ldap: LdapSettings,
  realms: readonly (Realm & { readonly id: number })[],
): readonly Realm[] {
  if (!domain.ad_enable)
    return ldap.ldap_enable
      ? realms.toSorted((a, b) => Number(b.id === ldap.ldap_kerberos_realm) - Number(a.id === ldap.ldap_kerberos_realm))
      : realms;
  const name = domain.ad_domainname.toUpperCase();
  const chosen =
    realms.find(({ id }) => id === domain.ad_kerberos_realm) ??
    realms.find(({ krb_realm: other }) => other.toUpperCase() === name);
  const servers = chosen?.krb_kdc || (domain.ad_dcname === null ? '' : controllersOf(domain).join(' '));
  const own = { krb_admin_server: '', krb_kpasswd_server: '', ...chosen, krb_realm: name, krb_kdc: servers };
  return [own, ...realms.filter(({ krb_realm: other }) => other.toUpperCase() !== name && other !== chosen?.krb_realm)];
}
