import { holdsData, idleSpares, membersOf } from './groups.ts';
import type { DeviceRecord, GroupRecord, PoolRecord } from './record.ts';
import { scanTime } from './scans.ts';
import { healthOf, isUsable } from './show-pool.ts';
import type { PoolStore } from './store.ts';

/** The pool after the ZFS Event Daemon has put spares in place of the devices that do not respond. */
export function withSparesIn(store: PoolStore, pool: PoolRecord): PoolRecord {
  const spares = [...idleSpares(pool)].filter(({ disk }) => store.isThere(disk));
  if (spares.length === 0) return pool;
  const groups = pool.groups.map((group) =>
    holdsData(group) && isUsable(store, group) ? filled(store, group, spares) : group,
  );
  if (groups.every((group, index) => group === pool.groups[index])) return pool;
  return Object.freeze({
    ...pool,
    groups: Object.freeze(groups),
    scrub: Object.freeze({
      kind: 'resilver',
      startedAt: store.now(),
      duration: scanTime(pool),
      cancelledAt: undefined,
    }),
  });
}

/** Takes the spares that it uses out of the list. */
function filled(store: PoolStore, group: GroupRecord, spares: DeviceRecord[]): GroupRecord {
  const isMissing = (device: DeviceRecord) =>
    healthOf(store, device) === 'UNAVAIL' && !group.devices.some(({ replaces }) => replaces === device.guid);
  let devices = group.devices;
  for (const device of membersOf(group).filter(isMissing)) {
    const index = spares.findIndex(({ size }) => size >= device.size);
    const [spare] = index < 0 ? [] : spares.splice(index, 1);
    if (spare !== undefined) devices = withSpare(devices, device, spare);
  }
  return devices === group.devices ? group : Object.freeze({ ...group, devices });
}

/** The devices with the spare behind the one that it stands in for. */
export function withSpare(
  devices: readonly DeviceRecord[],
  device: DeviceRecord,
  spare: DeviceRecord,
): readonly DeviceRecord[] {
  const standIn = Object.freeze({ ...spare, replaces: device.guid, spare: true });
  return Object.freeze(devices.flatMap((member) => (member === device ? [member, standIn] : [member])));
}
