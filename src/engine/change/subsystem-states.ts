import type { LayeredDraft } from '../configuration/draft.ts';
import type { RecordChange } from '../declare/kept.ts';
import type { Desired, Subsystem } from '../declare/subsystem.ts';

/** A subsystem and its known state on the machine. */
export interface SubsystemState {
  readonly subsystem: Subsystem;
  /** The state that was last applied; undefined if it is unknown. */
  applied: Desired | undefined;
  /** The state that could not be applied, while it is degraded. */
  failed: Desired | undefined;
  degraded: string | undefined;
  attempts: number;
  retry: NodeJS.Timeout | undefined;
}

/** A subsystem and its desired state after a change. */
export interface Affected {
  readonly state: SubsystemState;
  readonly desired: Desired;
}

/** What a change needs of the subsystems. The reconciler implements it. */
export interface SubsystemStates {
  /** The managed subsystems that read the changed records, and those that the change takes over. */
  concerned(draft: LayeredDraft, changes?: readonly RecordChange[]): readonly SubsystemState[];
  /**
   * Those among these subsystems for which the draft renders a different state. One that is degraded anyway, and that the
   * draft does not change, holds up no change: the reconciler retries it.
   */
  affected(draft: LayeredDraft, concerned?: readonly SubsystemState[]): readonly Affected[];
  /** Applies the stored configuration again after a failed change, the last subsystem first. */
  takeBack(begun: readonly SubsystemState[]): Promise<void>;
  recovered(state: SubsystemState): void;
}
