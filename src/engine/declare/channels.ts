/** What is kept of channels beside the configuration, so that alerts make neither revisions nor events. */
import type { Severity } from './problem.ts';

/** A problem that was reported, as it was then. */
export interface SentAlert {
  readonly id: string;
  readonly kind: string;
  readonly about: string;
  readonly severity: Severity;
  readonly message: string;
  /** When it began and when it was last reported, in milliseconds since 1970. */
  readonly since: number;
  readonly at: number;
}

export interface ChannelState {
  /** Attempts that failed since the last success. */
  readonly attempts: number;
  /** When the first of them was made, in milliseconds since 1970. */
  readonly failing: number | null;
  /** No attempt before this time. */
  readonly next: number;
  /** Why the last attempt failed; empty if it did not. */
  readonly problem: string;
  /** The problems that were reported and have not ended. */
  readonly sent: readonly SentAlert[];
}

export interface ChannelStore {
  state(channel: number): ChannelState | undefined;
  put(channel: number, state: ChannelState): void;
  /** Forgets everything about other channels than these. */
  keepOnly(channels: readonly { readonly id: number }[]): void;
}
