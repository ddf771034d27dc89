import type { Dataset, Snapshot } from '../../host/ports/zfs.ts';

/** A snapshot with properties that depend on the other snapshots. */
export interface KnownSnapshot extends Snapshot {
  /** `tank/media@monday`. */
  readonly id: string;
  readonly kind: Dataset['kind'];
  /** Whether it is the newest snapshot of its dataset. */
  readonly newest: boolean;
}

/** The snapshots of one dataset, the oldest first, and the stamp of the dataset when they were listed. */
interface Part {
  readonly stamp: string;
  readonly byName: ReadonlyMap<string, KnownSnapshot>;
  readonly newest: KnownSnapshot | undefined;
}

/**
 * All snapshots as they were last listed. A machine can have a hundred thousand of them, so only the snapshots of
 * datasets whose stamp changed are listed again, and a page of a list is a slice of `all`.
 */
export class SnapshotIndex {
  static readonly empty = new SnapshotIndex(new Map());

  readonly #parts: ReadonlyMap<string, Part>;
  #all: readonly KnownSnapshot[] | undefined;

  private constructor(parts: ReadonlyMap<string, Part>) {
    this.#parts = parts;
  }

  /** Grouped by dataset, the oldest of each dataset first. */
  get all(): readonly KnownSnapshot[] {
    this.#all ??= Object.freeze([...this.#parts.values()].flatMap(({ byName }) => [...byName.values()]));
    return this.#all;
  }

  find(id: string): KnownSnapshot | undefined {
    const at = id.indexOf('@');
    return at < 0 ? undefined : this.#parts.get(id.slice(0, at))?.byName.get(id.slice(at + 1));
  }

  /** The snapshots of one dataset, the oldest first. */
  of(dataset: string): readonly KnownSnapshot[] {
    return [...(this.#parts.get(dataset)?.byName.values() ?? [])];
  }

  /** How many snapshots a dataset has, and the newest of them. */
  summaryOf(dataset: string): { readonly count: number; readonly newest: KnownSnapshot | undefined } {
    const { byName, newest } = this.#parts.get(dataset) ?? unlisted;
    return { count: byName.size, newest };
  }

  /** The index as it will be with a new snapshot of a dataset, which stays stale for the next look. */
  withNew({ dataset, name }: Pick<Snapshot, 'dataset' | 'name'>, kind: Dataset['kind']): SnapshotIndex {
    const { byName } = this.#parts.get(dataset) ?? unlisted;
    const taken = { dataset, name, used: 0, referenced: 0, created: 0, deferred: false };
    const newest = Object.freeze({ ...taken, id: `${dataset}@${name}`, kind, newest: true });
    const earlier = [...byName].map(
      ([id, one]) => [id, one.newest ? Object.freeze({ ...one, newest: false }) : one] as const,
    );
    const part = { stamp: unlisted.stamp, byName: new Map([...earlier, [name, newest] as const]), newest };
    return new SnapshotIndex(new Map([...this.#parts, [dataset, part]]));
  }

  /** The names of those among these datasets whose snapshots changed since they were listed. */
  stale(datasets: readonly Dataset[]): readonly string[] {
    return datasets
      .filter(({ name, snapshotStamp }) => this.#parts.get(name)?.stamp !== snapshotStamp)
      .map(({ name }) => name);
  }

  /**
   * Returns the index of `datasets`, with the snapshots of the listing for the datasets in `looked`. A dataset that is
   * stale but not in the listing, because of a concurrent look, remains stale for the next look.
   */
  renewed(datasets: ReadonlyMap<string, Dataset>, looked: readonly Dataset[], listing: Listing): SnapshotIndex {
    const fresh = new Set(this.stale(looked).filter((name) => listing.of.has(name)));
    if (
      fresh.size === 0 &&
      this.#parts.size === datasets.size &&
      [...datasets.keys()].every((name) => this.#parts.has(name))
    )
      return this;
    const found = Map.groupBy(listing.snapshots, ({ dataset }) => dataset);
    const parts = [...datasets.values()].map((dataset): [string, Part] => {
      const { name } = dataset;
      return [name, fresh.has(name) ? partOf(dataset, found.get(name) ?? []) : (this.#parts.get(name) ?? unlisted)];
    });
    return new SnapshotIndex(new Map(parts));
  }
}

/** All snapshots of these datasets. */
export interface Listing {
  readonly of: ReadonlySet<string>;
  readonly snapshots: readonly Snapshot[];
}

/** No dataset has this stamp. */
const unlisted: Part = { stamp: '', byName: new Map(), newest: undefined };

function partOf({ kind, snapshotStamp }: Dataset, snapshots: readonly Snapshot[]): Part {
  const last = snapshots.at(-1);
  const byName = new Map(snapshots.map((one) => [one.name, known(one, kind, one === last)]));
  return { stamp: snapshotStamp, byName, newest: last && byName.get(last.name) };
}

/** Field by field, because a spread takes several times as long, and a start makes a hundred thousand of them. */
function known(one: Snapshot, kind: Dataset['kind'], newest: boolean): KnownSnapshot {
  const { dataset, name, used, referenced, created, deferred, task } = one;
  const all = { dataset, name, used, referenced, created, deferred, id: `${dataset}@${name}`, kind, newest };
  return Object.freeze(task === undefined ? all : { ...all, task });
}
