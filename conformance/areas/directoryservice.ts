import { each, flag, integer, type Kind, maybe, oneOf, type Shape, text } from '../kinds.ts';
import { newAuthority } from '../makers.ts';
import { type Area, collection, type Make, type Resource, singleton } from '../resource.ts';
import type { World } from '../world.ts';

// Only values are stored: with the integration off, no directory is asked.

/** An encrypted connection needs the certificate of an authority. */
async function certified(mode: string | number, certificate: string, world: World) {
  return { [certificate]: mode === 'off' ? null : (await newAuthority(world))['id'] };
}

const activeDirectory = singleton('directoryservice/activedirectory', {
  record: {
    ...each(
      flag,
      'ad_enable',
      'ad_enable_monitor',
      'ad_allow_dns_updates',
      'ad_allow_trusted_doms',
      'ad_unix_extensions',
      'ad_use_default_domain',
      'ad_verbose_logging',
    ),
    ad_disable_freenas_cache: flag,
    ...each(text, 'ad_domainname', 'ad_bindname', 'ad_bindpw', 'ad_netbiosname_a', 'ad_idmap_backend'),
    ...each(
      maybe(text),
      'ad_netbiosalias',
      'ad_dcname',
      'ad_gcname',
      'ad_nss_info',
      'ad_site',
      'ad_userdn',
      'ad_groupdn',
    ),
    ...each(maybe(integer), 'ad_certificate', 'ad_kerberos_principal', 'ad_kerberos_realm'),
    ad_ssl: oneOf('on', 'off', 'start_tls'),
    ad_ldap_sasl_wrapping: oneOf('plain', 'signed', 'sealed'),
    ...each(integer, 'ad_timeout', 'ad_dns_timeout', 'ad_monitor_frequency', 'ad_recover_retry'),
  },
  change: () => ({
    ad_domainname: 'ad.example.com',
    ad_bindname: 'administrator',
    ad_netbiosname_a: 'CONFORM',
    ad_timeout: 70,
    ad_verbose_logging: true,
  }),
  choices: { along: { ad_ssl: (mode, world) => certified(mode, 'ad_certificate', world) } },
});

const ldap = singleton('directoryservice/ldap', {
  record: {
    ...each(flag, 'ldap_enable', 'ldap_anonbind', 'ldap_has_samba_schema'),
    ...each(
      text,
      'ldap_hostname',
      'ldap_basedn',
      'ldap_binddn',
      'ldap_bindpw',
      'ldap_schema',
      'ldap_idmap_backend',
      'ldap_auxiliary_parameters',
    ),
    ...each(
      text,
      'ldap_usersuffix',
      'ldap_groupsuffix',
      'ldap_machinesuffix',
      'ldap_passwordsuffix',
      'ldap_sudosuffix',
    ),
    ldap_ssl: oneOf('off', 'on', 'start_tls'),
    ...each(maybe(integer), 'ldap_certificate', 'ldap_kerberos_principal', 'ldap_kerberos_realm'),
    ...each(maybe(text), 'ldap_netbiosname_a', 'ldap_netbiosalias'),
    ...each(integer, 'ldap_timeout', 'ldap_dns_timeout'),
  },
  change: () => ({
    ldap_hostname: 'ldap.example.com',
    ldap_basedn: 'dc=example,dc=com',
    ldap_binddn: 'cn=reader,dc=example,dc=com',
    ldap_timeout: 20,
  }),
  choices: { along: { ldap_ssl: (mode, world) => certified(mode, 'ldap_certificate', world) } },
});

const nis = singleton('directoryservice/nis', {
  record: { nis_domain: text, nis_servers: text, ...each(flag, 'nis_secure_mode', 'nis_manycast', 'nis_enable') },
  change: () => ({ nis_domain: 'conform', nis_servers: '192.0.2.7,192.0.2.8' }),
});

/** An id map of one kind: the fields that all have, and its own. */
function idMap(kind: string, own: Shape = {}, create: Make = () => ({}), prefix = kind): Resource {
  const [low, high] = [`idmap_${prefix}_range_low`, `idmap_${prefix}_range_high`];
  const maybeInteger: Kind = maybe(integer);
  return collection(`directoryservice/idmap/${kind}`, {
    record: { idmap_ds_type: maybeInteger, idmap_ds_id: maybeInteger, [low]: integer, [high]: integer, ...own },
    create: async (world) => ({ idmap_ds_type: 1, idmap_ds_id: 1, ...(await create(world)) }),
    change: () => ({ [low]: 20_000, [high]: 30_000 }),
  });
}

const idMaps: readonly Resource[] = [
  idMap('ad', { idmap_ad_schema_mode: oneOf('rfc2307', 'sfu', 'sfu20') }),
  idMap('adex'),
  idMap('hash', { idmap_hash_range_name_map: text }, (world) => ({ idmap_hash_range_name_map: world.folder('names') })),
  idMap('ldap', each(text, 'idmap_ldap_ldap_base_dn', 'idmap_ldap_ldap_user_dn', 'idmap_ldap_ldap_url'), () => ({
    idmap_ldap_ldap_base_dn: 'dc=example,dc=com',
    idmap_ldap_ldap_user_dn: 'cn=admin,dc=example,dc=com',
    idmap_ldap_ldap_url: 'ldap://ldap.example.com',
  })),
  // The document gives it the field names of the kind ad.
  idMap('nss', {}, () => ({}), 'ad'),
  idMap(
    'rfc2307',
    {
      ...each(
        text,
        'idmap_rfc2307_bind_path_user',
        'idmap_rfc2307_bind_path_group',
        'idmap_rfc2307_ldap_server',
        'idmap_rfc2307_ldap_domain',
      ),
      ...each(text, 'idmap_rfc2307_ldap_url', 'idmap_rfc2307_ldap_user_dn', 'idmap_rfc2307_ldap_realm'),
      ...each(flag, 'idmap_rfc2307_user_cn', 'idmap_rfc2307_cn_realm'),
    },
    () => ({
      idmap_rfc2307_bind_path_user: 'ou=people,dc=example,dc=com',
      idmap_rfc2307_bind_path_group: 'ou=groups,dc=example,dc=com',
      idmap_rfc2307_ldap_server: 'ad',
    }),
  ),
  idMap('tdb'),
  idMap('tdb2', { idmap_tdb2_script: text }, (world) => ({ idmap_tdb2_script: world.folder('map.sh') })),
];

export const directoryArea: Area = { name: 'directoryservice', resources: [activeDirectory, ldap, nis, ...idMaps] };
