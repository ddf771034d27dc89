import { sortedJson } from '../../lib/json.ts';
import { forgetOldest } from '../../lib/recent.ts';
import type { Fields } from '../declare/fields.ts';
import type { Kept, RecordChange } from '../declare/kept.ts';
import type { Location } from '../declare/location.ts';
import { answered, isRecordOf } from '../declare/record.ts';
import type { Collection, Occupant, RecordOf, Singleton, View } from '../declare/resource.ts';
import { occupantsOf } from './occupants.ts';

export type { Kept, RecordChange };

/** Small enough that a group is rendered quickly, large enough that thousands of records form only dozens of groups. */
export const idsPerGroup = 64;

/** Texts of records that are cached: each is as large as its record. */
const mostTexts = 2000;

export const groupNumber = (id: number) => Math.floor(id / idsPerGroup);

type Groups<F extends Fields> = Map<number, readonly RecordOf<F>[]>;

/** Rebuilds a group from the records that `get` returns for its ids. Removes a group without records. */
export function regroup<F extends Fields>(
  groups: Groups<F>,
  number: number,
  get: (id: number) => RecordOf<F> | undefined,
): void {
  const records = Array.from({ length: idsPerGroup }, (_, index) => get(number * idsPerGroup + index)).filter(
    (record) => record !== undefined,
  );
  if (records.length === 0) groups.delete(number);
  else groups.set(number, Object.freeze(records));
}

/** The records of one resource in memory: in natural order, by id, and indexed by the fields that are searched. */
export class Table<F extends Fields = Fields> {
  readonly resource: Kept<F>;
  lastId = 0;
  /** Grows with each change of a record. */
  version = 0;
  readonly #compare: (a: Ordered, b: Ordered) => number;
  readonly #byId = new Map<number, RecordOf<F>>();
  readonly #order: RecordOf<F>[] = [];
  readonly #texts = new Map<RecordOf<F>, string>();
  /** Ids by the name of a field, or `byKey`, and value. An index is built when it is first searched, and updated from then on. */
  readonly #indexes = new Map<string, Index>();
  readonly #groups: Groups<F> = new Map();
  /** The numbers of the groups that are built when groups are next requested. */
  readonly #stale = new Set<number>();
  /** The stored records that are not in memory yet; undefined once all are. */
  #stored: Iterator<RecordOf<F>> | undefined;

  constructor(resource: Kept<F>) {
    this.resource = resource;
    this.#compare = naturalOrder(resource.kind === 'collection' ? resource.order : []);
  }

  /** The order of two records in lists. */
  compare(a: RecordOf<F>, b: RecordOf<F>): number {
    return this.#compare(a, b);
  }

  get size(): number {
    this.#complete();
    return this.#order.length;
  }

  /** Not a copy: the list changes with the next commit. */
  all(): readonly RecordOf<F>[] {
    this.#complete();
    return this.#order;
  }

  get(id: number): RecordOf<F> | undefined {
    this.#complete();
    return this.#byId.get(id);
  }

  groups(): ReadonlyMap<number, readonly RecordOf<F>[]> {
    this.#complete();
    for (const number of this.#stale) regroup(this.#groups, number, (id) => this.#byId.get(id));
    this.#stale.clear();
    return this.#groups;
  }

  /** The ids of the records with this value of the field, or with this key where the name is `byKey`. */
  ids(name: string, value: unknown): ReadonlySet<number> {
    this.#complete();
    let index = this.#indexes.get(name);
    if (index === undefined) {
      index = new Map();
      for (const record of this.#order)
        for (const one of searchedValues(this.resource, record, name)) addTo(index, one, record.id);
      this.#indexes.set(name, index);
    }
    const found = index.get(value);
    return typeof found === 'number' ? new Set([found]) : (found ?? none);
  }

  having(name: string, value: unknown): readonly RecordOf<F>[] {
    return Array.from(this.ids(name, value), (id) => this.get(id)).filter((record) => record !== undefined);
  }

  /** The record as JSON text for responses. Those used last are cached, so that a GET costs one look-up. */
  text(record: RecordOf<F>): string {
    const kept = this.#texts.get(record);
    if (kept !== undefined) return kept;
    const text = sortedJson(answered(this.resource.fields, record));
    if (this.#byId.get(record.id) !== record) return text;
    this.#texts.set(record, text);
    forgetOldest(this.#texts, mostTexts);
    return text;
  }

  /**
   * Takes the stored records at the start. They are read when one of them is first needed, so that a request for others
   * does not wait for tens of thousands, or before that by `loading`.
   */
  load(records: Iterable<RecordOf<F>>, lastId: number): void {
    this.#stored = records[Symbol.iterator]();
    this.lastId = lastId;
  }

  /** Reads the stored records, in pieces. */
  *loading(): Generator<undefined, void> {
    while (this.#stored !== undefined) {
      this.#readNext(this.#stored);
      yield;
    }
  }

  #complete(): void {
    while (this.#stored !== undefined) this.#readNext(this.#stored);
  }

  #readNext(stored: Iterator<RecordOf<F>>): void {
    const next = stored.next();
    if (next.done === true) {
      this.#order.sort(this.#compare);
      this.#stored = undefined;
      return;
    }
    const { value: record } = next;
    this.#byId.set(record.id, record);
    this.#stale.add(groupNumber(record.id));
    this.#order.push(record);
  }

  put(record: RecordOf<F>): void {
    this.version += 1;
    this.delete(record.id);
    this.#byId.set(record.id, record);
    this.#order.splice(placeOf(this.#order, record, this.#compare), 0, record);
    for (const [name, index] of this.#indexes)
      for (const value of searchedValues(this.resource, record, name)) addTo(index, value, record.id);
    this.#stale.add(groupNumber(record.id));
  }

  delete(id: number): void {
    this.#complete();
    const old = this.#byId.get(id);
    if (old === undefined) return;
    this.version += 1;
    this.#byId.delete(id);
    this.#texts.delete(old);
    this.#order.splice(placeOf(this.#order, old, this.#compare), 1);
    for (const [name, index] of this.#indexes)
      for (const value of searchedValues(this.resource, old, name)) removeFrom(index, value, id);
    this.#stale.add(groupNumber(id));
  }
}

const none: ReadonlySet<number> = new Set();

/** A value that one record has, as most names are, has its id alone: a set of one takes 170 bytes. */
type Index = Map<unknown, number | Set<number>>;

function addTo(index: Index, value: unknown, id: number): void {
  const ids = index.get(value);
  if (ids === undefined) index.set(value, id);
  else if (typeof ids !== 'number') ids.add(id);
  else if (ids !== id) index.set(value, new Set([ids, id]));
}

function removeFrom(index: Index, value: unknown, id: number): void {
  const ids = index.get(value);
  if (ids === id || (typeof ids === 'object' && ids.delete(id) && ids.size === 0)) index.delete(value);
}

/** In place of the name of a field: the keys of a record. */
export const byKey = 'keys()';

/** The values by which a record is found: that of a field, or its keys. */
export function searchedValues<F extends Fields>(
  resource: Kept<F>,
  record: RecordOf<F>,
  name: string,
): readonly unknown[] {
  if (name !== byKey) return [fieldValue(record, name)];
  return (resource.kind === 'collection' ? resource.keys?.(record) : undefined) ?? [];
}

/** The value of a field. `name~` is the value in lower case, which can be indexed like a field. */
export function fieldValue(record: Readonly<Record<string, unknown>>, name: string): unknown {
  if (!name.endsWith('~')) return record[name];
  const value = record[name.slice(0, -1)];
  return typeof value === 'string' ? value.toLowerCase() : value;
}

/**
 * The index of the record in a sorted list, or where to insert it. The order is total: only one record compares as
 * equal.
 */
export function placeOf<T>(sorted: readonly T[], record: T, compare: (a: T, b: T) => number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const candidate = sorted[middle];
    if (candidate !== undefined && compare(candidate, record) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Orders by the named fields, then by id. A leading `-` reverses the order of a field. */
export function naturalOrder(names: readonly string[]): (a: Ordered, b: Ordered) => number {
  const keys = names.map((name) => (name.startsWith('-') ? { name: name.slice(1), sign: -1 } : { name, sign: 1 }));
  return (a, b) => {
    for (const { name, sign } of keys) {
      const difference = compareValues(a[name], b[name]);
      if (difference !== 0) return sign * difference;
    }
    return (a.id ?? 0) - (b.id ?? 0);
  };
}

export type Ordered = Readonly<Record<string, unknown>> & { readonly id?: number };

/**
 * Unset values come before numbers, numbers before texts. Texts are compared by code unit, independent of the locale.
 */
export function compareValues(a: unknown, b: unknown): number {
  const rank = (value: unknown) => (value === null || value === undefined ? 0 : typeof value === 'string' ? 2 : 1);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  return Number(a ?? 0) - Number(b ?? 0);
}

/** All stored records in memory. GET requests read them, and drafts are based on them. */
export class Tables implements View {
  readonly resources: readonly Kept[];
  readonly #tables = new Map<string, Table>();

  constructor(resources: readonly Kept[]) {
    this.resources = resources;
    for (const resource of resources) this.#tables.set(resource.path, new Table(resource));
  }

  table<F extends Fields>(of: Kept<F>): Table<F> {
    const table = this.#tables.get(of.path);
    if (table === undefined || !isTableOf(table, of)) throw new Error(`${of.path} is not in the catalogue`);
    return table;
  }

  has(path: string, id: number): boolean {
    return this.#tables.get(path)?.get(id) !== undefined;
  }

  all<F extends Fields>(of: Collection<F>): readonly RecordOf<F>[] {
    return this.table(of).all();
  }

  groups<F extends Fields>(of: Collection<F>): ReadonlyMap<number, readonly RecordOf<F>[]> {
    return this.table(of).groups();
  }

  get<F extends Fields>(of: Collection<F>, id: number): RecordOf<F> | undefined {
    return this.table(of).get(id);
  }

  find<F extends Fields>(of: Collection<F>, name: keyof F & string, value: unknown): RecordOf<F> | undefined {
    const table = this.table(of);
    for (const id of table.ids(name, value)) return table.get(id);
    return undefined;
  }

  having<F extends Fields>(of: Collection<F>, name: keyof F & string, value: unknown): readonly RecordOf<F>[] {
    return this.table(of).having(name, value);
  }

  keyed<F extends Fields>(of: Collection<F>, key: string): readonly RecordOf<F>[] {
    return this.table(of).having(byKey, key);
  }

  only<F extends Fields>(of: Singleton<F>): RecordOf<F> {
    const record = this.table(of).get(1);
    if (record === undefined) throw new Error(`${of.path} has no record; the store was not seeded`);
    return record;
  }

  occupants(of: Location): readonly Occupant[] {
    return occupantsOf(this, this.resources, of);
  }

  /** Makes stored changes visible. */
  apply(changes: readonly RecordChange[], sequences: ReadonlyMap<string, number>): void {
    for (const [path, last] of sequences) {
      const table = this.#tables.get(path);
      if (table !== undefined) table.lastId = Math.max(table.lastId, last);
    }
    for (const { resource, id, after } of changes) {
      const table = this.table(resource);
      if (after === undefined) table.delete(id);
      else if (isRecordOf(resource.fields, after)) table.put(after);
    }
  }
}

function isTableOf<F extends Fields>(table: Table, of: Kept<F>): table is Table<F> {
  return table.resource.path === of.path && table.resource.fields === of.fields;
}
