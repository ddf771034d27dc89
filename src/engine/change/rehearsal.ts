import { isDeepStrictEqual } from 'node:util';
import type { Host } from '../../host/ports/index.ts';
import type { LayeredDraft, Mark } from '../configuration/draft.ts';
import { conflict, Fault, type Issues } from '../declare/errors.ts';
import type { World } from '../declare/resource.ts';
import type { Outlook, Step } from '../declare/step.ts';
import type { Desired } from '../declare/subsystem.ts';
import { allDifferences } from '../plan/converge/converge.ts';
import { plannedStep } from '../plan/details.ts';
import type { PlannedChange, PlannedStep, Rehearsal } from '../plan/planner.ts';
import { unwatched } from '../plan/runner.ts';
import { taskOf } from '../plan/sequel.ts';
import { verify } from '../plan/verify.ts';
import type { SubsystemState, SubsystemStates } from './subsystem-states.ts';

/** A subsystem that would be rendered differently from what it would be by then. */
interface Affected {
  readonly state: SubsystemState;
  readonly desired: Desired;
  readonly applied: Desired | undefined;
}

interface ChangeRehearsalParts {
  readonly host: Host;
  readonly subsystems: SubsystemStates;
  /** A draft of the stored configuration. */
  readonly draft: LayeredDraft;
  /** Checks the rules and the rights for the changes since the mark, and throws what refuses them. */
  readonly judge: (draft: LayeredDraft, mark: Mark) => void;
  /** False if what the subsystems would do for several requests is not asked for, because it is done right away. */
  readonly looks: boolean;
}

/**
 * Plans like `Transaction` carries out: verify, the first steps, converge, the last steps, jobs. Nothing is performed
 * but questions. Every step says what the machine would be after it, and what follows is planned for that.
 */
export class ChangeRehearsal implements Rehearsal {
  readonly #parts: ChangeRehearsalParts;
  readonly #applied = new Map<SubsystemState, Desired>();
  #outlook: Outlook;
  /** What the rules say of one change, while they are judged for several together. */
  #doubts: Doubt[] | undefined;
  #attempts = 0;

  constructor(parts: ChangeRehearsalParts) {
    this.#parts = parts;
    this.#outlook = { facts: parts.draft.facts, media: new Map() };
  }

  get world(): World {
    return { view: this.#parts.draft, facts: this.#outlook.facts };
  }

  get host(): Host {
    return this.#parts.host;
  }

  async step(step: Step): Promise<PlannedStep> {
    if (step.nature === 'check') await step.perform(this.#parts.host, { was: undefined, before: '' }, unwatched);
    this.#outlook = step.foresee(this.#outlook);
    this.#parts.draft.expect(this.#outlook.facts);
    return plannedStep(step);
  }

  async change(make: (draft: LayeredDraft) => void): Promise<PlannedChange> {
    const { draft, host, judge } = this.#parts;
    const mark = draft.mark();
    make(draft);
    if (this.#doubts === undefined) judge(draft, mark);
    else this.#doubt(mark, this.#doubts);
    // What several changes render is applied once, after their first steps.
    const affected = this.#doubts === undefined ? this.#affected(mark) : [];
    for (const { desired, applied } of affected) await verify(host, desired, applied);
    const planned: PlannedStep[] = [];
    for (const step of draft.firstSteps.slice(mark.first)) planned.push(await this.step(step));
    planned.push(...(await this.#render(affected)));
    for (const step of draft.lastSteps.slice(mark.last)) planned.push(await this.step(step));
    return { steps: planned, tasks: draft.sequels.slice(mark.sequels).map(taskOf) };
  }

  async attempt<T>(work: () => Promise<T>): Promise<T> {
    const { draft } = this.#parts;
    const mark = draft.mark();
    const outlook = this.#outlook;
    const doubts = this.#doubts?.length ?? 0;
    this.#attempts += 1;
    try {
      return await work();
    } catch (error) {
      draft.rewind(mark);
      this.#outlook = outlook;
      if (this.#doubts !== undefined) this.#doubts.length = doubts;
      throw error;
    }
  }

  async together<T>(work: () => Promise<T>) {
    const { draft, host, judge, looks } = this.#parts;
    const begin = draft.mark();
    const doubts: Doubt[] = [];
    this.#doubts = doubts;
    this.#attempts = 0;
    try {
      const result = await work();
      draft.mark();
      judge(draft, begin);
      const affected = looks ? this.#affected(begin) : [];
      for (const { desired, applied } of affected) await verify(host, desired, applied);
      return { result, rendered: await this.#render(affected) };
    } catch (error) {
      throw isInvalid(error) && doubts.length > 0 ? refusalOf(doubts) : error;
    } finally {
      this.#doubts = undefined;
    }
  }

  /** A later request may still mend what the rules refuse now; what the fields refuse stays refused. */
  #doubt(mark: Mark, doubts: Doubt[]): void {
    const { draft, judge } = this.#parts;
    draft.issues.throwIfAny();
    try {
      judge(draft, mark);
    } catch (error) {
      if (!isInvalid(error)) throw error;
      doubts.push({ index: this.#attempts - 1, issues: error.issues });
    }
  }

  /** What applying these subsystems would do. */
  async #render(affected: readonly Affected[]): Promise<readonly PlannedStep[]> {
    const planned: PlannedStep[] = [];
    for (const { state, desired, applied } of affected) {
      const { media } = this.#outlook;
      planned.push(...(await allDifferences(this.host, desired, applied, { media })).map(plannedStep));
      this.#applied.set(state, desired);
    }
    return planned;
  }

  /** The subsystems that the change renders differently from what they would be by then. */
  #affected(mark: Mark): readonly Affected[] {
    const { draft, subsystems } = this.#parts;
    return subsystems
      .concerned(draft, draft.changesSince(mark))
      .map((state) => ({
        state,
        desired: state.subsystem.render(draft, draft.facts),
        applied: this.#applied.get(state) ?? state.applied,
      }))
      .filter(({ state, desired, applied }) => !isDeepStrictEqual(applied ?? state.failed, desired));
  }
}

/** What a rule says of one request, which a later one may mend. */
interface Doubt {
  readonly index: number;
  readonly issues: Issues;
}

function isInvalid(error: unknown): error is Fault {
  return error instanceof Fault && error.kind === 'invalid';
}

/** The requests that broke rules, in the form in which other refused requests are answered. */
function refusalOf(doubts: readonly Doubt[]): Fault {
  const problems = doubts.map(({ index, issues }) => ({
    ...{ index, name: null, status: 409 },
    body: Object.fromEntries(Object.entries(issues).map(([name, sentences]) => [name, [...sentences]])),
  }));
  return conflict('The requests together contradict a rule. Nothing was changed.', { problems });
}
