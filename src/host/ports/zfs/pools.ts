import type { DatasetSettings } from './datasets.ts';
import type { NewEncryption } from './keys.ts';

/** ZFS pools. Sizes are in bytes. */
export interface Pools {
  /** All pools; with `names`, the existing ones among these. */
  pools(names?: readonly string[]): Promise<readonly Pool[]>;
  createPool(spec: PoolSpec): Promise<void>;
  /** Adds groups of disks to a pool. In a raidz pool, they cannot be removed again. */
  extendPool(name: string, groups: readonly DiskGroup[]): Promise<void>;
  /** Destroys the pool and all its data. */
  destroyPool(name: string): Promise<void>;
  /**
   * Exports the pool, so that it can be imported here or on another machine. With `shared`, it is no longer guarded, so that
   * the import on the other machine of a pair does not have to watch the disks. If that fails, the pool is as before.
   */
  exportPool(name: string, options?: { shared?: boolean }): Promise<void>;
  /** The pools on attached disks that are not imported, by their labels. Does not wake disks of imported pools. */
  importable(): Promise<readonly ImportablePool[]>;
  /**
   * Imports a pool from attached disks. With `mountpoint`, sets the mount point of its root dataset; datasets that
   * would be mounted elsewhere stay unmounted. A pool of another machine (`usedBy`) is refused unless `takesOver`:
   * where both machines reach the disks, two imports destroy the pool. With `shared`, the pool is guarded afterwards, as
   * by `guardPool`.
   */
  importPool(guid: string, options?: { mountpoint?: string; takesOver?: boolean; shared?: boolean }): Promise<void>;
  /**
   * Begins what the import of a pool that another machine did not export waits for: ZFS watches whether that machine still
   * writes. `importPool` of this pool with `takesOver` and `shared` then waits only for the rest. Changes nothing. Returns
   * a function that ends it.
   */
  watchDisks(guid: string): () => void;
  /**
   * Prepares an imported pool for disks that two machines reach: ZFS notices if both import it at once, and the boot of
   * this machine no longer imports it. Throws if this machine has no host id.
   */
  guardPool(name: string): Promise<void>;
  /**
   * Has what services keep for themselves, such as the secrets of Samba, lie in the dataset of the state on this pool. It
   * is copied there the first time.
   */
  carryState(name: string): Promise<void>;
  /** Has the machine see its own again, so that the pool can be exported. */
  dropState(name: string): Promise<void>;
  /**
   * The devices of a pool of another machine that this machine does not reach; undefined if it reaches none. Reads the
   * disks themselves, because what this machine has noted of them is from before the other one used them.
   */
  unreached(guid: string): Promise<readonly string[] | undefined>;
  /** Whether ZFS notices if two machines import this pool. */
  isGuarded(name: string): Promise<boolean>;
  /**
   * Enables every feature that this machine's ZFS supports. Older versions may no longer be able to import the pool.
   */
  upgradePool(name: string): Promise<void>;
  startScrub(name: string): Promise<void>;
  stopScrub(name: string): Promise<void>;
}

export const groupKinds = ['stripe', 'mirror', 'raidz', 'raidz2', 'raidz3', 'cache', 'log', 'spare'] as const;
export type GroupKind = (typeof groupKinds)[number];

export interface DiskGroup {
  readonly kind: GroupKind;
  /** Names as in the disks port (`sda`). */
  readonly disks: readonly string[];
}

export interface PoolSpec {
  readonly name: string;
  readonly groups: readonly DiskGroup[];
  readonly mountpoint: string;
  /** Properties of the root dataset. */
  readonly settings?: DatasetSettings;
  /** Encrypts all datasets of the pool. */
  readonly encryption?: NewEncryption;
}

export type Health = 'ONLINE' | 'DEGRADED' | 'FAULTED' | 'OFFLINE' | 'UNAVAIL' | 'REMOVED' | 'SUSPENDED';

export interface Pool {
  readonly name: string;
  /** 64 bits in decimal digits, as a string because a number cannot represent them exactly. */
  readonly guid: string;
  readonly health: Health;
  readonly size: number;
  readonly allocated: number;
  readonly free: number;
  readonly figures: PoolFigures;
  /** Whether every feature that this machine's ZFS supports is enabled in the pool. */
  readonly upgraded: boolean;
  readonly scan: Scan | undefined;
  /** Data groups first, then logs, cache and spares. */
  readonly groups: readonly PoolGroup[];
}

/** What only those who watch a pool need. */
export interface PoolFigures {
  /** Bytes of destroyed datasets and snapshots that are not free yet. */
  readonly freeing: number;
  /** Bytes that nothing refers to and that never become free. */
  readonly leaked: number;
  /** Fragmentation of the free space, from 0 to 1; undefined when ZFS does not know it. */
  readonly fragmentation: number | undefined;
  /** Size of the data without deduplication by their size with it; 1 without any. */
  readonly deduplication: number;
  readonly isReadonly: boolean;
}

/** Those of a pool that is new. */
export const initialFigures: PoolFigures = Object.freeze({
  freeing: 0,
  leaked: 0,
  fragmentation: 0,
  deduplication: 1,
  isReadonly: false,
});

export interface Scan {
  readonly kind: 'scrub' | 'resilver';
  readonly state: 'running' | 'finished' | 'cancelled' | 'paused';
  /** 0 to 100. */
  readonly percent: number;
  readonly errors: number;
  /** When it began, in seconds since 1970, while it runs. */
  readonly began?: number;
  /** When it finished, in seconds since 1970. */
  readonly ended?: number;
}

export interface PoolGroup {
  readonly kind: GroupKind;
  /** The name of the vdev: `mirror-0`, `raidz1-0`; for a stripe the name of the disk. */
  readonly name: string;
  readonly health: Health;
  readonly errors: ErrorCounts;
  readonly devices: readonly PoolDevice[];
}

export interface PoolDevice {
  /** Name of the disk as in the disks port, or the name of the device in ZFS when the disk is missing. */
  readonly disk: string;
  /** The path that ZFS shows, without `/dev/`, by which API actions address the device. */
  readonly label: string;
  readonly guid: string;
  readonly health: Health | 'AVAIL' | 'INUSE';
  readonly errors: ErrorCounts;
}

/** A pool as described by the labels on its disks. */
export interface ImportablePool {
  readonly name: string;
  readonly guid: string;
  readonly health: Health;
  /** The machine that imported it last; empty when unknown. */
  readonly hostname: string;
  /** The other machine that imported it last and did not export it: it may still use the pool. */
  readonly usedBy?: string;
  /** The version of its format: 5000 with feature flags; undefined when unknown. */
  readonly version?: string;
  /** What ZFS says about its state, such as features that are not enabled or not supported here. */
  readonly status?: string;
  /** Data groups first, then logs, cache and spares. */
  readonly groups: readonly ImportableGroup[];
}

export interface ImportableGroup {
  readonly kind: GroupKind;
  /** The name of the vdev; for a stripe the name of the disk. */
  readonly name: string;
  readonly health: Health;
  readonly devices: readonly { readonly name: string; readonly health: Health }[];
}

export interface ErrorCounts {
  readonly read: number;
  readonly write: number;
  readonly checksum: number;
}
