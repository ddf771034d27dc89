import type { Host } from '../../host/ports/index.ts';
import type { LayeredDraft } from '../configuration/draft.ts';
import type { Configuration, World } from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';

/** A step or a job that a dry run has found. */
export interface PlannedStep extends Pick<Step, 'title' | 'show'> {
  readonly reversible: boolean;
}

/** What a dry run needs of the engine. */
export interface Planner {
  readonly configuration: Configuration;
  readonly freshConfiguration: Configuration;
  rehearse(): Rehearsal;
}

/** Changes and steps that are planned one after the other, each on what the earlier ones would leave. */
export interface Rehearsal {
  /** The configuration and the facts as they would be now. */
  readonly world: World;
  readonly host: Host;
  /** Adds a step. One that only asks the host is performed, because what it throws refuses the request. */
  step(step: Step): Promise<PlannedStep>;
  /** Adds a change. Returns what it would do to the machine. Throws what refuses it. */
  change(make: (draft: LayeredDraft) => void): Promise<readonly PlannedStep[]>;
}
