import type { SentAlert } from '../../engine/declare/channels.ts';
import type { CurrentProblem } from '../../engine/declare/problem.ts';
import { type Alert, isAtLeast } from './alert.ts';
import type { Channel } from './channel.ts';

export interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The time of day of the machine, as 22:00. */
  readonly time: string;
  /** Whether someone has acknowledged the problem, or put it off until later. */
  readonly isAcknowledged: (id: string) => boolean;
  /** Whether what is not there counts as ended: shortly after a start, not everything was looked at. */
  readonly trustsEnds: boolean;
}

/** Whether a time of day is within quiet hours, which may last over midnight. */
export function isQuiet(
  { quiet_from: from, quiet_until: until }: Pick<Channel, 'quiet_from' | 'quiet_until'>,
  time: string,
) {
  if (from === '' || until === '' || from === until) return false;
  return from < until ? time >= from && time < until : time >= from || time < until;
}

/**
 * What a channel has to report now. It follows from what lasts and what was reported before: after a crash or while the
 * receiver is away, nothing is forgotten, and what came and went meanwhile is not reported.
 */
export function alertsDue(
  channel: Channel,
  problems: readonly CurrentProblem[],
  sent: ReadonlyMap<string, SentAlert>,
  { now, time, isAcknowledged, trustsEnds }: Moment,
): readonly Alert[] {
  const { least, kinds, repeat_minutes, reports_end } = channel;
  const quiet = isQuiet(channel, time);
  const lasting = problems.flatMap((problem): readonly Alert[] => {
    const { id, kind, severity } = problem;
    if (!isAtLeast(severity, least) || (kinds.length > 0 && !kinds.includes(kind))) return [];
    if (isAcknowledged(id) || (quiet && severity !== 'critical')) return [];
    const before = sent.get(id);
    if (before === undefined || !isAtLeast(before.severity, severity)) return [alertOf(problem, 'began')];
    const isRepeated = repeat_minutes > 0 && now - before.at >= repeat_minutes * 60_000;
    return isRepeated ? [alertOf(problem, 'lasts')] : [];
  });
  const current = new Set(problems.map(({ id }) => id));
  const ended = [...sent.values()].flatMap((before): readonly Alert[] => {
    const isHeld = !trustsEnds || (quiet && before.severity !== 'critical');
    return current.has(before.id) || !reports_end || isHeld ? [] : [alertOf(before, 'ended')];
  });
  return [...lasting, ...ended];
}

function alertOf({ id, kind, about, severity, message, since }: Omit<Alert, 'state'>, state: Alert['state']): Alert {
  return { id, kind, about, severity, message, since, state };
}
