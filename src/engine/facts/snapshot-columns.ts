import type { Snapshot } from '../../host/ports/zfs.ts';

/** The snapshots of one dataset in columns, in their order. */
export interface SnapshotColumns {
  readonly count: number;
  /** All names, each between two line ends, which no name contains: `\nmonday\ntuesday\n`. */
  readonly names: string;
  /** Where in `names` each name begins. */
  readonly starts: Uint32Array;
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
  // A name from the output of a program refers to all of that output; `join` copies.
  const names = `${to.names}${snapshots.map(({ name }) => name).join('\n')}${snapshots.length === 0 ? '' : '\n'}`;
  const columns = {
    ...{ count, names, starts: longer(new Uint32Array(count), to.starts) },
    used: longer(new Float64Array(count), to.used),
    referenced: longer(new Float64Array(count), to.referenced),
    created: longer(new Float64Array(count), to.created),
    deferred: longer(new Uint8Array(count), to.deferred),
    tasks: longer(new Float64Array(count), to.tasks),
  };
  let at = to.count;
  let start = to.names.length;
  // A loop, because `from` of a typed array takes ten times as long.
  for (const { name, used, referenced, created, deferred, task } of snapshots) {
    columns.starts[at] = start;
    columns.used[at] = used;
    columns.referenced[at] = referenced;
    columns.created[at] = created;
    columns.deferred[at] = deferred ? 1 : 0;
    columns.tasks[at] = task ?? Number.NaN;
    start += name.length + 1;
    at += 1;
  }
  return columns;
}

/** The array, beginning with the values of a shorter one. */
function longer<A extends Float64Array | Uint32Array | Uint8Array>(array: A, shorter: A): A {
  array.set(shorter);
  return array;
}

export const noSnapshots: SnapshotColumns = {
  ...{ count: 0, names: '\n', starts: new Uint32Array() },
  ...{ used: new Float64Array(), referenced: new Float64Array(), created: new Float64Array() },
  ...{ deferred: new Uint8Array(), tasks: new Float64Array() },
};

export function nameAt({ names, starts }: SnapshotColumns, at: number): string {
  const start = starts[at] ?? 0;
  return names.slice(start, names.indexOf('\n', start));
}

/** The position of the snapshot with this name. */
export function positionIn({ names, starts }: SnapshotColumns, name: string): number | undefined {
  if (name === '' || name.includes('\n')) return undefined;
  const found = names.indexOf(`\n${name}\n`);
  if (found < 0) return undefined;
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) < found + 1) low = middle + 1;
    else high = middle;
  }
  return low;
}
