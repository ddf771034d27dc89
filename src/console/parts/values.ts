/** What a form knows of the values of a field: how they are asked for, and how text becomes a value. */
import type { FormField } from '../base/catalogue.ts';
import { isRow, listIn, numberIn, type Row, rowIn, textIn } from '../base/json.ts';

export type Asking =
  | { readonly as: 'check' }
  | { readonly as: 'choice'; readonly values: readonly unknown[] }
  | { readonly as: 'several'; readonly values: readonly unknown[] }
  | { readonly as: 'record' }
  | { readonly as: 'records' }
  | { readonly as: 'lines' }
  | { readonly as: 'json' }
  | { readonly as: 'secret' }
  | { readonly as: 'text'; readonly isLong: boolean; readonly suggests: string | undefined };

/** The schema without null, and whether null is a value. */
export function plainSchema(schema: Row): { readonly schema: Row; readonly isNullable: boolean } {
  const branches = listIn(schema['anyOf']).filter(isRow);
  if (branches.length === 0) {
    const types = listIn(schema['type']);
    return { schema, isNullable: types.includes('null') };
  }
  const rest = branches.filter((one) => one['type'] !== 'null');
  return { schema: rest[0] ?? {}, isNullable: rest.length < branches.length };
}

/** The resource whose records a widget suggests. */
const suggested: Readonly<Record<string, string>> = {
  account: 'account/users',
  group: 'account/groups',
  dataset: 'storage/dataset',
  path: 'storage/dataset',
};

export function askingOf({ schema: whole, secret, widget, refers_to: refers, by_id: byId }: FormField): Asking {
  const { schema } = plainSchema(rowIn(whole));
  const items = rowIn(schema['items']);
  if (secret || widget === 'secret') return { as: 'secret' };
  if (schema['type'] === 'array') {
    if (Array.isArray(items['enum'])) return { as: 'several', values: items['enum'] };
    if (items['type'] === 'object' || items['type'] === 'array' || items['anyOf'] !== undefined) return { as: 'json' };
    return refers != null && byId ? { as: 'records' } : { as: 'lines' };
  }
  if (Array.isArray(schema['enum'])) return { as: 'choice', values: schema['enum'] };
  if (schema['type'] === 'boolean') return { as: 'check' };
  if (refers != null && byId) return { as: 'record' };
  if (schema['type'] === 'object' || (schema['type'] === undefined && widget == null)) return { as: 'json' };
  return { as: 'text', isLong: widget === 'text area', suggests: refers ?? suggested[widget ?? ''] };
}

/** A text of the form as the value that is sent. What is no value of the field is sent as it is: the appliance explains. */
export function valueIn(field: FormField, text: string): unknown {
  const { schema, isNullable } = plainSchema(rowIn(field.schema));
  const trimmed = text.trim();
  if (trimmed === '' && isNullable) return null;
  const isNumber = schema['type'] === 'integer' || schema['type'] === 'number';
  return isNumber && numberIn(trimmed) !== undefined ? numberIn(trimmed) : text;
}

const units = ['', 'K', 'M', 'G', 'T', 'P'];

/** The value as text: bytes with a unit where that loses nothing. */
export function textOf(field: FormField, value: unknown): string {
  const asNumber = numberIn(value);
  if (field.widget !== 'size' || asNumber === undefined || asNumber <= 0) return textIn(value);
  let left = asNumber;
  let unit = 0;
  while (left % 1024 === 0 && unit < units.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return `${left}${units[unit]}`;
}

/** Values by the fields of a form before anything is changed. */
export function initialValues(fields: readonly FormField[], record: Row | undefined): Row {
  return Object.fromEntries(fields.map(({ wire, initial }) => [wire, record === undefined ? initial : record[wire]]));
}

export interface Group {
  readonly title: string;
  readonly fields: readonly FormField[];
}

/** The fields by their headings, in their order. */
export function groupsOf(fields: readonly FormField[]): readonly Group[] {
  return [...Map.groupBy(fields, ({ group }) => group)].map(([title, some]) => ({ title, fields: some }));
}

const parts = ['minute', 'hour', 'daymonth', 'month', 'dayweek'] as const;

/** The five fields of a schedule among those of a group. */
export function scheduleIn(fields: readonly FormField[]): Readonly<Record<(typeof parts)[number], string>> | undefined {
  const found = parts.map(
    (part) => fields.find(({ wire, widget }) => widget === 'schedule' && wire.endsWith(`_${part}`))?.wire,
  );
  const [minute, hour, daymonth, month, dayweek] = found;
  if (!minute || !hour || !daymonth || !month || !dayweek) return undefined;
  return { minute, hour, daymonth, month, dayweek };
}
