import { isObject } from '../../lib/json.ts';
import { quote } from '../../lib/text.ts';
import { IssueList, type Issues, invalid } from './errors.ts';
import { type Field, type Fields, isRequired } from './fields.ts';
import type { RecordOf, SentOf } from './resource.ts';

/** What a body says, by its fields, and all that is wrong with it. Keys that are no fields are ignored (gaps 1.5). */
export interface SentReading<F extends Fields> {
  readonly sent: SentOf<F>;
  readonly issues: Issues;
}

/** Reads a request's body. `null` means unset: the field's blank, or as if it had not been sent. */
export function readSent<F extends Fields>(fields: F, body: unknown, mode: 'create' | 'update'): SentReading<F> {
  if (!isObject(body)) throw invalid({ __all__: [`Expected a JSON object, got ${quote(body)}.`] });
  const issues = new IssueList();
  const sent: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (!maySend(field) || !Object.hasOwn(body, name) || (mode === 'update' && field.createOnly)) continue;
    const value = body[name];
    if (value === null || value === undefined) {
      if (field.required) issues.add(name, isRequired);
      else if (field.blank !== undefined) sent[name] = field.blank;
      continue;
    }
    const reading = field.read(value);
    if (reading.ok) sent[name] = reading.value;
    else issues.add(name, reading.wrong);
  }
  if (!isSentOf(fields, sent)) throw new TypeError('a value of the request belongs to no field');
  return { sent: Object.freeze(sent), issues: issues.toIssues() };
}

export function maySend(field: Field): boolean {
  return field.use === 'plain' || field.use === 'inputOnly';
}

export function isKept(field: Field): boolean {
  return field.use === 'plain' || field.use === 'readOnly' || field.use === 'hidden';
}

export function isAnswered(field: Field): boolean {
  return field.use !== 'inputOnly' && field.use !== 'hidden';
}

/** A kept record without what is never answered. */
export function answered(fields: Fields, record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const shown: Record<string, unknown> = { id: record['id'] };
  for (const [name, field] of Object.entries(fields))
    if (isAnswered(field) && name in record) shown[name] = record[name];
  return shown;
}

/** Every value in it was read by the field of its name, or comes from a record of these fields. */
export function isSentOf<F extends Fields>(
  fields: F,
  candidate: Readonly<Record<string, unknown>>,
): candidate is SentOf<F> {
  return Object.keys(candidate).every((name) => {
    const field = fields[name];
    return field !== undefined && maySend(field);
  });
}

/** It has an id and a value for every kept field. The values were read by the fields, now or before they were stored. */
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
