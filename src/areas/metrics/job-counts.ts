import type { EventBus } from '../../engine/declare/events.ts';

export interface JobCount {
  runs: number;
  failures: number;
  /** Of all ended runs. */
  seconds: number;
}

/** Counts the jobs that end, by kind, since the start of the daemon. */
export class JobCounts {
  /** By kind. */
  readonly counts = new Map<string, JobCount>();
  /**
   * All kinds that there can be. Their failures are counted from zero on: Prometheus notices only a number that grows, and
   * the first failure of a kind would otherwise be the first number that it sees.
   */
  readonly kinds: ReadonlySet<string>;
  readonly #begun = new Map<number, number>();

  /** `resources` are the paths of all resources. */
  constructor(events: Pick<EventBus, 'listen'>, resources: readonly string[]) {
    this.kinds = new Set(resources.map(jobKind));
    events.listen(({ name, payload }) => {
      if (name === 'job.started') this.#begun.set(payload.id, performance.now());
      if (name !== 'job.ended') return;
      const kind = jobKind(payload.subject);
      const count = this.counts.get(kind) ?? { runs: 0, failures: 0, seconds: 0 };
      this.counts.set(kind, count);
      const now = performance.now();
      count.runs += 1;
      count.seconds += (now - (this.#begun.get(payload.id) ?? now)) / 1000;
      if (payload.state === 'failed') count.failures += 1;
      this.#begun.delete(payload.id);
    });
  }
}

/** The resource of a job's subject, such as `tasks/rsync`: there are few of them, and their number does not grow. */
export function jobKind(subject: string): string {
  return /^[a-z]+\/[a-z_]+(?=\/|$)/.exec(subject)?.[0] ?? 'other';
}
