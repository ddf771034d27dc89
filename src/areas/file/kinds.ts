/** The kinds of records that the configuration as a file has, with the names that the command line has for them. */
import {
  createOnly,
  type Field,
  type Fields,
  flag,
  naming,
  readOnly,
  refine,
  required,
  text,
} from '../../engine/declare/fields.ts';
import { maySend } from '../../engine/declare/record.ts';
import type { Collection, Hosted, Resource, Singleton } from '../../engine/declare/resource.ts';
import { type FieldWords, type ResourceWords, vocabularyOf } from '../../engine/declare/vocabulary.ts';
import { memo } from '../../lib/memo.ts';
import { jail } from '../jails/jails.ts';
import { bundleSource } from '../plugins/install.ts';
import { manifestFields } from '../plugins/manifest.ts';
import { plugin } from '../plugins/plugins.ts';

export interface FileField {
  readonly name: string;
  readonly wire: string;
  readonly field: Field;
  readonly isSize: boolean;
  /** The stored field with its value; undefined if the value is only sent. */
  readonly kept: string | undefined;
  /** Path of the resource whose record the value is the id of. */
  readonly refersTo: string | undefined;
  /** Whether saving another record can change it, so that it is written and sent even where it is the default. */
  readonly isLinked: boolean;
  /** Whether it changes by itself after the creation, so that it is not compared. */
  readonly isForCreation: boolean;
  /**
   * The fields that the appliance chooses together with this one for a new record, if a request has no value for it. That
   * there is none is an empty text in the file then. Undefined for a field whose value is not chosen.
   */
  readonly isChosenWith: readonly string[] | undefined;
  /** Whether a new record can be given it though no request can send it. It is never exported and never changed. */
  readonly isIdentity: boolean;
  /** Stored values that together stand for a secret that is only sent, such as the hashes of a password. */
  readonly hashes: readonly string[] | undefined;
}

export interface Kind {
  /** `share/smb`. */
  readonly name: string;
  readonly resource: Resource;
  readonly isSettings: boolean;
  readonly fields: readonly FileField[];
  /** The fields that the key of a record is made of. */
  readonly keyFields: readonly string[];
  /** Names of records that people use instead of those of the interface. */
  readonly otherNames: ReadonlyMap<string, string>;
  /** The segment of the action that creates a record; empty for a plain POST, undefined if the file cannot create any. */
  readonly makes: string | undefined;
  readonly changes: boolean;
  readonly removes: boolean;
}

/** Resources of the document that are not in the file, and why. `docs/file.md` lists them. */
export const leftOut: Readonly<Record<string, string>> = {
  'directoryservice/kerberosprincipal': 'they follow from the keytabs',
  'storage/volume_import': 'pools are asserted, never made',
  'storage/volume/{vol}/datasets': 'they are those of storage/dataset',
  'storage/snapshot': 'snapshots are data',
  'storage/permission': 'permissions are data of the volume',
  'system/alert': 'alerts are facts',
  'system/bootenv': 'boot environments are data of the system',
  'system/config': 'it has actions only',
  'system/debug': 'it has actions only',
  'system/reboot': 'it has actions only',
  'system/shutdown': 'it has actions only',
  'system/update': 'it has actions only',
  'system/version': 'it is a fact',
};

/** The fields that make a key where no single field names a record. */
const keys: Readonly<Record<string, readonly string[]>> = {
  'tasks/cronjob': ['cron_command'],
  'tasks/initshutdown': ['ini_command', 'ini_script'],
  'tasks/rsync': ['rsync_path', 'rsync_remotehost', 'rsync_remotemodule', 'rsync_remotepath'],
  'tasks/smarttest': ['smarttest_type', 'smarttest_disks'],
  'jails/mountpoints': ['jail', 'destination'],
  'plugins/plugins': ['plugin_jail', 'plugin_name'],
  'storage/replication': ['repl_filesystem', 'repl_remote_hostname', 'repl_zfs'],
  'storage/disk': ['disk_name'],
  'storage/volume': ['name'],
  'services/iscsi/authcredential': ['iscsi_target_auth_tag', 'iscsi_target_auth_user'],
  'services/iscsi/portal': ['iscsi_target_portal_ips'],
  'services/iscsi/targetgroup': ['iscsi_target', 'iscsi_target_portalgroup'],
  'services/iscsi/targettoextent': ['iscsi_target', 'iscsi_extent'],
};
const idmapKey = ['idmap_ds_type', 'idmap_ds_id'];

/** Fields that are sent, and whose value is stored in others. */
const storedElsewhere: Readonly<
  Record<
    string,
    {
      readonly kept?: string;
      readonly refersTo?: string;
      readonly hashes?: readonly string[];
      readonly isForCreation?: boolean;
    }
  >
> = {
  bsdusr_to_group: { kept: 'bsdusr_groups', refersTo: 'account/groups' },
  bsdusr_password: { hashes: ['bsdusr_unixhash', 'bsdusr_smbhash'] },
  lagg_interfaces: { kept: 'lagg_interfaces' },
  // So that an authority uses no serial number twice.
  cert_serial: { kept: 'last_serial', isForCreation: true },
  sparse: { kept: 'sparse' },
  blocksize: { kept: 'blocksize' },
  case_sensitivity: { kept: 'case_sensitivity' },
  encryption: { kept: 'encryption' },
};

/**
 * What clients of another machine know a record by. Files that move from there give it to a new record; an export has
 * none, because it would give two machines the same identity.
 */
const identities: Readonly<Record<string, Fields>> = {
  'services/iscsi/extent': {
    iscsi_target_extent_naa: readOnly(
      refine(text({ description: 'NAA identifier that initiators know the extent by.', max: 34 }), (value) =>
        /^0x[0-9a-f]{16}(?:[0-9a-f]{16})?$/.test(value) ? undefined : 'Expected 0x and 16 or 32 hexadecimal digits.',
      ),
    ),
  },
};

/** Fields whose value is chosen when a request has none, and those that are chosen with it. */
const chosen: Readonly<Record<string, readonly string[]>> = {
  jail_ipv4: ['jail_ipv4_netmask'],
  jail_ipv6: ['jail_ipv6_prefix'],
  jail_iface: [],
};

/** The NetBIOS names of the server and of its directories, which saving one of them gives to the others. */
const linked = /^(?:ad|ldap|cifs_srv)_netbios(?:name|alias)/;

/** Resources whose records come with those of others, which therefore are first. */
const comesAfter: Readonly<Record<string, readonly string[]>> = {
  'network/interface': ['network/lagg', 'network/lagginterfacemembers', 'network/vlan'],
  'network/vlan': ['network/lagg'],
  'network/globalconfiguration': ['network/interface'],
  'network/staticroute': ['network/interface'],
  // The next free address is none of the machine or its router.
  'jails/jails': ['jails/configuration', 'jails/templates', 'network/globalconfiguration'],
  'jails/mountpoints': ['jails/jails'],
  'plugins/plugins': ['jails/mountpoints'],
  'services/cifs': ['directoryservice/activedirectory', 'directoryservice/ldap', 'network/globalconfiguration'],
  'storage/replication': ['storage/task'],
  'services/services': ['*'],
};

/** The kinds in the order in which their records can be created. */
export const kindsOf: (catalogue: readonly Resource[]) => readonly Kind[] = memo(makeKinds);

function makeKinds(catalogue: readonly Resource[]): readonly Kind[] {
  const words = new Map(vocabularyOf(catalogue, []).resources.map((one) => [one.path, one]));
  const kinds = catalogue.flatMap((resource) => {
    const own = words.get(resource.path);
    return own === undefined || Object.hasOwn(leftOut, resource.path) ? [] : [kindOf(resource, own)];
  });
  return inOrder(kinds);
}

function kindOf(resource: Resource, words: ResourceWords): Kind {
  const importing = resource.actions.find(({ segment, on }) => segment === 'import' && on === 'resource');
  const isImported = importing !== undefined && !resource.verbs.includes('create');
  const isInstalled = resource.path === plugin.path;
  const fields = isInstalled
    ? installedFields
    : isImported
      ? importedFields(importing.fields ?? {}, words)
      : fieldsIn(resource.fields, words.fields);
  const canCreate = resource.verbs.includes('create') || isInstalled || resource.path === 'storage/dataset';
  return {
    name: words.name,
    resource,
    isSettings: resource.kind === 'singleton',
    fields:
      resource.path === 'storage/volume'
        ? []
        : [...fields.filter(({ wire }) => wire !== 'inherit_props'), ...identityFields(resource)],
    keyFields: keyFieldsOf(resource),
    otherNames: new Map(Object.entries(words.otherNames ?? {}).map(([name, wire]) => [wire, name])),
    makes: resource.path === 'storage/volume' ? undefined : isImported ? 'import/' : canCreate ? '' : undefined,
    changes: resource.verbs.includes('update') || isInstalled,
    // The dataset of a jail is destroyed with it, and what a plugin has written is there.
    removes: resource.kind === 'collection' && resource.verbs.includes('remove') && resource.path !== jail.path,
  };
}

function fieldsIn(fields: Fields, words: readonly FieldWords[]): readonly FileField[] {
  return words.flatMap((word) => {
    const field = fields[word.wire];
    return field !== undefined && maySend(field) ? [fileField(word, field)] : [];
  });
}

function fileField({ name, wire, kind }: Pick<FieldWords, 'name' | 'wire' | 'kind'>, field: Field): FileField {
  const elsewhere = storedElsewhere[wire];
  return {
    ...{
      name,
      wire,
      field,
      isSize: kind === 'size',
      hashes: elsewhere?.hashes,
      isLinked: linked.test(wire),
      isForCreation: elsewhere?.isForCreation === true,
      isChosenWith: chosen[wire],
      isIdentity: false,
    },
    kept: elsewhere?.kept ?? (field.use === 'plain' ? wire : undefined),
    refersTo: elsewhere?.refersTo ?? field.refers?.to,
  };
}

function identityFields({ path }: Resource): readonly FileField[] {
  return Object.entries(identities[path] ?? {}).map(([wire, field]) => ({
    ...fileField({ name: wire.slice(wire.lastIndexOf('_') + 1), wire, kind: 'text' }, field),
    isIdentity: true,
  }));
}

/** The fields of an import that its record keeps under the same name: it can be made of them again. */
function importedFields(fields: Fields, words: ResourceWords): readonly FileField[] {
  return words.fields.flatMap((word) => {
    const field = fields[word.wire];
    return field === undefined || !/_(?:name|certificate|privatekey|serial)$/.test(word.wire)
      ? []
      : [{ ...fileField(word, createOnly(field)), kept: storedElsewhere[word.wire]?.kept ?? word.wire }];
  });
}

/** What a plugin is installed with. No request of the document can send it. */
const installedFields: readonly FileField[] = [
  fileField({ name: 'name', wire: 'plugin_name', kind: 'text' }, createOnly(manifestFields.name)),
  fileField(
    { name: 'jail', wire: 'plugin_jail', kind: 'text' },
    createOnly(required(naming(jail.path, text({ description: 'Name of the jail that it is in.', max: 64 })))),
  ),
  fileField({ name: 'bundle', wire: 'plugin_bundle', kind: 'text' }, createOnly(bundleSource)),
  fileField(
    { name: 'enabled', wire: 'plugin_enabled', kind: 'boolean' },
    flag(false, { description: 'Whether the plugin starts with its jail.' }),
  ),
];

function keyFieldsOf(resource: Resource): readonly string[] {
  const declared = resource.path.startsWith('directoryservice/idmap/') ? idmapKey : keys[resource.path];
  if (declared !== undefined || resource.kind === 'singleton') return declared ?? [];
  if (resource.kind === 'hosted') return [resource.key.name];
  if (resource.alias !== undefined) return [resource.alias];
  if (resource.nameField !== undefined) return [resource.nameField];
  return resource.unique[0]?.fields ?? resource.order.filter((name) => !/^-|builtin$/.test(name)).slice(0, 1);
}

/** Kinds after those that they refer to. Otherwise storage is first, then accounts, then the order of the document. */
function inOrder(kinds: readonly Kind[]): readonly Kind[] {
  const rankOf = ({ resource: { path } }: Kind) =>
    [
      'storage/volume',
      'storage/disk',
      'storage/dataset',
      'storage/volume/{vol}/zvols',
      // Tasks and shares may name their datasets.
      'jails/jails',
      'account/groups',
      'account/users',
    ].indexOf(path) >>> 0;
  const sorted = kinds.toSorted((a, b) => rankOf(a) - rankOf(b));
  const placed = new Set<Kind>();
  const place = (kind: Kind): void => {
    if (placed.has(kind)) return;
    const first = comesAfter[kind.resource.path] ?? [];
    if (first.includes('*')) for (const other of sorted) if (other !== kind) place(other);
    for (const other of sorted)
      if (other !== kind && (first.includes(other.resource.path) || refers(kind, other))) place(other);
    placed.add(kind);
  };
  for (const kind of sorted) place(kind);
  return [...placed];
}

const refers = (kind: Kind, { resource: { path } }: Kind) => kind.fields.some(({ refersTo }) => refersTo === path);

export type KeptKind = Kind & { readonly resource: Collection | Singleton };
export type HostedKind = Kind & { readonly resource: Hosted };

export function isKept(kind: Kind): kind is KeptKind {
  return kind.resource.kind !== 'hosted';
}
export function isHosted(kind: Kind): kind is HostedKind {
  return kind.resource.kind === 'hosted';
}
