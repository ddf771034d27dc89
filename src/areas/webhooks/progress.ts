import type { Progress } from '../../engine/declare/webhooks.ts';

/** The first pause after a failure, which doubles, and the longest. */
const firstPause = 1000;
const longestPause = 3_600_000;

const withoutFailure = { attempts: 0, failing: null, next: 0, problem: '' } as const;

/** The progress of a new webhook. */
export const progressFrom = (cursor: number): Progress => ({ cursor, ...withoutFailure, hasLost: false });

/** The progress after an event was accepted. */
export const accepted = ({ hasLost }: Progress, cursor: number): Progress => ({ ...withoutFailure, cursor, hasLost });

export interface Failure {
  readonly now: number;
  readonly problem: string;
  /** Milliseconds that the receiver asks to wait. */
  readonly wait: number;
  /** From 0 to 1: keeps several webhooks from trying in step. */
  readonly jitter: number;
}

/** The progress after an attempt failed: each pause is twice as long as the one before it. */
export function failed(progress: Progress, { now, problem, wait, jitter }: Failure): Progress {
  const attempts = progress.attempts + 1;
  const pause = Math.min(longestPause, firstPause * 2 ** Math.min(attempts - 1, 20));
  const chosen = Math.min(longestPause, Math.max(wait, pause * (0.9 + jitter / 5)));
  return { ...progress, attempts, failing: progress.failing ?? now, next: now + Math.round(chosen), problem };
}

/** Milliseconds until the next attempt. A clock that was set back does not make the pause longer than the longest. */
export function waitOf({ next }: Progress, now: number): number {
  const wait = next - now;
  return wait > longestPause ? 0 : Math.max(0, wait);
}
