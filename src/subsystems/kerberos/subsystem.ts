import { domainSettings } from '../../areas/directoryservice/activedirectory.ts';
import { controllersOf } from '../../areas/directoryservice/domain-access.ts';
import type { DomainSettings } from '../../areas/directoryservice/domain-fields.ts';
import { kerberosKeytab } from '../../areas/directoryservice/kerberoskeytab.ts';
import { kerberosRealm } from '../../areas/directoryservice/kerberosrealm.ts';
import { kerberosSettings } from '../../areas/directoryservice/kerberossettings.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { krb5Conf, type Realm } from './krb5-conf.ts';

/** The keytabs by their names, for programs that are told of one. The machine's own in a domain is Samba's, at /etc/krb5.keytab. */
const keytabsFolder = '/etc/holdfast/keytabs/';

export const kerberosSubsystem: Subsystem = {
  name: 'kerberos',
  description: 'The realms of Kerberos that programs know.',
  reads: [kerberosRealm, kerberosKeytab, kerberosSettings, domainSettings],
  local: [{ path: '/etc/krb5.conf', isDefault: isPackagedKrb5 }],
  render(view) {
    const domain = view.only(domainSettings);
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
          content: krb5Conf(realmsFor(domain, view.all(kerberosRealm)), view.only(kerberosSettings)),
        },
        ...keytabs,
      ],
      owns: [keytabsFolder],
    };
  },
};

/** Debian's own file lists the realms of some universities, and has a default realm only when the installation was told one. */
export function isPackagedKrb5(content: string): boolean {
  const realm = /^\s*default_realm\s*=\s*(\S+)/m.exec(content)?.[1];
  return content.includes('ATHENA.MIT.EDU = {') && (realm === undefined || realm === 'ATHENA.MIT.EDU');
}

/** The realm of the domain comes first, whoever else is known: names without a realm are the domain's. */
function realmsFor(domain: DomainSettings, realms: readonly (Realm & { readonly id: number })[]): readonly Realm[] {
  if (!domain.ad_enable) return realms;
  const name = domain.ad_domainname.toUpperCase();
  const chosen =
    realms.find(({ id }) => id === domain.ad_kerberos_realm) ??
    realms.find(({ krb_realm: other }) => other.toUpperCase() === name);
  const servers = chosen?.krb_kdc || (domain.ad_dcname === null ? '' : controllersOf(domain).join(' '));
  const own = { krb_admin_server: '', krb_kpasswd_server: '', ...chosen, krb_realm: name, krb_kdc: servers };
  return [own, ...realms.filter(({ krb_realm: other }) => other.toUpperCase() !== name && other !== chosen?.krb_realm)];
}
