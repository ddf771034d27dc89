import { Cron } from 'croner';
import { cronTableField } from '../lib/cron.ts';

/** When something happens again and again: five fields in cron's notation, as a record has them. */
export interface Schedule {
  readonly minute: string;
  readonly hour: string;
  readonly daymonth: string;
  readonly month: string;
  readonly dayweek: string;
}

/** The schedule that a record has under its resource's prefix. */
export function scheduleOf<const P extends string>(prefix: P, record: Readonly<Record<`${P}_${keyof Schedule}`, string>>): Schedule {
  return {
    minute: record[`${prefix}_minute` as const],
    hour: record[`${prefix}_hour` as const],
    daymonth: record[`${prefix}_daymonth` as const],
    month: record[`${prefix}_month` as const],
    dayweek: record[`${prefix}_dayweek` as const],
  };
}

/** The time zone of the machine, as `Europe/Berlin`. */
export function machineZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The schedule as one line of cron's notation. */
export function cronLine({ minute, hour, daymonth, month, dayweek }: Schedule): string {
  return [cronTableField(minute, 59), cronTableField(hour, 23), cronTableField(daymonth, 31), cronTableField(month, 12), cronTableField(dayweek, 7)].join(' ');
}

/**
 * The first moment after `after` that the schedule names, both in milliseconds since 1970, by the rules of Debian's
 * cron. A day must fit both its fields when one of them begins with a star, else one is enough. When clocks are put
 * forward, a run at a fixed time that does not exist follows at once; when they are put back, it comes once, while a
 * schedule with a star goes on with every hour that passes.
 */
export function nextRun(schedule: Schedule, after: number, zone: string): number | undefined {
  return cronOf(schedule, zone).nextRun(new Date(after))?.getTime();
}

/** What is wrong with five fields together: a day that never comes, as the 31st of February. */
export function scheduleProblem(schedule: Schedule): string | undefined {
  try {
    return nextRun(schedule, Date.UTC(2000, 0), 'UTC') === undefined ? 'This schedule never comes: no such day exists.' : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function cronOf(schedule: Schedule, zone: string): Cron {
  const domAndDow = [schedule.daymonth, schedule.dayweek].some((part) => part.trimStart().startsWith('*'));
  return new Cron(cronLine(schedule), { mode: '5-part', timezone: zone, domAndDow, fixedTimeRule: 'no-wildcard' });
}

/** A moment as people of a time zone write it: `2026-03-29T03:30:00+02:00`. */
export function timeIn(zone: string, at: number): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'longOffset',
  });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
  const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
}
