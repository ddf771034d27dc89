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
}
