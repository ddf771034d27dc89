import { isObject, type JsonObject } from '../../lib/json.ts';
import { quote, sentenceList, strayCharacter } from '../../lib/text.ts';
import type { Facts } from '../facts/facts.ts';
import type { Location } from './location.ts';

/**
 * How a field is used:
 * - `plain`: sent, stored and answered
 * - `inputOnly`: sent, neither stored nor answered
 * - `readOnly`: set by Holdfast, stored and answered
 * - `live`: read from the state of the machine and answered, not stored
 * - `hidden`: set by Holdfast and stored, neither sent nor answered
 */
export type Use = 'plain' | 'inputOnly' | 'readOnly' | 'live' | 'hidden';

export type Rank = 'basic' | 'advanced';
export type Widget = 'path' | 'schedule' | 'size' | 'text area' | 'secret' | 'time' | 'account' | 'group' | 'dataset';

export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly wrong: string };

/** One value of a record: its meaning, its JSON Schema, and how a sent value is read. */
export interface Field<out T = unknown, out U extends Use = Use> {
  /** Description for the OpenAPI document. */
  readonly description: string;
  readonly use: U;
  /** What people call it on the command line and in files, where that is not the name without the prefix. */
  readonly shortName?: string;
  /** Label in forms, where the name of the field does not give one. */
  readonly title?: string;
  /** Heading of the fields that a form shows together with this one. */
  readonly group?: string;
  /** Whether a form shows the field at once, or among the advanced ones. */
  readonly rank?: Rank;
  /** How a form asks for the value, where the type does not say it. */
  readonly widget?: Widget;
  /** Path of the resource whose record the value names, if it is a name and not an id. */
  readonly names?: string;
  /** Further names that requests may use for the field. Answers have the public name only. */
  readonly otherNames: readonly string[];
  /** Must be sent on create; an update may omit it. */
  readonly required: boolean;
  /** Read on create only; an update ignores it (gaps 1.7). */
  readonly createOnly: boolean;
  /** Encrypted at rest and masked in revisions and logs. */
  readonly secret: boolean;
  /** Text for a shell or another program, in which people write passwords too. Debug archives leave it out. */
  readonly raw?: true;
  /** The value if none is sent. Undefined only if the field is required or set by Holdfast. */
  readonly initial: T | undefined;
  /** The value if `null` is sent, which means unset (gaps 1.5). Undefined if `null` counts as not sent. */
  readonly blank: T | undefined;
  /** JSON Schema of the value in responses. */
  readonly schema: JsonObject;
  /** May have no value: a response omits it, for example in one of the profiles, or a request need not have it. */
  readonly sometimes?: true;
  /** The collection that this id belongs to, if the value is an id. */
  readonly refers: Reference | undefined;
  read(sent: unknown): Reading<T>;
  /** Returns the problem with the value on this machine, if any, such as an account that does not exist. */
  checkOnHost?(value: T, facts: Facts): string | undefined;
  /** The places on volumes that the value names. Defined by formats such as `volumePath`. */
  locate?(value: T): readonly Location[];
}

export interface Reference {
  /** Path of the collection the id belongs to. */
  readonly to: string;
  /**
   * What happens when the referenced record is removed: this record is removed too, or the field gets another value.
   */
  readonly onRemove: 'remove' | { readonly becomes: number | null };
  /** Returns why the referenced record cannot be removed while this record refers to it, if so. */
  holds?(record: Readonly<Record<string, unknown>>): string | undefined;
}

export type Fields = Readonly<Record<string, Field>>;

export const good = <T>(value: T): Reading<T> => ({ ok: true, value });
export const wrong = (sentence: string): { readonly ok: false; readonly wrong: string } => ({
  ok: false,
  wrong: sentence,
});

/** What defines a field. The other properties have default values. */
interface Making<T> {
  readonly description: string;
  readonly schema: JsonObject;
  readonly initial?: T | undefined;
  readonly blank?: T | undefined;
  readonly read: (sent: unknown) => Reading<T>;
  readonly widget?: Widget | undefined;
  readonly checkOnHost?: (value: T, facts: Facts) => string | undefined;
  readonly locate?: ((value: T) => readonly Location[]) | undefined;
}

export function field<T>(making: Making<T>): Field<T, 'plain'> {
  return Object.freeze({
    description: making.description,
    use: 'plain' as const,
    otherNames: [],
    required: false,
    createOnly: false,
    secret: false,
    initial: making.initial,
    blank: making.blank,
    schema: making.schema,
    refers: undefined,
    read: making.read,
    ...(making.checkOnHost === undefined ? {} : { checkOnHost: making.checkOnHost }),
    ...(making.widget === undefined ? {} : { widget: making.widget }),
    ...(making.locate === undefined ? {} : { locate: making.locate }),
  });
}

// Forms --------------------------------------------------------------------------------------------------------------

/** The same fields under a heading that forms show them under. */
export function basic<const F extends Fields>(group: string, fields: F): F;
export function basic(group: string, fields: Fields): Fields {
  return inGroup(group, 'basic', fields);
}

/** The same fields under a heading, among the advanced ones. */
export function advanced<const F extends Fields>(group: string, fields: F): F;
export function advanced(group: string, fields: Fields): Fields {
  return inGroup(group, 'advanced', fields);
}

function inGroup(group: string, rank: Rank, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, of]) => [name, Object.freeze({ ...of, group, rank })]));
}

/** The same field with a label that its name does not give. */
export function titled<T, U extends Use>(title: string, of: Field<T, U>): Field<T, U> {
  return Object.freeze({ ...of, title });
}

/** The same field with a name for people that its own name does not give. */
export function shortNamed<T, U extends Use>(shortName: string, of: Field<T, U>): Field<T, U> {
  return Object.freeze({ ...of, shortName });
}

/** The same field, whose value names a record of the resource with this path. */
export function naming<T, U extends Use>(resource: string, of: Field<T, U>, widget = of.widget): Field<T, U> {
  return Object.freeze({ ...of, names: resource, ...(widget === undefined ? {} : { widget }) });
}

// Modifiers ------------------------------------------------------------------------------------------

export function required<T, U extends Use>(of: Field<T, U>): Field<T, U> {
  const read = (sent: unknown): Reading<T> =>
    sent === '' || (typeof sent === 'string' && sent.trim() === '') ? wrong(isRequired) : of.read(sent);
  return Object.freeze({ ...of, required: true, initial: undefined, blank: undefined, read });
}

export const isRequired = 'This field is required.';

export function raw<T, U extends Use>(of: Field<T, U>): Field<T, U> {
  return Object.freeze({ ...of, raw: true as const });
}

/** Set by Holdfast. A sent value is ignored, like every key that cannot be written (clients-need V3). */
export function readOnly<T>(of: Field<T>): Field<T, 'readOnly'> {
  return Object.freeze({ ...of, use: 'readOnly' as const, required: false });
}

export function hidden<T>(of: Field<T>): Field<T, 'hidden'> {
  return Object.freeze({ ...of, use: 'hidden' as const, required: false });
}

export function live<T>(of: Field<T>): Field<T, 'live'> {
  return Object.freeze({ ...of, use: 'live' as const, required: false });
}

export function inputOnly<T>(of: Field<T>): Field<T, 'inputOnly'> {
  return Object.freeze({ ...of, use: 'inputOnly' as const });
}

export function sometimes<T>(of: Field<T, 'live'>): Field<T | undefined, 'live'> {
  return Object.freeze({ ...of, sometimes: true as const });
}

/** Has no value unless it is sent, for example a filter. */
export function optional<T, U extends Use>(of: Field<T, U>): Field<T | undefined, U> {
  return Object.freeze({ ...of, initial: undefined, blank: undefined, sometimes: true as const });
}

export function createOnly<T, U extends Use>(of: Field<T, U>): Field<T, U> {
  return Object.freeze({ ...of, createOnly: true });
}

/** Requests may also use these names, which the document has where the public interface has another. */
export function alsoNamed<T, U extends Use>(of: Field<T, U>, ...names: readonly string[]): Field<T, U> {
  return Object.freeze({ ...of, otherNames: names });
}

export function secret<T, U extends Use>(of: Field<T, U>): Field<T, U> {
  return Object.freeze({ ...of, secret: true });
}

/** Can be unset: null in records, null or an empty text in requests. */
export function nullable<T>(of: Field<T, 'plain'>): Field<T | null, 'plain'> {
  return Object.freeze({
    ...of,
    required: false,
    initial: null,
    blank: null,
    schema: { anyOf: [of.schema, { type: 'null' }] },
    read: (sent: unknown): Reading<T | null> =>
      typeof sent === 'string' && sent.trim() === '' ? good(null) : of.read(sent),
    checkOnHost: (value: T | null, facts: Facts) => (value === null ? undefined : of.checkOnHost?.(value, facts)),
    ...(of.locate && { locate: (value: T | null) => (value === null ? [] : (of.locate?.(value) ?? [])) }),
  });
}

/** The same field, whose values name places on volumes. An empty text names none. */
export function located<T, U extends Use>(of: Field<T, U>, locate: (value: T) => Location | undefined): Field<T, U> {
  return Object.freeze({ ...of, locate: (value: T) => [value === '' ? undefined : locate(value)].filter(isDefined) });
}

const isDefined = <T>(value: T | undefined): value is T => value !== undefined;

/** The same field with another condition. `problem` returns a message if the value violates it. */
export function refine<T, U extends Use>(of: Field<T, U>, problem: (value: T) => string | undefined): Field<T, U> {
  const read = (sent: unknown): Reading<T> => {
    const reading = of.read(sent);
    if (!reading.ok) return reading;
    const sentence = problem(reading.value);
    return sentence === undefined ? reading : wrong(sentence);
  };
  return Object.freeze({ ...of, read });
}

/** The same field with a condition that depends on the machine. An empty text is not checked. */
export function onMachine<T, U extends Use>(
  of: Field<T, U>,
  checkOnHost: (value: T, facts: Facts) => string | undefined,
): Field<T, U> {
  return Object.freeze({
    ...of,
    checkOnHost: (value: T, facts: Facts) =>
      value === '' ? undefined : (of.checkOnHost?.(value, facts) ?? checkOnHost(value, facts)),
  });
}

// Kinds of values --------------------------------------------------------------------------------------------------

interface TextOptions {
  readonly description: string;
  /** Maximum number of characters; 255 by default. */
  readonly max?: number;
  readonly initial?: string;
  /** Whether line feeds and tabs are allowed, as in text for a configuration file. */
  readonly multiline?: boolean;
  /** Pattern of a value that is not empty, and the message for one that does not match. */
  readonly pattern?: RegExp;
  readonly rule?: string;
  /** Whether surrounding spaces are kept, as in passwords. */
  readonly untrimmed?: boolean;
}

/** Text. Surrounding spaces are removed and a number is read as its digits (gaps 1.5). Empty means unset. */
export function text(options: TextOptions): Field<string, 'plain'> {
  const max = options.max ?? 255;
  return field({
    description: options.description,
    initial: options.initial ?? '',
    blank: options.initial === undefined || options.initial === '' ? '' : options.initial,
    schema: { type: 'string', maxLength: max, ...(options.pattern ? { pattern: `^$|${options.pattern.source}` } : {}) },
    ...(options.multiline === true ? { widget: 'text area' as const } : {}),
    read(sent) {
      const raw = typeof sent === 'number' && Number.isFinite(sent) ? String(sent) : sent;
      if (typeof raw !== 'string') return wrong(`Expected text, got ${quote(sent)}.`);
      if (raw.length > 2 * max) return wrong(`Expected at most ${max} characters, got ${raw.length}.`);
      const unix = options.multiline === true ? raw.replaceAll('\r\n', '\n') : raw;
      const value = options.untrimmed === true ? unix : unix.trim();
      const stray = strayCharacter(value, { multiline: options.multiline === true });
      if (stray !== undefined) return wrong(`The character ${stray} is not allowed in this text.`);
      if ([...value].length > max) return wrong(`Expected at most ${max} characters, got ${[...value].length}.`);
      if (value !== '' && options.pattern && !options.pattern.test(value))
        return wrong(options.rule ?? `Expected a text that matches ${options.pattern.source}, got ${quote(value)}.`);
      return good(value);
    },
  });
}

interface IntegerOptions {
  readonly description: string;
  readonly min?: number;
  readonly max?: number;
  readonly initial?: number;
}

/** A whole number, sent as a number or as its digits (clients-need V1). */
export function integer(options: IntegerOptions): Field<number, 'plain'> {
  const min = options.min ?? Number.MIN_SAFE_INTEGER;
  const max = options.max ?? Number.MAX_SAFE_INTEGER;
  const bounds = {
    ...(options.min === undefined ? {} : { minimum: min }),
    ...(options.max === undefined ? {} : { maximum: max }),
  };
  return field({
    description: options.description,
    initial: options.initial,
    schema: { type: 'integer', ...bounds },
    read(sent) {
      const value = typeof sent === 'string' && /^[+-]?\d{1,16}$/.test(sent.trim()) ? Number(sent) : sent;
      if (typeof value !== 'number' || !Number.isSafeInteger(value))
        return wrong(`Expected a whole number, got ${quote(sent)}.`);
      if (value < min || value > max) {
        if (options.max === undefined) return wrong(`Expected a number of at least ${min}, got ${value}.`);
        return wrong(
          `Expected a number ${options.min === undefined ? 'of at most' : `between ${min} and`} ${max}, got ${value}.`,
        );
      }
      return good(value);
    },
  });
}

/** A boolean, also accepted as 0, 1 or text in any letter case. `null` means false (gaps 1.5). */
export function flag(initial: boolean, options: { readonly description: string }): Field<boolean, 'plain'> {
  return field({
    description: options.description,
    initial,
    blank: false,
    schema: { type: 'boolean' },
    read(sent) {
      if (typeof sent === 'boolean') return good(sent);
      const word = typeof sent === 'string' || typeof sent === 'number' ? String(sent).trim().toLowerCase() : '';
      if (word === 'true' || word === '1') return good(true);
      if (word === 'false' || word === '0') return good(false);
      return wrong(`Expected true or false, got ${quote(sent)}.`);
    },
  });
}

interface ChoiceOptions<V extends string> {
  readonly description: string;
  readonly initial?: NoInfer<V>;
  /** Alternative spellings that clients send, and the values that they stand for. */
  readonly also?: Readonly<Record<string, NoInfer<V>>>;
}

/** One of a closed list of values. */
export function choice<const V extends string>(values: readonly V[], options: ChoiceOptions<V>): Field<V, 'plain'> {
  return field<V>({
    description: options.description,
    initial: options.initial,
    schema: { enum: [...values] },
    read(sent) {
      const word = typeof sent === 'number' ? String(sent) : typeof sent === 'string' ? sent.trim() : undefined;
      const also = options.also ?? {};
      // hasOwn, because every object has inherited members such as "constructor".
      const value =
        values.find((one) => one === word) ??
        (word !== undefined && Object.hasOwn(also, word) ? also[word] : undefined);
      return value === undefined
        ? wrong(`Expected one of ${sentenceList(values.map((one) => quote(one)))}, got ${quote(sent)}.`)
        : good(value);
    },
  });
}

/** A list. A single value is read as a list with one entry (gaps 1.5); unset means empty. */
export function list<T>(
  of: Field<T>,
  options: { readonly description: string; readonly initial?: readonly T[]; readonly max?: number },
): Field<readonly T[], 'plain'> {
  const max = options.max ?? 1000;
  const entries = field<readonly T[]>({
    description: options.description,
    initial: options.initial ?? [],
    blank: [],
    schema: { type: 'array', items: of.schema, maxItems: max },
    read(sent) {
      const items: readonly unknown[] = Array.isArray(sent) ? sent : sent === '' ? [] : [sent];
      if (items.length > max) return wrong(`Expected at most ${max} entries, got ${items.length}.`);
      const values: T[] = [];
      for (const item of items) {
        const reading = of.read(item);
        if (!reading.ok) return reading;
        values.push(reading.value);
      }
      return good(Object.freeze(values));
    },
    checkOnHost: (values, facts) =>
      values.map((value) => of.checkOnHost?.(value, facts)).find((sentence) => sentence !== undefined),
    locate: of.locate && ((values) => values.flatMap((value) => of.locate?.(value) ?? [])),
    widget: of.widget,
  });
  return of.names === undefined ? entries : naming(of.names, entries);
}

/** A JSON object with data of the client. It is answered as it was sent. */
export function freeObject(options: {
  readonly description: string;
  readonly maxBytes: number;
}): Field<Readonly<Record<string, unknown>>, 'plain'> {
  return field<Readonly<Record<string, unknown>>>({
    description: options.description,
    initial: Object.freeze({}),
    blank: Object.freeze({}),
    schema: { type: 'object', additionalProperties: true },
    read(sent) {
      if (!isObject(sent)) return wrong(`Expected a JSON object, got ${quote(sent)}.`);
      const bytes = Buffer.byteLength(JSON.stringify(sent));
      return bytes > options.maxBytes
        ? wrong(`Expected at most ${options.maxBytes} bytes of JSON, got ${bytes}.`)
        : good(Object.freeze({ ...sent }));
    },
  });
}

/** Any JSON value, which the operation itself interprets. */
export function anyJson(options: { readonly description: string }): Field<unknown, 'plain'> {
  return field<unknown>({ description: options.description, schema: {}, read: good });
}

interface ReferenceOptions {
  readonly description: string;
  readonly onRemove: Reference['onRemove'];
  readonly holds?: NonNullable<Reference['holds']>;
}

/** The id of a record of the collection with the path `to`. The engine checks that the record exists. */
export function reference(to: string, options: ReferenceOptions): Field<number, 'plain'> {
  return Object.freeze({
    ...integer({ description: options.description, min: 1 }),
    refers: { to, onRemove: options.onRemove, ...(options.holds === undefined ? {} : { holds: options.holds }) },
  });
}
