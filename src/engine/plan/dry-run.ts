import type { Host } from '../../host/ports/index.ts';
import type { Configuration, Draft, Operations, Task, Work, World } from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';
import type { PasswordHashes } from '../passwords.ts';
import type { Planner as Engine, Rehearsal } from './planner.ts';

/**
 * Operations that write down what a request would do to the machine, and do nothing. Questions are asked, records are
 * checked, steps and jobs are only named. For example `POST storage/volume/` with this in place of the engine's own
 * operations yields `create the pool tank`, and the files that would be written for the volume's record.
 *
 * A request goes on after a step with what the step foresees. Where that is not known beforehand, because the step
 * `decides`, the request may find no way to go on: what it throws then ends the plan, and is not a refusal.
 */
export class DryRun implements Operations {
  readonly #engine: Engine;
  readonly #operations: Operations;
  readonly #rehearsal: Rehearsal;
  readonly #actions: string[] = [];
  /** Where in the actions the last step is that decides what follows. */
  #decision: number | undefined;

  constructor(engine: Engine, operations: Operations) {
    this.#engine = engine;
    this.#operations = operations;
    this.#rehearsal = engine.rehearse();
  }

  /** What the request would do, in the order in which it would be done. Throws what refuses the request. */
  async actionsOf(request: (operations: Operations) => Promise<unknown>): Promise<readonly string[]> {
    try {
      await request(this);
    } catch (error) {
      if (this.#decision === undefined) throw error;
      return this.#actions.map((title, index) => (index === this.#decision ? `${title}${restUnknown}` : title));
    }
    return this.#actions;
  }

  get world(): World {
    return this.#rehearsal.world;
  }

  now(): number {
    return this.#operations.now();
  }

  hashPassword(password: string): Promise<PasswordHashes> {
    return this.#operations.hashPassword(password);
  }

  verifyPassword(password: string, against: string): Promise<boolean> {
    return this.#operations.verifyPassword(password, against);
  }

  ask<T>(title: string, question: (host: Host) => Promise<T>): Promise<T> {
    return this.#operations.ask(title, question);
  }

  async change<T>(_title: string, make: (draft: Draft) => T): Promise<T> {
    const result: { value?: { readonly it: T } } = {};
    await this.#plan((draft) => {
      result.value = { it: make(draft) };
    });
    if (result.value === undefined) throw new Error('the change was not planned');
    return result.value.it;
  }

  work<T>(_title: string, _locks: readonly string[], run: (work: Work) => Promise<T>): Promise<T> {
    return run({
      step: (step) => this.perform(step),
      steps: async (steps) => {
        for (const step of steps) await this.perform(step);
      },
      ask: (title, question) => this.ask(title, question),
      progress: () => {},
      change: (make) => this.change('', make),
    });
  }

  background(task: Task): void {
    this.#actions.push(task.title);
  }

  async perform(step: Step): Promise<void> {
    this.#actions.push(...(await this.#rehearsal.step(step)));
    if (step.decides) this.#decision = this.#actions.length - 1;
  }

  async exchange(
    _title: string,
    wanted: (current: Configuration, fresh: Configuration) => Configuration,
  ): Promise<void> {
    const { configuration, freshConfiguration } = this.#engine;
    await this.#plan((draft) => draft.exchange(wanted(configuration, freshConfiguration)));
  }

  async #plan(make: Parameters<Rehearsal['change']>[0]): Promise<void> {
    this.#actions.push(...(await this.#rehearsal.change(make)));
  }
}

/** Follows the title of the last step of a plan whose rest is not known. */
export const restUnknown = ', which decides what follows';
