import {
  type ErrorCounts,
  type Health,
  initialFigures,
  type Pool,
  type PoolDevice,
  type PoolGroup,
  type Scan,
} from '../../ports/zfs.ts';
import { bearableIn, holdsData, idleSpares, membersOf, rankOf } from './groups.ts';
import type { DeviceRecord, GroupRecord, PoolRecord } from './record.ts';
import { scanOf } from './scans.ts';
import type { PoolStore } from './store.ts';
import { viewOf } from './view.ts';

const noErrors = Object.freeze({ read: 0, write: 0, checksum: 0 });

export function poolOf(store: PoolStore, pool: PoolRecord): Pool {
  const { capacity, ...view } = viewOf(pool);
  const usage = store.faultOf('pool-usage', pool.name);
  const allocated = usage === undefined ? view.allocated : Math.round((capacity.size * Math.min(100, usage)) / 100);
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
    figures: initialFigures,
    upgraded: pool.outdated !== true,
    scan: scanIn(store, pool),
    groups,
  });
}

/** The part of a slow resilver that is done. */
const slowPart = 0.25;

/** The last scan, or what a fault sets: a resilver that takes some days, or a scrub that ended some days ago. */
function scanIn(store: PoolStore, pool: PoolRecord): Scan | undefined {
  const now = store.now();
  const duration = store.faultOf('slow-resilver', pool.name);
  if (duration !== undefined) {
    const began = Math.floor(now / 1000 - slowPart * duration * 86_400);
    return Object.freeze({ kind: 'resilver', state: 'running', percent: slowPart * 100, errors: 0, began });
  }
  const days = store.faultOf('scrub-age', pool.name);
  if (days === undefined) return scanOf(pool, now);
  const ended = Math.floor(now / 1000 - days * 86_400);
  return Object.freeze({ kind: 'scrub', state: 'finished', percent: 100, errors: 0, ended });
}

function errorsOf(store: PoolStore, disk: string): ErrorCounts {
  const count = (what: 'read' | 'write' | 'checksum') => store.faultOf(`${what}-errors`, disk) ?? 0;
  return Object.freeze({ read: count('read'), write: count('write'), checksum: count('checksum') });
}

function groupOf(store: PoolStore, group: GroupRecord, idle: ReadonlySet<string>): PoolGroup {
  const devices = group.devices.map((device): PoolDevice => {
    const own = healthOf(store, device);
    const isWorn = own === 'ONLINE' && store.faultOf('disk-degraded', device.disk) !== undefined;
    const shown = isWorn ? 'DEGRADED' : own;
    const health = own !== 'ONLINE' || group.kind !== 'spare' ? shown : idle.has(device.guid) ? 'AVAIL' : 'INUSE';
    return Object.freeze({
      disk: device.disk,
      label: device.disk,
      guid: device.guid,
      health,
      errors: errorsOf(store, device.disk),
    });
  });
  const isWorn = devices.some((device) => device.health === 'DEGRADED');
  const own = groupHealth(store, group);
  const health = own === 'ONLINE' && isWorn ? 'DEGRADED' : own;
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
