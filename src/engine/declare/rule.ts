import type { Kept, RecordChange } from '../configuration/tables.ts';
import type { Draft } from './resource.ts';

/** What must hold between resources that need not know of one another. */
export interface Rule {
  readonly description: string;
  /** Only changes of these are looked at. */
  readonly reads: readonly Kept[];
  /** Adds an issue to the draft for each thing that `changed` records would break. */
  check(draft: Draft, changed: readonly RecordChange[]): void;
}
