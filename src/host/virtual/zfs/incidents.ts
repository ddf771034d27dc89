import { devicesOf, withoutSpareOf } from './groups.ts';
import { locked } from './records.ts';
import { outOfSpace, type PoolStore } from './store.ts';

/** Events of a real machine, which tests cause. */
export interface Incidents {
  /** Makes the disk stop responding. */
  breakDisk(disk: string): void;
  /** Makes a broken disk respond again. A spare that stands in for it steps back. */
  mendDisk(disk: string): void;
  /** Puts foreign partitions on the disk. */
  partitionDisk(disk: string): void;
  /** Turns the pool into one of an older ZFS version. */
  outdate(name: string): void;
  /** Another machine imports the pool while it is attached to both, and does not export it. */
  useElsewhere(name: string, machine: string): void;
  /** Simulates a power failure: state in memory, such as loaded keys, is lost. */
  losePower(): void;
}

export function virtualIncidents(store: PoolStore): Incidents {
  return {
    breakDisk(disk: string): void {
      store.setCondition([disk], 'broken');
    },

    mendDisk(disk: string): void {
      store.setCondition([disk], undefined);
      for (const pool of store.imported()) {
        const device = devicesOf(pool).find((candidate) => candidate.disk === disk);
        if (device === undefined) continue;
        const groups = Object.freeze(pool.groups.map((group) => withoutSpareOf(group, device.guid)));
        store.replace(pool, { ...pool, groups }, outOfSpace(pool.name));
      }
    },

    partitionDisk(disk: string): void {
      store.setCondition([disk], 'partitioned');
    },

    outdate(name: string): void {
      const pool = store.pool(name);
      store.replace(pool, { ...pool, outdated: true }, outOfSpace(name));
    },

    useElsewhere(name: string, machine: string): void {
      const pool = store.pool(name);
      const gone = { exported: true, usedBy: machine, datasets: locked(pool.datasets) };
      store.replace(pool, { ...pool, ...gone }, outOfSpace(name));
    },

    losePower(): void {
      for (const pool of store.imported())
        store.replace(pool, { ...pool, datasets: locked(pool.datasets) }, outOfSpace(pool.name));
    },
  };
}
