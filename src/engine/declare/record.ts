import { isObject } from '../../lib/json.ts';
import { memo } from '../../lib/memo.ts';
import { shapeOf } from '../../lib/shape.ts';
import { quote } from '../../lib/text.ts';
import { IssueList, type Issues, invalid } from './errors.ts';
import { type Field, type Fields, isRequired } from './fields.ts';
import type { RecordOf, SentOf } from './resource.ts';
import { asksForProtection, protectionProblem } from './safety-fields.ts';

/** The values of a request body by field, and every problem with them. */
export interface SentReading<F extends Fields> {
  readonly sent: SentOf<F>;
  readonly issues: Issues;
  /** The keys that no field reads. They are ignored (gaps 1.5), except those that ask for protection. */
  readonly ignored: readonly string[];
}

/** Reads a request body. `null` means unset: it becomes the blank value of the field, or counts as not sent. */
export function readSent<F extends Fields>(fields: F, body: unknown, mode: 'create' | 'update'): SentReading<F> {
  if (!isObject(body)) throw invalid({ __all__: [`Expected a JSON object, got ${quote(body)}.`] });
  const issues = new IssueList();
  const sent: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const key = Object.hasOwn(body, name) ? name : field.otherNames.find((one) => Object.hasOwn(body, one));
    if (!maySend(field) || key === undefined || (mode === 'update' && field.createOnly)) continue;
    const value = body[key];
    if (value === null || value === undefined) {
      if (field.required) issues.add(name, isRequired);
      else if (field.blank !== undefined) sent[name] = field.blank;
      continue;
    }
    const reading = field.read(value);
    if (reading.ok) sent[name] = reading.value;
    else issues.add(name, reading.wrong);
  }
  const ignored = unknownKeys(fields, body);
  for (const key of ignored)
    if (asksForProtection(key, body[key])) issues.add(key, protectionProblem(key, namesToSend(fields)));
  if (!isSentOf(fields, sent)) throw new TypeError('a value of the request belongs to no field');
  return { sent: Object.freeze(sent), issues: issues.toIssues(), ignored };
}

/** Every record has an `id`, although it is no field. */
function unknownKeys(fields: Fields, body: Readonly<Record<string, unknown>>): readonly string[] {
  const others = Object.keys(body).filter((key) => key !== 'id' && !Object.hasOwn(fields, key));
  if (others.length === 0) return others;
  const further = new Set(Object.values(fields).flatMap(({ otherNames }) => otherNames));
  return others.filter((key) => !further.has(key));
}

function namesToSend(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([name, field]) => (maySend(field) ? [name] : []));
}

export function maySend(field: Field): boolean {
  return field.use === 'plain' || field.use === 'inputOnly';
}

export function isKept(field: Field): boolean {
  return field.use === 'plain' || field.use === 'readOnly' || field.use === 'hidden';
}

/** The fields that a record stores. Found once, because a start reads thousands of records. */
export const keptFields = memo((fields: Fields): readonly { readonly name: string; readonly field: Field }[] =>
  Object.entries(fields).flatMap(([name, field]) => (isKept(field) ? [{ name, field }] : [])),
);

/** Makes a record whose values are `null` so far. */
export const blankRecord = memo((fields: Fields) => shapeOf(['id', ...keptFields(fields).map(({ name }) => name)]));

export function isAnswered(field: Field): boolean {
  return field.use !== 'inputOnly' && field.use !== 'hidden';
}

/** A stored record without the fields that are never answered. */
export function answered(fields: Fields, record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { names, blank } = answeredNames(fields);
  const isWhole = names.every((name) => name in record);
  const shown: Record<string, unknown> = isWhole ? blank() : {};
  for (const name of names) if (isWhole || name in record) shown[name] = record[name];
  return shown;
}

const answeredNames = memo((fields: Fields) => {
  const names = ['id', ...Object.entries(fields).flatMap(([name, field]) => (isAnswered(field) ? [name] : []))];
  return { names, blank: shapeOf(names) };
});

/** The caller ensures that each value was read by its field or comes from a record; the names are checked here. */
export function isSentOf<F extends Fields>(
  fields: F,
  candidate: Readonly<Record<string, unknown>>,
): candidate is SentOf<F> {
  return Object.keys(candidate).every((name) => {
    const field = fields[name];
    return field !== undefined && maySend(field);
  });
}

/** Checks that there is an id and a value for every stored field. The fields have validated the values already. */
export function isRecordOf<F extends Fields>(
  fields: F,
  candidate: Readonly<Record<string, unknown>>,
): candidate is RecordOf<F> {
  if (typeof candidate['id'] !== 'number') return false;
  for (const name in fields) {
    const field = fields[name];
    if (field !== undefined && isKept(field) && candidate[name] === undefined) return false;
  }
  return true;
}
