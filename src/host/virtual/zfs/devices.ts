import { HostError } from '../../ports/index.ts';
import type { PoolDevices } from '../../ports/zfs.ts';
import {
  bearableIn,
  holdsData,
  idleSpares,
  isMirrored,
  isReplacement,
  membersOf,
  named,
  rankOf,
  withoutSpareOf,
} from './groups.ts';
import { newDevice } from './new-groups.ts';
import type { DeviceRecord, GroupRecord, PoolRecord } from './record.ts';
import { scanOf, scanTime } from './scans.ts';
import { healthOf } from './show-pool.ts';
import { withSpare } from './spares.ts';
import { outOfSpace, type PoolStore } from './store.ts';

export function virtualDevices(store: PoolStore): PoolDevices {
  return {
    async replaceDevice(
      poolName: string,
      guid: string,
      disk: string,
      { force = false }: { force?: boolean } = {},
    ): Promise<void> {
      const pool = store.pool(poolName);
      const { group, device } = deviceIn(pool, guid, 'replace');
      const refuse = (reason: string) => new HostError(`cannot replace ${guid} with ${disk}: ${reason}`);
      const spare = idleSpares(pool).find((candidate) => candidate.disk === disk);
      const made = spare ?? newDevice(store, disk, poolName, new Set());
      if (store.value.disks?.[disk] === 'partitioned' && !force)
        throw new HostError(
          `invalid vdev specification\nuse '-f' to override the following errors:\n/dev/${disk} contains a filesystem of type 'ext4'`,
        );
      const replacing = group.devices.filter(({ replaces }) => replaces === guid);
      if (device.replaces !== undefined || replacing.some((one) => spare !== undefined || isReplacement(one)))
        throw refuse("already in replacing/spare config; wait for completion or use 'zpool detach'");
      if (made.size < device.size) throw refuse('device is too small');
      const devices =
        spare === undefined
          ? group.devices.flatMap((member) =>
              member === device ? [member, Object.freeze({ ...made, replaces: guid })] : [member],
            )
          : withSpare(group.devices, device, spare);
      regroup(store, pool, group, devices, 'resilver');
      store.clear([disk]);
    },

    async offlineDevice(poolName: string, guid: string): Promise<void> {
      const pool = store.pool(poolName);
      const { group, device } = deviceIn(pool, guid, 'offline');
      if (group.kind === 'cache' || group.kind === 'spare')
        throw new HostError(`cannot offline ${guid}: operation not supported on this type of pool`);
      const healthy = membersOf(group).filter(
        (candidate) => candidate !== device && healthOf(store, candidate) === 'ONLINE',
      ).length;
      if (device.replaces === undefined && healthy < membersOf(group).length - bearableIn(group))
        throw new HostError(`cannot offline ${guid}: no valid replicas`);
      regroup(
        store,
        pool,
        group,
        group.devices.map((member) => (member === device ? Object.freeze({ ...member, offline: true }) : member)),
      );
    },

    async onlineDevice(poolName: string, guid: string): Promise<void> {
      const pool = store.pool(poolName);
      const { group, device } = deviceIn(pool, guid, 'online');
      if (device.offline === true)
        regroup(
          store,
          pool,
          group,
          withoutSpareOf(group, guid).devices.map((member) =>
            member === device ? Object.freeze({ ...member, offline: undefined }) : member,
          ),
        );
      if (!store.isThere(device.disk))
        throw new HostError(
          `warning: device '${guid}' onlined, but remains in faulted state\nuse 'zpool replace' to replace devices that are no longer present`,
        );
    },

    async detachDevice(poolName: string, guid: string): Promise<void> {
      const pool = store.pool(poolName);
      const { group, device } = deviceIn(pool, guid, 'detach');
      const refuse = (reason: string) => new HostError(`cannot detach ${guid}: ${reason}`);
      if (group.kind === 'spare') throw refuse('device is reserved as a hot spare');
      if (group.kind === 'cache') throw refuse('device is in use as a cache');
      const standIns = group.devices.filter(({ replaces }) => replaces === guid);
      const isScanning = scanOf(pool, store.now())?.state === 'running';
      // The old device can be detached only after the resilver is complete.
      if (standIns.some(isReplacement) || (standIns.length > 0 && isScanning)) throw refuse('no valid replicas');
      if (standIns.length === 0 && device.replaces === undefined) {
        if (!isMirrored(group)) throw refuse('only applicable to mirror and replacing vdevs');
        if (!membersOf(group).some((candidate) => candidate !== device && healthOf(store, candidate) === 'ONLINE'))
          throw refuse('no valid replicas');
      }
      const scrub =
        device.replaces === undefined || pool.scrub === undefined || !isScanning
          ? pool.scrub
          : Object.freeze({ ...pool.scrub, cancelledAt: store.now() });
      // A spare whose device is detached takes its place for good.
      const permanent = new Set(standIns.map((spare) => spare.guid));
      const devices = group.devices
        .filter((member) => member !== device)
        .map((member) =>
          permanent.has(member.guid) ? Object.freeze({ ...member, replaces: undefined, spare: undefined }) : member,
        );
      const groups = pool.groups.filter(
        ({ kind, devices: [first] }) => kind !== 'spare' || !permanent.has(first?.guid ?? ''),
      );
      regroup(store, { ...pool, groups, scrub }, group, devices, undefined, pool);
    },

    async removeDevice(poolName: string, named: string): Promise<void> {
      const pool = store.pool(poolName);
      const group = pool.groups.find(
        ({ name, devices }) => name === named || (devices.length === 1 && devices[0]?.guid === named),
      );
      if (group === undefined) throw new HostError(`cannot remove ${named}: no such device in pool`);
      if (holdsData(group))
        throw new HostError(
          `cannot remove ${named}: only inactive hot spares, cache, top-level, or log devices can be removed`,
        );
      if (group.kind === 'spare' && !idleSpares(pool).some(({ guid }) => guid === group.devices[0]?.guid))
        throw new HostError(`cannot remove ${named}: device is busy`);
      store.replace(
        pool,
        { ...pool, groups: Object.freeze(pool.groups.filter((other) => other !== group)) },
        outOfSpace(poolName),
      );
    },
  };
}

/** Changes the devices of a group, and starts a resilver with `scan`. */
function regroup(
  store: PoolStore,
  pool: PoolRecord,
  group: GroupRecord,
  devices: readonly DeviceRecord[],
  scan?: 'resilver',
  before: PoolRecord = pool,
): void {
  const next = named(Object.freeze({ ...group, devices: Object.freeze(devices) }));
  const groups = Object.freeze(pool.groups.map((other) => (other === group ? next : other)));
  const scrub =
    scan === undefined
      ? pool.scrub
      : Object.freeze({ kind: scan, startedAt: store.now(), duration: scanTime(pool), cancelledAt: undefined });
  store.replace(before, { ...pool, groups, scrub }, outOfSpace(pool.name));
}

function deviceIn(pool: PoolRecord, guid: string, operation: string): { group: GroupRecord; device: DeviceRecord } {
  // A spare in use is also in the group of the device that it stands in for.
  for (const group of pool.groups.toSorted((a, b) => rankOf(a.kind) - rankOf(b.kind))) {
    const device = group.devices.find((member) => member.guid === guid);
    if (device !== undefined) return { group, device };
  }
  throw new HostError(`cannot ${operation} ${guid}: no such device in pool`);
}
