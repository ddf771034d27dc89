/** A piece of a test run that is one process. */
export interface Job {
  readonly name: string;
  readonly tier: string;
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string>>;
  /** Names of jobs that must have succeeded before. */
  readonly needs: readonly string[];
  /** Cores that it keeps busy while it runs. Tests on machines mostly wait for the machine. */
  readonly load: number;
  /** Jobs of a lower rank begin first; 0 without one. */
  readonly rank?: number;
  /** Seconds that it is expected to take. */
  readonly seconds: number;
  /** When it is too late to begin, in `performance.now()`. */
  readonly latest?: number;
  /** Seconds after which it is ended. */
  readonly limit: number;
  /** For a batch of files, the job that would run each of them alone, named by its file. */
  readonly parts?: readonly Job[];
  /** Whether it runs tests and reports them; otherwise it is a preparation or a check. */
  readonly isTest: boolean;
}

/**
 * Chooses the job to start next: of those whose needs are met and for which there is room, the lowest rank, and in it the
 * job with the longest chain of dependents, counted in seconds until the end of the chain. So the longest files begin
 * first and none is left to run alone at the end, and an image that many files need is built before a file that takes
 * longer.
 */
export function next(
  waiting: readonly Job[],
  running: readonly Job[],
  done: ReadonlySet<string>,
  room: number,
): Job | undefined {
  const used = running.reduce((sum, { load }) => sum + load, 0);
  const able = waiting.filter(({ needs }) => needs.every((name) => done.has(name)));
  // A job that needs much room would otherwise wait for as long as small ones of a higher rank take it.
  const lowest = Math.min(...able.map(rankOf));
  const ready = able.filter((job) => rankOf(job) === lowest && (used + job.load <= room || running.length === 0));
  return ready.toSorted((a, b) => urgency(b, waiting) - urgency(a, waiting))[0];
}

const rankOf = ({ rank }: Job) => rank ?? 0;

/** Seconds from its start to the end of the longest chain of jobs that begins with it. */
function urgency(job: Job, waiting: readonly Job[]): number {
  const followers = waiting
    .filter(({ needs }) => needs.includes(job.name))
    .map((follower) => urgency(follower, waiting));
  return job.seconds + Math.max(0, ...followers);
}
