import type { Host } from '../../host/ports/index.ts';
import { messageOf } from '../../lib/text.ts';
import type { EventBus } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import type { Step } from '../declare/resource.ts';
import { isDeclared, type OpenPlan } from './journal.ts';

interface StepRunnerParts {
  readonly host: Host;
  readonly events: EventBus;
  readonly log: Log;
}

/** Performs steps, and takes back those that were done. */
export class StepRunner {
  readonly #host: Host;
  readonly #events: EventBus;
  readonly #log: Log;

  constructor({ host, events, log }: StepRunnerParts) {
    this.#host = host;
    this.#events = events;
    this.#log = log;
  }

  /** Performs a step and adds it to `done`, also when it failed but the machine did it: its answer may have been lost. */
  async take(step: Step, done: Step[], plan: OpenPlan): Promise<void> {
    if (isDeclared(step)) await step.look(this.#host);
    plan.begin(step);
    try {
      await step.perform(this.#host);
    } catch (error) {
      if (await this.#wasDone(step)) done.push(step);
      throw error;
    }
    done.push(step);
  }

  /** Takes back steps in reverse order. What cannot be taken back is reported, for a person to look at. */
  async takeBack(done: readonly Step[]): Promise<void> {
    for (const step of done.toReversed()) await this.#undo(step);
  }

  async #wasDone(step: Step): Promise<boolean> {
    try {
      return (await step.left?.(this.#host)) ?? false;
    } catch (error) {
      this.#report(step, error, 'could not tell whether it was done');
      return false;
    }
  }

  async #undo(step: Step): Promise<void> {
    try {
      await step.undo?.(this.#host);
    } catch (error) {
      this.#report(step, error, 'could not take back');
    }
  }

  #report({ title }: Step, error: unknown, what: string): void {
    this.#events.emit('undo.failed', { title, reason: messageOf(error) });
    this.#log.error({ error: messageOf(error) }, `${what}: ${title}`);
  }
}
