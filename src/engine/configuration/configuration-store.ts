import type { JsonObject } from '../../lib/json.ts';
import type { EventStore, KeptEvent } from '../declare/events.ts';
import type { Fields } from '../declare/fields.ts';
import type { Configuration, RecordOf } from '../declare/resource.ts';
import type { Kept, RecordChange } from './tables.ts';

/** A file that was there before Holdfast first wrote to its path, and where it is kept. */
export interface ReplacedFile {
  readonly path: string;
  readonly kept: string;
}

/** One stored change. */
export interface Revision {
  readonly at: string;
  readonly actor: string;
  readonly request: string;
  readonly title: string;
  readonly comment?: string | undefined;
  readonly changes: readonly RecordChange[];
  /** Default records that it creates, to be noted as those of the fresh system. */
  readonly fresh?: readonly RecordChange[];
  /** The configuration before it, if the change replaced the whole configuration. */
  readonly backup?: Configuration;
  /** The files of others that it replaced. */
  readonly replaced?: readonly ReplacedFile[];
  /** Whether it was one part of what a request did to the machine, so that its records alone cannot be reverted. */
  readonly isPart?: boolean;
}

/** An automatic backup, made before a change that replaced the whole configuration. */
export interface Backup {
  readonly number: number;
  readonly at: string;
  /** The title of the change that it was made before. */
  readonly title: string;
}

/** A stored revision without its changes. */
export interface RevisionHead {
  readonly number: number;
  readonly at: string;
  readonly actor: string;
  readonly request: string;
  readonly title: string;
  readonly comment: string | null;
}

/** A stored revision; secret values are masked. */
export interface KeptRevision extends RevisionHead {
  readonly changes: readonly unknown[];
}

/** A stored revision with the values of its records. */
export interface WholeRevision extends Omit<KeptRevision, 'changes'> {
  readonly changes: readonly RecordChange[];
  /** False for one that was part of more than a change of records, or was made by a version that kept less. */
  readonly isRevertible: boolean;
  readonly replaced: readonly ReplacedFile[];
}

/** Space on a file system that must not become full. */
export interface FileSystem {
  /** A folder on it. */
  readonly path: string;
  readonly holds: 'configuration' | 'system';
  /** Bytes. */
  readonly free: number;
  readonly total: number;
}

/** A stored change that is reverted automatically unless it is confirmed. */
export interface Provisional {
  readonly title: string;
  readonly request: string;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** Whether it may disconnect its own client. Otherwise any request confirms it. */
  readonly cuts: boolean;
  /** The changed records; `before` is what a revert restores. */
  readonly changes: readonly RecordChange[];
}

/** The part of the store that contains jobs. */
export interface JobStore {
  addJob(subject: string, body: string): number;
  /** Updates a job, or inserts it with this number if it does not exist. */
  putJob(id: number, subject: string, body: string): void;
  /** Jobs, the newest first; with `subject` only those of that subject. */
  jobs(limit: number, subject?: string): readonly { readonly id: number; readonly body: string }[];
  /** The answer to the request that became a job, sealed: answers can hold secrets. */
  putJobAnswer(id: number, answer: JsonObject): void;
  jobAnswer(id: number): unknown;
}

/** Where unfinished plans are kept, sealed: records can hold secrets. */
export interface PlanStore {
  addPlan(body: JsonObject): number;
  putPlan(id: number, body: JsonObject): void;
  endPlan(id: number): void;
  plans(): readonly { readonly id: number; readonly body: unknown }[];
}

/** What a commit does to the journal. */
export interface JournalChange {
  readonly ends: readonly number[];
  readonly begins: readonly JsonObject[];
}

/** A request that is carried out once, whatever number of times it is sent. */
export interface KeptRetry {
  readonly fingerprint: string;
  /** The id of the request that was carried out first. */
  readonly request: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Where the answers to requests with an `Idempotency-Key` are kept, sealed: answers can hold secrets. */
export interface RetryStore {
  /** Identifies a text without revealing the secrets in it; the same after a restart. */
  digest(text: string): string;
  /** The answer is undefined until the request has ended. */
  retry(id: string): (KeptRetry & { readonly answer: unknown }) | undefined;
  /** Also removes those that began before `until`. */
  beginRetry(id: string, retry: KeptRetry, until: number): void;
  endRetry(id: string, answer: JsonObject): void;
  forgetRetry(id: string): void;
  revisionOf(request: string): KeptRevision | undefined;
}

/** Persistent storage of the configuration. */
export interface ConfigurationStore extends JobStore, PlanStore, RetryStore, EventStore {
  /** The records are read while they are iterated. One that cannot be read throws each time, so that none is skipped. */
  load<F extends Fields>(resource: Kept<F>): { readonly records: Iterable<RecordOf<F>>; readonly lastId: number };
  /** The default records, as they were created on the fresh system. */
  loadFresh<F extends Fields>(resource: Kept<F>): readonly RecordOf<F>[];
  /** Stores the default records of these resources. */
  noteFresh(records: readonly RecordChange[]): void;
  /** The newest first. */
  backups(): readonly Backup[];
  backup(number: number, resources: readonly Kept[]): Configuration | undefined;
  /**
   * Stores everything durably, or nothing. `provisional` also sets the change that waits to be confirmed; `none` clears
   * it. `journal` has the entries that end and those that begin with it; the numbers of the latter are returned.
   * `events` say what it changed.
   */
  commit(
    revisions: readonly Revision[],
    changes: readonly RecordChange[],
    sequences: ReadonlyMap<string, number>,
    provisional?: Provisional | 'none',
    journal?: JournalChange,
    events?: readonly KeptEvent[],
  ): readonly number[];
  /** The change that was not confirmed before the store was closed or the machine lost power. */
  provisional(resources: readonly Kept[]): Provisional | undefined;
  /** Revisions with a number below `before`, the newest first. */
  revisions(limit: number, before?: number): readonly KeptRevision[];
  /** One revision; the records of resources that are not among these are left out. */
  revision(number: number, resources: readonly Kept[]): WholeRevision | undefined;
  /** Revisions with a higher number, the oldest first. */
  revisionsAfter(number: number): Iterable<KeptRevision>;
  prune(): void;
  /** Called at the end of the start; writes the stored data back to the main file. */
  settle(): void;
  /** The file systems to watch; that of the store is the first. */
  fileSystems(): readonly FileSystem[];
  /** A message why nothing can be stored now; undefined if it can. Until then, writes throw the fault `unavailable`. */
  obstacle(): string | undefined;
}
