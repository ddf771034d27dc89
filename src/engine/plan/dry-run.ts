import type { Host } from '../../host/ports/index.ts';
import type { Configuration, Draft, Operations, Task, Work, World } from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';
import type { PasswordHashes } from '../passwords.ts';
import { detailsOf, plannedTask, type StepDetails } from './details.ts';
import type { Planner as Engine, PlannedStep, Rehearsal } from './planner.ts';

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
  readonly #steps: PlannedStep[] = [];
  /** The last step that decides what follows. */
  #decision: PlannedStep | undefined;

  constructor(engine: Engine, operations: Operations) {
    this.#engine = engine;
    this.#operations = operations;
    this.#rehearsal = engine.rehearse();
  }

  /** What the request would do, in the order in which it would be done. Throws what refuses the request. */
  async planOf(request: (operations: Operations) => Promise<unknown>): Promise<DryPlan> {
    const { host } = this.#rehearsal;
    try {
      await request(this);
    } catch (error) {
      if (this.#decision === undefined) throw error;
      return { steps: this.#steps, decision: this.#decision, host };
    }
    return { steps: this.#steps, decision: undefined, host };
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
    this.#steps.push(plannedTask(task));
  }

  async perform(step: Step): Promise<void> {
    const planned = await this.#rehearsal.step(step);
    this.#steps.push(planned);
    if (step.decides) this.#decision = planned;
  }

  async exchange(
    _title: string,
    wanted: (current: Configuration, fresh: Configuration) => Configuration,
  ): Promise<void> {
    const { configuration, freshConfiguration } = this.#engine;
    await this.#plan((draft) => draft.exchange(wanted(configuration, freshConfiguration)));
  }

  async #plan(make: Parameters<Rehearsal['change']>[0]): Promise<void> {
    this.#steps.push(...(await this.#rehearsal.change(make)));
  }
}

/** What a request would do. */
export interface DryPlan {
  readonly steps: readonly PlannedStep[];
  /** The step that the plan ends with, if what follows depends on what it finds. */
  readonly decision: PlannedStep | undefined;
  readonly host: Host;
}

/** The titles of the steps. */
export function titlesOf({ steps, decision }: DryPlan): readonly string[] {
  return steps.map((step) => (step === decision ? `${step.title}, which decides what follows` : step.title));
}

/** The steps with what they do to the machine as it is now. */
export function detailedStepsOf({ steps, decision, host }: DryPlan): Promise<readonly StepDetails[]> {
  return Promise.all(steps.map((step) => detailsOf(step, { host, decides: step === decision })));
}
