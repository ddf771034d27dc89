import type { Snapshot } from '../../host/ports/zfs.ts';
import { type NameColumn, noNames, withNames } from '../../lib/name-column.ts';

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
