import type { Pool } from './zfs.ts';

/** Systems that the machine can boot into: file systems of ZFS, each cloned from another. */
export interface BootEnvironments {
  /** Undefined where the machine does not run from ZFS. */
  list(): Promise<readonly BootEnvironment[] | undefined>;
  /** The pool they lie on, which is no volume. Undefined where the machine does not run from ZFS. */
  pool(): Promise<Pool | undefined>;
  /** Makes one that begins with what `source` holds now. */
  create(name: string, source: string): Promise<void>;
  rename(name: string, to: string): Promise<void>;
  /** Lets the machine boot into it from now on. */
  activate(name: string): Promise<void>;
  /** Those that were cloned from it stay. */
  destroy(name: string): Promise<void>;
}

export interface BootEnvironment {
  readonly name: string;
  /** Whether the machine runs from it. */
  readonly now: boolean;
  /** Whether the machine boots into it. */
  readonly onReboot: boolean;
  /** Seconds since 1970. */
  readonly created: number;
  /** Bytes that are its own. */
  readonly space: number;
}
