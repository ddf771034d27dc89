/** The records of the configuration as the file has them: keyed by names, with names instead of ids. */
import { fieldValue } from '../../engine/configuration/tables.ts';
import type { Fields } from '../../engine/declare/fields.ts';
import type { Collection, Configuration, RecordOf, Scope, Singleton, World } from '../../engine/declare/resource.ts';
import { sortedJson } from '../../lib/json.ts';
import { lastElement, parentOf } from '../../lib/path.ts';
import { exactSize } from '../../lib/size.ts';
import { type FileField, type HostedKind, isHosted, isKept, type Kind } from './kinds.ts';

type Values = Readonly<Record<string, unknown>>;

/** One record as the file has it. */
export interface FileRecord {
  readonly key: string;
  /** Id of a stored record. */
  readonly id: number | undefined;
  /** Values by the name on the wire, with keys of records instead of their ids. Secrets are values. */
  readonly values: Values;
  /** Path for changing and removing it, below the root of the document's API. */
  readonly path: string;
  /** Whether jails have made it, so that an export does not mention it. */
  readonly isOfJails?: boolean;
}

/** Where records come from: the configuration, a draft of it, or that of the fresh system. */
export interface Source {
  all(resource: Collection | Singleton): readonly RecordOf<Fields>[];
  /** What the host has; undefined for the fresh system. */
  readonly world: World | undefined;
}

export function sourceOf(world: World): Source {
  const { view } = world;
  return {
    all: (resource) => (resource.kind === 'singleton' ? [view.only(resource)] : view.all(resource)),
    world,
  };
}

/** The configuration as it is now, whatever is changed while it is read. */
export function currentSource({ view, facts }: World, kinds: readonly Kind[]): Source {
  const source = sourceOf({ view, facts });
  // The list of a table changes with the next commit, and its records never do.
  const lists = new Map(kinds.filter(isKept).map(({ resource }) => [resource.path, [...source.all(resource)]]));
  return { ...source, all: (resource) => lists.get(resource.path) ?? source.all(resource) };
}

export const freshSource = (fresh: Configuration): Source => ({
  all: (resource) => fresh.get(resource) ?? [],
  world: undefined,
});

/** Records by their kinds. */
export interface Records {
  of(kind: Kind): ReadonlyMap<string, FileRecord>;
  find(kind: Kind, key: string): FileRecord | undefined;
}

export class State implements Records {
  readonly #kinds: readonly Kind[];
  readonly #source: Source;
  readonly #known = new Map<Kind, ReadonlyMap<string, FileRecord>>();
  readonly #keys = new Map<string, ReadonlyMap<number, string>>();

  constructor(kinds: readonly Kind[], source: Source) {
    this.#kinds = kinds;
    this.#source = source;
  }

  /** The records by their keys, ordered by key. */
  of(kind: Kind): ReadonlyMap<string, FileRecord> {
    const known = this.#known.get(kind);
    if (known !== undefined) return known;
    const found = keyed(kind, this.#read(kind));
    this.#known.set(kind, found);
    return found;
  }

  find(kind: Kind, key: string): FileRecord | undefined {
    return this.of(kind).get(key);
  }

  kindAt(path: string): Kind | undefined {
    return this.#kinds.find(({ resource }) => resource.path === path);
  }

  #read(kind: Kind): readonly Omit<FileRecord, 'key'>[] {
    if (isHosted(kind)) return this.#source.world === undefined ? [] : hostedRecords(kind, this.#source.world);
    if (!isKept(kind)) return [];
    const { resource } = kind;
    return this.#source
      .all(resource)
      .filter((record) => isInFile(kind, record))
      .map((record) => ({
        id: record.id,
        values: this.#values(kind, record),
        path: `${resource.path}/${resource.kind === 'singleton' ? '' : `${record.id}/`}`,
      }));
  }

  #values(kind: Kind, record: RecordOf<Fields>): Values {
    const values: Record<string, unknown> = {};
    for (const field of kind.fields) {
      const value = this.#value(field, record);
      if (value !== undefined) values[field.wire] = value;
    }
    // The field that names a service cannot be sent, and still makes its key.
    for (const wire of kind.keyFields) values[wire] ??= fieldValue(record, wire);
    return values;
  }

  #value({ kept, hashes, refersTo, wire }: FileField, record: RecordOf<Fields>): unknown {
    if (hashes !== undefined) {
      const found = hashes.map((name) => fieldValue(record, name));
      return found[0] === '*' ? undefined : found;
    }
    if (wire === 'lagg_interfaces') return this.#membersOf(record.id);
    if (kept === undefined) return undefined;
    const value = fieldValue(record, kept);
    if (refersTo === undefined) return value;
    if (Array.isArray(value)) return value.map((id) => this.#keyOf(refersTo, id));
    return typeof value === 'number' ? this.#keyOf(refersTo, value) : null;
  }

  #membersOf(lagg: number): readonly unknown[] {
    const kind = this.kindAt('network/lagginterfacemembers');
    if (kind === undefined || !isKept(kind)) return [];
    return this.#source
      .all(kind.resource)
      .filter((member) => fieldValue(member, 'lagg_interfacegroup') === lagg)
      .toSorted((a, b) => Number(fieldValue(a, 'lagg_ordernum')) - Number(fieldValue(b, 'lagg_ordernum')))
      .map((member) => fieldValue(member, 'lagg_physnic'));
  }

  #keyOf(path: string, id: number): string | number {
    let keys = this.#keys.get(path);
    if (keys === undefined) {
      const kind = this.kindAt(path);
      const records = kind === undefined ? [] : [...this.of(kind).values()];
      keys = new Map(records.flatMap((record) => (record.id === undefined ? [] : [[record.id, record.key]])));
      this.#keys.set(path, keys);
    }
    return keys.get(id) ?? id;
  }
}

/** Signing requests have no certificate yet, and certificates that are renewed by themselves belong to their authority. */
function isInFile({ makes }: Kind, record: RecordOf<Fields>): boolean {
  if (makes !== 'import/') return true;
  return fieldValue(record, 'cert_certificate') !== null && fieldValue(record, 'is_renewed') !== true;
}

// Keys ---------------------------------------------------------------------------------------------------------------

const longestKey = 100;

/** The key that the values of a record give. */
export function keyFrom(kind: Kind, values: Values): string {
  const parts = kind.keyFields.flatMap((wire) => {
    const value = values[wire];
    return value === undefined || value === null || value === ''
      ? []
      : [Array.isArray(value) ? value.join(',') : value];
  });
  const text = parts
    .map(String)
    .join(' ')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, longestKey);
  return kind.otherNames.get(text) ?? (text === '' ? 'unnamed' : text);
}

/** Of records with the same key, the second is `key~2`, in the order of their content. */
function keyed(kind: Kind, records: readonly Omit<FileRecord, 'key'>[]): ReadonlyMap<string, FileRecord> {
  const found: FileRecord[] = [];
  for (const [key, same] of Map.groupBy(records, ({ values }) => keyFrom(kind, values))) {
    const ordered = same.length === 1 ? same : same.toSorted(byContent);
    for (const [index, record] of ordered.entries())
      found.push({ ...record, key: index === 0 ? key : `${key}~${index + 1}` });
  }
  return new Map(found.toSorted((a, b) => compare(a.key, b.key)).map((record) => [record.key, record]));
}

export const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const byContent = (a: { readonly values: Values }, b: { readonly values: Values }) =>
  compare(sortedJson(a.values), sortedJson(b.values));

// What the host has ---------------------------------------------------------------------------------------------------

function hostedRecords(kind: HostedKind, world: World): readonly Omit<FileRecord, 'key'>[] {
  const { resource } = kind;
  const scope = (params: Scope['params']): Scope => ({
    ...{ view: world.view, facts: world.facts, params, profile: 'document', problems: [], version: '' },
  });
  const pools = resource.path.includes('{vol}') ? [...world.facts.storage.pools.keys()] : [undefined];
  return pools.flatMap((pool) => {
    const here = scope(pool === undefined ? {} : { vol: pool });
    return Array.from(resource.list(here), (item) => {
      const shown: Values = resource.present(item, here);
      const name = String(shown[resource.key.name] ?? '');
      const whole = pool === undefined ? name : `${pool}/${name}`;
      const answer = { ...shown, ...madeWith(world, whole) };
      const local = kind.fields.filter(({ wire }) => !isInherited(world, whole, wire));
      const values = Object.fromEntries(
        local.flatMap(({ wire, kept }) =>
          kept === undefined || answer[wire] === undefined ? [] : [[wire, answer[wire]]],
        ),
      );
      const keys = Object.fromEntries(kind.keyFields.map((wire) => [wire, answer[wire]]));
      const path = `${resource.path.replace('{vol}', encoded(pool ?? ''))}/${encoded(name)}/`;
      return {
        ...{ id: undefined, path, isOfJails: isOfJails(world, whole) },
        values: { ...values, ...keys, ...(pool !== undefined && { name: whole }) },
      };
    });
  });
}

/** What a dataset or zvol was made with, and its answer does not show. */
function madeWith({ facts }: World, name: string): Values {
  const found = facts.storage.datasets.get(name);
  if (found === undefined) return {};
  const { encryptionRoot, properties, kind } = found;
  const letters = properties.casesensitivity ?? 'sensitive';
  return {
    ...(encryptionRoot === name && { encryption: true }),
    ...(kind === 'filesystem' && letters !== 'sensitive' && { case_sensitivity: letters }),
    ...(kind === 'volume' && {
      sparse: /^(?:0|none)?$/.test(properties.refreservation ?? ''),
      blocksize: exactSize(Number(properties.volblocksize ?? 16_384)),
    }),
  };
}

/** Properties that a dataset inherits are not its own. */
function isInherited({ facts }: World, name: string, wire: string): boolean {
  const inherited: readonly string[] = facts.storage.datasets.get(name)?.inherited ?? [];
  return inherited.includes(wire);
}

/**
 * Whether a dataset is a template, a bundle of plugins, a jail made of a template, or below one. A jail that a factory
 * reset has forgotten is known by its origin. On another machine, an empty dataset of that name would be in the way of
 * the jail.
 */
function isOfJails(world: World, name: string): boolean {
  const origin = world.facts.storage.datasets.get(name)?.origin ?? '';
  if (/^\.(?:template|bundle)-\d+$/.test(lastElement(name)) || /\/\.template-\d+@/.test(origin)) return true;
  return name.includes('/') && isOfJails(world, parentOf(name));
}

/** Where a new object of the host is made, and the name that the request gives it. */
export function hostedCreation(
  { resource: { path } }: Kind,
  key: string,
): { readonly path: string; readonly name: string } {
  if (path === 'storage/dataset') return { path: `${path}/${encoded(parentOf(key))}/`, name: lastElement(key) };
  const [pool = '', ...rest] = key.split('/');
  return { path: `${path.replace('{vol}', encoded(pool))}/`, name: rest.join('/') };
}

const encoded = (text: string) => encodeURIComponent(text).replaceAll('%2F', '/');
