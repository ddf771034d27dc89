import { fieldValue } from '../../engine/configuration/tables.ts';
import {
  advanced,
  alsoNamed,
  basic,
  choice,
  type Field,
  type Fields,
  field,
  flag,
  integer,
  nullable,
  refine,
  required,
  secret,
  text,
} from '../../engine/declare/fields.ts';
import { isRecordOf } from '../../engine/declare/record.ts';
import { type Collection, collection, type RecordOf, type View } from '../../engine/declare/resource.ts';

/**
 * Id maps assign UIDs and GIDs of this machine to the accounts of a domain. Each kind of map is a collection; the
 * settings of the directory service select the kind in use.
 */

/** The values of `idmap_ds_type` (gaps 3.4). */
export const servedBy = { activeDirectory: 1, cifs: 5 } as const;

const mostNumber = 2 ** 32 - 2;

const common = {
  idmap_ds_type: nullable(
    integer({
      description:
        'Directory service of the map: 1 Active Directory, 2 LDAP, 3 NIS, 5 accounts without a domain; any service when null.',
    }),
  ),
  idmap_ds_id: nullable(integer({ description: 'Id of the settings of the directory service.' })),
};

function limit(description: string, initial: number): Field<number, 'plain'> {
  return integer({ description, min: 0, max: mostNumber, initial });
}

const low = (initial: number) => limit('Lowest id of the range.', initial);
const high = (initial: number) => limit('Highest id of the range.', initial);

/** A value for smb.conf, which expands macros and has no escapes. */
function confText(description: string, max: number) {
  return text({ description, max, pattern: /^[^%$"\\;]*$/, rule: 'The characters % $ " \\ and ; are not allowed.' });
}

function scriptPath(description: string) {
  return text({
    description,
    max: 1024,
    pattern: /^\/[\w./ -]*[\w./-]$/,
    rule: 'Expected an absolute path of letters, digits, spaces and . _ - only.',
  });
}

/** The URL of a server. The name of a server alone becomes a URL. */
function ldapAddress(description: string) {
  const url = text({
    description,
    max: 255,
    pattern: /^ldaps?:\/\/[\w.:[\]-]+\/?$/,
    rule: 'Expected SERVER, ldap://SERVER or ldaps://SERVER, optionally followed by :PORT.',
  });
  const isBare = (sent: unknown): sent is string => typeof sent === 'string' && /^\s*[\w.:[\]-]+\s*$/.test(sent);
  return field({ ...url, read: (sent) => url.read(isBare(sent) ? `ldap://${sent.trim()}` : sent) });
}

const connection = (description: string) => choice(['off', 'on', 'start_tls'], { description, initial: 'off' });

const unsupportedCertificate = () =>
  nullable(
    refine(
      integer({
        description:
          'Id of a certificate authority; not supported, only null is accepted. Samba uses the authorities that the system trusts.',
        min: 1,
      }),
      () => 'A certificate authority cannot be selected. Samba uses the authorities that the system trusts.',
    ),
  );

export interface IdRange {
  readonly low: number;
  readonly high: number;
}

/** The range of a map. `prefix` is the common prefix of its fields. */
function rangeIn(record: RecordOf<Fields>, prefix: string): IdRange {
  return {
    low: Number(fieldValue(record, `${prefix}_range_low`)),
    high: Number(fieldValue(record, `${prefix}_range_high`)),
  };
}

function mapsOf<F extends Fields>(kind: string, description: string, fields: F) {
  return collection(`directoryservice/idmap/${kind}`, {
    shortName: `idmap/${kind}`,
    title: `${kind} id map`,
    description,
    fields: { ...common, ...fields },
  });
}

export const idmapAd = mapsOf('ad', 'Ids that are attributes of the accounts in Active Directory.', {
  idmap_ad_range_low: low(10_000),
  idmap_ad_range_high: high(90_000_000),
  idmap_ad_schema_mode: choice(['rfc2307', 'sfu', 'sfu20'], {
    description: 'Schema of the attributes.',
    initial: 'rfc2307',
  }),
  idmap_ad_unix_primary_group: flag(false, {
    description: 'Whether the primary group of an account comes from its Unix attributes.',
  }),
  idmap_ad_unix_nss_info: flag(false, {
    description: 'Whether home and shell of an account come from its Unix attributes.',
  }),
});

export const idmapAdex = mapsOf('adex', 'Id map of a module that Samba no longer has. Stored without effect.', {
  idmap_adex_range_low: low(10_000),
  idmap_adex_range_high: high(90_000_000),
});

export const idmapAutorid = mapsOf(
  'autorid',
  'Ids computed from relative identifiers (RIDs), with a part of the range for each domain.',
  {
    idmap_autorid_range_low: low(10_000),
    idmap_autorid_range_high: high(90_000_000),
    idmap_autorid_rangesize: integer({
      description: 'Number of ids per domain.',
      min: 2000,
      max: mostNumber,
      initial: 100_000,
    }),
    idmap_autorid_readonly: flag(false, { description: 'Whether no new domain gets a part of the range.' }),
    idmap_autorid_ignore_builtin: flag(false, {
      description: 'Whether BUILTIN groups get no ids.',
    }),
  },
);

export const idmapFruit = mapsOf(
  'fruit',
  'Ids as Apple computers assign them, of a module that Samba does not have. Stored without effect.',
  {
    idmap_fruit_range_low: low(10_000),
    idmap_fruit_range_high: high(90_000_000),
  },
);

export const idmapHash = mapsOf('hash', 'Ids computed as a hash of domain and account identifiers.', {
  idmap_hash_range_low: low(90_000_001),
  idmap_hash_range_high: high(100_000_000),
  idmap_hash_range_name_map: required(scriptPath('Absolute path of the file that maps account names to local names.')),
});

const unusedAccount =
  'DN of an account. Stored without effect: the directory is queried anonymously, because no field takes a password.';

export const idmapLdap = mapsOf('ldap', 'Ids that an LDAP directory stores.', {
  idmap_ldap_range_low: low(10_000),
  idmap_ldap_range_high: high(90_000_000),
  idmap_ldap_ldap_base_dn: confText('Base of the ids in the directory, such as ou=idmap,dc=example,dc=com.', 120),
  idmap_ldap_ldap_user_dn: confText(unusedAccount, 120),
  idmap_ldap_ldap_url: required(ldapAddress('URL of the directory, such as ldap://SERVER.')),
  idmap_ldap_ssl: connection('Encryption of the connection: none (off), TLS (on) or StartTLS (start_tls).'),
  idmap_ldap_certificate: unsupportedCertificate(),
});

/** Part A uses the field names of `ad`; the sources use `idmap_nss_…` (gaps 3.4), which are accepted too. */
export const idmapNss = collection('directoryservice/idmap/nss', {
  shortName: 'idmap/nss',
  title: 'nss id map',
  description: 'Ids of the accounts with the same name on this machine.',
  fields: {
    ...common,
    idmap_ad_range_low: alsoNamed(low(10_000), 'idmap_nss_range_low'),
    idmap_ad_range_high: alsoNamed(high(90_000_000), 'idmap_nss_range_high'),
  },
});

export const idmapRfc2307 = mapsOf(
  'rfc2307',
  'Ids that are RFC 2307 attributes in the directory of the domain or in a stand-alone LDAP directory.',
  {
    idmap_rfc2307_range_low: low(10_000),
    idmap_rfc2307_range_high: high(90_000_000),
    ...basic('Directory', {
      idmap_rfc2307_ldap_server: choice(['ad', 'stand-alone'], {
        description: 'Directory to query: that of the domain (ad) or another one (stand-alone).',
        initial: 'ad',
      }),
      idmap_rfc2307_bind_path_user: required(confText('Base of users, such as ou=people,dc=example,dc=com.', 120)),
      idmap_rfc2307_bind_path_group: required(confText('Base of groups.', 120)),
      idmap_rfc2307_user_cn: flag(false, { description: 'Whether users are searched by cn instead of uid.' }),
      idmap_rfc2307_cn_realm: flag(false, { description: 'Whether @REALM is appended to the cn of groups.' }),
      idmap_rfc2307_ldap_domain: confText('Domain to query, when idmap_rfc2307_ldap_server is ad.', 120),
      idmap_rfc2307_ldap_url: ldapAddress(
        'URL of the directory, such as ldap://SERVER, when idmap_rfc2307_ldap_server is stand-alone.',
      ),
    }),
    ...advanced('Connection', {
      idmap_rfc2307_ldap_user_dn: confText(unusedAccount, 120),
      idmap_rfc2307_ldap_user_dn_password: secret(
        refine(
          text({
            description:
              'Password of the account; not supported, only an empty one is accepted, because Samba takes it on a command line.',
            max: 120,
          }),
          (value) =>
            value === ''
              ? undefined
              : 'A password is not supported here: Samba takes it on a command line, which every user of the machine can read.',
        ),
      ),
      idmap_rfc2307_ldap_realm: confText('Kerberos realm, if it differs from that of the domain.', 120),
      idmap_rfc2307_ssl: connection('Encryption of the connection: none (off), TLS (on) or StartTLS (start_tls).'),
      idmap_rfc2307_certificate: unsupportedCertificate(),
    }),
  },
);

export const idmapRid = mapsOf(
  'rid',
  'Ids computed as the relative identifier (RID) of the account plus the lowest id.',
  {
    idmap_rid_range_low: low(20_000),
    idmap_rid_range_high: high(90_000_000),
  },
);

export const idmapScript = mapsOf('script', 'Ids that a program assigns.', {
  idmap_script_range_low: low(90_000_001),
  idmap_script_range_high: high(100_000_000),
  idmap_script_script: required(scriptPath('Absolute path of the program.')),
});

export const idmapTdb = mapsOf('tdb', 'Ids assigned in the order in which accounts appear, stored on this machine.', {
  idmap_tdb_range_low: low(90_000_001),
  idmap_tdb_range_high: high(100_000_000),
});

export const idmapTdb2 = mapsOf('tdb2', 'Ids assigned in the order in which accounts appear, or by a program.', {
  idmap_tdb2_range_low: low(90_000_001),
  idmap_tdb2_range_high: high(100_000_000),
  idmap_tdb2_script: required(scriptPath('Absolute path of the program that is asked first.')),
});

// Which of them are in use -------------------------------------------------------------------------------------------

export const idmapKinds = [
  'ad',
  'adex',
  'autorid',
  'fruit',
  'hash',
  'ldap',
  'nss',
  'rfc2307',
  'rid',
  'script',
  'tdb',
  'tdb2',
] as const;
export type IdmapKind = (typeof idmapKinds)[number];

export const idmapCollections: Readonly<Record<IdmapKind, Collection>> = {
  ad: idmapAd,
  adex: idmapAdex,
  autorid: idmapAutorid,
  fruit: idmapFruit,
  hash: idmapHash,
  ldap: idmapLdap,
  nss: idmapNss,
  rfc2307: idmapRfc2307,
  rid: idmapRid,
  script: idmapScript,
  tdb: idmapTdb,
  tdb2: idmapTdb2,
};

/**
 * The map of a kind for a directory service: the newest one for this service, else the newest one for any service, else
 * a map with default values. Undefined when there is none and the kind has required fields without a default.
 */
export function chosenMap<F extends Fields>(view: View, of: Collection<F>, service: number): RecordOf<F> | undefined {
  const all = view.all(of);
  const found =
    all.findLast((record) => fieldValue(record, 'idmap_ds_type') === service) ??
    all.findLast((record) => fieldValue(record, 'idmap_ds_type') === null);
  if (found !== undefined) return found;
  const defaults: Readonly<Record<string, unknown>> = {
    id: 0,
    ...Object.fromEntries(Object.entries(of.fields).map(([name, { initial }]) => [name, initial])),
  };
  return isRecordOf(of.fields, defaults) ? defaults : undefined;
}

function rangeOf<F extends Fields>(
  view: View,
  of: Collection<F>,
  kind: IdmapKind,
  service: number,
): IdRange | undefined {
  const record = chosenMap(view, of, service);
  return record && rangeIn(record, kind === 'nss' ? 'idmap_ad' : `idmap_${kind}`);
}

/** A map in use: its kind, range and directory service. */
export interface UsedMap {
  readonly kind: IdmapKind;
  readonly range: IdRange;
  readonly service: number;
}

/** The kinds that cover the accounts of every domain. Samba accepts `hash` only in this role. */
const forAll: readonly IdmapKind[] = ['autorid', 'hash', 'tdb', 'tdb2'];

/** The maps in use: one for the domain and one for all other accounts, or a single one that covers both. */
export function usedMaps(
  view: View,
  kind: IdmapKind,
): { readonly domain?: UsedMap; readonly others: UsedMap } | undefined {
  const { activeDirectory, cifs } = servedBy;
  const range = rangeOf(view, idmapCollections[kind], kind, activeDirectory);
  if (range === undefined) return undefined;
  const used = { kind, range, service: activeDirectory };
  if (forAll.includes(kind)) return { others: used };
  const own = view.all(idmapTdb).some((record) => record.idmap_ds_type === cifs);
  const usual = { low: 90_000_001, high: 100_000_000 };
  const following = { low: range.high + 1, high: Math.min(range.high + 10_000_000, mostNumber) };
  const others = own ? rangeOf(view, idmapTdb, 'tdb', cifs) : overlap(range, usual) ? following : usual;
  return { domain: used, others: { kind: 'tdb', range: others ?? usual, service: cifs } };
}

export function overlap(a: IdRange, b: IdRange): boolean {
  return a.low <= b.high && b.low <= a.high;
}
