import { choice, integer, required, text } from '../../engine/declare/fields.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';
import { isObject } from '../../lib/json.ts';

/** What another program of the machine said last about something, as long as it should be looked at. */
export const notice = collection('system/notice', {
  title: 'notice of a program',
  description: 'What smartd or upsmon last said about a disk or a UPS.',
  verbs: [],
  fields: {
    source: required(choice(['smartd', 'ups'], { description: 'Who said it.' })),
    subject: required(text({ description: 'What it is about: a disk or a UPS.' })),
    kind: required(
      text({
        description: 'What may follow one another: a new notice takes the place of the one before of the same kind.',
      }),
    ),
    level: required(choice(['WARN', 'CRIT'], { description: 'How urgent it is.' })),
    message: required(text({ description: 'What was said.', max: 10_000, multiline: true })),
    at: integer({ description: 'When, in milliseconds since 1970.', min: 0, max: Number.MAX_SAFE_INTEGER, initial: 0 }),
  },
});

export type Notice = RecordOf<typeof notice.fields>;

/** What a program tells the daemon. */
export interface Told {
  readonly source: Notice['source'];
  readonly subject: string;
  /** One of the names by which the program itself calls what happened. */
  readonly event: string;
  /** Its own words, where it has some. */
  readonly text: string;
}

/** What follows from it: a notice, or only the end of those that came before. */
export interface Meaning {
  readonly kind: string;
  readonly level: Notice['level'] | 'ends';
  readonly message: string;
}

const longest = { subject: 255, event: 100, text: 8000 } as const;

/** Reads what came from a program; undefined when it is nothing that one would say. */
export function readTold(value: unknown): Told | undefined {
  if (!isObject(value)) return undefined;
  const { source, subject, event, text: words } = value;
  if (
    (source !== 'smartd' && source !== 'ups') ||
    typeof subject !== 'string' ||
    typeof event !== 'string' ||
    typeof words !== 'string'
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
    text: withoutControls(words).slice(0, longest.text).trim(),
  };
}

/** What a program's event means. Those of upsmon are in its manual; smartd names the test that failed. */
export function meaningOf({ source, subject, event, text: words }: Told): Meaning | undefined {
  if (source === 'smartd')
    return { kind: event, level: 'CRIT', message: words || `smartd reports ${event} of ${subject}.` };
  const known = upsEvents.get(event);
  return known === undefined
    ? undefined
    : { ...known, message: `${known.message.replace('%', subject)}${words === '' ? '' : ` (${words})`}` };
}

const upsEvents: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['ONLINE', { kind: 'power', level: 'ends', message: 'The UPS % has line power again.' }],
  ['ONBATT', { kind: 'power', level: 'WARN', message: 'The UPS % runs on its battery.' }],
  ['LOWBATT', { kind: 'power', level: 'CRIT', message: 'The battery of the UPS % is low.' }],
  ['FSD', { kind: 'power', level: 'CRIT', message: 'The UPS % is about to end, and the machine is shut down.' }],
  ['SHUTDOWN', { kind: 'power', level: 'CRIT', message: 'The machine is shut down because of the UPS %.' }],
  ['COMMOK', { kind: 'contact', level: 'ends', message: 'The UPS % answers again.' }],
  ['COMMBAD', { kind: 'contact', level: 'WARN', message: 'The UPS % has ceased to answer.' }],
  ['NOCOMM', { kind: 'contact', level: 'WARN', message: 'The UPS % does not answer.' }],
  ['REPLBATT', { kind: 'battery', level: 'WARN', message: 'The UPS % needs a new battery.' }],
]);

/** Events of upsmon that people are told of. */
export const upsEventNames: readonly string[] = [...upsEvents.keys()];

function withoutControls(words: string): string {
  return words.replaceAll(/[^\P{Cc}\n]/gu, ' ');
}

function oneLine(words: string): string {
  return withoutControls(words).replaceAll('\n', ' ').trim();
}
