import { join } from 'node:path';
import { isWithin } from '../../../lib/path.ts';
import type { Replica } from '../../ports/replication.ts';
import { type Dataset, isHidden, snapshotsFolder } from '../../ports/zfs.ts';
import { disksIn } from './groups.ts';
import type { PoolStore } from './store.ts';
import { referencedBy, viewOf } from './view.ts';

/** What other ports of the virtual host ask about its storage. */
export interface Lookups {
  /** Why a disk cannot be used, as a sentence. */
  usedBy(disk: string): string | undefined;
  /** Mounts the datasets of imported pools if nothing has done so in this process. */
  mount(): void;
  /** Imported pools. */
  poolNames(): readonly string[];
  /** Whether the disk has stopped responding. */
  isBroken(disk: string): boolean;
  /** Whether a zvol, or a snapshot of one, has its device at this path. */
  hasDevice(path: string): boolean;
  /** Whether a dataset is mounted at this path. */
  isMounted(path: string): boolean;
  /** The real path of what a path of the machine names in the folder of a snapshot; undefined for any other path. */
  inSnapshot(path: string): string | undefined;
  /** Why nothing, or not so many bytes more, can be written at this path; undefined if they can. */
  writeProblem(path: string, more: number): string | undefined;
  /** A dataset, with `recursive` also all below it, with the guids of their snapshots. */
  replicas(name: string, recursive: boolean): readonly Omit<Replica, 'marks' | 'resumeToken'>[];
}

export function virtualLookups(store: PoolStore): Lookups {
  return {
    usedBy(disk: string): string | undefined {
      const pool = store.value.pools.find((candidate) => disksIn(candidate).has(disk));
      if (pool === undefined) return undefined;
      return `it is part of the ${pool.exported ? 'exported ' : ''}pool ${pool.name}`;
    },

    mount: () => void store.value,

    poolNames: () => store.imported().map(({ name }) => name),

    isBroken: (disk) => store.isBroken(disk),

    hasDevice(path: string): boolean {
      const [name = '', snapshot] = path.replace(/^\/dev\/zvol\//, '').split('@');
      const dataset = store
        .imported()
        .flatMap(({ datasets }) => datasets)
        .find((candidate) => candidate.name === name);
      return dataset?.kind === 'volume' && (snapshot === undefined || dataset.snapshots?.find(snapshot) !== undefined);
    },

    isMounted(path: string): boolean {
      return store.imported().some((pool) => [...viewOf(pool).mounts.values()].includes(path));
    },

    inSnapshot(path: string): string | undefined {
      const [mountpoint = '', rest] = path.split(`/${snapshotsFolder}/`);
      if (rest === undefined) return undefined;
      const [name, ...below] = rest.split('/');
      const guid = [...store.mountTable].find(([, at]) => at === mountpoint)?.[0];
      const dataset = store
        .imported()
        .flatMap(({ datasets }) => datasets)
        .find((candidate) => candidate.guid === guid);
      const snapshot = name === undefined ? undefined : dataset?.snapshots?.find(name);
      return snapshot && join(store.mounts.folderOfSnapshot(snapshot.guid), ...below);
    },

    writeProblem(path: string, more: number): string | undefined {
      const all = store.imported().flatMap((pool) => viewOf(pool).datasets);
      const holder = all
        .filter(({ mountpoint }) => mountpoint !== undefined && isWithin(path, mountpoint))
        .reduce<Dataset | undefined>((deepest, one) => (depth(one) > depth(deepest) ? one : deepest), undefined);
      const isProtected = store.imported().some(({ datasets: [root] }) => {
        const place = root?.encryption?.locked === true ? root.mountpoint : undefined;
        return place !== undefined && isWithin(path, place) && place.length > depth(holder);
      });
      if (isProtected) return 'operation not permitted';
      if (holder === undefined) return undefined;
      if (holder.properties.readonly === 'on') return 'read-only file system';
      const others = new Set(all.flatMap(({ mountpoint }) => mountpoint ?? []));
      const isFull = all.some(({ name, used, referenced, mountpoint, properties }) => {
        if (mountpoint === undefined || !isWithin(holder.name, name)) return false;
        const quota = Number(properties.quota ?? 0);
        const refquota = holder.name === name ? Number(properties.refquota ?? 0) : 0;
        return (
          (quota > 0 && used + store.mounts.bytesIn(mountpoint, new Set()) + more > quota) ||
          (refquota > 0 && referenced + store.mounts.bytesIn(mountpoint, others) + more > refquota)
        );
      });
      return isFull ? 'disk quota exceeded' : undefined;
    },

    replicas(name: string, recursive: boolean): readonly Omit<Replica, 'marks' | 'resumeToken'>[] {
      const { pool } = store.dataset(name);
      return pool.datasets
        .filter(
          (record) =>
            record.name === name || (recursive && record.name.startsWith(`${name}/`) && !isHidden(record.name)),
        )
        .map((candidate) => ({
          name: candidate.name,
          referenced: referencedBy(candidate.kind),
          snapshots: Array.from(candidate.snapshots ?? [], ({ name, guid }) => ({ name, guid })),
        }));
    },
  };
}

/** How deep a dataset is mounted. */
function depth(dataset: Dataset | undefined): number {
  return dataset?.mountpoint?.length ?? 0;
}
