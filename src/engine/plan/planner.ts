import type { LayeredDraft } from '../configuration/draft.ts';
import type { Configuration } from '../declare/resource.ts';
import type { Actions } from './converge.ts';

/** What a dry run needs of the engine. */
export interface Planner {
  readonly configuration: Configuration;
  readonly freshConfiguration: Configuration;
  /** The actions that the change would perform on the machine. Throws what refuses it. */
  plan(make: (draft: LayeredDraft) => void): Promise<Actions>;
}
