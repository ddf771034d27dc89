import type { LayeredDraft } from '../configuration/draft.ts';
import type { Configuration, World } from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';

/** What a dry run would do, as sentences. */
export type Actions = readonly string[];

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
  /** Adds a step. One that asks the host is performed, because what it throws refuses the request. */
  step(step: Step): Promise<Actions>;
  /** Adds a change. Returns what it would do to the machine. Throws what refuses it. */
  change(make: (draft: LayeredDraft) => void): Promise<Actions>;
}
