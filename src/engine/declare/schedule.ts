import { Cron } from 'croner';
import { cronTableField } from '../../lib/cron.ts';
import { recalled } from '../../lib/recent.ts';
import { messageOf } from '../../lib/text.ts';

/** A recurring schedule: the five fields of cron notation, as stored in records. */
export interface Schedule {
  readonly minute: string;
  readonly hour: string;
  readonly daymonth: string;
  readonly month: string;
  readonly dayweek: string;
}

/** A schedule that cron cannot express: only every `everyWeeks` weeks, counted from Monday, 5 January 1970. */
export interface SparseSchedule extends Schedule {
  readonly everyWeeks?: number;
}

/** One schedule, or several that apply together. */
export type Timetable = SparseSchedule | readonly SparseSchedule[];

export const everyMinute: Schedule = Object.freeze({ minute: '*', hour: '*', daymonth: '*', month: '*', dayweek: '*' });

/** Reads the schedule of a record, whose fields have this prefix. */
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

/** The time zone of the machine, such as `Europe/Berlin`. */
export function machineZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The schedule in cron notation, followed by the part that cron notation cannot express. */
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

/** The schedule as one line in cron notation. */
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
 * Returns the first time after `after` that matches the timetable, both in milliseconds since 1970, by the rules of
 * Debian's cron. If one of the two day fields begins with a star, a day must match both, otherwise one of them. When
 * clocks are set forward, a run at a fixed time that does not exist follows immediately. When they are set back, a run
 * at a fixed time happens once, while a schedule with a star continues with every hour that passes.
 */
export function nextRun(timetable: Timetable, after: number, zone: string): number | undefined {
  const times = [timetable].flat().flatMap((one) => nextOf(one, after, zone) ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Upper bound of the runs that are skipped until one lies in a matching week. */
const mostTries = 400;

function nextOf(schedule: SparseSchedule, after: number, zone: string): number | undefined {
  const cron = cronOf(cronLine(schedule), zone);
  let next = cron.nextRun(new Date(after));
  const { everyWeeks = 1 } = schedule;
  for (let tries = 0; next !== null && tries < mostTries; tries += 1) {
    if (everyWeeks === 1 || weekOf(next.getTime(), zone) % everyWeeks === 0) return next.getTime();
    next = cron.nextRun(next);
  }
  return undefined;
}

/** The number of the week that contains a time, in a time zone. */
function weekOf(at: number, zone: string): number {
  const days = Math.floor(Date.parse(`${timeIn(zone, at).slice(0, 10)}T00:00:00Z`) / 86_400_000);
  return Math.floor((days - 4) / 7);
}

/** Returns the problem with the combination of the five fields: a day that never occurs, such as 31 February. */
export function scheduleProblem(schedule: Schedule): string | undefined {
  try {
    return nextRun(schedule, Date.UTC(2000, 0), 'UTC') === undefined
      ? 'This schedule never occurs: no such day exists.'
      : undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Parsing a schedule takes several times as long as computing its next run. */
const crons = new Map<string, Cron>();
const mostCrons = 2000;

function cronOf(line: string, zone: string): Cron {
  return recalled(crons, `${zone} ${line}`, mostCrons, () => {
    const [, , daymonth, , dayweek] = line.split(' ');
    const domAndDow = [daymonth, dayweek].some((part) => part?.startsWith('*') === true);
    return new Cron(line, { mode: '5-part', timezone: zone, domAndDow, fixedTimeRule: 'no-wildcard' });
  });
}

/** Making a formatter takes a hundred times as long as using it. */
const formats = new Map<string, Intl.DateTimeFormat>();
const mostFormats = 20;

function formatOf(zone: string): Intl.DateTimeFormat {
  return recalled(
    formats,
    zone,
    mostFormats,
    () =>
      new Intl.DateTimeFormat('en-GB', {
        timeZone: zone,
        hourCycle: 'h23',
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        timeZoneName: 'longOffset',
      }),
  );
}

/** A time in ISO 8601 with the offset of a time zone: `2026-03-29T03:30:00+02:00`. */
export function timeIn(zone: string, at: number): string {
  const parts = new Map(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
  const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
}
