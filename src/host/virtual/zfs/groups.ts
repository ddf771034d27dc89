import { memo } from '../../../lib/memo.ts';
import type { GroupKind } from '../../ports/zfs.ts';
import type { DeviceRecord, GroupRecord, PoolRecord } from './record.ts';
import { parityOf, type Shape } from './space.ts';

export function vdevKind(kind: GroupKind): string {
  if (kind === 'raidz') return 'raidz1';
  return kind === 'stripe' ? 'disk' : kind;
}

export function holdsData(group: { readonly kind: GroupKind }): boolean {
  return rankOf(group.kind) === 0;
}

/** The position of a group: data first, then logs, cache and spares. */
export function rankOf(kind: GroupKind): number {
  return 1 + ['log', 'cache', 'spare'].indexOf(kind);
}

export function shapesOf(groups: readonly GroupRecord[]): readonly Shape[] {
  return groups
    .filter(holdsData)
    .map(({ kind, devices }) => ({ kind, sizes: membersOf({ devices }).map((device) => device.size) }));
}

/** The devices of a group, without those that are still replacing another one, and without spares. */
export function membersOf({ devices }: Pick<GroupRecord, 'devices'>): readonly DeviceRecord[] {
  return devices.filter(({ replaces }) => replaces === undefined);
}

export function isMirrored(group: GroupRecord): boolean {
  return (group.kind === 'mirror' || group.kind === 'log') && membersOf(group).length > 1;
}

/** How many devices of a group may fail. */
export function bearableIn(group: GroupRecord): number {
  return isMirrored(group) ? membersOf(group).length - 1 : parityOf(group.kind);
}

/** Whether the device is to replace another one for good. A spare only stands in for it. */
export function isReplacement({ replaces, spare }: DeviceRecord): boolean {
  return replaces !== undefined && spare !== true;
}

/** The group once its resilver is complete: the replaced devices leave it, and with them their spares. */
export function withReplacements(group: GroupRecord): GroupRecord {
  const gone = new Set(group.devices.filter(isReplacement).map(({ replaces }) => replaces));
  const devices = group.devices
    .filter(({ guid, replaces, spare }) => !gone.has(guid) && !(spare === true && gone.has(replaces)))
    .map((device) => (isReplacement(device) ? Object.freeze({ ...device, replaces: undefined }) : device));
  return named(Object.freeze({ ...group, devices: Object.freeze(devices) }));
}

/** The group without the spare that stands in for this device, which works again. */
export function withoutSpareOf(group: GroupRecord, guid: string): GroupRecord {
  const devices = group.devices.filter((device) => !(device.spare === true && device.replaces === guid));
  return devices.length === group.devices.length ? group : Object.freeze({ ...group, devices: Object.freeze(devices) });
}

/** The spares of a pool that stand in for no device. */
export function idleSpares(pool: PoolRecord): readonly DeviceRecord[] {
  const busy = new Set(
    pool.groups.flatMap(({ devices }) => devices.filter(({ spare }) => spare === true)).map(({ guid }) => guid),
  );
  return pool.groups
    .filter(({ kind }) => kind === 'spare')
    .flatMap(({ devices }) => devices.filter(({ guid }) => !busy.has(guid)));
}

/** Names a group of one device by its disk; the last device of a mirror becomes a stripe. */
export function named(group: GroupRecord): GroupRecord {
  const [first, ...others] = membersOf(group);
  if (first === undefined || others.length > 0 || parityOf(group.kind) > 0) return group;
  return Object.freeze({ ...group, kind: group.kind === 'mirror' ? 'stripe' : group.kind, name: first.disk });
}

export function devicesOf(pool: PoolRecord): readonly DeviceRecord[] {
  return pool.groups.flatMap((group) => group.devices);
}

/** The names of the disks in a pool. A machine may have hundreds, and is asked about each of them. */
export const disksIn = memo(
  (pool: PoolRecord): ReadonlySet<string> => new Set(devicesOf(pool).map(({ disk }) => disk)),
);
