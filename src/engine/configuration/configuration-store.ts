import type { Provisional } from '../change/confirm.ts';
import type { Fields } from '../declare/fields.ts';
import type { Configuration, RecordOf } from '../declare/resource.ts';
import type { PlanStore } from '../plan/journal.ts';
import type { JobStore } from '../upkeep/jobs.ts';
import type { Kept, RecordChange } from './tables.ts';

/** One kept change: who asked for what. */
export interface Revision {
  readonly at: string;
  readonly actor: string;
  readonly request: string;
  readonly title: string;
  readonly changes: readonly RecordChange[];
  /** The configuration before it, where that was exchanged as a whole. */
  readonly backup?: Configuration;
}

/** What the configuration was before it was exchanged as a whole. */
export interface Backup {
  readonly number: number;
  readonly at: string;
  /** Of the change that it was made before. */
  readonly title: string;
}

/** A revision as it is read back: secret values are left out. */
export interface KeptRevision {
  readonly number: number;
  readonly at: string;
  readonly actor: string;
  readonly request: string;
  readonly title: string;
  readonly changes: readonly unknown[];
}

/** Room on a file system that must not become full. */
export interface FileSystem {
  /** A folder in it. */
  readonly path: string;
  readonly holds: 'configuration' | 'system';
  /** Bytes. */
  readonly free: number;
  readonly total: number;
}

/** What keeps the configuration between one start and the next. */
export interface ConfigurationStore extends JobStore, PlanStore {
  load<F extends Fields>(resource: Kept<F>): { readonly records: readonly RecordOf<F>[]; readonly lastId: number };
  /** The first records of a fresh system, as they were noted when it was fresh. */
  loadFresh<F extends Fields>(resource: Kept<F>): readonly RecordOf<F>[];
  /** Notes the first records of these resources. */
  noteFresh(records: readonly RecordChange[]): void;
  /** The newest first. */
  backups(): readonly Backup[];
  backup(number: number, resources: readonly Kept[]): Configuration | undefined;
  /** Keeps everything or nothing, for good; `provisional` notes with it what waits to be confirmed from now on, or that nothing does; `plans` are the entries of the journal that end with it. */
  commit(
    revisions: readonly Revision[],
    changes: readonly RecordChange[],
    sequences: ReadonlyMap<string, number>,
    provisional?: Provisional | 'none',
    plans?: readonly number[],
  ): void;
  /** The change that was not confirmed when the store was closed, or the power went. */
  provisional(resources: readonly Kept[]): Provisional | undefined;
  /** The newest first, those before the number `before`. */
  revisions(limit: number, before?: number): readonly KeptRevision[];
  prune(): void;
  /** The start is over, and what it kept is safe. */
  settle(): void;
  /** That which it lies on first. */
  fileSystems(): readonly FileSystem[];
  /** Why nothing can be kept now, as a sentence for people; undefined when it can. What is kept meanwhile is refused as unavailable. */
  obstacle(): string | undefined;
}
