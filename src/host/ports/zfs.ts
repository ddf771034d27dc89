/** ZFS pools, datasets and snapshots. Sizes are in bytes. Names are full (`tank/media`, `tank/media@monday`). */
export interface Zfs {
  /** All pools; with `names`, the existing ones among these. */
  pools(names?: readonly string[]): Promise<readonly Pool[]>;
  createPool(spec: PoolSpec): Promise<void>;
  /** Adds groups of disks to a pool. In a raidz pool, they cannot be removed again. */
  extendPool(name: string, groups: readonly DiskGroup[]): Promise<void>;
  /** Destroys the pool and all its data. */
  destroyPool(name: string): Promise<void>;
  /** Exports the pool, so that it can be imported here or on another machine. */
  exportPool(name: string): Promise<void>;
  /** The pools on attached disks that are not imported, by their labels. Does not wake disks of imported pools. */
  importable(): Promise<readonly ImportablePool[]>;
  /**
   * Imports a pool from attached disks. With `mountpoint`, sets the mount point of its root dataset; datasets that
   * would be mounted elsewhere stay unmounted.
   */
  importPool(guid: string, options?: { mountpoint?: string }): Promise<void>;
  /**
   * Enables every feature that this machine's ZFS supports. Older versions may no longer be able to import the pool.
   */
  upgradePool(name: string): Promise<void>;

  // Devices are named by their guid.

  /** Starts the replacement of a device by a disk. With `force`, existing data on the disk is overwritten. */
  replaceDevice(pool: string, device: string, disk: string, options?: { force?: boolean }): Promise<void>;
  offlineDevice(pool: string, device: string): Promise<void>;
  onlineDevice(pool: string, device: string): Promise<void>;
  /** Detaches a device from a mirror, or either side from a replacement. */
  detachDevice(pool: string, device: string): Promise<void>;
  /** Removes a log, cache or spare; a mirrored log is addressed by the name of its group. */
  removeDevice(pool: string, device: string): Promise<void>;

  startScrub(name: string): Promise<void>;
  stopScrub(name: string): Promise<void>;

  // Keys are 64 hex digits. The key of a pool's root dataset also encrypts all datasets below it.

  /** Loads the key of an encrypted pool, and mounts its datasets. */
  loadKey(pool: string, key: string): Promise<void>;
  /** Unmounts all datasets of the pool and unloads its key. Throws when something is in use. */
  unloadKey(pool: string): Promise<void>;
  /** Whether this is the pool's key. The key need not be loaded. */
  isKey(pool: string, key: string): Promise<boolean>;
  /** Changes the key of a pool whose current key is loaded. */
  changeKey(pool: string, key: string): Promise<void>;
  /** Stores the key slots, a text without blanks, in the pool. The key need not be loaded. */
  setKeySlots(pool: string, slots: string): Promise<void>;

  /** All filesystems and volumes, parents before children; with `scope`, the existing ones among these. */
  datasets(scope?: DatasetScope): Promise<readonly Dataset[]>;
  createDataset(name: string, settings?: DatasetSettings): Promise<void>;
  /** Creates a volume: a block device of `size` bytes at `/dev/zvol/<name>`. */
  createVolume(name: string, size: number, settings?: DatasetSettings): Promise<void>;
  changeDataset(name: string, settings: DatasetSettings): Promise<void>;
  /**
   * `recursive` also destroys children and snapshots, `clones` also clones of these. Without the options, throws if
   * there are any.
   */
  destroyDataset(name: string, options?: { recursive?: boolean; clones?: boolean }): Promise<void>;

  /**
   * The snapshots of all or of these datasets, grouped by dataset, the oldest first. Datasets that do not exist are
   * skipped.
   */
  snapshots(datasets?: readonly string[]): Promise<readonly Snapshot[]>;
  /**
   * With `recursive`, all datasets below get a snapshot of this name atomically. `task` is the id of the periodic task
   * that creates the snapshot, and is stored with it.
   */
  createSnapshot(name: string, options?: { recursive?: boolean; task?: number }): Promise<void>;
  /**
   * With `deferred`, a snapshot with clones is destroyed together with its last clone. With `recursive`, snapshots of
   * this name are also destroyed in all datasets below.
   */
  destroySnapshot(name: string, options?: { deferred?: boolean; recursive?: boolean }): Promise<void>;
  /** Creates a filesystem or volume as a clone of the snapshot. */
  cloneSnapshot(snapshot: string, name: string): Promise<void>;
  /**
   * Restores the dataset to the snapshot. With `force`, newer snapshots are destroyed; without it, throws if there are
   * any.
   */
  rollback(snapshot: string, options?: { force?: boolean }): Promise<void>;

  /** Reports all changes, also those made outside of Holdfast, in short batches. Returns a function that stops it. */
  watch(changed: (events: readonly ZfsEvent[]) => void): () => void;
}

/** Datasets by full name: `names` without, `trees` with all datasets below them. */
export interface DatasetScope {
  readonly names?: readonly string[];
  readonly trees?: readonly string[];
}

/** What changed: the state of a pool, or a dataset with its snapshots; with `below` also all datasets below it. */
export type ZfsSubject = { readonly pool: string } | { readonly dataset: string; readonly below?: boolean };

export interface ZfsEvent {
  readonly subject: ZfsSubject | 'everything';
  /** Milliseconds since 1970. */
  readonly at: number;
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
  /** Encrypts all datasets of the pool (AES-256-GCM). */
  readonly encryption?: { readonly key: string; readonly slots: string };
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
  /** Whether every feature that this machine's ZFS supports is enabled in the pool. */
  readonly upgraded: boolean;
  readonly scan: Scan | undefined;
  /** Data groups first, then logs, cache and spares. */
  readonly groups: readonly PoolGroup[];
}

export interface Scan {
  readonly kind: 'scrub' | 'resilver';
  readonly state: 'running' | 'finished' | 'cancelled' | 'paused';
  /** 0 to 100. */
  readonly percent: number;
  readonly errors: number;
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

/** Native properties of ZFS, with values as `zfs get -p` prints them. */
export const datasetProperties = [
  'atime',
  'casesensitivity',
  'compression',
  'dedup',
  'exec',
  'quota',
  'readonly',
  'recordsize',
  'refquota',
  'refreservation',
  'reservation',
  'sync',
  'volblocksize',
  'volsize',
] as const;
export type DatasetProperty = (typeof datasetProperties)[number];

/** The user property for a dataset's comment, which is thus part of the pool. */
export const commentProperty = 'holdfast:comment';

/** The user property for the id of the periodic task that created a snapshot. */
export const taskProperty = 'holdfast:task';

/** The user property of a pool's root dataset for its key slots, which contain the wrapped key. */
export const keySlotsProperty = 'holdfast:keyslots';

export interface DatasetSettings {
  /** The value `'inherit'` resets the property, so that the parent's value applies. */
  readonly properties?: Readonly<Partial<Record<DatasetProperty, string>>>;
  /** An empty comment removes it. */
  readonly comment?: string;
  /** Only for filesystems that are deliberately mounted elsewhere; the others are mounted below their parent. */
  readonly mountpoint?: string;
}

export interface Dataset {
  readonly name: string;
  readonly kind: 'filesystem' | 'volume';
  readonly used: number;
  readonly available: number;
  readonly referenced: number;
  /** Where it is mounted; undefined for volumes and unmounted filesystems. */
  readonly mountpoint: string | undefined;
  readonly properties: Readonly<Partial<Record<DatasetProperty, string>>>;
  /** Names of the properties whose value is inherited or a default. */
  readonly inherited: readonly DatasetProperty[];
  readonly comment: string | undefined;
  /** Whether the key of an encrypted dataset is loaded. */
  readonly key?: 'available' | 'unavailable' | undefined;
  /** The key slots; only on the root dataset of a pool. */
  readonly keySlots?: string | undefined;
  /** Full name of the snapshot from which it was cloned. */
  readonly origin: string | undefined;
  /** Changes whenever anything about its snapshots changes. */
  readonly snapshotStamp: string;
}

export interface Snapshot {
  /** The full name of the dataset, and the part of the snapshot's name after the @. */
  readonly dataset: string;
  readonly name: string;
  /** Bytes that destroying it would free. */
  readonly used: number;
  readonly referenced: number;
  /** Seconds since 1970. */
  readonly created: number;
  /** Whether it was destroyed with `deferred` and still has clones. */
  readonly deferred: boolean;
  /** Id of the periodic task that created it. */
  readonly task?: number;
}
