/** How values are written for people. */

import * as t from '../texts/base/format.ts';
import { textIn } from './json.ts';

/** `1.19 TB`; in powers of 1024, as ZFS counts. */
export function bytes(value: number): string {
  let left = Math.abs(value);
  let unit = 0;
  // 1023.9 MB would be written as 1024 MB.
  while (left >= 1023.5 && unit < t.units.length - 1) {
    left /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || left >= 100 ? 0 : left >= 10 ? 1 : 2;
  return `${value < 0 ? '-' : ''}${left.toFixed(digits)} ${t.units[unit]}`;
}

export function count(value: number, one: string, many = t.many(one)): string {
  return `${value.toLocaleString('en')} ${value === 1 ? one : many}`;
}

/** `12 min ago`. */
export function age(at: number | string, now: number): string {
  const then = typeof at === 'number' ? at : Date.parse(at);
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  if (seconds < 60) return t.sAgo(seconds);
  if (seconds < 3600) return t.minAgo(Math.round(seconds / 60));
  if (seconds < 86_400) return t.hAgo(Math.round(seconds / 3600));
  return t.dAgo(Math.round(seconds / 86_400));
}

/** `in 1 h 50 min`. */
export function until(at: string, now: number): string {
  const minutes = Math.max(0, Math.round((Date.parse(at) - now) / 60_000));
  if (minutes < 1) return t.inLessThanAMinute;
  if (minutes > 2 * 24 * 60) return t.inDays(Math.round(minutes / (24 * 60)));
  return t.inMin(minutes >= 60 ? `${Math.floor(minutes / 60)} h ` : '', minutes % 60);
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const whole = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** The time of today, or the day before. */
export function when(at: string, now: number): string {
  const then = new Date(at);
  return then.toDateString() === new Date(now).toDateString()
    ? clock.format(then)
    : `${date.format(then)}, ${clock.format(then)}`;
}

export const exactly = (at: string): string => whole.format(new Date(at));

/** A title at the beginning of a line. A name such as iSCSI stays as it is. */
export const capital = (text: string): string =>
  /^[a-z][A-Z]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);

/** A value in a table. */
export function shown(value: unknown, widget: string | null): string {
  if (value === null || value === undefined || value === '') return '–';
  if (value === true) return t.yes;
  if (value === false) return t.no;
  if (widget === 'size' && typeof value === 'number') return value === 0 ? t.none : bytes(value);
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.map((one) => shown(one, widget)).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : textIn(value);
}
