import { authorityOf, controllersOf, protectionOf, workgroupOf } from '../../areas/directoryservice/domain-access.ts';
import type { DomainSettings } from '../../areas/directoryservice/domain-fields.ts';
import type { View } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';
import { idmapOptions } from './idmap-conf.ts';

/** The certificate authority that must have signed the domain controllers' certificates. */
export const domainAuthorityFile = '/etc/holdfast/domain-authority.pem';

/** Samba caches the ids of accounts for a week, even if the idmap changes, so the cache is flushed at each start. */
export const winbindDropIn: string = lines(
  '# Written by Holdfast.',
  '[Service]',
  'ExecStartPre=-/usr/bin/net cache flush',
);

type Option = readonly [name: string, value: string | number | boolean | undefined];

/** The global parameters of a domain member. */
export function memberOptions(settings: DomainSettings, view: View): readonly Option[] {
  const workgroup = workgroupOf(settings);
  const controllers = controllersOf(settings);
  const shell = settings.ad_nss_info ?? 'rfc2307';
  return [
    ['security', 'ads'],
    ['realm', settings.ad_domainname.toUpperCase()],
    ['workgroup', workgroup],
    // `*` falls back to the other domain controllers when the configured ones do not answer.
    ['password server', controllers.length === 0 ? undefined : [...controllers, '*'].join(' ')],
    ['kerberos method', 'secrets and keytab'],
    ['client ldap sasl wrapping', protectionOf(settings)],
    ...(authorityOf(settings, view) === undefined
      ? []
      : ([
          ['tls cafile', domainAuthorityFile],
          ['tls trust system cas', false],
          // `as_strict_as_possible` also requires a revocation list, and connects to no server without one.
          ['tls verify peer', 'ca_and_name'],
        ] as const)),
    ['ldap timeout', settings.ad_timeout],
    ['ldap connection timeout', Math.min(settings.ad_timeout, 60)],
    ['winbind request timeout', settings.ad_timeout],
    ['async dns timeout', settings.ad_dns_timeout],
    ['allow trusted domains', settings.ad_allow_trusted_doms],
    ['winbind use default domain', settings.ad_use_default_domain],
    ['winbind enum users', !settings.ad_disable_freenas_cache],
    ['winbind enum groups', !settings.ad_disable_freenas_cache],
    ['winbind refresh tickets', true],
    ['winbind nss info', settings.ad_unix_extensions || settings.ad_nss_info !== null ? shell : 'template'],
    ['template shell', '/bin/sh'],
    ...idmapOptions(view, settings.ad_idmap_backend, workgroup),
  ];
}
