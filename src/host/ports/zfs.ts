/** Pools and what lives in them. Sizes are bytes. Names are full (`tank/media`, `tank/media@monday`). */
export interface Zfs {
  /** All pools; with `names`, those of them that there are. */
  pools(names?: readonly string[]): Promise<readonly Pool[]>;
  createPool(spec: PoolSpec): Promise<void>;
  /** Adds groups of disks to a pool. What was added to a raidz pool can never be taken out again. */
  extendPool(name: string, groups: readonly DiskGroup[]): Promise<void>;
  /** Ends the pool and everything in it, for good. */
  destroyPool(name: string): Promise<void>;
  /** Lets the pool go with its data, to be imported here or elsewhere. */
  exportPool(name: string): Promise<void>;
  /** The pools on attached disks that nobody has taken up, as far as the disks tell. It wakes none that a pool here uses. */
  importable(): Promise<readonly ImportablePool[]>;
  /**
   * Takes up a pool that lies on attached disks. With `mountpoint` its root dataset belongs there from then on, and what
   * would be mounted elsewhere stays unmounted.
   */
  importPool(guid: string, options?: { mountpoint?: string }): Promise<void>;
  /** Switches on every feature that this machine's ZFS knows. Older machines cannot read the pool any more. */
  upgradePool(name: string): Promise<void>;

  // Devices are named by their guid.

  /** Begins to copy what a device holds to a disk that takes its place. With `force`, whatever is on that disk is given up. */
  replaceDevice(pool: string, device: string, disk: string, options?: { force?: boolean }): Promise<void>;
  offlineDevice(pool: string, device: string): Promise<void>;
  onlineDevice(pool: string, device: string): Promise<void>;
  /** Takes a device out of a mirror, or one side out of a replacement. */
  detachDevice(pool: string, device: string): Promise<void>;
  /** Takes a log, cache or spare out of the pool; a mirrored log by the name of its group. */
  removeDevice(pool: string, device: string): Promise<void>;

  startScrub(name: string): Promise<void>;
  stopScrub(name: string): Promise<void>;

  // Keys are 64 hex digits. That of a pool's root dataset is its children's too.

  /** Gives an encrypted pool its key, and mounts what it holds. */
  loadKey(pool: string, key: string): Promise<void>;
  /** Unmounts everything in the pool and forgets its key. What is in use is a refusal. */
  unloadKey(pool: string): Promise<void>;
  /** Whether this is the pool's key, loaded or not. */
  isKey(pool: string, key: string): Promise<boolean>;
  /** Gives a pool whose key is loaded another one. */
  changeKey(pool: string, key: string): Promise<void>;
  /** Keeps a text without blanks with the pool, loaded key or not. */
  setKeySlots(pool: string, slots: string): Promise<void>;

  /** Every filesystem and volume of every pool, parents before children; with `scope`, those of it that there are. */
  datasets(scope?: DatasetScope): Promise<readonly Dataset[]>;
  createDataset(name: string, settings?: DatasetSettings): Promise<void>;
  /** A volume: a block device of `size` bytes at `/dev/zvol/<name>`. */
  createVolume(name: string, size: number, settings?: DatasetSettings): Promise<void>;
  changeDataset(name: string, settings: DatasetSettings): Promise<void>;
  /** With `recursive`, children and snapshots go too, with `clones` also what was cloned from them; without, their presence is a refusal. */
  destroyDataset(name: string, options?: { recursive?: boolean; clones?: boolean }): Promise<void>;

  /** The snapshots of these datasets, or of all: dataset by dataset, the oldest of each first. A dataset that is not there has none. */
  snapshots(datasets?: readonly string[]): Promise<readonly Snapshot[]>;
  /**
   * With `recursive`, everything below the dataset gets a snapshot of this name in the same moment, or nothing does.
   * `task` is the number of the periodic task that makes it, and stays with the snapshot.
   */
  createSnapshot(name: string, options?: { recursive?: boolean; task?: number }): Promise<void>;
  /** With `deferred`, one that has clones goes when the last of them does; with `recursive`, those of its name below its dataset go too. */
  destroySnapshot(name: string, options?: { deferred?: boolean; recursive?: boolean }): Promise<void>;
  /** Makes a dataset or volume that begins with the contents of the snapshot. */
  cloneSnapshot(snapshot: string, name: string): Promise<void>;
  /** Gives the dataset back the contents of its snapshot. With `force`, newer snapshots go; without, their presence is a refusal. */
  rollback(snapshot: string, options?: { force?: boolean }): Promise<void>;

  /** Reports what became different, whoever changed it, gathered over a moment. Returns how to stop. */
  watch(changed: (events: readonly ZfsEvent[]) => void): () => void;
}

/** Datasets by full name: `names` alone, `trees` with everything below them. */
export interface DatasetScope {
  readonly names?: readonly string[];
  readonly trees?: readonly string[];
}

/** What a change touched: a pool's own state, or a dataset with its snapshots, with `below` also everything under it. */
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
  /** Names as the disks port gives them (`sda`). */
  readonly disks: readonly string[];
}

export interface PoolSpec {
  readonly name: string;
  readonly groups: readonly DiskGroup[];
  readonly mountpoint: string;
  /** Properties of the root dataset. */
  readonly settings?: DatasetSettings;
  /** With it everything in the pool is encrypted (AES-256-GCM). */
  readonly encryption?: { readonly key: string; readonly slots: string };
}

export type Health = 'ONLINE' | 'DEGRADED' | 'FAULTED' | 'OFFLINE' | 'UNAVAIL' | 'REMOVED' | 'SUSPENDED';

export interface Pool {
  readonly name: string;
  /** 64 bits in decimal digits: more than a number holds. */
  readonly guid: string;
  readonly health: Health;
  readonly size: number;
  readonly allocated: number;
  readonly free: number;
  /** Whether every feature this machine's ZFS knows is switched on in the pool. */
  readonly upgraded: boolean;
  readonly scan: Scan | undefined;
  /** The data groups first, then logs, cache and spares. */
  readonly groups: readonly PoolGroup[];
}

export interface Scan {
  readonly kind: 'scrub' | 'resilver';
  readonly state: 'running' | 'finished' | 'cancelled' | 'paused';
  /** 0 to 100. */
  readonly percent: number;
  readonly errors: number;
  /** Of one that has finished: when, in seconds since 1970. */
  readonly ended?: number;
}

export interface PoolGroup {
  readonly kind: GroupKind;
  /** As ZFS names it: `mirror-0`, `raidz1-0`; for a stripe the disk's own name. */
  readonly name: string;
  readonly health: Health;
  readonly errors: ErrorCounts;
  readonly devices: readonly PoolDevice[];
}

export interface PoolDevice {
  /** Name of the disk as the disks port gives it, or what ZFS calls the device when the disk is gone. */
  readonly disk: string;
  /** What actions address it by: the path ZFS shows, without `/dev/`. */
  readonly label: string;
  readonly guid: string;
  readonly health: Health | 'AVAIL' | 'INUSE';
  readonly errors: ErrorCounts;
}

/** A pool as its disks describe it. */
export interface ImportablePool {
  readonly name: string;
  readonly guid: string;
  readonly health: Health;
  /** The machine that had it last; empty when that is not known. */
  readonly hostname: string;
  /** The data groups first, then logs, cache and spares. */
  readonly groups: readonly ImportableGroup[];
}

export interface ImportableGroup {
  readonly kind: GroupKind;
  /** As ZFS names it; for a stripe the disk's own name. */
  readonly name: string;
  readonly health: Health;
  readonly devices: readonly { readonly name: string; readonly health: Health }[];
}

export interface ErrorCounts {
  readonly read: number;
  readonly write: number;
  readonly checksum: number;
}

/** Native properties by their ZFS names, in the values `zfs get -p` prints. */
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

/** The user property that carries a dataset's comment, so that it travels with the pool. */
export const commentProperty = 'holdfast:comment';

/** The user property that says which periodic task made a snapshot. */
export const taskProperty = 'holdfast:task';

/** The user property of a pool's root dataset that carries the slots its key is wrapped in. */
export const keySlotsProperty = 'holdfast:keyslots';

export interface DatasetSettings {
  /** `'inherit'` gives the property back to the parent. */
  readonly properties?: Readonly<Partial<Record<DatasetProperty, string>>>;
  /** An empty comment removes it. */
  readonly comment?: string;
  /** Only for filesystems made on purpose elsewhere; otherwise it follows the parent. */
  readonly mountpoint?: string;
}

export interface Dataset {
  readonly name: string;
  readonly kind: 'filesystem' | 'volume';
  readonly used: number;
  readonly available: number;
  readonly referenced: number;
  /** Where it is mounted, or undefined for a volume and for what is not mounted. */
  readonly mountpoint: string | undefined;
  readonly properties: Readonly<Partial<Record<DatasetProperty, string>>>;
  /** Names of the properties that come from a parent or a default. */
  readonly inherited: readonly DatasetProperty[];
  readonly comment: string | undefined;
  /** Of what is encrypted: whether the key is loaded. */
  readonly key?: 'available' | 'unavailable' | undefined;
  /** What is kept with a pool's root dataset for its key. */
  readonly keySlots?: string | undefined;
  /** The snapshot it was cloned from, by its full name. */
  readonly origin: string | undefined;
  /** A text that becomes another when something about its snapshots changes. */
  readonly snapshotStamp: string;
}

export interface Snapshot {
  /** The dataset it was made of, and what stands behind the @. */
  readonly dataset: string;
  readonly name: string;
  /** What destroying it would give back. */
  readonly used: number;
  readonly referenced: number;
  /** Seconds since 1970. */
  readonly created: number;
  /** Whether it was destroyed and only waits for its last clone to go. */
  readonly deferred: boolean;
  /** The number of the periodic task that made it. */
  readonly task?: number;
}
