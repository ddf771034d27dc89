import type { Host } from '../../host/ports/index.ts';
import type { Attempt, Configuration, Draft, Operations, Task, Work, World } from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';
import type { PasswordHashes } from '../passwords.ts';
import { type Batch, orderOf, type Part, refuseTooMany } from './batch.ts';
import { confined } from './confined.ts';
import { detailsOf, plannedStep, type StepDetails } from './details.ts';
import type { PlannedStep, Planner, Rehearsal } from './planner.ts';
import { unwatched } from './runner.ts';

/**
 * Operations that write down what a request would do to the machine, and do nothing. Questions are asked, records are
 * checked, steps are only named, those of jobs that go on after the answer too. For example `POST storage/volume/` with this in place of the engine's own
 * operations yields `create the pool tank`, and the files that would be written for the volume's record.
 *
 * A request goes on after a step with what the step foresees. Where that is not known beforehand, because the step
 * `decides`, the request may find no way to go on: what it throws then ends the plan, and is not a refusal.
 */
export class DryRun implements Operations {
  readonly #engine: Planner;
  readonly #steps: PlannedStep[] = [];
  /** What was planned, for carrying it out as one change. */
  readonly #parts: Part[] = [];
  /** What the jobs that were planned would lock. */
  readonly #locks = new Set<string>();
  /** Tasks that go on after the answer. */
  readonly #tasks: Task[] = [];
  /** The last step that decides what follows. */
  #decision: PlannedStep | undefined;

  constructor(engine: Planner) {
    this.#engine = engine;
  }

  /** What the request would do, in the order in which it would be done. Throws what refuses the request. */
  async planOf(request: (operations: Operations) => Promise<unknown>): Promise<DryPlan> {
    const { access, rehearsal } = this.#engine;
    const { host } = rehearsal;
    try {
      await request(access?.confine === undefined ? this : confined(this));
    } catch (error) {
      if (this.#decision === undefined) throw error;
      return { steps: await this.#needed(), decision: this.#decision, host };
    }
    for (const task of this.#tasks) await this.#planTask(task);
    return { steps: await this.#needed(), decision: undefined, host };
  }

  /** The steps without those that find the machine as they would make it. */
  async #needed(): Promise<readonly PlannedStep[]> {
    const { host } = this.#engine.rehearsal;
    const isMade = await Promise.all(this.#steps.map((step) => step.isMade?.(host).catch(() => false)));
    return this.#steps.filter((_, index) => isMade[index] !== true);
  }

  get world(): World {
    return this.#engine.rehearsal.world;
  }

  get actor(): string {
    return this.#engine.operations.actor;
  }

  now(): number {
    return this.#engine.operations.now();
  }

  hashPassword(password: string): Promise<PasswordHashes> {
    return this.#engine.operations.hashPassword(password);
  }

  verifyPassword(password: string, against: string): Promise<boolean> {
    return this.#engine.operations.verifyPassword(password, against);
  }

  ask<T>(title: string, question: (host: Host) => Promise<T>): Promise<T> {
    return this.#engine.operations.ask(title, question);
  }

  /** What was planned, in its order, and the locks that it needs. */
  get batch(): Batch {
    return { parts: this.#parts, locks: [...this.#locks] };
  }

  async change<T>(_title: string, make: (draft: Draft) => T): Promise<T> {
    const result: { value?: { readonly it: T } } = {};
    const added: { first: readonly Step[]; last: readonly Step[] } = { first: [], last: [] };
    await this.#plan((draft) => {
      const [first, last] = [draft.firstSteps.length, draft.lastSteps.length];
      result.value = { it: make(draft) };
      added.first = draft.firstSteps.slice(first);
      added.last = draft.lastSteps.slice(last);
    });
    if (result.value === undefined) throw new Error('the change was not planned');
    this.#parts.push({ make, result: result.value.it, ...added });
    return result.value.it;
  }

  onlyChange<T>(title: string, make: (draft: Draft) => T): Promise<T> {
    return this.change(title, make);
  }

  work<T>(_title: string, locks: readonly string[], run: (work: Work) => Promise<T>): Promise<T> {
    for (const lock of locks) this.#locks.add(lock);
    let isChanged = false;
    const step = (one: Step) => this.#perform(one, isChanged);
    return run({
      ...this.#dryWork(step),
      change: async (make) => {
        const result = await this.change('', make);
        isChanged = true;
        return result;
      },
    });
  }

  background(task: Task): void {
    this.#tasks.push(task);
    this.#parts.push({ task });
  }

  perform(step: Step): Promise<undefined> {
    return this.#perform(step, false);
  }

  async together<T>(_title: string, run: (attempt: Attempt) => Promise<T>): Promise<T> {
    const earlier = this.#steps.length;
    const { result, rendered } = await this.#engine.rehearsal.together(async () => {
      const made = await run((request) => this.#attempt(request));
      refuseTooMany(this.#parts);
      return made;
    });
    // What the subsystems render is applied once, for all of the requests.
    const { first, last } = orderOf(this.#parts);
    const planned = (steps: typeof first) => steps.map(({ step }) => plannedStep(step));
    this.#steps.length = earlier;
    this.#steps.push(...planned(first), ...rendered, ...planned(last));
    return result;
  }

  /** One request among several, which leaves nothing if it is refused. */
  async #attempt<R>(request: (operations: Operations) => Promise<R>): Promise<R> {
    const [steps, parts, tasks] = [this.#steps.length, this.#parts.length, this.#tasks.length];
    try {
      const result = await this.#engine.rehearsal.attempt(() => request(this));
      this.#parts.push('end of request');
      return result;
    } catch (error) {
      this.#steps.length = steps;
      this.#parts.length = parts;
      this.#tasks.length = tasks;
      throw error;
    }
  }

  async #perform(step: Step, isAfterChange: boolean): Promise<undefined> {
    const planned = await this.#engine.rehearsal.step(step);
    this.#steps.push(planned);
    this.#parts.push({ step, isLast: isAfterChange || step.nature === 'act' });
    if (step.decides) this.#decision = planned;
  }

  async exchange(
    title: string,
    wanted: (current: Configuration, fresh: Configuration) => Configuration,
  ): Promise<void> {
    const { configuration, freshConfiguration } = this.#engine;
    await this.#plan((draft) => draft.exchange(wanted(configuration, freshConfiguration)));
    this.#parts.push({ exchange: title });
  }

  async #plan(make: Parameters<Rehearsal['change']>[0]): Promise<void> {
    const { steps, tasks } = await this.#engine.rehearsal.change(make);
    this.#steps.push(...steps);
    this.#tasks.push(...tasks);
  }

  /** A task that fails does not refuse the request: the answer is sent by then. */
  async #planTask({ run }: Task): Promise<void> {
    await run(this.#dryWork((step) => this.perform(step))).catch(() => {});
  }

  #dryWork(step: (step: Step) => Promise<undefined>): Work {
    return {
      ...unwatched,
      step,
      steps: async (steps) => {
        for (const one of steps) await step(one);
      },
      ask: (title, question) => this.ask(title, question),
      change: (make) => this.change('', make),
    };
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
