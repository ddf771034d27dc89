import { HostError } from '../../ports/index.ts';
import type { DiskGroup } from '../../ports/zfs.ts';
import { disksIn, holdsData, membersOf, vdevKind } from './groups.ts';
import type { DeviceRecord, GroupRecord } from './record.ts';
import { newGuid } from './records.ts';
import { parityOf, smallestDevice } from './space.ts';
import type { PoolStore } from './store.ts';

/** The records of new groups. Refuses what `zpool` would refuse. */
export function newGroups(
  store: PoolStore,
  pool: string,
  groups: readonly DiskGroup[],
  existing: readonly GroupRecord[],
): readonly GroupRecord[] {
  const made: GroupRecord[] = [];
  const seen = new Set<string>();
  let toplevel = existing.filter((group) => group.kind !== 'cache' && group.kind !== 'spare').length;
  for (const { kind, disks } of groups) {
    const devices = disks.map((disk) => newDevice(store, disk, pool, seen));
    const least = kind === 'mirror' ? 2 : parityOf(kind) + 1;
    const vdev = vdevKind(kind);
    if (devices.length < least || devices.length === 0)
      throw new HostError(`invalid vdev specification: ${vdev} requires at least ${Math.max(1, least)} devices`);
    const together = kind === 'mirror' || parityOf(kind) > 0 || (kind === 'log' && devices.length > 1);
    if (together) made.push(Object.freeze({ kind, name: `${kind === 'log' ? 'mirror' : vdev}-${toplevel}`, devices }));
    else for (const device of devices) made.push(Object.freeze({ kind, name: device.disk, devices: [device] }));
    if (kind !== 'cache' && kind !== 'spare') toplevel += together ? 1 : devices.length;
  }
  const now = existing.filter(holdsData);
  // OpenZFS compares with a pool only while that is consistent itself.
  if (mismatchIn(now) !== undefined) return Object.freeze(made);
  const mismatch = mismatchIn([...now, ...made.filter(holdsData)]);
  if (mismatch !== undefined) throw new HostError(mismatch);
  return Object.freeze(made);
}

export function newDevice(store: PoolStore, name: string, pool: string, seen: Set<string>): DeviceRecord {
  const disk = store.disks.find((disk) => disk.name === name);
  if (disk === undefined || store.isBroken(name))
    throw new HostError(`cannot open '${name}': no such device in /dev\nmust be a full path or shorthand device name`);
  const holder = store.value.pools.find((candidate) => disksIn(candidate).has(name));
  if (holder !== undefined)
    throw new HostError(
      `invalid vdev specification\n/dev/${name} is part of ${holder.exported ? 'exported' : 'active'} pool '${holder.name}'`,
    );
  if (seen.has(name))
    throw new HostError(`cannot use '${name}' in ${pool}: one or more vdevs refer to the same device`);
  if (disk.size < smallestDevice)
    throw new HostError(`cannot use '${name}' in ${pool}: one or more devices is less than the minimum size (64M)`);
  seen.add(name);
  return Object.freeze({ disk: name, guid: newGuid(), size: disk.size });
}

/** Why zpool refuses data groups of different kinds or widths in a pool; undefined for groups that match. */
function mismatchIn(groups: readonly GroupRecord[]): string | undefined {
  const [first, ...others] = groups;
  if (first === undefined) return undefined;
  for (const group of others) {
    const start =
      "invalid vdev specification\nuse '-f' to override the following errors:\nmismatched replication level: ";
    const kinds = [vdevKind(first.kind), vdevKind(group.kind)];
    if (group.kind !== first.kind) return `${start}pool uses ${kinds[0]} and new vdev is ${kinds[1]}`;
    const [there, here] = [membersOf(first).length, membersOf(group).length];
    if (here !== there) return `${start}pool uses ${there}-way ${kinds[0]} and new vdev uses ${here}-way ${kinds[1]}`;
  }
  return undefined;
}
