import { integerOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';

/** What channels and webhooks show of the attempts to deliver to their receiver. */
export const attemptMembers = {
  failing_since: orNull(timeOf('Since when attempts fail; null while they do not.')),
  failed_attempts: integerOf('Attempts that failed since the last success.'),
  next_attempt: orNull(timeOf('When the next attempt follows after a failure.')),
  problem: stringOf('Why the last attempt failed; empty if it did not.'),
};

/** Times are in milliseconds since 1970. */
interface AttemptState {
  readonly attempts: number;
  readonly failing: number | null;
  /** No attempt before this time; 0 if none waits. */
  readonly next: number;
  readonly problem: string;
}

/** Without a state nothing was attempted yet. */
export function attemptsOf(state: AttemptState | undefined) {
  return {
    failing_since: state === undefined || state.failing === null ? null : timeText(state.failing),
    failed_attempts: state?.attempts ?? 0,
    next_attempt: state === undefined || state.next === 0 ? null : timeText(state.next),
    problem: state?.problem ?? '',
  };
}

export const timeText = (at: number) => new Date(at).toISOString();
