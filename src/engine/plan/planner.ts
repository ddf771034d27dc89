import type { Host } from '../../host/ports/index.ts';
import type { LayeredDraft } from '../configuration/draft.ts';
import type { Access } from '../declare/access.ts';
import type { Configuration, Operations, Task, World } from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';

/** A step or a job that a dry run has found. */
export interface PlannedStep extends Pick<Step, 'title' | 'show' | 'isMade'> {
  readonly reversible: boolean;
}

/** What a dry run of one request needs of the engine. */
export interface Planner {
  readonly configuration: Configuration;
  readonly freshConfiguration: Configuration;
  readonly rehearsal: Rehearsal;
  /** The operations that the request would have, for what changes nothing. */
  readonly operations: Operations;
  /** What the principal of the request may do. */
  readonly access: Access | undefined;
}

/** Changes and steps that are planned one after the other, each on what the earlier ones would leave. */
export interface Rehearsal {
  /** The configuration and the facts as they would be now. */
  readonly world: World;
  readonly host: Host;
  /** Adds a step. One that only asks the host is performed, because what it throws refuses the request. */
  step(step: Step): Promise<PlannedStep>;
  /** Adds a change. Returns what it would do to the machine. Throws what refuses it. */
  change(make: (draft: LayeredDraft) => void): Promise<PlannedChange>;
  /** Takes back what `work` added, if it throws. */
  attempt<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Plans several requests. The rules between records are judged for all of them together, and what the subsystems would
   * do is `rendered`.
   */
  together<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly rendered: readonly PlannedStep[] }>;
}

/** What a change would do, and the tasks that it would start. */
export interface PlannedChange {
  readonly steps: readonly PlannedStep[];
  readonly tasks: readonly Task[];
}
