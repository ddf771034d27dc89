import { minutesOf } from '../../engine/declare/formats.ts';
import { type SparseSchedule, timeIn } from '../../engine/declare/schedule.ts';

/** The fields of a periodic snapshot task that define its times. */
export interface SnapshotTimes {
  readonly task_begin: string;
  readonly task_end: string;
  readonly task_interval: number;
  readonly task_repeat_unit: 'daily' | 'weekly';
  readonly task_byweekday: string;
}

const day = 24 * 60;

/**
 * The times of a task: `task_begin` and every `task_interval` minutes after it until `task_end`, on the selected days.
 * An end before the begin is on the next day; an end equal to the begin means all day. An interval of n weeks runs at
 * `task_begin` on the first selected day of every n-th week.
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
    (_, index) => (begin + index * interval) % day,
  );
  const minutesByHour = Map.groupBy(
    moments.toSorted((a, b) => a - b),
    (moment) => Math.floor(moment / 60),
  );
  // Hours with the same minutes share one schedule, because a cron schedule has one list of minutes for all its hours.
  const hoursByMinutes = Map.groupBy([...minutesByHour], ([, of]) => of.map((moment) => moment % 60).join(','));
  return [...hoursByMinutes].map(([minutes, hours]) =>
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

/** Retention units, with their letter in snapshot names: a month has 30 days, a year 365. */
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

/** For example `auto-20260112.0900-2w`: creation time in the time zone of the machine, and retention. */
export function snapshotName(retention: Retention, moment: number, zone: string): string {
  const [date = '', time = ''] = timeIn(zone, moment).split('T');
  return `auto-${date.replaceAll('-', '')}.${time.slice(0, 2)}${time.slice(3, 5)}-${suffix(retention)}`;
}

/** The format of a task's snapshot names, for `strptime`. */
export function snapshotFormat(retention: Retention): string {
  return `auto-%Y%m%d.%H%M-${suffix(retention)}`;
}

function suffix({ task_ret_count, task_ret_unit }: Retention): string {
  return `${task_ret_count}${units[task_ret_unit].letter}`;
}

/** Whether the name has the form that periodic snapshot tasks use. */
export function isPeriodic(name: string): boolean {
  return /^auto-\d{8}\.\d{4}-\d{1,9}[hdwmy]$/.test(name);
}

/** Retention in seconds from a snapshot name; undefined for other names, and for snapshots that are kept forever. */
export function lifetimeOf(name: string): number | undefined {
  const [, count, letter] = /^auto-\d{8}\.\d{4}-(\d{1,9})([hdwmy])$/.exec(name) ?? [];
  const unit = Object.values(units).find((candidate) => candidate.letter === letter);
  return unit === undefined || Number(count) === 0 ? undefined : Number(count) * unit.seconds;
}
