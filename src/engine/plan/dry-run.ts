import type { Host } from '../../host/ports/index.ts';
import type { Configuration, Draft, Operations, Task, Work, World } from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';
import type { PasswordHashes } from '../passwords.ts';
import type { Planner as Engine } from './planner.ts';

/**
 * Operations that write down what a request would do to the machine, and do nothing. Questions are asked, records are
 * checked, steps and jobs are only named. For example `POST storage/volume/` with this in place of the engine's own
 * operations yields `create the pool tank`, and the files that would be written for the volume's record.
 *
 * A resource goes on after a step as if it had succeeded, and may miss its result: the new pool is not there. What it
 * throws then is the end of what can be known, not a refusal (`actionsOf`).
 */
export class DryRun implements Operations {
  readonly #engine: Engine;
  readonly #operations: Operations;
  readonly #actions: string[] = [];
  #refusal: { readonly error: unknown } | undefined;

  constructor(engine: Engine, operations: Operations) {
    this.#engine = engine;
    this.#operations = operations;
  }

  /** What the request would do, in the order in which it would be done. Throws what refuses the request. */
  async actionsOf(request: (operations: Operations) => Promise<unknown>): Promise<readonly string[]> {
    try {
      await request(this);
    } catch (error) {
      if (this.#refusal !== undefined) throw this.#refusal.error;
      if (this.#actions.length === 0) throw error;
    }
    return this.#actions;
  }

  get world(): World {
    return this.#operations.world;
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
      step: async (step) => this.#note(step.title),
      steps: async (steps) => {
        for (const { title } of steps) this.#note(title);
      },
      ask: (title, question) => this.ask(title, question),
      progress: () => {},
      change: (make) => this.change('', make),
    });
  }

  background(task: Task): void {
    this.#note(task.title);
  }

  async perform(step: Step): Promise<void> {
    this.#note(step.title);
  }

  async exchange(
    _title: string,
    wanted: (current: Configuration, fresh: Configuration) => Configuration,
  ): Promise<void> {
    const { configuration, freshConfiguration } = this.#engine;
    await this.#plan((draft) => draft.exchange(wanted(configuration, freshConfiguration)));
  }

  #note(title: string): void {
    this.#actions.push(title);
  }

  async #plan(make: Parameters<Engine['plan']>[0]): Promise<void> {
    try {
      this.#actions.push(...(await this.#engine.plan(make)));
    } catch (error) {
      this.#refusal ??= { error };
      throw error;
    }
  }
}
