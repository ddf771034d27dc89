import type { Host } from '../../host/ports/index.ts';
import { messageOf } from '../../lib/text.ts';
import type { EventBus } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import type { Found, Running, Step } from '../declare/step.ts';
import type { OpenPlan } from './journal.ts';

interface StepRunnerParts {
  readonly host: Host;
  readonly events: EventBus;
  readonly log: Log;
}

/** A step that was performed, and what the machine was before it. */
export interface Done {
  readonly step: Step;
  readonly found: Found;
}

/** For steps that no job reports and no user can abort. */
export const unwatched: Running = Object.freeze({ signal: new AbortController().signal, progress() {} });

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
  async take<R>(step: Step<R>, done: Done[], plan: OpenPlan, running = unwatched): Promise<R> {
    const found = await step.look(this.#host);
    // A dry run leaves these out too, so that the log has the steps that the plan named.
    const isLeftOut = step.isMade !== undefined && found.was === true;
    if (!isLeftOut) this.#log.debug({ kind: step.kind }, `step: ${step.title}`);
    // What is done already changes nothing, so a start has nothing to find: each entry is a durable write.
    if (found.was !== true) plan.begin(step, found);
    try {
      const answer = await step.perform(this.#host, found, running);
      done.push({ step, found });
      if (step.warning !== undefined && found.was !== true) this.#log.warn({ ...step.of }, step.warning);
      return answer;
    } catch (error) {
      if (await this.#remains(step, found)) done.push({ step, found });
      throw error;
    }
  }

  /**
   * Takes back steps in reverse order. What cannot be taken back is reported, for a person to look at. Returns whether
   * everything was taken back.
   */
  async takeBack(done: readonly Done[]): Promise<boolean> {
    let isClean = true;
    for (const { step, found } of done.toReversed()) {
      try {
        await step.undo(this.#host, found);
      } catch (error) {
        isClean = false;
        this.#report(step, error, 'could not take back');
      }
    }
    return isClean;
  }

  async #remains(step: Step, found: Found): Promise<boolean> {
    try {
      return await step.remains(this.#host, found);
    } catch (error) {
      this.#report(step, error, 'could not tell whether it was done');
      return false;
    }
  }

  #report({ title }: Step, error: unknown, what: string): void {
    this.#events.emit('undo.failed', { title, reason: messageOf(error) });
    this.#log.error({ error: messageOf(error) }, `${what}: ${title}`);
  }
}
