import type { Health, Pool, PoolDevice, PoolGroup } from '../../ports/zfs.ts';
import { bearableIn, holdsData, membersOf, rankOf } from './groups.ts';
import type { DeviceRecord, GroupRecord, PoolRecord } from './record.ts';
import { scanOf } from './scans.ts';
import type { PoolStore } from './store.ts';
import { viewOf } from './view.ts';

const noErrors = Object.freeze({ read: 0, write: 0, checksum: 0 });

export function poolOf(store: PoolStore, pool: PoolRecord): Pool {
  const { capacity, allocated } = viewOf(pool);
  const groups = [...pool.groups].sort((a, b) => rankOf(a.kind) - rankOf(b.kind)).map((group) => groupOf(store, group));
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

function groupOf(store: PoolStore, group: GroupRecord): PoolGroup {
  const devices = group.devices.map((device): PoolDevice => {
    const own = healthOf(store, device);
    const health = own === 'ONLINE' && group.kind === 'spare' ? 'AVAIL' : own;
    return Object.freeze({ disk: device.disk, label: device.disk, guid: device.guid, health, errors: noErrors });
  });
  const missing = membersOf(group).filter((device) => healthOf(store, device) !== 'ONLINE').length;
  const health = missing === 0 ? 'ONLINE' : missing <= bearableIn(group) ? 'DEGRADED' : 'UNAVAIL';
  return Object.freeze({ kind: group.kind, name: group.name, health, errors: noErrors, devices });
}

export function healthOf(store: PoolStore, { disk, offline }: DeviceRecord): 'ONLINE' | 'OFFLINE' | 'UNAVAIL' {
  if (offline === true) return 'OFFLINE';
  return store.isThere(disk) ? 'ONLINE' : 'UNAVAIL';
}
