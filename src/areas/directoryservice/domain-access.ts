import type { View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import type { DomainAccess, Joining } from '../../host/ports/domain.ts';
import { words } from '../../lib/text.ts';
import { certificateAuthority } from '../certificates/certificateauthority.ts';
import type { DomainSettings } from './domain-fields.ts';
import { kerberosKeytab } from './kerberoskeytab.ts';
import { kerberosPrincipal } from './kerberosprincipal.ts';
import { kerberosRealm } from './kerberosrealm.ts';

/**
 * Whether the machine has the keys of the membership that the settings describe. Settings restored from a backup may
 * describe another membership, or one that has ended.
 */
export function isMember(
  { ad_enable, ad_domainname, ad_netbiosname_a }: DomainSettings,
  { membership }: Pick<Facts, 'membership'>,
): boolean {
  return (
    ad_enable &&
    membership?.domain === ad_domainname.toLowerCase() &&
    membership.machine === ad_netbiosname_a.toLowerCase()
  );
}

/** The controllers to configure in Samba; empty to find them by DNS. */
export function controllersOf({ ad_dcname: dc, ad_siteservers: ofSite }: DomainSettings): readonly string[] {
  return dc === null ? words(ofSite) : [hostAndPort(dc, 0).host];
}

export function protectionOf({
  ad_ssl: ssl,
  ad_ldap_sasl_wrapping: wrapping,
}: DomainSettings): DomainAccess['protection'] {
  if (ssl !== 'off') return ssl === 'on' ? 'ldaps' : 'starttls';
  return wrapping === 'signed' ? 'sign' : wrapping === 'sealed' ? 'seal' : 'plain';
}

/** PEM certificate of the authority that signed the certificates of the controllers. */
export function authorityOf({ ad_ssl: ssl, ad_certificate: id }: DomainSettings, view: View): string | undefined {
  return ssl === 'off' || id === null ? undefined : (view.get(certificateAuthority, id)?.cert_certificate ?? undefined);
}

/** NetBIOS name of the domain. Until the domain has reported it, the first part of the DNS name is a good guess. */
export function workgroupOf({ ad_workgroup: reported, ad_domainname: domain }: DomainSettings): string {
  return reported || (domain.split('.')[0] ?? '').slice(0, 15).toUpperCase();
}

/** How to contact the domain: controller, account and encryption. */
export function accessOf(settings: DomainSettings, view: View): DomainAccess {
  const realm = settings.ad_kerberos_realm === null ? undefined : view.get(kerberosRealm, settings.ad_kerberos_realm);
  const [controller] = settings.ad_dcname === null ? [] : controllersOf(settings);
  return {
    domain: settings.ad_domainname,
    account: accountOf(settings, view),
    server: controller,
    ticketServers:
      realm === undefined || realm.krb_kdc === ''
        ? controller === undefined
          ? []
          : [controller]
        : words(realm.krb_kdc),
    site: settings.ad_site ?? undefined,
    protection: protectionOf(settings),
    authority: authorityOf(settings, view),
    seconds: settings.ad_timeout,
    dnsSeconds: settings.ad_dns_timeout,
  };
}

function accountOf(
  { ad_bindname: name, ad_bindpw: password, ad_kerberos_principal: id }: DomainSettings,
  view: View,
): DomainAccess['account'] {
  const principal = id === null ? undefined : view.get(kerberosPrincipal, id);
  const keytab = principal === undefined ? undefined : view.get(kerberosKeytab, principal.principal_keytab);
  return principal === undefined || keytab === undefined
    ? { name, password }
    : { principal: principal.principal_name, keytab: keytab.keytab_file };
}

export function joiningOf(settings: DomainSettings, view: View): Joining {
  return {
    ...accessOf(settings, view),
    workgroup: workgroupOf(settings),
    netbiosName: settings.ad_netbiosname_a,
    dnsUpdates: settings.ad_allow_dns_updates,
  };
}

/** The host and the port of NAME or NAME:PORT. */
export function hostAndPort(value: string, defaultPort: number): { readonly host: string; readonly port: number } {
  const [, host = value, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(value) ?? [];
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? defaultPort : Number(port) };
}
