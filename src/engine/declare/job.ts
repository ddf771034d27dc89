import type { JsonObject } from '../../lib/json.ts';

export type JobState = 'running' | 'finished' | 'failed' | 'aborted' | 'interrupted';

export interface Job {
  readonly id: number;
  readonly title: string;
  readonly subject: string;
  readonly state: JobState;
  readonly started: string;
  readonly ended: string | null;
  /** The last progress message of the job. */
  readonly progress: string;
  readonly result: JsonObject | null;
  readonly error: string | null;
  /** The id of the request that started it; empty for one that the daemon started. */
  readonly request: string;
  /** The principal whose request it is the rest of; empty for all other jobs. */
  readonly owner: string;
  readonly steps: readonly JobStep[];
  /** How much of it is done; null if that is not known. */
  readonly percent: number | null;
  /** Whether the same work can be started again; null while it runs, and if it has finished. */
  readonly safeToRetry: boolean | null;
}

export interface JobStep {
  readonly title: string;
  readonly state: 'waiting' | 'running' | 'done' | 'failed';
  readonly started: string | null;
  readonly ended: string | null;
}
