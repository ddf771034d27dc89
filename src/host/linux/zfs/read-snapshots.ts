import { type Hold, type Snapshot, taskProperty } from '../../ports/zfs.ts';
import type { Properties } from './properties.ts';

/** The properties that describe a snapshot. */
export const snapshotProperties = ['used', 'referenced', 'creation', 'defer_destroy', taskProperty] as const;

/** The columns of `zfs list -t snapshot` for them. */
export const snapshotColumns: readonly string[] = ['name', ...snapshotProperties];

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
    const [fullName = '', ...values] = list.slice(from, to).split('\t');
    if (fullName.includes('@')) yield snapshotOf(fullName, ...values);
  }
}

/** A snapshot, from the properties above as `zfs get` prints them. */
export function readSnapshot(fullName: string, found: Properties): Snapshot {
  return snapshotOf(fullName, ...snapshotProperties.map((property) => found.get(property)?.value));
}

function snapshotOf(
  fullName: string,
  ...[used, referenced, created, deferred, task = '']: readonly (string | undefined)[]
): Snapshot {
  const at = fullName.indexOf('@');
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
