import type { Kept, RecordChange } from './kept.ts';
import type { Draft } from './resource.ts';

/** A constraint between resources that do not import one another. */
export interface Rule {
  readonly description: string;
  /** The rule is checked when records of these resources change. */
  readonly reads: readonly Kept[];
  /** Adds a problem to the draft for each violation that the `changed` records would cause. */
  check(draft: Draft, changed: readonly RecordChange[]): void;
}
