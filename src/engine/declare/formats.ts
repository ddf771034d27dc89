import { isIPv4, isIPv6 } from 'node:net';
import { cronTableField } from '../../lib/cron.ts';
import { isLinkLocal, isLoopback, isSameIp, parseIp } from '../../lib/ip.ts';
import { isWithin, normalPath } from '../../lib/path.ts';
import { parseSize } from '../../lib/size.ts';
import { quote, words } from '../../lib/text.ts';
import type { Facts } from '../facts/facts.ts';
import {
  type Field,
  field,
  good,
  integer,
  located,
  naming,
  onMachine,
  raw,
  refine,
  text,
  titled,
  wrong,
} from './fields.ts';
import { volumesFolder } from './location.ts';

export { volumesFolder };

/** Formats of values that several resources share. */

interface Described {
  readonly description: string;
}

/** The volume that contains a path, among the pools of the machine. */
export function volumeOf(path: string, facts: Facts): string | undefined {
  return [...facts.storage.pools.keys()].find((name) => isWithin(path, `${volumesFolder}/${name}`));
}

/**
 * An absolute path at or below a volume, stored without `..`, repeated and trailing slashes; with `asSent` stored as it
 * was sent (gaps 1.11). With `isMade`, the program that uses the path creates it.
 */
export function volumePath({
  description,
  asSent = false,
  isMade = false,
}: Described & { readonly asSent?: boolean; readonly isMade?: boolean }): Field<string, 'plain'> {
  const plain = text({ description, max: 255 });
  const normal = field({
    ...plain,
    widget: 'path',
    schema: { type: 'string', maxLength: 255, pattern: '^(/mnt/.*)?$' },
    read(sent) {
      const reading = plain.read(sent);
      if (!reading.ok || reading.value === '') return reading;
      if (!reading.value.startsWith('/'))
        return wrong(
          `Expected a path that begins with ${volumesFolder}/ and the name of a volume, got ${quote(reading.value)}.`,
        );
      return good(asSent ? reading.value : normalPath(reading.value));
    },
  });
  const path = located(normal, (value) => ({ path: normalPath(value), ...(isMade && { isMade }) }));
  return onMachine(path, (path, facts) =>
    volumeOf(normalPath(path), facts) === undefined
      ? `Expected a path on a volume, such as ${volumesFolder}/NAME or a folder below it, got ${quote(path)}.`
      : undefined,
  );
}

interface AccountOptions extends Described {
  readonly max?: number;
  readonly initial?: string;
  /** The name may contain spaces, as those of directories do. Most configuration files cannot hold such a name. */
  readonly spaces?: boolean;
}

/** The name of a user that exists on the machine. */
export function userName(options: AccountOptions): Field<string, 'plain'> {
  const name = naming('account/users', accountText(options), 'account');
  return onMachine(name, (name, facts) =>
    facts.accounts.users.some((user) => user.name === name) ? undefined : `The user ${quote(name)} does not exist.`,
  );
}

/** The name of a group that exists on the machine. */
export function groupName(options: AccountOptions): Field<string, 'plain'> {
  const name = naming('account/groups', accountText(options), 'group');
  return onMachine(name, (name, facts) =>
    facts.accounts.groups.some((group) => group.name === name) ? undefined : `The group ${quote(name)} does not exist.`,
  );
}

function accountText({ description, max = 120, initial = '', spaces = false }: AccountOptions): Field<string, 'plain'> {
  return text({
    description,
    max,
    initial,
    pattern: spaces ? /^[^:,]+$/ : /^[^\s:,]+$/,
    rule: `Expected an account name without ${spaces ? '' : 'spaces, '}commas and colons.`,
  });
}

/** Shells of FreeBSD that existing clients send. A user with one that is missing here gets a shell of this machine. */
export const foreignShells: readonly string[] = [
  '/bin/csh',
  '/bin/tcsh',
  '/usr/local/bin/bash',
  '/usr/local/bin/zsh',
  '/usr/local/bin/ksh93',
  '/usr/local/bin/mksh',
  '/usr/local/bin/rbash',
  '/usr/local/bin/rzsh',
];

export const noShell = '/usr/sbin/nologin';

/** The shell if the machine has it, else the first of a few common ones. */
export function shellOn(shell: string, { accounts }: Facts): string {
  if (shell === noShell || accounts.shells.includes(shell)) return shell;
  return (
    ['/bin/bash', '/usr/bin/bash', '/bin/sh'].find((candidate) => accounts.shells.includes(candidate)) ?? '/bin/sh'
  );
}

/** A login shell of the machine, or one of `foreignShells`. */
export function loginShell({ description, initial }: Described & { readonly initial: string }): Field<string, 'plain'> {
  return onMachine(
    text({ description, initial, max: 255, pattern: /^\/[\w./+-]+$/, rule: 'Expected the absolute path of a shell.' }),
    (path, { accounts }) =>
      path === noShell || accounts.shells.includes(path) || foreignShells.includes(path)
        ? undefined
        : `Expected a login shell of this machine (${accounts.shells.join(', ')}), got ${quote(path)}.`,
  );
}

/** Octal digits as text, as in permissions and masks; a leading zero too many is dropped. Empty means unset. */
export function octal({
  description,
  max,
  initial = '',
}: Described & { readonly max: number; readonly initial?: string }): Field<string, 'plain'> {
  const top = max.toString(8);
  const digits = text({
    description,
    initial,
    max: top.length,
    pattern: /^[0-7]+$/,
    rule: `Expected octal digits up to ${top}.`,
  });
  const trimmed = (sent: unknown) =>
    typeof sent === 'string'
      ? sent.trim().replace(/^0+/, (zeros) => zeros.slice(sent.trim().length - top.length))
      : sent;
  return refine(field({ ...digits, read: (sent) => digits.read(trimmed(sent)) }), (value) =>
    value !== '' && Number.parseInt(value, 8) > max ? `Expected octal digits up to ${top}, got ${value}.` : undefined,
  );
}

/** Permission bits that new files do not get: three octal digits. */
export function umask({ description, initial }: Described & { readonly initial: string }): Field<string, 'plain'> {
  return text({
    description: `${description} Three octal digits.`,
    initial,
    max: 3,
    pattern: /^[0-7]{3}$/,
    rule: 'Expected three octal digits.',
  });
}

/** A TCP or UDP port. */
export function port({ description, initial }: Described & { readonly initial?: number }): Field<number, 'plain'> {
  return integer({ description, min: 1, max: 65535, ...(initial === undefined ? {} : { initial }) });
}

/** An IPv4 or IPv6 address. */
export function ipAddress({ description, initial }: Described & { readonly initial?: string }): Field<string, 'plain'> {
  return refine(text({ description, max: 45, ...(initial === undefined ? {} : { initial }) }), (value) =>
    value === '' || isIPv4(value) || isIPv6(value) ? undefined : `Expected an IP address, got ${quote(value)}.`,
  );
}

/** An address that the machine has, or one that stands for all of them. */
export function ownAddress(options: Described & { readonly initial?: string }): Field<string, 'plain'> {
  return onMachine(ipAddress(options), (address, facts) => ownAddressProblem(address, facts));
}

/** The message for an address that the machine does not have. Link-local addresses depend on the interface. */
export function ownAddressProblem(address: string, { network }: Facts, sent = address): string | undefined {
  const ip = parseIp(address.replace(/%.*$/, ''));
  if (ip === undefined || ip.value === 0n || isLoopback(ip) || isLinkLocal(ip)) return undefined;
  const own = network.links.flatMap((link) => link.addresses.map((one) => one.split('/')[0] ?? ''));
  return own.some((one) => isSameIp(parseIp(one), ip))
    ? undefined
    : `Expected an address of this machine (${[...own, '0.0.0.0', '::'].join(', ')}), got ${sent}.`;
}

/**
 * E-mail addresses, sent separated by spaces, commas or semicolons and stored separated by `between`. Whether the
 * addresses exist is left to the mail system.
 */
export function mailAddresses({
  description,
  between,
  max = 255,
}: Described & { readonly between: ',' | ';'; readonly max?: number }): Field<string, 'plain'> {
  const plain = text({ description, max });
  return field({
    ...plain,
    read(sent) {
      const reading = plain.read(sent);
      if (!reading.ok) return reading;
      const addresses = reading.value.split(/[\s,;]+/).filter((one) => one !== '');
      const invalid = addresses.find(
        (one) => !/^[A-Za-z0-9._%+-]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(one),
      );
      return invalid === undefined
        ? good(addresses.join(between))
        : wrong(`Expected an e-mail address, got ${quote(invalid)}.`);
    },
  });
}

/** An address of one family. With `zone` an IPv6 address may have a zone index, such as `fe80::1%em0`. */
export function addressOf(
  family: 4 | 6,
  { description, zone = false }: Described & { readonly zone?: boolean },
): Field<string, 'plain'> {
  return refine(text({ description, max: zone ? 61 : 45 }), (value) => {
    const plain = zone ? value.replace(/%[\w.-]{1,15}$/, '') : value;
    return value === '' || parseIp(plain)?.family === family
      ? undefined
      : `Expected an IPv${family} address, got ${quote(value)}.`;
  });
}

/**
 * A list of hosts as the daemons accept it: names, addresses, networks, `.domain` suffixes and wildcards, separated by
 * spaces or commas. Only the characters are checked; the meaning is left to the daemon (gaps 6.1).
 */
export function hostList({ description, max = 2048 }: Described & { readonly max?: number }): Field<string, 'plain'> {
  return refine(text({ description, max, multiline: true }), (value) => {
    const invalid = words(value).find((word) => !/^[A-Za-z0-9.:/_%*?@[\]-]+$/.test(word));
    return invalid === undefined ? undefined : `Expected a host name, an address or a network, got ${quote(invalid)}.`;
  });
}

/**
 * Lines that a user adds to the configuration file of a daemon. They are written into an open section, so they must not
 * open another one, and must not end with a backslash, which would continue the last line into the text that follows.
 * Their meaning is left to the checker of the daemon.
 */
export function configLines({
  description,
  max = 16_384,
}: Described & { readonly max?: number }): Field<string, 'plain'> {
  const lines = refine(text({ description, max, multiline: true }), (value) => {
    const header = value.split('\n').find((line) => /^\s*(\[|<\/?(?:global|virtualhost)\b)/i.test(line));
    if (header !== undefined)
      return `Expected no section header, got ${quote(header.trim())}: it would begin another section of the file.`;
    return /\\\s*$/.test(value) ? 'The last line must not end in a backslash.' : undefined;
  });
  return raw(lines);
}

/** Bytes, as a number or with a unit: `10G`, `1.5 TiB`, `64m` (clients-need V2). */
export function size({ description, initial }: Described & { readonly initial?: number }): Field<number, 'plain'> {
  return field({
    description,
    initial,
    blank: initial,
    widget: 'size',
    schema: { type: 'integer', minimum: 0 },
    read(sent) {
      const bytes = typeof sent === 'number' || typeof sent === 'string' ? parseSize(String(sent)) : undefined;
      return bytes === undefined
        ? wrong(`Expected a size such as 10G, 1.5 TiB or a number of bytes, got ${quote(sent)}.`)
        : good(bytes);
    },
  });
}

/** A time of day, stored as `09:00:00`; the seconds and a leading zero can be omitted. */
export function timeOfDay({ description, initial }: Described & { readonly initial: string }): Field<string, 'plain'> {
  const plain = text({ description, initial, max: 8 });
  return field({
    ...plain,
    widget: 'time',
    schema: { type: 'string', pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$' },
    read(sent) {
      const reading = plain.read(sent);
      if (!reading.ok) return reading;
      if (reading.value === '') return good(initial);
      const parts = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(reading.value);
      const [, hour = '', minute = '', second = '00'] = parts ?? [];
      if (parts === null || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59)
        return wrong(`Expected a time of day such as 09:00:00, got ${quote(sent)}.`);
      return good(`${hour.padStart(2, '0')}:${minute}:${second}`);
    },
  });
}

/** The minutes from midnight to a time of the day. */
export function minutesOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return 60 * hour + minute;
}

// Schedules ----------------------------------------------------------------------------------------------------------

/** The range of each field of a schedule. */
const cronParts = {
  minute: { from: 0, to: 59 },
  hour: { from: 0, to: 23 },
  daymonth: { from: 1, to: 31 },
  month: { from: 1, to: 12 },
  dayweek: { from: 0, to: 7 },
} as const;

export type CronPart = keyof typeof cronParts;

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/**
 * One field of a cron schedule: a star, steps, lists and ranges, stored as sent. With `fullIsStar`, a list of all months
 * or all days of the week is stored as a star, which only cron jobs and scrubs do (gaps 1.11).
 */
export function cronField(
  part: CronPart,
  {
    description,
    initial = '*',
    fullIsStar = false,
  }: Described & { readonly initial?: string; readonly fullIsStar?: boolean },
): Field<string, 'plain'> {
  const plain = text({ description, max: 100, initial });
  return field({
    ...plain,
    widget: 'schedule',
    read(sent) {
      const joined =
        Array.isArray(sent) && sent.every((one) => typeof one === 'string' || typeof one === 'number')
          ? sent.join(',')
          : sent;
      const reading = plain.read(joined);
      if (!reading.ok) return reading;
      const value = reading.value === '' ? initial : reading.value;
      const problem = cronProblem(part, value);
      if (problem !== undefined) return wrong(problem);
      return good(fullIsStar && namesAll(part, value) ? '*' : value);
    },
  });
}

function cronProblem(part: CronPart, value: string): string | undefined {
  const { from, to } = cronParts[part];
  for (const item of value.split(',')) {
    const match = /^(?:\*|([A-Za-z0-9]+)(?:-([A-Za-z0-9]+))?)(?:\/(\d{1,3}))?$/.exec(item.trim());
    if (match === null) return `Expected a cron field such as *, */5, 1-5 or 1,15, got ${quote(item)}.`;
    const [low, high] = [match[1], match[2] ?? match[1]].map((word) =>
      word === undefined ? undefined : cronNumber(part, word),
    );
    if (match[1] !== undefined && (low === undefined || high === undefined || low < from || high > to || low > high))
      return `Expected values between ${from} and ${to}, got ${quote(item)}.`;
    if (match[3] !== undefined && (Number(match[3]) < 1 || Number(match[3]) > to + 1))
      return `Expected a step between 1 and ${to + 1}, got ${quote(item)}.`;
  }
  return undefined;
}

/** The number that an item of a schedule stands for: its digits, or the name of a month or of a day of the week. */
function cronNumber(part: CronPart, word: string): number | undefined {
  if (/^\d+$/.test(word)) return Number(word);
  const names = part === 'month' ? monthNames : part === 'dayweek' ? dayNames : [];
  const index = names.indexOf(word.toLowerCase());
  return index === -1 ? undefined : index + (part === 'month' ? 1 : 0);
}

/**
 * The numbers that a field of a schedule matches, in order; undefined for a star. Day of the week 7 is returned as 0.
 */
export function cronNumbers(part: CronPart, value: string): readonly number[] | undefined {
  if (value === '*') return undefined;
  const { from, to } = cronParts[part];
  const found = new Set<number>();
  for (const item of cronTableField(value, to).split(',')) {
    const [range = '', step = '1'] = item.split('/');
    const [low = from, high] =
      range === '*' ? [from, to] : range.split('-').map((word) => cronNumber(part, word) ?? from);
    for (let number = low; number <= (high ?? low); number += Number(step))
      found.add(part === 'dayweek' ? number % 7 : number);
  }
  return [...found].sort((a, b) => a - b);
}

function namesAll(part: CronPart, value: string): boolean {
  if (part !== 'month' && part !== 'dayweek') return false;
  const named = new Set(
    value.split(',').map((item) => (part === 'dayweek' ? (cronNumber(part, item) ?? -1) % 7 : cronNumber(part, item))),
  );
  return (
    named.size === (part === 'month' ? 12 : 7) && value.split(',').every((item) => cronNumber(part, item) !== undefined)
  );
}

interface FullLists {
  readonly fullIsStar?: boolean;
}

const at = (part: CronPart, initial: string, what: string, options: FullLists = {}) =>
  cronField(part, { description: `${what}, in cron notation.`, initial, ...options });

const hourFields = (options: FullLists) => ({
  hour: at('hour', '*', 'Hours'),
  daymonth: titled('Day of the month', at('daymonth', '*', 'Days of the month')),
  month: at('month', '*', 'Months', options),
  dayweek: titled('Day of the week', at('dayweek', '*', 'Days of the week; 0 and 7 are Sunday', options)),
});

/** The five fields of a schedule under a resource's own prefix. */
export function schedule<const P extends string>(prefix: P, options: FullLists = {}) {
  return prefixed(prefix, { minute: at('minute', '00', 'Minutes'), ...hourFields(options) });
}

/** The fields of a schedule without a minute. */
export function hourlySchedule<const P extends string>(prefix: P) {
  return prefixed(prefix, hourFields({}));
}

type Prefixed<P extends string, F> = { readonly [K in keyof F & string as `${P}_${K}`]: F[K] };

function prefixed<const P extends string, F extends Readonly<Record<string, Field<string, 'plain'>>>>(
  prefix: P,
  fields: F,
): Prefixed<P, F> {
  const named = Object.fromEntries(Object.entries(fields).map(([name, one]) => [`${prefix}_${name}`, one]));
  if (!hasAll(named, prefix, fields)) throw new TypeError('a schedule field was lost');
  return named;
}

function hasAll<const P extends string, F extends Readonly<Record<string, Field<string, 'plain'>>>>(
  named: Readonly<Record<string, unknown>>,
  prefix: P,
  fields: F,
): named is Prefixed<P, F> & Readonly<Record<string, unknown>> {
  return Object.keys(fields).every((name) => named[`${prefix}_${name}`] !== undefined);
}
