import type { Pool } from './zfs.ts';

/** Boot environments: ZFS file systems that the machine can boot from, each cloned from another. */
export interface BootEnvironments {
  /** Undefined when the machine's root is not on ZFS. */
  list(): Promise<readonly BootEnvironment[] | undefined>;
  /** The pool that contains them, which Holdfast does not manage as a volume. Undefined when the root is not on ZFS. */
  pool(): Promise<Pool | undefined>;
  /** Creates one as a clone of the current state of `source`. */
  create(name: string, source: string): Promise<void>;
  rename(name: string, to: string): Promise<void>;
  /** Selects it for the next boots. */
  activate(name: string): Promise<void>;
  /** Destroys it. Its clones are kept. One that runs, or that the next start selects, is refused. */
  destroy(name: string): Promise<void>;
}

export interface BootEnvironment {
  readonly name: string;
  /** Whether the machine is running from it. */
  readonly now: boolean;
  /** Whether the machine boots from it next. */
  readonly onReboot: boolean;
  /** Seconds since 1970. */
  readonly created: number;
  /** Bytes that it does not share with others. */
  readonly space: number;
}
