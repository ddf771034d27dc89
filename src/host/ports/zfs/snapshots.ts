/** Snapshots, by full name (`tank/media@monday`). Sizes are in bytes. */
export interface Snapshots {
  /**
   * The snapshots of all or of these datasets, grouped by dataset, the oldest first. Datasets that do not exist are
   * skipped.
   */
  snapshots(datasets?: readonly string[]): Promise<readonly Snapshot[]>;
  /**
   * With `recursive`, all datasets below get a snapshot of this name atomically. `task` is the id of the periodic task
   * that creates the snapshot, and is stored with it. For `mark` see `isMade`.
   */
  createSnapshot(
    name: string,
    options?: { recursive?: boolean; task?: number; mark?: string | undefined },
  ): Promise<void>;
  /**
   * With `deferred`, a snapshot with clones is destroyed together with its last clone. With `recursive`, snapshots of
   * this name are also destroyed in all datasets below.
   */
  destroySnapshot(name: string, options?: { deferred?: boolean; recursive?: boolean }): Promise<void>;
  /** What keeps these snapshots from being destroyed. */
  holds(snapshots: readonly string[]): Promise<readonly Hold[]>;
  /** Creates a filesystem or volume as a clone of the snapshot. For `mark` see `isMade`. */
  cloneSnapshot(snapshot: string, name: string, options?: { mark?: string | undefined }): Promise<void>;
  /**
   * Restores the dataset to the snapshot. With `force`, newer snapshots are destroyed; without it, throws if there are
   * any.
   */
  rollback(snapshot: string, options?: { force?: boolean }): Promise<void>;
  /**
   * What differs between a snapshot and a later one of the same dataset, or without `to` the mounted dataset as it is
   * now. Ends after `most` differences, or when `signal` fires.
   */
  differences(from: string, to: string | undefined, options: DifferencesOptions): Promise<Differences>;
}

export interface DifferencesOptions {
  readonly most: number;
  readonly signal?: AbortSignal;
}

export interface Differences {
  readonly found: readonly Difference[];
  /** Whether these are all; otherwise there are more than `most`. */
  readonly isWhole: boolean;
}

/** A file, folder or link that differs. Paths are relative to the dataset; that of its own folder is empty. */
export interface Difference {
  readonly change: 'added' | 'removed' | 'changed' | 'renamed';
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly path: string;
  /** The later path of what was renamed. */
  readonly to?: string;
}

/** Below the mount point of a dataset, the folder that has one of each of its snapshots. */
export const snapshotsFolder = '.zfs/snapshot';

/** A hold of a snapshot, by its tag. */
export interface Hold {
  readonly snapshot: string;
  readonly tag: string;
}

/** The user property for the id of the periodic task that created a snapshot. */
export const taskProperty = 'holdfast:task';

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
