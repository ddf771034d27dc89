import { type NameColumn, nameAt, noNames, positionIn, withNames } from '../../../lib/name-column.ts';
import type { SnapshotRecord } from './record.ts';

/** What few snapshots have. */
type Extras = Omit<SnapshotRecord, 'guid' | 'name' | 'created'>;

interface Columns extends NameColumn {
  readonly guids: BigUint64Array;
  readonly created: Float64Array;
  /** By position. */
  readonly extras: ReadonlyMap<number, Extras>;
}

const noColumns: Columns = {
  ...{ ...noNames, guids: new BigUint64Array(), created: new Float64Array() },
  extras: new Map(),
};

/**
 * The snapshots of one dataset, the oldest first. They are kept in columns, and a record is made when it is asked for: a
 * dataset can have a hundred thousand, and a record for each takes four times the memory.
 */
export class SnapshotList implements Iterable<SnapshotRecord> {
  static readonly none = new SnapshotList(noColumns);

  readonly #columns: Columns;
  #stamp: string | undefined;

  private constructor(columns: Columns) {
    this.#columns = columns;
  }

  static of(snapshots: readonly SnapshotRecord[]): SnapshotList {
    return SnapshotList.none.with(snapshots);
  }

  get length(): number {
    return this.#columns.starts.length;
  }

  /** Differs between lists of different snapshots. */
  get stamp(): string {
    if (this.#stamp === undefined) {
      let sum = 0n;
      for (const guid of this.#columns.guids) sum ^= guid;
      for (const { deferred } of this.#columns.extras.values()) if (deferred === true) sum ^= 1n;
      this.#stamp = `${this.length} ${sum}`;
    }
    return this.#stamp;
  }

  get hasDeferred(): boolean {
    return this.#columns.extras.values().some(({ deferred }) => deferred === true);
  }

  /** Undefined if none has this name. */
  positionOf(name: string): number | undefined {
    return positionIn(this.#columns, name);
  }

  find(name: string): SnapshotRecord | undefined {
    const at = this.positionOf(name);
    return at === undefined ? undefined : this.#at(at);
  }

  /** With these as the newest. */
  with(snapshots: readonly SnapshotRecord[]): SnapshotList {
    const count = this.length + snapshots.length;
    const guids = new BigUint64Array(count);
    const created = new Float64Array(count);
    const extras = new Map(this.#columns.extras);
    guids.set(this.#columns.guids);
    created.set(this.#columns.created);
    for (const [index, snapshot] of snapshots.entries()) {
      const { guid, name: _, created: at, ...rest } = snapshot;
      guids[this.length + index] = BigInt(guid);
      created[this.length + index] = at;
      if (Object.keys(rest).length > 0) extras.set(this.length + index, Object.freeze(rest));
    }
    const names = withNames(
      this.#columns,
      snapshots.map(({ name }) => name),
    );
    return new SnapshotList({ ...names, guids, created, extras });
  }

  *[Symbol.iterator](): Iterator<SnapshotRecord> {
    for (let at = 0; at < this.length; at += 1) yield this.#at(at);
  }

  toJSON(): readonly SnapshotRecord[] {
    return [...this];
  }

  #at(at: number): SnapshotRecord {
    const { guids, created, extras } = this.#columns;
    const name = nameAt(this.#columns, at);
    const snapshot = { guid: String(guids[at] ?? 0n), name, created: created[at] ?? 0 };
    const rest = extras.get(at);
    return Object.freeze(rest === undefined ? snapshot : { ...snapshot, ...rest });
  }
}
