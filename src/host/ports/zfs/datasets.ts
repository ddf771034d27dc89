import type { NewEncryption } from './keys.ts';
import type { Snapshot } from './snapshots.ts';

/** Filesystems and volumes, by full name (`tank/media`). Sizes are in bytes. */
export interface Datasets {
  /** All filesystems and volumes, parents before children; with `scope`, the existing ones among these. */
  datasets(scope?: DatasetScope): Promise<readonly Dataset[]>;
  /** The datasets and snapshots with these full names, in one look. What does not exist is left out. */
  named(names: readonly string[]): Promise<Named>;
  createDataset(name: string, settings?: NewDatasetSettings): Promise<void>;
  /** Creates a volume: a block device of `size` bytes at `/dev/zvol/<name>`. */
  createVolume(name: string, size: number, settings?: NewDatasetSettings): Promise<void>;
  /** Changes all of it or nothing. `former` are those that restore what there was, where they are known. */
  changeDataset(name: string, settings: DatasetSettings, former?: DatasetSettings): Promise<void>;
  /**
   * `recursive` also destroys children and snapshots, `clones` also clones of these. Without the options, throws if
   * there are any.
   */
  destroyDataset(name: string, options?: { recursive?: boolean; clones?: boolean }): Promise<void>;
  /**
   * Gives a dataset another name in its pool, with everything below it. If not `mounted`, all of it is unmounted first,
   * and nothing mounts it until a move with `mounted`, which mounts again what was mounted automatically before. A move
   * to the same name does only that.
   */
  moveDataset(name: string, to: string, options: { mounted: boolean }): Promise<void>;
  /**
   * Whether a dataset or snapshot is the one that was created with this mark, or with its beginning when the machine lost
   * power. No other one of this name is, whether it was there before or was made since.
   */
  isMade(name: string, mark: string): Promise<boolean>;
}

/**
 * The name of the datasets below which a pool keeps what was removed and can be restored. No list but that of all
 * datasets has what is in them, and neither recursive snapshots nor replication include it.
 */
export const binFolder = '.holdfast-bin';

/** Whether a dataset is a bin, or in one. */
export const isInBin = (name: string): boolean => name.includes(`/${binFolder}/`) || name.endsWith(`/${binFolder}`);

/** The name of the dataset of a pool that has the configuration of a pair of machines. */
export const stateDataset = '.holdfast-state';

/** Whether a dataset is Holdfast's own: a bin or what is in one, or the configuration of a pair. */
export const isHidden = (name: string): boolean => isInBin(name) || name.endsWith(`/${stateDataset}`);

export interface Named {
  /** Parents before children. */
  readonly datasets: readonly Dataset[];
  readonly snapshots: readonly Snapshot[];
}

/** Datasets by full name: `names` without, `trees` with all datasets below them. */
export interface DatasetScope {
  readonly names?: readonly string[];
  readonly trees?: readonly string[];
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

/** The user property for what `canmount` was before a dataset was moved to the bin. */
export const canmountProperty = 'holdfast:canmount';

/** The user property for the mark of a dataset or snapshot. What is below inherits it, and a copy receives it. */
export const madeProperty = 'holdfast:made';

/** A mark that no other creation has. It begins with the time, for the one who sees it in `zfs get`. */
export const newMark = (): string => `${new Date().toISOString()}/${Math.random().toString(36).slice(2, 10)}`;

/** Milliseconds since 1970; not a number for what is no mark. */
export const timeOfMark = (mark: string): number => Date.parse(mark.slice(0, mark.indexOf('/')));

export interface DatasetSettings {
  /** The value `'inherit'` resets the property, so that the parent's value applies. */
  readonly properties?: Readonly<Partial<Record<DatasetProperty, string>>>;
  /** An empty comment removes it. */
  readonly comment?: string;
  /** Only for filesystems that are deliberately mounted elsewhere; the others are mounted below their parent. */
  readonly mountpoint?: string;
}

export interface NewDatasetSettings extends DatasetSettings {
  /** Without it, the dataset is encrypted if its parent is, with the same key. */
  readonly encryption?: NewEncryption;
  /** See `isMade`. */
  readonly mark?: string | undefined;
}

/** What only those who watch a dataset need. Sizes are in bytes. */
export interface DatasetFigures {
  /** Size of the data before compression. */
  readonly logicalUsed: number;
  /** Space that would be free without the dataset itself, if its snapshots stayed. */
  readonly usedByDataset: number;
  readonly usedBySnapshots: number;
  /** What was written since the newest snapshot. */
  readonly written: number;
  /** Size of the data before compression by their size after it; at least 1. */
  readonly compression: number;
}

/** Those of a dataset that is new. */
export const emptyFigures: DatasetFigures = Object.freeze({
  logicalUsed: 0,
  usedByDataset: 0,
  usedBySnapshots: 0,
  written: 0,
  compression: 1,
});

export interface Dataset {
  readonly name: string;
  readonly kind: 'filesystem' | 'volume';
  readonly used: number;
  readonly available: number;
  readonly referenced: number;
  readonly figures: DatasetFigures;
  /** Where it is mounted; undefined for volumes and unmounted filesystems. */
  readonly mountpoint: string | undefined;
  readonly properties: Readonly<Partial<Record<DatasetProperty, string>>>;
  /** Names of the properties whose value is inherited or a default. */
  readonly inherited: readonly DatasetProperty[];
  readonly comment: string | undefined;
  /** Whether the key of an encrypted dataset is loaded. */
  readonly key?: 'available' | 'unavailable' | undefined;
  /** The dataset whose key encrypts this one; undefined for one that is not encrypted. */
  readonly encryptionRoot?: string | undefined;
  /** The key slots; only on an encryption root. */
  readonly keySlots?: string | undefined;
  /** Full name of the snapshot from which it was cloned. */
  readonly origin: string | undefined;
  /** Changes whenever anything about its snapshots but their space changes, also while Holdfast does not run. */
  readonly snapshotStamp: string;
  /** Whether ZFS has noted no change of its snapshots. It did not note changes before OpenZFS 2.2. */
  readonly isUntouched?: boolean;
}
