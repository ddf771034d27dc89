import { isDeepStrictEqual } from 'node:util';
import type { Host } from '../../host/ports/index.ts';
import type { LayeredDraft, Mark } from '../configuration/draft.ts';
import type { World } from '../declare/resource.ts';
import type { Outlook, Step } from '../declare/step.ts';
import type { Desired } from '../declare/subsystem.ts';
import { allDifferences } from '../plan/converge/converge.ts';
import { plannedStep, plannedTask } from '../plan/details.ts';
import type { PlannedStep, Rehearsal } from '../plan/planner.ts';
import { verify } from '../plan/verify.ts';
import type { SubsystemState, SubsystemStates } from './subsystem-states.ts';

interface ChangeRehearsalParts {
  readonly host: Host;
  readonly subsystems: SubsystemStates;
  /** A draft of the stored configuration. */
  readonly draft: LayeredDraft;
  /** Checks the rules for the changes since the mark, and throws if there are problems. */
  readonly judge: (draft: LayeredDraft, mark: Mark) => void;
}

/**
 * Plans like `Transaction` carries out: verify, the first steps, converge, the last steps, jobs. Nothing is performed
 * but questions. Every step says what the machine would be after it, and what follows is planned for that.
 */
export class ChangeRehearsal implements Rehearsal {
  readonly #parts: ChangeRehearsalParts;
  readonly #applied = new Map<SubsystemState, Desired>();
  #outlook: Outlook;

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
    if (step.nature === 'check') await step.perform(this.#parts.host, { was: undefined, before: '' });
    this.#outlook = step.foresee(this.#outlook);
    this.#parts.draft.expect(this.#outlook.facts);
    return plannedStep(step);
  }

  async change(make: (draft: LayeredDraft) => void): Promise<readonly PlannedStep[]> {
    const { draft, host, judge } = this.#parts;
    const mark = draft.mark();
    make(draft);
    judge(draft, mark);
    const affected = this.#affected(mark);
    for (const { desired, applied } of affected) await verify(host, desired, applied);
    const planned: PlannedStep[] = [];
    for (const step of draft.firstSteps.slice(mark.first)) planned.push(await this.step(step));
    for (const { state, desired, applied } of affected) {
      const { media } = this.#outlook;
      planned.push(...(await allDifferences(host, desired, applied, { media })).map(plannedStep));
      this.#applied.set(state, desired);
    }
    for (const step of draft.lastSteps.slice(mark.last)) planned.push(await this.step(step));
    return [...planned, ...draft.tasks.slice(mark.tasks).map(plannedTask)];
  }

  /** The subsystems that the change renders differently from what they would be by then. */
  #affected(mark: Mark) {
    const { draft, subsystems } = this.#parts;
    return subsystems
      .concerned(draft, draft.changesSince(mark))
      .map((state) => ({
        state,
        desired: state.subsystem.render(draft, draft.facts),
        applied: this.#applied.get(state) ?? state.applied,
      }))
      .filter(({ desired, applied }) => applied === undefined || !isDeepStrictEqual(applied, desired));
  }
}
