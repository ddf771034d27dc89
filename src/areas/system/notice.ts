import { choice, integer, required, text } from '../../engine/declare/fields.ts';
import { collection, type RecordOf, type View } from '../../engine/declare/resource.ts';
import { isObject } from '../../lib/json.ts';
import { isOn } from '../services/services.ts';
import { upsService, upsSettings } from '../services/ups.ts';

const fields = {
  source: required(choice(['smartd', 'ups'], { description: 'The program that sent it.' })),
  subject: required(text({ description: 'The disk or the UPS.' })),
  kind: required(
    text({
      description: 'Group of related events: a new notification replaces the previous one of the same kind.',
    }),
  ),
  level: required(choice(['WARN', 'CRIT'], { description: 'Severity.' })),
  message: required(text({ description: 'The message.', max: 10_000, multiline: true })),
  at: integer({ description: 'Time, in milliseconds since 1970.', min: 0, max: Number.MAX_SAFE_INTEGER, initial: 0 }),
};

/** The last notification of another program about a disk or a UPS, kept while its cause may last. */
export const notice = collection('system/notice', {
  title: 'notice of a program',
  description: 'The last notification of smartd or upsmon about a disk or a UPS.',
  verbs: [],
  fields,
  problems: (notices, { view, now }) =>
    notices
      .filter((record) => isCurrent(record, view, now))
      .map((record) => ({
        ...causeOf(record),
        severity: record.level === 'CRIT' ? 'critical' : 'warning',
        message: record.message,
        since: record.at,
      })),
});

export type Notice = RecordOf<typeof fields>;

/** What identifies the problem that a notification is about. */
export function causeOf({ source, subject, kind }: Pick<Notice, 'source' | 'subject' | 'kind'>) {
  const about = source === 'smartd' ? 'storage/disk' : 'services/ups';
  return { kind: `${source} ${kind}`, about, detail: subject };
}

/**
 * Whether a notice still counts. A notice about a UPS ends with the service ups, because then upsmon no longer reports
 * the end of a problem. upsmon repeats that a UPS does not answer, but after a restart of upsmon it does not report
 * that the UPS answers again; so a notice about contact ends when it has not been repeated for two intervals.
 */
function isCurrent({ source, kind, at }: Notice, view: View, now: number): boolean {
  if (source === 'smartd') return true;
  const repeated = (view.only(upsSettings).ups_nocommwarntime ?? 300) * 1000;
  return isOn(view, upsService) && (kind !== 'contact' || now - at < 2 * repeated + 60_000);
}

/** A notification as a program sends it to the daemon. */
export interface Notification {
  readonly source: Notice['source'];
  readonly subject: string;
  /** The name that the program uses for the event. */
  readonly event: string;
  /** The message of the program; may be empty. */
  readonly text: string;
}

/** The effect of a notification: a notice, or only the end of the previous notices of the same kind. */
export interface Meaning {
  readonly kind: string;
  readonly level: Notice['level'] | 'ends';
  readonly message: string;
}

const longest = { subject: 255, event: 100, text: 8000 } as const;

/** Reads a notification; undefined when it is invalid. */
export function readNotification(value: unknown): Notification | undefined {
  if (!isObject(value)) return undefined;
  const { source, subject, event, text: message } = value;
  if (
    (source !== 'smartd' && source !== 'ups') ||
    typeof subject !== 'string' ||
    typeof event !== 'string' ||
    typeof message !== 'string'
  )
    return undefined;
  const [plainSubject, plainEvent] = [
    oneLine(subject).slice(0, longest.subject),
    oneLine(event).slice(0, longest.event),
  ];
  if (plainSubject === '' || plainEvent === '') return undefined;
  return {
    source,
    subject: plainSubject,
    event: plainEvent,
    text: withoutControls(message).slice(0, longest.text).trim(),
  };
}

/**
 * The effect of a notification. The events of upsmon are listed in its manual; smartd sends the name of the failed
 * test.
 */
export function meaningOf({ source, subject, event, text }: Notification): Meaning | undefined {
  if (source === 'smartd')
    return { kind: event, level: 'CRIT', message: text || `smartd reports ${event} for the disk ${subject}.` };
  const known = upsEvents.get(event);
  return known === undefined
    ? undefined
    : { ...known, message: `${known.message.replace('%', subject)}${text === '' ? '' : ` (${text})`}` };
}

const upsEvents: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['ONLINE', { kind: 'power', level: 'ends', message: 'The UPS % has line power again.' }],
  ['ONBATT', { kind: 'power', level: 'WARN', message: 'The UPS % runs on its battery.' }],
  ['LOWBATT', { kind: 'power', level: 'CRIT', message: 'The battery of the UPS % is low.' }],
  ['FSD', { kind: 'power', level: 'CRIT', message: 'The UPS % is about to switch off. The machine shuts down.' }],
  ['SHUTDOWN', { kind: 'power', level: 'CRIT', message: 'The machine shuts down because of the UPS %.' }],
  ['COMMOK', { kind: 'contact', level: 'ends', message: 'The UPS % answers again.' }],
  ['COMMBAD', { kind: 'contact', level: 'WARN', message: 'The UPS % stopped answering.' }],
  ['NOCOMM', { kind: 'contact', level: 'WARN', message: 'The UPS % does not answer.' }],
  ['REPLBATT', { kind: 'battery', level: 'WARN', message: 'The UPS % needs a new battery.' }],
]);

/** Events of upsmon that become notices. */
export const upsEventNames: readonly string[] = [...upsEvents.keys()];

function withoutControls(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]/gu, ' ');
}

function oneLine(text: string): string {
  return withoutControls(text).replaceAll('\n', ' ').trim();
}
