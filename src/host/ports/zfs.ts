import type { Datasets } from './zfs/datasets.ts';
import type { PoolDevices } from './zfs/devices.ts';
import type { EncryptionKeys } from './zfs/keys.ts';
import type { Pools } from './zfs/pools.ts';
import type { Snapshots } from './zfs/snapshots.ts';

export * from './zfs/datasets.ts';
export * from './zfs/devices.ts';
export * from './zfs/keys.ts';
export * from './zfs/pools.ts';
export * from './zfs/snapshots.ts';

/** ZFS: one interface for each subject, which the port combines. */
export interface Zfs extends Pools, PoolDevices, EncryptionKeys, Datasets, Snapshots {
  /** Reports all changes, also those made outside of Holdfast, in short batches. Returns a function that stops it. */
  watch(changed: (events: readonly ZfsEvent[]) => void): () => void;
}

/**
 * What changed: the state of a pool, or a dataset with its snapshots; with `below` also all datasets below it, or with
 * `known` only those that are known, because the change adds none. `isNew` is a dataset that was just created empty,
 * `isGone` one that was destroyed with all below it. With `snapshot`, of its snapshots only the one of this name was made
 * or destroyed.
 */
export type ZfsSubject =
  | { readonly pool: string }
  | {
      readonly dataset: string;
      readonly below?: boolean | 'known';
      readonly isNew?: boolean;
      readonly isGone?: boolean;
      readonly snapshot?: string;
    };

export interface ZfsEvent {
  readonly subject: ZfsSubject | 'everything';
  /** Milliseconds since 1970. */
  readonly at: number;
}
