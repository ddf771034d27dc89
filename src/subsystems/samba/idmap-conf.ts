import {
  chosenMap,
  type IdmapKind,
  idmapAd,
  idmapAutorid,
  idmapHash,
  idmapLdap,
  idmapRfc2307,
  idmapScript,
  idmapTdb2,
  type UsedMap,
  usedMaps,
} from '../../areas/directoryservice/idmap.ts';
import type { Fields } from '../../engine/declare/fields.ts';
import type { Collection, RecordOf, View } from '../../engine/declare/resource.ts';

type Option = readonly [name: string, value: string | number | boolean];

interface Options {
  /** Parameters with the prefix `idmap config DOMAIN :`. */
  readonly own: readonly Option[];
  /** Global parameters. */
  readonly shared?: readonly Option[];
}

/** `of` is the collection of the idmap; `options` returns its parameters except the range. */
function from<F extends Fields>(
  of: Collection<F>,
  options: (record: RecordOf<F>) => Options,
): (view: View, service: number) => Options {
  return (view, service) => {
    const record = chosenMap(view, of, service);
    return record === undefined ? { own: [] } : options(record);
  };
}

/**
 * `ldap_user_dn` is never set: Samba would ask for its password in secrets.tdb, which no field has, and map nothing without
 * it. So directories are queried anonymously.
 */
const tls = { off: 'off', on: 'off', start_tls: 'start tls' } as const;

/** `on` means TLS from the start of the connection, which the URL scheme `ldaps` selects. */
const address = (url: string, ssl: keyof typeof tls) => (ssl === 'on' ? url.replace(/^ldap:/, 'ldaps:') : url);

const optionsOf: Readonly<Partial<Record<IdmapKind, (view: View, service: number) => Options>>> = {
  ad: from(idmapAd, (map) => ({
    own: [
      ['schema_mode', map.idmap_ad_schema_mode],
      ['unix_primary_group', map.idmap_ad_unix_primary_group],
      ['unix_nss_info', map.idmap_ad_unix_nss_info],
    ],
  })),
  autorid: from(idmapAutorid, (map) => ({
    own: [
      ['rangesize', map.idmap_autorid_rangesize],
      ['read only', map.idmap_autorid_readonly],
      ['ignore builtin', map.idmap_autorid_ignore_builtin],
    ],
  })),
  hash: from(idmapHash, (map) => ({ own: [], shared: [['idmap_hash:name_map', map.idmap_hash_range_name_map]] })),
  ldap: from(idmapLdap, (map) => ({
    own: [
      ['ldap_url', address(map.idmap_ldap_ldap_url, map.idmap_ldap_ssl)],
      ['ldap_base_dn', map.idmap_ldap_ldap_base_dn],
    ],
    shared: [['ldap ssl', tls[map.idmap_ldap_ssl]]],
  })),
  rfc2307: from(idmapRfc2307, (map) => ({
    own: [
      ['ldap_server', map.idmap_rfc2307_ldap_server],
      ['bind_path_user', map.idmap_rfc2307_bind_path_user],
      ['bind_path_group', map.idmap_rfc2307_bind_path_group],
      ['user_cn', map.idmap_rfc2307_user_cn],
      // The current name of Samba's former parameter `cn_realm`.
      ['realm', map.idmap_rfc2307_cn_realm ? map.idmap_rfc2307_ldap_realm : ''],
      ['ldap_domain', map.idmap_rfc2307_ldap_domain],
      ['ldap_url', address(map.idmap_rfc2307_ldap_url, map.idmap_rfc2307_ssl)],
    ],
    shared: [['ldap ssl', tls[map.idmap_rfc2307_ssl]]],
  })),
  script: from(idmapScript, (map) => ({ own: [['script', map.idmap_script_script]] })),
  tdb2: from(idmapTdb2, (map) => ({ own: [['script', map.idmap_tdb2_script]] })),
};

/** The idmaps of the domain, and of all other domains (`*`). */
export function idmapOptions(view: View, kind: IdmapKind, workgroup: string): readonly Option[] {
  const maps = usedMaps(view, kind);
  if (maps === undefined) return [];
  return [
    ...linesOf(view, '*', maps.others),
    ...(maps.domain === undefined ? [] : linesOf(view, workgroup, maps.domain)),
  ];
}

function linesOf(view: View, domain: string, { kind, range, service }: UsedMap): readonly Option[] {
  const { own, shared = [] } = optionsOf[kind]?.(view, service) ?? { own: [] };
  return [
    [`idmap config ${domain} : backend`, kind],
    [`idmap config ${domain} : range`, `${range.low}-${range.high}`],
    ...own.map(([name, value]): Option => [`idmap config ${domain} : ${name}`, value]),
    ...shared,
  ];
}
