import { HostError } from '../../ports/index.ts';
import type { DiskGroup, ImportablePool, Pool, PoolSpec, Pools } from '../../ports/zfs.ts';
import { missingFrom, usedElsewhere } from '../../shared/pool-owner.ts';
import { holdsData } from './groups.ts';
import { checkedMountpoint, mustBePoolName } from './names.ts';
import { newGroups } from './new-groups.ts';
import { settingsAtCreation } from './properties.ts';
import type { PoolRecord } from './record.ts';
import { datasetRecord, locked, newGuid } from './records.ts';
import { scanOf, scanTime } from './scans.ts';
import { poolOf } from './show-pool.ts';
import { outOfSpace, type PoolStore } from './store.ts';

export function virtualPools(store: PoolStore): Pools {
  return {
    async pools(names?: readonly string[]): Promise<readonly Pool[]> {
      const pools = store.imported().filter(({ name }) => names?.includes(name) ?? true);
      return pools.map((pool) => poolOf(store, pool));
    },

    async createPool(spec: PoolSpec): Promise<void> {
      const { name } = spec;
      mustBePoolName(name);
      if (store.imported().some((pool) => pool.name === name))
        throw new HostError(`cannot create '${name}': pool already exists`);
      const groups = newGroups(store, name, spec.groups, []);
      if (!groups.some(holdsData))
        throw new HostError('invalid vdev specification: at least one toplevel vdev must be specified');
      const settings = spec.settings ?? {};
      const root = datasetRecord(
        name,
        'filesystem',
        settingsAtCreation(name, 'filesystem', settings.properties ?? {}),
        {
          mountpoint: spec.mountpoint,
          ...settings,
          ...(spec.encryption && { encryption: spec.encryption }),
        },
      );
      const pool: PoolRecord = {
        name,
        guid: newGuid(),
        exported: false,
        groups,
        datasets: Object.freeze([root]),
        scrub: undefined,
      };
      store.replace(undefined, Object.freeze(pool), outOfSpace(name));
      store.clear(spec.groups.flatMap(({ disks }) => disks));
    },

    async extendPool(name: string, groups: readonly DiskGroup[]): Promise<void> {
      const pool = store.pool(name);
      if (groups.length === 0)
        throw new HostError('invalid vdev specification: at least one toplevel vdev must be specified');
      store.replace(
        pool,
        { ...pool, groups: Object.freeze([...pool.groups, ...newGroups(store, name, groups, pool.groups)]) },
        outOfSpace(name),
      );
    },

    async destroyPool(name: string): Promise<void> {
      store.mustBeIdle(store.pool(name), `cannot destroy '${name}': pool is busy`);
      await store.destroyPool(name);
    },

    async exportPool(name, { shared = false } = {}): Promise<void> {
      const pool = store.pool(name);
      store.mustBeIdle(pool, `cannot export '${name}': pool is busy`);
      const unguarded = shared || pool.unguarded;
      await store.exportPool(name, (last) => ({ ...last, exported: true, unguarded, datasets: locked(last.datasets) }));
    },

    // Two imports of a pool are refused by SharedPools in any case, and the boot of this machine imports none.
    async guardPool(name: string): Promise<void> {
      const pool = store.pool(name);
      if (pool.unguarded === true) store.replace(pool, { ...pool, unguarded: undefined }, outOfSpace(name));
    },

    // The services of a virtual machine keep nothing for themselves.
    async carryState(name: string): Promise<void> {
      store.pool(name);
    },

    async dropState(name: string): Promise<void> {
      store.pool(name);
    },

    async unreached(guid: string): Promise<readonly string[] | undefined> {
      const pool = (await this.importable()).find((one) => one.guid === guid);
      return pool && missingFrom(pool);
    },

    async isGuarded(name: string): Promise<boolean> {
      return store.pool(name).unguarded !== true;
    },

    async importable(): Promise<readonly ImportablePool[]> {
      return store.value.pools
        .filter(({ exported }) => exported)
        .map((pool) => {
          const { name, guid, health, groups } = poolOf(store, pool);
          const described = groups.map((group) => ({
            ...group,
            devices: group.devices.map((device) => ({
              name: device.disk,
              health: device.health === 'UNAVAIL' ? ('UNAVAIL' as const) : ('ONLINE' as const),
            })),
          }));
          return Object.freeze({
            name,
            guid,
            health,
            hostname: pool.usedBy ?? '',
            version: '5000',
            ...(pool.usedBy !== undefined && { usedBy: pool.usedBy }),
            groups: Object.freeze(
              described.map(({ kind, name, health, devices }) => Object.freeze({ kind, name, health, devices })),
            ),
          });
        });
    },

    async importPool(guid, { mountpoint, takesOver = false, shared = false } = {}): Promise<void> {
      const pool = store.value.pools.find((candidate) => candidate.guid === guid);
      if (pool === undefined) throw new HostError(`cannot import '${guid}': no such pool available`);
      if (pool.usedBy !== undefined && !takesOver) throw usedElsewhere(pool.name, pool.usedBy);
      if (store.imported().some((candidate) => candidate.name === pool.name))
        throw new HostError(`cannot import '${pool.name}': a pool with that name already exists`);
      if (poolOf(store, pool).health === 'UNAVAIL')
        throw new HostError(`cannot import '${pool.name}': one or more devices is currently unavailable`);
      const datasets = pool.datasets.map((record) =>
        record.name === pool.name && mountpoint !== undefined
          ? Object.freeze({ ...record, mountpoint: checkedMountpoint(mountpoint) })
          : record,
      );
      store.fetchFiles(guid);
      const unguarded = shared ? undefined : pool.unguarded;
      store.replace(pool, { ...pool, exported: false, usedBy: undefined, unguarded, datasets }, outOfSpace(pool.name));
    },

    /** Nothing to watch: the processes of virtual machines that use a pool are known. */
    watchDisks: () => () => {},

    async upgradePool(name: string): Promise<void> {
      const pool = store.pool(name);
      store.replace(pool, { ...pool, outdated: undefined }, outOfSpace(name));
    },

    async startScrub(name: string): Promise<void> {
      const pool = store.pool(name);
      const scan = scanOf(pool, store.now());
      if (scan?.state === 'running')
        throw new HostError(
          `cannot scrub ${name}: currently ${scan.kind === 'scrub' ? "scrubbing; use 'zpool scrub -s' to cancel scrub" : 'resilvering'}`,
        );
      store.replace(
        pool,
        {
          ...pool,
          scrub: Object.freeze({ startedAt: store.now(), duration: scanTime(pool), cancelledAt: undefined }),
        },
        outOfSpace(name),
      );
    },

    async stopScrub(name: string): Promise<void> {
      const pool = store.pool(name);
      const { scrub } = pool;
      if (scrub === undefined || scrub.kind === 'resilver' || scanOf(pool, store.now())?.state !== 'running')
        throw new HostError(`cannot cancel scrubbing ${name}: there is no active scrub`);
      store.replace(pool, { ...pool, scrub: Object.freeze({ ...scrub, cancelledAt: store.now() }) }, outOfSpace(name));
    },
  };
}
