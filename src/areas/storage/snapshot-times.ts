import { minutesOf } from '../../engine/declare/formats.ts';
import { type SparseSchedule, timeIn } from '../../engine/declare/schedule.ts';

/** What a periodic task says of its times. */
export interface SnapshotTimes {
  readonly task_begin: string;
  readonly task_end: string;
  readonly task_interval: number;
  readonly task_repeat_unit: 'daily' | 'weekly';
  readonly task_byweekday: string;
}

const day = 24 * 60;

/**
 * The moments of a task: its beginning and every `task_interval` minutes from there, until its end, on its days. An end
 * before the beginning lies on the next day; one that is the same means all day. An interval of weeks is the beginning on the
 * first of its days in every so many weeks.
 */
export function timetableOf(times: SnapshotTimes): readonly SparseSchedule[] {
  const interval = times.task_interval;
  const days = times.task_repeat_unit === 'daily' ? '*' : times.task_byweekday;
  const begin = minutesOf(times.task_begin);
  if (interval > day) {
    const [first = '1'] = days === '*' ? ['1'] : days.split(',');
    return [{ ...at([begin % 60], [Math.floor(begin / 60)], first), everyWeeks: interval / (7 * day) }];
  }
  const end = minutesOf(times.task_end);
  const length = end > begin ? end - begin : end === begin ? day - 1 : end + day - begin;
  const moments = Array.from(
    { length: Math.floor(length / interval) + 1 },
    (_, place) => (begin + place * interval) % day,
  );
  const minutesByHour = Map.groupBy(
    moments.toSorted((a, b) => a - b),
    (moment) => Math.floor(moment / 60),
  );
  // Hours with the same minutes are one schedule: cron's notation has one list of minutes for all its hours.
  const alike = Map.groupBy([...minutesByHour], ([, of]) => of.map((moment) => moment % 60).join(','));
  return [...alike].map(([minutes, hours]) =>
    at(
      minutes.split(',').map(Number),
      hours.map(([hour]) => hour),
      days,
    ),
  );
}

function at(minutes: readonly number[], hours: readonly number[], dayweek: string): SparseSchedule {
  return { minute: minutes.join(','), hour: hours.join(','), daymonth: '*', month: '*', dayweek };
}

export const retentionUnits = ['hour', 'day', 'week', 'month', 'year'] as const;
export type RetentionUnit = (typeof retentionUnits)[number];

/** How long a snapshot is kept, and how its name says so: a month is thirty days, a year 365. */
const units: Readonly<Record<RetentionUnit, { readonly letter: string; readonly seconds: number }>> = {
  hour: { letter: 'h', seconds: 3600 },
  day: { letter: 'd', seconds: 86_400 },
  week: { letter: 'w', seconds: 7 * 86_400 },
  month: { letter: 'm', seconds: 30 * 86_400 },
  year: { letter: 'y', seconds: 365 * 86_400 },
};

export interface Retention {
  readonly task_ret_count: number;
  readonly task_ret_unit: RetentionUnit;
}

/** `auto-20260112.0900-2w`: when it was made, in the time zone of the machine, and how long it is kept. */
export function snapshotName(retention: Retention, moment: number, zone: string): string {
  const [date = '', time = ''] = timeIn(zone, moment).split('T');
  return `auto-${date.replaceAll('-', '')}.${time.slice(0, 2)}${time.slice(3, 5)}-${suffix(retention)}`;
}

/** The names of a task's snapshots as `strptime` reads them. */
export function snapshotFormat(retention: Retention): string {
  return `auto-%Y%m%d.%H%M-${suffix(retention)}`;
}

function suffix({ task_ret_count, task_ret_unit }: Retention): string {
  return `${task_ret_count}${units[task_ret_unit].letter}`;
}

/** Whether a name is one that periodic tasks give. */
export function isPeriodic(name: string): boolean {
  return /^auto-\d{8}\.\d{4}-\d{1,9}[hdwmy]$/.test(name);
}

/** How many seconds a snapshot is kept, by its name; undefined when no periodic task gave it, and for one that is kept for good. */
export function lifetimeOf(name: string): number | undefined {
  const [, count, letter] = /^auto-\d{8}\.\d{4}-(\d{1,9})([hdwmy])$/.exec(name) ?? [];
  const unit = Object.values(units).find((one) => one.letter === letter);
  return unit === undefined || Number(count) === 0 ? undefined : Number(count) * unit.seconds;
}
