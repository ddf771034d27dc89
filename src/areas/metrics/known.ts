import type { World } from '../../engine/declare/resource.ts';
import type { Engine } from '../../engine/engine.ts';
import type { EventLoopReport } from '../../engine/upkeep/event-loop.ts';
import type { Distribution } from '../../lib/distribution.ts';
import type { JobCounts } from './job-counts.ts';

/**
 * What a scrape shows. All of it is in memory: a scrape looks at nothing, starts no program and wakes no disk. How old
 * it is, is among what it shows.
 */
export interface Known extends World {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly version: string;
  /** The time zone of the machine. */
  readonly zone: string;
  readonly condition: Engine['condition'];
  readonly jobs: Pick<Engine['jobs'], 'lastSuccessful' | 'unended'>;
  readonly jobCounts: JobCounts;
  /** The last values of the history, by the name of the series; they are measured twice a minute. */
  readonly measured: ReadonlyMap<string, number>;
  /** How long requests took, by route. */
  readonly requests: Distribution;
  readonly connections: number;
  readonly eventLoop: EventLoopReport;
}
