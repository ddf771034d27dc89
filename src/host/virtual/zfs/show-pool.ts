import type { Health, Pool, PoolDevice, PoolGroup } from '../../ports/zfs.ts';
import { bearableIn, holdsData, idleSpares, membersOf, rankOf } from './groups.ts';
import type { DeviceRecord, GroupRecord, PoolRecord } from './record.ts';
import { scanOf } from './scans.ts';
import type { PoolStore } from './store.ts';
import { viewOf } from './view.ts';

const noErrors = Object.freeze({ read: 0, write: 0, checksum: 0 });

export function poolOf(store: PoolStore, pool: PoolRecord): Pool {
  const { capacity, allocated } = viewOf(pool);
  const idle = new Set(idleSpares(pool).map(({ guid }) => guid));
  const groups = [...pool.groups]
    .sort((a, b) => rankOf(a.kind) - rankOf(b.kind))
    .map((group) => groupOf(store, group, idle));
  const data = groups.filter(holdsData).map((group) => group.health);
  const anyWorse = groups.some((group) => group.health !== 'ONLINE');
  const health: Health = data.includes('UNAVAIL') ? 'UNAVAIL' : anyWorse ? 'DEGRADED' : 'ONLINE';
  const { size } = capacity;
  return Object.freeze({
    name: pool.name,
    guid: pool.guid,
    health,
    size,
    allocated,
    free: size - allocated,
    upgraded: pool.outdated !== true,
    scan: scanOf(pool, store.now()),
    groups,
  });
}

function groupOf(store: PoolStore, group: GroupRecord, idle: ReadonlySet<string>): PoolGroup {
  const devices = group.devices.map((device): PoolDevice => {
    const own = healthOf(store, device);
    const health = own !== 'ONLINE' || group.kind !== 'spare' ? own : idle.has(device.guid) ? 'AVAIL' : 'INUSE';
    return Object.freeze({ disk: device.disk, label: device.disk, guid: device.guid, health, errors: noErrors });
  });
  const health = groupHealth(store, group);
  return Object.freeze({ kind: group.kind, name: group.name, health, errors: noErrors, devices });
}

export function healthOf(store: PoolStore, { disk, offline }: DeviceRecord): 'ONLINE' | 'OFFLINE' | 'UNAVAIL' {
  if (offline === true) return 'OFFLINE';
  return store.isThere(disk) ? 'ONLINE' : 'UNAVAIL';
}

/** A spare holds the data of the device that it stands in for, but the group stays degraded until that is replaced. */
function groupHealth(store: PoolStore, group: GroupRecord): 'ONLINE' | 'DEGRADED' | 'UNAVAIL' {
  const missing = membersOf(group).filter((device) => healthOf(store, device) !== 'ONLINE');
  const isCovered = ({ guid }: DeviceRecord) =>
    group.devices.some(({ spare, replaces, disk }) => spare === true && replaces === guid && store.isThere(disk));
  if (missing.length === 0) return 'ONLINE';
  return missing.filter((device) => !isCovered(device)).length <= bearableIn(group) ? 'DEGRADED' : 'UNAVAIL';
}

export function isUsable(store: PoolStore, group: GroupRecord): boolean {
  return groupHealth(store, group) !== 'UNAVAIL';
}
