import type { Snapshot } from '../../host/ports/zfs.ts';
import { type NameColumn, noNames, withNames, withoutNames } from '../../lib/name-column.ts';

/** The snapshots of one dataset in columns, in their order. */
export interface SnapshotColumns extends NameColumn {
  readonly count: number;
  readonly used: Float64Array;
  readonly referenced: Float64Array;
  readonly created: Float64Array;
  readonly deferred: Uint8Array;
  /** The id of the periodic task that took each, or NaN. */
  readonly tasks: Float64Array;
}

/** The columns with these snapshots after those that are there. */
export function appended(to: SnapshotColumns, snapshots: readonly Snapshot[]): SnapshotColumns {
  const count = to.count + snapshots.length;
  const columns = {
    ...withNames(
      to,
      snapshots.map(({ name }) => name),
    ),
    count,
    used: longer(new Float64Array(count), to.used),
    referenced: longer(new Float64Array(count), to.referenced),
    created: longer(new Float64Array(count), to.created),
    deferred: longer(new Uint8Array(count), to.deferred),
    tasks: longer(new Float64Array(count), to.tasks),
  };
  let at = to.count;
  // A loop, because `from` of a typed array takes ten times as long.
  for (const { used, referenced, created, deferred, task } of snapshots) {
    columns.used[at] = used;
    columns.referenced[at] = referenced;
    columns.created[at] = created;
    columns.deferred[at] = deferred ? 1 : 0;
    columns.tasks[at] = task ?? Number.NaN;
    at += 1;
  }
  return columns;
}

/** The columns with these figures at these positions, and without the snapshots at the positions that are `gone`. */
export function revised(
  from: SnapshotColumns,
  changed: ReadonlyMap<number, Snapshot>,
  gone: readonly number[],
): SnapshotColumns {
  const columns = { ...from, used: from.used.slice(), referenced: from.referenced.slice() };
  const deferred = from.deferred.slice();
  for (const [at, snapshot] of changed) {
    columns.used[at] = snapshot.used;
    columns.referenced[at] = snapshot.referenced;
    deferred[at] = snapshot.deferred ? 1 : 0;
  }
  if (gone.length === 0) return { ...columns, deferred };
  const positions = gone.toSorted((a, b) => a - b);
  const count = from.count - gone.length;
  return {
    ...withoutNames(from, positions),
    count,
    used: shorter(new Float64Array(count), columns.used, positions),
    referenced: shorter(new Float64Array(count), columns.referenced, positions),
    created: shorter(new Float64Array(count), columns.created, positions),
    deferred: shorter(new Uint8Array(count), deferred, positions),
    tasks: shorter(new Float64Array(count), columns.tasks, positions),
  };
}

/**
 * The same columns, of which those that another dataset has too are its own: a recursive snapshot has one name, time and
 * task in every dataset below, and only its space is of one.
 */
export function sharing(columns: SnapshotColumns, other: SnapshotColumns | undefined): SnapshotColumns {
  if (other === undefined || other === columns || other.names !== columns.names) return columns;
  return {
    ...columns,
    names: other.names,
    starts: other.starts,
    created: either(other.created, columns.created),
    deferred: either(other.deferred, columns.deferred),
    tasks: either(other.tasks, columns.tasks),
  };
}

/** The first array if the second has the same values. */
function either<A extends Float64Array | Uint8Array>(first: A, second: A): A {
  return second.every((value, at) => Object.is(value, first[at])) ? first : second;
}

/** The array, with the values of a longer one that are not at these positions, in ascending order. */
function shorter<A extends Float64Array | Uint8Array>(array: A, longer: A, gone: readonly number[]): A {
  let [from, at] = [0, 0];
  for (const end of [...gone, longer.length]) {
    array.set(longer.subarray(from, end), at);
    at += end - from;
    from = end + 1;
  }
  return array;
}

/** The array, beginning with the values of a shorter one. */
function longer<A extends Float64Array | Uint8Array>(array: A, shorter: A): A {
  array.set(shorter);
  return array;
}

export const noSnapshots: SnapshotColumns = {
  ...noNames,
  count: 0,
  ...{ used: new Float64Array(), referenced: new Float64Array(), created: new Float64Array() },
  ...{ deferred: new Uint8Array(), tasks: new Float64Array() },
};
