import type { Replica } from '../../ports/replication.ts';
import { devicesOf } from './groups.ts';
import { snapshotNames } from './records.ts';
import type { PoolStore } from './store.ts';
import { referencedBy, viewOf } from './view.ts';

/** What other ports of the virtual host ask about its storage. */
export interface Lookups {
  /** Why a disk cannot be used, as a sentence. */
  usedBy(disk: string): string | undefined;
  /** Whether the disk has stopped responding. */
  isBroken(disk: string): boolean;
  /** Whether a zvol, or a snapshot of one, has its device at this path. */
  hasDevice(path: string): boolean;
  /** Whether a dataset is mounted at this path. */
  isMounted(path: string): boolean;
  /** A dataset, with `recursive` also all below it, with the guids of their snapshots. */
  replicas(name: string, recursive: boolean): readonly Omit<Replica, 'marks' | 'resumeToken'>[];
}

export function virtualLookups(store: PoolStore): Lookups {
  return {
    usedBy(disk: string): string | undefined {
      const pool = store.value.pools.find((candidate) => devicesOf(candidate).some((device) => device.disk === disk));
      if (pool === undefined) return undefined;
      return `it is part of the ${pool.exported ? 'exported ' : ''}pool ${pool.name}`;
    },

    isBroken: (disk) => store.isBroken(disk),

    hasDevice(path: string): boolean {
      const [name = '', snapshot] = path.replace(/^\/dev\/zvol\//, '').split('@');
      const dataset = store
        .imported()
        .flatMap(({ datasets }) => datasets)
        .find((candidate) => candidate.name === name);
      return (
        dataset?.kind === 'volume' && (snapshot === undefined || snapshotNames(dataset).includes(`${name}@${snapshot}`))
      );
    },

    isMounted(path: string): boolean {
      return store.imported().some((pool) => [...viewOf(pool).mounts.values()].includes(path));
    },

    replicas(name: string, recursive: boolean): readonly Omit<Replica, 'marks' | 'resumeToken'>[] {
      const { pool } = store.dataset(name);
      return pool.datasets
        .filter((record) => record.name === name || (recursive && record.name.startsWith(`${name}/`)))
        .map((candidate) => ({
          name: candidate.name,
          referenced: referencedBy(candidate.kind),
          snapshots: (candidate.snapshots ?? []).map((snapshot) => ({ name: snapshot.name, guid: snapshot.guid })),
        }));
    },
  };
}
