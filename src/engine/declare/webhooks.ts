/** What is kept of webhooks beside the configuration, so that a failing receiver makes neither revisions nor events. */
import type { KeptEvent } from './events.ts';

/** Where a webhook is among the events. */
export interface Progress {
  /** Number of the last event that was accepted, given up or not wanted. */
  readonly cursor: number;
  /** Attempts that failed since the last success. */
  readonly attempts: number;
  /** When the first of them was made, in milliseconds since 1970. */
  readonly failing: number | null;
  /** No attempt before this time, in milliseconds since 1970. */
  readonly next: number;
  /** Why the last attempt failed; empty if it did not. */
  readonly problem: string;
  /** Whether the journal dropped events that the webhook had not got to. */
  readonly hasLost: boolean;
}

/** An event that was given up. */
export interface DeadLetter extends KeptEvent {
  /** In milliseconds since 1970. */
  readonly givenUp: number;
  readonly problem: string;
}

export interface WebhookStore {
  progress(webhook: number): Progress | undefined;
  /** Stores the progress, and an event that was given up, in one commit. */
  putProgress(webhook: number, progress: Progress, letter?: DeadLetter): void;
  /** The oldest first. */
  letters(webhook: number): Iterable<DeadLetter>;
  hasLetter(webhook: number, number: number): boolean;
  countLetters(webhook: number): number;
  /** Removes one, or all of them. */
  removeLetters(webhook: number, number?: number): void;
  /** Forgets everything about other webhooks than these. */
  keepOnly(webhooks: readonly { readonly id: number }[]): void;
  /** The lowest number of an event that is kept. */
  oldestEvent(): number | undefined;
}
