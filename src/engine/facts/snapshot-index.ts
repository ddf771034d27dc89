import type { Dataset, Snapshot } from '../../host/ports/zfs.ts';
import { nameAt, positionIn } from '../../lib/name-column.ts';
import type { Rows } from '../../lib/rows.ts';
import { appended, noSnapshots, revised, type SnapshotColumns, sharing } from './snapshot-columns.ts';

/** A snapshot with properties that depend on the other snapshots. */
export interface KnownSnapshot extends Snapshot {
  /** `tank/media@monday`. */
  readonly id: string;
  readonly kind: Dataset['kind'];
  /** Whether it is the newest snapshot of its dataset. */
  readonly newest: boolean;
}

/** The snapshots of one dataset, the oldest first, with its stamp and the bytes that only they used when they were listed. */
export interface SnapshotPart {
  readonly dataset: string;
  readonly kind: Dataset['kind'];
  readonly stamp: string;
  readonly space: number;
  readonly columns: SnapshotColumns;
}

/**
 * All snapshots as they were last listed. A machine can have a hundred thousand of them, so only the snapshots of
 * datasets whose stamp changed are listed again. They are kept in columns, and a snapshot is made when it is asked for:
 * an object for each takes five times the memory, and the garbage collector visits it again and again.
 */
export class SnapshotIndex {
  static readonly empty = new SnapshotIndex(new Map());

  readonly #parts: ReadonlyMap<string, SnapshotPart>;
  /** Of an earlier run, for datasets that this one has not seen yet. */
  readonly #recalled: ReadonlyMap<string, SnapshotPart>;
  #all: Rows<KnownSnapshot> | undefined;
  #newestByTask: ReadonlyMap<number, number> | undefined;

  private constructor(
    parts: ReadonlyMap<string, SnapshotPart>,
    recalled: ReadonlyMap<string, SnapshotPart> = new Map(),
  ) {
    this.#parts = parts;
    this.#recalled = recalled;
  }

  /** An index of nothing, which takes these parts of an earlier run for datasets that still have the same stamp. */
  static recalling(parts: readonly SnapshotPart[]): SnapshotIndex {
    let before: SnapshotColumns | undefined;
    const recalled = parts.map((part): [string, SnapshotPart] => {
      before = sharing(part.columns, before);
      return [part.dataset, { ...part, columns: before }];
    });
    return new SnapshotIndex(new Map(), new Map(recalled));
  }

  /** What a later run can recall. */
  get parts(): readonly SnapshotPart[] {
    return [...this.#parts.values()].filter(({ stamp }) => stamp !== unlisted && stamp !== partly);
  }

  /**
   * The names of these snapshots of a dataset and of their neighbors, whose space changes when they are destroyed;
   * undefined if it is not known what else the dataset has.
   */
  around(dataset: string, names: Iterable<string>): readonly string[] | undefined {
    const part = this.#parts.get(dataset);
    if (part === undefined || part.stamp === unlisted) return undefined;
    const { columns } = part;
    const all = new Set(names);
    for (const name of [...all]) {
      const at = positionIn(columns, name);
      if (at === undefined) continue;
      if (at > 0) all.add(nameAt(columns, at - 1));
      if (at < columns.count - 1) all.add(nameAt(columns, at + 1));
    }
    return [...all];
  }

  /** Some datasets whose snapshots are recalled and were not listed since: up to so many of them, with so many snapshots. */
  someRecalled(most: { readonly datasets: number; readonly snapshots: number }): readonly string[] {
    const names: string[] = [];
    let count = 0;
    for (const [name, part] of this.#parts) {
      if (this.#recalled.get(name) !== part) continue;
      count += part.columns.count;
      if (names.length > 0 && (names.length === most.datasets || count > most.snapshots)) break;
      names.push(name);
    }
    return names;
  }

  /** The same snapshots, those of these datasets to be listed again. */
  doubting(names: readonly string[]): SnapshotIndex {
    const [parts, recalled] = [new Map(this.#parts), new Map(this.#recalled)];
    for (const name of names) {
      const part = parts.get(name);
      if (part !== undefined) parts.set(name, { ...part, stamp: unlisted });
      recalled.delete(name);
    }
    return new SnapshotIndex(parts, recalled);
  }

  /** The same snapshots; those of datasets that come later will be listed. */
  get forgetting(): SnapshotIndex {
    return this.#recalled.size === 0 ? this : new SnapshotIndex(this.#parts);
  }

  /** Grouped by dataset, the oldest of each dataset first. */
  get all(): Rows<KnownSnapshot> {
    this.#all ??= new AllSnapshots([...this.#parts.values()]);
    return this.#all;
  }

  find(id: string): KnownSnapshot | undefined {
    const at = id.indexOf('@');
    const part = at < 0 ? undefined : this.#parts.get(id.slice(0, at));
    if (part === undefined) return undefined;
    const position = positionIn(part.columns, id.slice(at + 1));
    return position === undefined ? undefined : known(part, position);
  }

  /** The snapshots of one dataset, the oldest first. */
  of(dataset: string): readonly KnownSnapshot[] {
    const part = this.#parts.get(dataset);
    return part === undefined ? [] : [...snapshotsOf(part)];
  }

  /** Those of the datasets that are wanted. */
  *among(isWanted: (dataset: string) => boolean): Iterable<KnownSnapshot> {
    for (const part of this.#parts.values()) if (isWanted(part.dataset)) yield* snapshotsOf(part);
  }

  /** Those that this periodic task took. */
  *takenBy(task: number): Iterable<KnownSnapshot> {
    for (const part of this.#parts.values())
      for (let at = 0; at < part.columns.count; at += 1) if (part.columns.tasks[at] === task) yield known(part, at);
  }

  /** When each periodic task took its newest snapshot, in seconds since 1970. */
  get newestByTask(): ReadonlyMap<number, number> {
    this.#newestByTask ??= newestByTask(this.#parts.values());
    return this.#newestByTask;
  }

  /** How many snapshots a dataset has, and the newest of them. */
  summaryOf(dataset: string): { readonly count: number; readonly newest: KnownSnapshot | undefined } {
    const part = this.#parts.get(dataset);
    const count = part?.columns.count ?? 0;
    return { count, newest: part === undefined || count === 0 ? undefined : known(part, count - 1) };
  }

  /** The index as it will be with a new snapshot of a dataset, which stays stale for the next look. */
  withNew({ dataset, name }: Pick<Snapshot, 'dataset' | 'name'>, kind: Dataset['kind']): SnapshotIndex {
    const taken = { dataset, name, used: 0, referenced: 0, created: 0, deferred: false };
    const before = this.#parts.get(dataset)?.columns ?? noSnapshots;
    const part = { dataset, kind, stamp: unlisted, space: 0, columns: appended(before, [taken]) };
    return new SnapshotIndex(new Map([...this.#parts, [dataset, part]]), this.#recalled);
  }

  /** The names of those among these datasets whose snapshots changed since they were listed. */
  stale(datasets: readonly Dataset[]): readonly string[] {
    return datasets.filter((one) => !isAsListed(one, this.#known(one.name))).map(({ name }) => name);
  }

  /** Whether a dataset has the snapshots that were listed, although they use more or less space alone. */
  hasOtherSpace(dataset: Dataset): boolean {
    const part = this.#parts.get(dataset.name);
    return part?.stamp === dataset.snapshotStamp && !isAsListed(dataset, part);
  }

  /** What is known of those among these datasets whose snapshots are as they were listed. */
  fitting(datasets: readonly Dataset[]): ReadonlyMap<string, SnapshotPart> {
    return new Map(
      datasets.flatMap((one): (readonly [string, SnapshotPart])[] => {
        const part = this.#known(one.name);
        return part !== undefined && isAsListed(one, part) ? [[one.name, part]] : [];
      }),
    );
  }

  /**
   * Returns the index of `datasets`, with the snapshots of the listing for the datasets in `looked`. A dataset that is
   * stale but not in the listing, because of a concurrent look, is again as it was when the listing was begun, or remains
   * stale for the next look. So does one of whose snapshots only some were looked at.
   */
  renewed(datasets: ReadonlyMap<string, Dataset>, looked: readonly Dataset[], listing: Listing): SnapshotIndex {
    const fresh = new Set(this.stale(looked).filter((name) => listing.of.has(name)));
    const seen = new Set(looked.map(({ name }) => name));
    const named = new Map([...listing.named].filter(([name]) => seen.has(name)));
    if (
      fresh.size + named.size === 0 &&
      looked.every(({ name }) => this.#parts.get(name) === this.#agreed(name, listing)) &&
      this.#parts.size === datasets.size &&
      [...datasets.keys()].every((name) => this.#parts.has(name))
    )
      return this;
    // The dataset before is most likely to have the same snapshots: the one above, or another one below that.
    let before: SnapshotColumns | undefined;
    const parts = [...datasets.values()].map((one): [string, SnapshotPart] => {
      const { name, kind, snapshotStamp: stamp, figures } = one;
      const listed = listing.columns.get(name) ?? noSnapshots;
      const part = fresh.has(name)
        ? { dataset: name, kind, stamp, space: figures.usedBySnapshots, columns: sharing(listed, before) }
        : withNamed((seen.has(name) ? this.#agreed(name, listing) : undefined) ?? this.#kept(one), named.get(name));
      before = part.columns;
      return [name, part];
    });
    return new SnapshotIndex(new Map(parts), this.#recalled);
  }

  #known(name: string): SnapshotPart | undefined {
    return this.#parts.get(name) ?? this.#recalled.get(name);
  }

  /** What a look has found to be as it was known, although an earlier look may have replaced it since; not if it is in doubt. */
  #agreed(name: string, { fitting }: Listing): SnapshotPart | undefined {
    const now = this.#parts.get(name);
    return now?.stamp === unlisted ? now : (fitting.get(name) ?? now);
  }

  /** Of a dataset that was not listed now. */
  #kept(dataset: Dataset): SnapshotPart {
    const { name, kind } = dataset;
    const recalled = this.#recalled.get(name);
    return (
      this.#parts.get(name) ??
      (recalled !== undefined && isAsListed(dataset, recalled)
        ? recalled
        : { dataset: name, kind, stamp: unlisted, space: 0, columns: noSnapshots })
    );
  }
}

/**
 * All snapshots of the datasets in `of`, without columns for a dataset that has none, and some snapshots of those in
 * `named`.
 */
export interface Listing {
  readonly of: ReadonlySet<string>;
  readonly columns: ReadonlyMap<string, SnapshotColumns>;
  readonly named: ReadonlyMap<string, NamedSnapshots>;
  /** What was known of datasets whose snapshots were as they had been listed. */
  readonly fitting: ReadonlyMap<string, SnapshotPart>;
}

/** Snapshots of one dataset that were looked at by name. What was not found is gone. */
export interface NamedSnapshots {
  readonly asked: readonly string[];
  readonly found: readonly Snapshot[];
}

/** Sorts snapshots into columns by dataset, in pieces. */
export function* columnsOf(snapshots: Iterable<Snapshot>): Generator<undefined, Listing['columns']> {
  const found = new Map<string, Snapshot[]>();
  for (const snapshot of snapshots) {
    const others = found.get(snapshot.dataset);
    if (others === undefined) found.set(snapshot.dataset, [snapshot]);
    else others.push(snapshot);
    yield;
  }
  const columns = new Map<string, SnapshotColumns>();
  for (const [dataset, own] of found) {
    columns.set(dataset, appended(noSnapshots, own));
    yield;
  }
  return columns;
}

/** The space that snapshots use alone changes with the contents that they share with the dataset. */
function isAsListed({ snapshotStamp, figures }: Dataset, part: SnapshotPart | undefined): boolean {
  return part?.stamp === snapshotStamp && part.space === figures.usedBySnapshots;
}

/** No dataset has these stamps: the snapshots of a part were not listed, or only some were looked at since. */
const unlisted = '';
const partly = 'partly';

/** The part after a look at some snapshots. New ones come last, also one that has the name of one that is gone. */
function withNamed(part: SnapshotPart, named: NamedSnapshots | undefined): SnapshotPart {
  if (named === undefined) return part;
  const { columns } = part;
  const found = new Map(named.found.map((one) => [one.name, one]));
  const changed = new Map<number, Snapshot>();
  const gone: number[] = [];
  for (const name of named.asked) {
    const at = positionIn(columns, name);
    const now = found.get(name);
    if (at === undefined) continue;
    if (now !== undefined && now.created === columns.created[at]) {
      changed.set(at, now);
      found.delete(name);
    } else gone.push(at);
  }
  const left = changed.size + gone.length === 0 ? columns : revised(columns, changed, gone);
  const made = [...found.values()].toSorted((a, b) => a.created - b.created);
  return {
    ...part,
    stamp: part.stamp === unlisted ? unlisted : partly,
    columns: made.length === 0 ? left : appended(left, made),
  };
}

/** Field by field, because a spread takes several times as long, and a list has a hundred thousand of them. */
function known({ dataset, kind, columns }: SnapshotPart, at: number): KnownSnapshot {
  const name = nameAt(columns, at);
  const task = columns.tasks[at] ?? Number.NaN;
  const all = {
    dataset,
    name,
    id: `${dataset}@${name}`,
    kind,
    newest: at === columns.count - 1,
    used: columns.used[at] ?? 0,
    referenced: columns.referenced[at] ?? 0,
    created: columns.created[at] ?? 0,
    deferred: columns.deferred[at] === 1,
  };
  return Object.freeze(Number.isNaN(task) ? all : { ...all, task });
}

/** Of one dataset, from one position to another. */
function* snapshotsOf(part: SnapshotPart, from = 0, to = part.columns.count): Iterable<KnownSnapshot> {
  for (let at = from; at < to; at += 1) yield known(part, at);
}

function newestByTask(parts: Iterable<SnapshotPart>): ReadonlyMap<number, number> {
  const newest = new Map<number, number>();
  for (const { columns } of parts)
    for (const [at, task] of columns.tasks.entries())
      if (!Number.isNaN(task)) newest.set(task, Math.max(newest.get(task) ?? 0, columns.created[at] ?? 0));
  return newest;
}

/** The snapshots of several datasets from one position to another, which are made as they are read. */
class AllSnapshots implements Rows<KnownSnapshot> {
  readonly length: number;
  readonly #parts: readonly SnapshotPart[];
  readonly #from: number;

  constructor(parts: readonly SnapshotPart[], from = 0, to = Number.POSITIVE_INFINITY) {
    const count = parts.reduce((sum, { columns }) => sum + columns.count, 0);
    this.#parts = parts;
    this.#from = Math.min(from, count);
    this.length = Math.max(0, Math.min(to, count) - this.#from);
  }

  slice(from = 0, to = this.length): Rows<KnownSnapshot> {
    return new AllSnapshots(this.#parts, this.#from + from, this.#from + Math.min(to, this.length));
  }

  *[Symbol.iterator](): Iterator<KnownSnapshot> {
    let [first, rest] = [this.#from, this.length];
    for (const part of this.#parts) {
      const { count } = part.columns;
      const taken = Math.min(Math.max(0, count - first), rest);
      if (taken > 0) yield* snapshotsOf(part, first, first + taken);
      first = Math.max(0, first - count);
      rest -= taken;
      if (rest === 0) return;
    }
  }
}
