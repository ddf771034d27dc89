import type { ConfigurationStore } from '../configuration/configuration-store.ts';
import type { Log } from '../declare/log.ts';
import type { Health } from '../declare/resource.ts';
import type { Jobs } from './jobs.ts';
import type { Reconciler } from './reconciler.ts';

interface ConditionParts {
  readonly store: ConfigurationStore;
  readonly reconciler: Reconciler;
  readonly jobs: Jobs;
  readonly log: Log;
  readonly now: () => number;
}

/** The condition of the appliance, in addition to the facts. */
export class Condition {
  readonly #parts: ConditionParts;
  #obstructed: string | undefined;
  /** Subsystems that differed from the configuration at the last inspection. */
  #drifted: readonly string[] = [];
  /** Returns an ongoing series of refused logins, if any. Set by the application. */
  loginAttack: () => Health['loginAttack'] = () => undefined;

  constructor(parts: ConditionParts) {
    this.#parts = parts;
  }

  /** A message why changes cannot be stored now; undefined if they can. */
  get obstacle(): string | undefined {
    const { store, log } = this.#parts;
    const obstacle = store.obstacle();
    if ((obstacle === undefined) !== (this.#obstructed === undefined)) {
      if (obstacle === undefined) log.info({}, 'store: writable again');
      else log.error({ reason: obstacle }, 'store: not writable');
    }
    this.#obstructed = obstacle;
    return obstacle;
  }

  get health(): Health {
    const { store, reconciler, jobs, now } = this.#parts;
    return {
      now: now(),
      degraded: reconciler.degraded,
      drifted: this.#drifted,
      // Clients that waited for a job have received its error. Scheduled and background jobs are reported here.
      failedJobs: jobs.lastEnded.filter(
        ({ state, subject }) => state === 'failed' && /^[a-z]+\/[a-z]+\/\d+$/.test(subject),
      ),
      fileSystems: store.fileSystems(),
      obstacle: this.obstacle,
      loginAttack: this.loginAttack(),
    };
  }

  /** Determines which subsystems differ from the configuration, for `health`. */
  async inspect(): Promise<void> {
    this.#drifted = await this.#parts.reconciler.drifted();
  }
}
