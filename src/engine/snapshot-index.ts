import type { Dataset, Snapshot } from '../host/ports/zfs.ts';

/** A snapshot with what follows from its place among the others. */
export interface KnownSnapshot extends Snapshot {
  /** `tank/media@monday`. */
  readonly id: string;
  readonly kind: Dataset['kind'];
  /** Whether it is the newest of its dataset. */
  readonly newest: boolean;
}

/** The snapshots of one dataset, the oldest first, and the stamp that the dataset had when they were listed. */
interface Part {
  readonly stamp: string;
  readonly byName: ReadonlyMap<string, KnownSnapshot>;
}

/**
 * All snapshots as they were last listed. Machines have a hundred thousand of them, so only those of datasets whose
 * stamp is another are listed anew, and a page of a list is a slice of `all`.
 */
export class SnapshotIndex {
  static readonly empty = new SnapshotIndex(new Map());

  /** Dataset by dataset, the oldest of each first. */
  readonly all: readonly KnownSnapshot[];
  readonly #parts: ReadonlyMap<string, Part>;

  private constructor(parts: ReadonlyMap<string, Part>) {
    this.#parts = parts;
    this.all = Object.freeze([...parts.values()].flatMap(({ byName }) => [...byName.values()]));
  }

  find(id: string): KnownSnapshot | undefined {
    const at = id.indexOf('@');
    return at < 0 ? undefined : this.#parts.get(id.slice(0, at))?.byName.get(id.slice(at + 1));
  }

  /** Those of one dataset, the oldest first. */
  of(dataset: string): readonly KnownSnapshot[] {
    return [...(this.#parts.get(dataset)?.byName.values() ?? [])];
  }

  /** The index after another look at the datasets; `list` is asked for those whose snapshots became others. */
  async renewed(datasets: readonly Dataset[], list: (datasets?: readonly string[]) => Promise<readonly Snapshot[]>): Promise<SnapshotIndex> {
    const changed = datasets.filter(({ name, snapshotStamp }) => this.#parts.get(name)?.stamp !== snapshotStamp);
    if (changed.length === 0 && this.#parts.size === datasets.length) return this;
    const all = changed.length === datasets.length;
    const listed = changed.length === 0 ? [] : await list(all ? undefined : changed.map(({ name }) => name));
    const found = Map.groupBy(listed, ({ dataset }) => dataset);
    const renewed = new Map(changed.map((dataset) => [dataset.name, partOf(dataset, found.get(dataset.name) ?? [])]));
    return new SnapshotIndex(new Map(datasets.map(({ name, snapshotStamp }) => [name, renewed.get(name) ?? this.#parts.get(name) ?? { stamp: snapshotStamp, byName: new Map() }])));
  }
}

function partOf({ kind, snapshotStamp }: Dataset, snapshots: readonly Snapshot[]): Part {
  const known = snapshots.map((one, place): [string, KnownSnapshot] => [
    one.name,
    Object.freeze({ ...one, id: `${one.dataset}@${one.name}`, kind, newest: place === snapshots.length - 1 }),
  ]);
  return { stamp: snapshotStamp, byName: new Map(known) };
}
