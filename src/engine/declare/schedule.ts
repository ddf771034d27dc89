import { Cron } from 'croner';
import { cronTableField } from '../../lib/cron.ts';
import { messageOf } from '../../lib/text.ts';

/** When something happens again and again: five fields in cron's notation, as a record has them. */
export interface Schedule {
  readonly minute: string;
  readonly hour: string;
  readonly daymonth: string;
  readonly month: string;
  readonly dayweek: string;
}

/** What cron cannot say: only in every so many weeks, counted from the one that began on Monday, 5 January 1970. */
export interface SparseSchedule extends Schedule {
  readonly everyWeeks?: number;
}

/** One schedule, or several of which each names its moments. */
export type Timetable = SparseSchedule | readonly SparseSchedule[];

/** The schedule that a record has under its resource's prefix. */
export function scheduleOf<const P extends string>(
  prefix: P,
  record: Readonly<Record<`${P}_${keyof Schedule}`, string>>,
): Schedule {
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

/** The schedule in cron's notation, with what cron cannot say in words. */
export function timetableLine(timetable: Timetable): string {
  return [timetable]
    .flat()
    .map((one) =>
      one.everyWeeks === undefined || one.everyWeeks === 1
        ? cronLine(one)
        : `${cronLine(one)} every ${one.everyWeeks} weeks`,
    )
    .join('; ');
}

/** The schedule as one line of cron's notation. */
export function cronLine({ minute, hour, daymonth, month, dayweek }: Schedule): string {
  return [
    cronTableField(minute, 59),
    cronTableField(hour, 23),
    cronTableField(daymonth, 31),
    cronTableField(month, 12),
    cronTableField(dayweek, 7),
  ].join(' ');
}

/**
 * The first moment after `after` that the timetable names, both in milliseconds since 1970, by the rules of Debian's
 * cron. A day must fit both its fields when one of them begins with a star, else one is enough. When clocks are put
 * forward, a run at a fixed time that does not exist follows at once; when they are put back, it comes once, while a
 * schedule with a star goes on with every hour that passes.
 */
export function nextRun(timetable: Timetable, after: number, zone: string): number | undefined {
  const times = [timetable].flat().flatMap((one) => nextOf(one, after, zone) ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** More days than are ever tried on the way to the week that counts. */
const mostTries = 400;

function nextOf(schedule: SparseSchedule, after: number, zone: string): number | undefined {
  const cron = cronOf(schedule, zone);
  let next = cron.nextRun(new Date(after));
  for (let tries = 0; next !== null && tries < mostTries; tries += 1) {
    if (weekOf(next.getTime(), zone) % (schedule.everyWeeks ?? 1) === 0) return next.getTime();
    next = cron.nextRun(next);
  }
  return undefined;
}

/** The number of the week that a moment lies in, by the calendar of a time zone. */
function weekOf(at: number, zone: string): number {
  const days = Math.floor(Date.parse(`${timeIn(zone, at).slice(0, 10)}T00:00:00Z`) / 86_400_000);
  return Math.floor((days - 4) / 7);
}

/** What is wrong with five fields together: a day that never comes, as the 31st of February. */
export function scheduleProblem(schedule: Schedule): string | undefined {
  try {
    return nextRun(schedule, Date.UTC(2000, 0), 'UTC') === undefined
      ? 'This schedule never occurs: no such day exists.'
      : undefined;
  } catch (error) {
    return messageOf(error);
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
