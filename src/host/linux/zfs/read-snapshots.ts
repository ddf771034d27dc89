import { type Hold, type Snapshot, taskProperty } from '../../ports/zfs.ts';

/** The columns of `zfs list -t snapshot` that describe a snapshot. */
export const snapshotColumns: readonly string[] = [
  'name',
  'used',
  'referenced',
  'creation',
  'defer_destroy',
  taskProperty,
];

/** The holds, from `zfs holds -H`: snapshot, tag and time. */
export function readHolds(list: string): readonly Hold[] {
  return list.split('\n').flatMap((line) => {
    const [snapshot = '', tag = ''] = line.split('\t');
    return snapshot.includes('@') ? [{ snapshot, tag }] : [];
  });
}

/** The snapshots, from `zfs list -Hp` with the columns above, one after the other: there can be a hundred thousand. */
export function* snapshotsIn(list: string): Iterable<Snapshot> {
  for (let from = 0, to = 0; from < list.length; from = to + 1) {
    const next = list.indexOf('\n', from);
    to = next < 0 ? list.length : next;
    const snapshot = snapshotOf(list.slice(from, to));
    if (snapshot !== undefined) yield snapshot;
  }
}

function snapshotOf(line: string): Snapshot | undefined {
  const [fullName = '', used, referenced, created, deferred, task = ''] = line.split('\t');
  const at = fullName.indexOf('@');
  if (at < 0) return undefined;
  return Object.freeze({
    dataset: fullName.slice(0, at),
    name: fullName.slice(at + 1),
    used: Number(used) || 0,
    referenced: Number(referenced) || 0,
    created: Number(created) || 0,
    deferred: deferred === 'on',
    ...(/^\d+$/.test(task) ? { task: Number(task) } : {}),
  });
}
