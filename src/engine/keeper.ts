import type { Provisional } from './confirm.ts';
import type { Fields } from './fields.ts';
import type { JobShelf } from './jobs.ts';
import type { RecordOf } from './resource.ts';
import type { Kept, RecordChange } from './tables.ts';

/** One kept change: who asked for what. */
export interface Revision {
  readonly at: string;
  readonly actor: string;
  readonly request: string;
  readonly title: string;
  readonly changes: readonly RecordChange[];
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

/** What keeps the configuration between one start and the next. */
export interface Keeper extends JobShelf {
  load<F extends Fields>(resource: Kept<F>): { readonly records: readonly RecordOf<F>[]; readonly lastId: number };
  /** Keeps everything or nothing, for good; `provisional` notes with it what waits to be confirmed from now on, or that nothing does. */
  commit(revisions: readonly Revision[], changes: readonly RecordChange[], sequences: ReadonlyMap<string, number>, provisional?: Provisional | 'none'): void;
  /** The change that was not confirmed when the store was closed, or the power went. */
  provisional(resources: readonly Kept[]): Provisional | undefined;
  /** The newest first, those before the number `before`. */
  revisions(limit: number, before?: number): readonly KeptRevision[];
  prune(): void;
}
