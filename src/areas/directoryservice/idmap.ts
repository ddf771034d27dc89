import { fieldValue } from '../../engine/configuration/tables.ts';
import {
  choice,
  type Field,
  type Fields,
  flag,
  inputOnly,
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
 * How numbers of this machine are found for the accounts of a domain: a collection for each kind of map. Which kind is
 * in use is said by the settings of the directory service.
 */

/** The directory services by their numbers in `idmap_ds_type` (gaps 3.4). */
export const servedBy = { activeDirectory: 1, cifs: 5 } as const;

const mostNumber = 2 ** 32 - 2;

const common = {
  idmap_ds_type: nullable(
    integer({
      description:
        'Whom the map is for: 1 Active Directory, 2 LDAP, 3 NIS, 5 accounts of no domain; nobody in particular when null.',
    }),
  ),
  idmap_ds_id: nullable(integer({ description: "Id of that service's settings." })),
};

function limit(description: string, initial: number): Field<number, 'plain'> {
  return integer({ description, min: 0, max: mostNumber, initial });
}

const low = (initial: number) => limit('The lowest number that the map gives.', initial);
const high = (initial: number) => limit('The highest number that the map gives.', initial);

/** Values of smb.conf, which has macros and no escapes. */
function confText(description: string, max: number) {
  return text({ description, max, pattern: /^[^%$"\\;]*$/, rule: 'The characters % $ " \\ and ; have no place here.' });
}

function scriptPath(description: string) {
  return text({
    description,
    max: 1024,
    pattern: /^\/[\w./ -]*[\w./-]$/,
    rule: 'An absolute path of letters, digits, blanks and . _ - is wanted.',
  });
}

function ldapAddress(description: string) {
  return text({
    description,
    max: 255,
    pattern: /^ldaps?:\/\/[\w.:[\]-]+\/?$/,
    rule: 'ldap://SERVER or ldaps://SERVER is wanted, with :PORT where it is not the usual one.',
  });
}

const connection = (description: string) => choice(['off', 'on', 'start_tls'], { description, initial: 'off' });

const certificateNotYet = () =>
  nullable(
    refine(
      integer({
        description:
          "Id of the authority that signed the server's certificate. Only null is taken: the machine's own authorities are asked.",
        min: 1,
      }),
      () => 'The authorities that this machine knows by itself are asked; another cannot be chosen.',
    ),
  );

export interface IdRange {
  readonly low: number;
  readonly high: number;
}

/** The range of a map, whose fields begin with `prefix`. */
function rangeIn(record: RecordOf<Fields>, prefix: string): IdRange {
  return {
    low: Number(fieldValue(record, `${prefix}_range_low`)),
    high: Number(fieldValue(record, `${prefix}_range_high`)),
  };
}

interface Ranged {
  readonly record: RecordOf<Fields>;
  readonly issues: { add(name: '__all__', sentence: string): void };
}

/** The rule of every kind. */
function checkRange(prefix: string, { record, issues }: Ranged): void {
  const { low: from, high: to } = rangeIn(record, prefix);
  if (from >= to) issues.add('__all__', `The range ends at ${to}, which is not above its beginning, ${from}.`);
}

function mapsOf<F extends Fields>(kind: string, description: string, fields: F) {
  return collection(`directoryservice/idmap/${kind}`, {
    title: `${kind} id map`,
    description,
    fields: { ...common, ...fields },
    check: (checking) => checkRange(`idmap_${kind}`, checking),
  });
}

export const idmapAd = mapsOf('ad', 'Numbers that the accounts have in the directory itself.', {
  idmap_ad_range_low: low(10_000),
  idmap_ad_range_high: high(90_000_000),
  idmap_ad_schema_mode: choice(['rfc2307', 'sfu', 'sfu20'], {
    description: 'By which schema the directory has them.',
    initial: 'rfc2307',
  }),
  idmap_ad_unix_primary_group: flag(false, {
    description: "Whether an account's first group is the one of its Unix attributes.",
  }),
  idmap_ad_unix_nss_info: flag(false, { description: 'Whether home and shell are those of its Unix attributes.' }),
});

export const idmapAdex = mapsOf('adex', 'Numbers of a module that Samba no longer has. Kept for clients.', {
  idmap_adex_range_low: low(10_000),
  idmap_adex_range_high: high(90_000_000),
});

export const idmapAutorid = mapsOf(
  'autorid',
  'Numbers from the relative identifiers, each domain in a part of the range.',
  {
    idmap_autorid_range_low: low(10_000),
    idmap_autorid_range_high: high(90_000_000),
    idmap_autorid_rangesize: integer({
      description: 'How many numbers each domain gets.',
      min: 2000,
      max: mostNumber,
      initial: 100_000,
    }),
    idmap_autorid_readonly: flag(false, { description: 'Whether no domain gets a part that has none yet.' }),
    idmap_autorid_ignore_builtin: flag(false, {
      description: 'Whether the groups that every domain has get no numbers.',
    }),
  },
);

export const idmapFruit = mapsOf(
  'fruit',
  'Numbers as Apple computers make them, of a module that Samba does not have. Kept for clients.',
  {
    idmap_fruit_range_low: low(10_000),
    idmap_fruit_range_high: high(90_000_000),
  },
);

export const idmapHash = mapsOf('hash', 'Numbers that are computed from the identifiers of domain and account.', {
  idmap_hash_range_low: low(90_000_001),
  idmap_hash_range_high: high(100_000_000),
  idmap_hash_range_name_map: required(
    scriptPath('File that says which accounts have other names here, as an absolute path.'),
  ),
});

export const idmapLdap = mapsOf('ldap', 'Numbers that an LDAP directory keeps.', {
  idmap_ldap_range_low: low(10_000),
  idmap_ldap_range_high: high(90_000_000),
  idmap_ldap_ldap_base_dn: confText('Where the directory keeps them, as ou=idmap,dc=example,dc=com.', 120),
  idmap_ldap_ldap_user_dn: confText('The account that asks there.', 120),
  idmap_ldap_ldap_url: required(ldapAddress('The directory, as ldap://SERVER.')),
  idmap_ldap_ssl: connection('Whether the connection is encrypted: from its beginning, or by StartTLS.'),
  idmap_ldap_certificate: certificateNotYet(),
});

/** Part A gives it the names of `ad`; the sources have its own (gaps 3.4), which are taken too. */
export const idmapNss = collection('directoryservice/idmap/nss', {
  title: 'nss id map',
  description: 'Numbers that accounts of the same name have on this machine.',
  fields: {
    ...common,
    idmap_ad_range_low: low(10_000),
    idmap_ad_range_high: high(90_000_000),
    idmap_nss_range_low: inputOnly(low(10_000)),
    idmap_nss_range_high: inputOnly(high(90_000_000)),
  },
  complete: ({ sent }) => ({
    ...(sent.idmap_nss_range_low === undefined ? {} : { idmap_ad_range_low: sent.idmap_nss_range_low }),
    ...(sent.idmap_nss_range_high === undefined ? {} : { idmap_ad_range_high: sent.idmap_nss_range_high }),
  }),
  check: (checking) => checkRange('idmap_ad', checking),
});

export const idmapRfc2307 = mapsOf(
  'rfc2307',
  'Numbers that accounts have in a directory by RFC 2307, in the domain or beside it.',
  {
    idmap_rfc2307_range_low: low(10_000),
    idmap_rfc2307_range_high: high(90_000_000),
    idmap_rfc2307_ldap_server: choice(['ad', 'stand-alone'], {
      description: "Whether the directory is the domain's own or another.",
      initial: 'ad',
    }),
    idmap_rfc2307_bind_path_user: required(confText('Where users are, as ou=people,dc=example,dc=com.', 120)),
    idmap_rfc2307_bind_path_group: required(confText('Where groups are.', 120)),
    idmap_rfc2307_user_cn: flag(false, { description: 'Whether users are looked for by cn, and not by uid.' }),
    idmap_rfc2307_cn_realm: flag(false, { description: 'Whether @REALM belongs to the cn of groups.' }),
    idmap_rfc2307_ldap_domain: confText("The domain to ask, with the domain's own directory.", 120),
    idmap_rfc2307_ldap_url: ldapAddress('The other directory, as ldap://SERVER.'),
    idmap_rfc2307_ldap_user_dn: confText('The account that asks there; nobody when empty.', 120),
    idmap_rfc2307_ldap_user_dn_password: secret(
      refine(
        text({
          description: 'Its password. Only an empty one is taken: Samba would be told it on a command line.',
          max: 120,
        }),
        (value) =>
          value === ''
            ? undefined
            : 'A password cannot be handed to Samba without showing it to everybody on the machine.',
      ),
    ),
    idmap_rfc2307_ldap_realm: confText('Realm of Kerberos, where it is not that of the domain.', 120),
    idmap_rfc2307_ssl: connection('Whether the connection is encrypted: from its beginning, or by StartTLS.'),
    idmap_rfc2307_certificate: certificateNotYet(),
  },
);

export const idmapRid = mapsOf(
  'rid',
  'Numbers that are the relative identifiers of the accounts, counted from the lowest.',
  {
    idmap_rid_range_low: low(20_000),
    idmap_rid_range_high: high(90_000_000),
  },
);

export const idmapScript = mapsOf('script', 'Numbers that a program tells.', {
  idmap_script_range_low: low(90_000_001),
  idmap_script_range_high: high(100_000_000),
  idmap_script_script: required(scriptPath('The program, as an absolute path.')),
});

export const idmapTdb = mapsOf('tdb', 'Numbers in the order in which accounts are seen, kept on this machine.', {
  idmap_tdb_range_low: low(90_000_001),
  idmap_tdb_range_high: high(100_000_000),
});

export const idmapTdb2 = mapsOf('tdb2', 'Numbers in the order in which accounts are seen, or that a program tells.', {
  idmap_tdb2_range_low: low(90_000_001),
  idmap_tdb2_range_high: high(100_000_000),
  idmap_tdb2_script: required(scriptPath('The program that is asked first, as an absolute path.')),
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
 * The map of a kind for a directory service: the newest that is for it, or else for nobody in particular, or else what a
 * new one would say. Undefined when there is none and a new one could not do without being told more.
 */
export function chosenMap<F extends Fields>(view: View, of: Collection<F>, service: number): RecordOf<F> | undefined {
  const all = view.all(of);
  const found =
    all.findLast((record) => fieldValue(record, 'idmap_ds_type') === service) ??
    all.findLast((record) => fieldValue(record, 'idmap_ds_type') === null);
  if (found !== undefined) return found;
  const fresh: Readonly<Record<string, unknown>> = {
    id: 0,
    ...Object.fromEntries(Object.entries(of.fields).map(([name, { initial }]) => [name, initial])),
  };
  return isRecordOf(of.fields, fresh) ? fresh : undefined;
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

/** A map as it is used: its kind, its range and whom it is for. */
export interface UsedMap {
  readonly kind: IdmapKind;
  readonly range: IdRange;
  readonly service: number;
}

/** The kinds that give numbers to the accounts of every domain, so that one of them is enough. Samba takes hash for nothing less. */
const forAll: readonly IdmapKind[] = ['autorid', 'hash', 'tdb', 'tdb2'];

/** The maps in use beside one another: that of the domain, unless one for all does, and the one for everybody else. */
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
  const behind = { low: range.high + 1, high: Math.min(range.high + 10_000_000, mostNumber) };
  const others = own ? rangeOf(view, idmapTdb, 'tdb', cifs) : overlap(range, usual) ? behind : usual;
  return { domain: used, others: { kind: 'tdb', range: others ?? usual, service: cifs } };
}

export function overlap(a: IdRange, b: IdRange): boolean {
  return a.low <= b.high && b.low <= a.high;
}
