import { authorityOf, controllersOf, protectionOf, workgroupOf } from '../../areas/directoryservice/domain-access.ts';
import type { DomainSettings } from '../../areas/directoryservice/domain-fields.ts';
import type { View } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';
import { idmapOptions } from './idmap-conf.ts';

/** The authority that the domain controllers' certificates must be signed by. */
export const domainAuthorityFile = '/etc/holdfast/domain-authority.pem';

/** Samba remembers for a week which number an account has, also when another map gives another one. */
export const winbindDropIn: string = lines(
  '# Written by Holdfast.',
  '[Service]',
  'ExecStartPre=-/usr/bin/net cache flush',
);

type Option = readonly [name: string, value: string | number | boolean | undefined];

/** What makes Samba a member of the domain: parameters of the global section. */
export function memberOptions(settings: DomainSettings, view: View): readonly Option[] {
  const workgroup = workgroupOf(settings);
  const controllers = controllersOf(settings);
  const shell = settings.ad_nss_info ?? 'rfc2307';
  return [
    ['security', 'ads'],
    ['realm', settings.ad_domainname.toUpperCase()],
    ['workgroup', workgroup],
    // The others are asked when the one that was chosen does not answer.
    ['password server', controllers.length === 0 ? undefined : [...controllers, '*'].join(' ')],
    ['kerberos method', 'secrets and keytab'],
    ['client ldap sasl wrapping', protectionOf(settings)],
    ...(authorityOf(settings, view) === undefined
      ? []
      : ([
          ['tls cafile', domainAuthorityFile],
          ['tls trust system cas', false],
          // Its own word for strict wants a list of revoked certificates as well, and asks nobody without.
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
