/**
 * The words with which a request chooses from a list: `filter`, `fields`, `order`, `limit` and `cursor`. They follow from
 * the fields of its records, for lists of the document's API and of our own alike. `http/listing.ts` applies them.
 */
import { isObject, type JsonObject } from '../../lib/json.ts';
import { memo } from '../../lib/memo.ts';
import { parseSize } from '../../lib/size.ts';
import { quote, sentenceList } from '../../lib/text.ts';
import { compareValues } from '../configuration/tables.ts';
import type { IssueList } from './errors.ts';
import { type Field, field, good, optional, type Reading, wrong } from './fields.ts';

/** What a filter and an order know of one field. */
interface Column {
  readonly kind: 'number' | 'flag' | 'choice' | 'text' | 'parts';
  readonly isList: boolean;
  /** The values of a choice, in the order that they are declared in. */
  readonly choices: readonly string[];
}

export interface List {
  readonly columns: ReadonlyMap<string, Column>;
  /** The fields that together identify a record. Without them the list has no cursor. */
  readonly key: readonly string[];
  /** The order of pages if the request has none; a leading `-` reverses it. */
  readonly order: readonly string[];
  /** Whether the list comes in that order already. */
  readonly isOrdered: boolean;
  /** How many records an answer has if the request does not say it. Undefined for all. */
  readonly limit: number | undefined;
}

export type ListSpec = Partial<Omit<List, 'columns'>>;

/** `properties` are the JSON Schemas of the fields. */
export function listWith(properties: Readonly<Record<string, JsonObject>>, spec: ListSpec = {}): List {
  const columns = new Map(Object.entries(properties).map(([name, schema]) => [name, columnOf(schema)]));
  for (const name of [...(spec.key ?? []), ...(spec.order ?? []).map(nameIn)])
    if (!columns.has(name)) throw new TypeError(`A list has no field ${name}.`);
  return Object.freeze({ key: [], order: [], isOrdered: false, limit: undefined, ...spec, columns });
}

/** The same list without some fields, for principals that may not read them. */
export function listWithout(list: List, isHidden: (name: string) => boolean): List {
  return { ...list, columns: new Map([...list.columns].filter(([name]) => !isHidden(name))) };
}

/** Whether an answer is a list of objects, and what their members are. */
export function membersOf({ type, items }: JsonObject): Readonly<Record<string, JsonObject>> | undefined {
  if (type !== 'array' || !isSchema(items) || !isSchema(items['properties'])) return undefined;
  return Object.fromEntries(
    Object.entries(items['properties']).flatMap(([name, schema]) =>
      isSchema(schema) ? [[name, schema] as const] : [],
    ),
  );
}

function columnOf(schema: JsonObject): Column {
  const { type, enum: members, anyOf, items } = schema;
  if (Array.isArray(anyOf)) {
    const branches = anyOf.filter(isSchema).filter((branch) => branch['type'] !== 'null');
    const [first = {}] = branches;
    return branches.length > 1 && branches.some((branch) => columnOf(branch).kind === 'text')
      ? textColumn
      : columnOf(first);
  }
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (types.includes('array')) return { ...(isSchema(items) ? columnOf(items) : textColumn), isList: true };
  if (Array.isArray(members) && members.every((member) => typeof member === 'string'))
    return { kind: 'choice', isList: false, choices: members.map(String) };
  if (types.includes('string')) return textColumn;
  if (types.includes('integer') || types.includes('number')) return { kind: 'number', isList: false, choices: [] };
  if (types.includes('boolean')) return { kind: 'flag', isList: false, choices: [] };
  return { kind: 'parts', isList: false, choices: [] };
}

const textColumn: Column = Object.freeze({ kind: 'text', isList: false, choices: [] });

function isSchema(value: unknown): value is JsonObject {
  return isObject(value);
}

// Conditions ---------------------------------------------------------------------------------------------------------

type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=' | '~' | '^';
type Scalar = string | number | boolean | null;

export interface Condition {
  readonly name: string;
  readonly operator: Operator;
  readonly value: Scalar;
}

const operators: Readonly<Record<Column['kind'], readonly Operator[]>> = {
  number: ['=', '!=', '<', '<=', '>', '>='],
  text: ['=', '!=', '<', '<=', '>', '>=', '~', '^'],
  choice: ['=', '!='],
  flag: ['=', '!='],
  parts: [],
};

function readCondition(columns: List['columns'], sent: unknown): Reading<Condition> {
  const match = typeof sent === 'string' ? /^([\w-]+)\s*(!=|<=|>=|=|<|>|~|\^)(.*)$/s.exec(sent) : null;
  if (match === null) {
    const [name = 'name'] = columns.keys();
    return wrong(
      `Expected a field, one of the operators = != < <= > >= ~ ^, and a value, such as ${name}=1, got ${quote(sent)}.`,
    );
  }
  const [, name = '', sign = '', text = ''] = match;
  const column = columns.get(name);
  if (column === undefined) return wrong(unknownField(columns, name));
  const operator = operators.text.find((one) => one === sign);
  if (operator === undefined || (text === 'null' ? !isEquality(operator) : !operators[column.kind].includes(operator)))
    return wrong(
      column.kind === 'parts'
        ? `Expected ${name}=null or ${name}!=null, got ${quote(sent)}: ${name} has parts, and a filter cannot look into them.`
        : `Expected one of the operators ${operators[column.kind].join(' ')} for ${name}${text === 'null' ? ' with = or != for null' : ''}, got ${quote(sign)}.`,
    );
  if (text === 'null') return good({ name, operator, value: null });
  const value = readValue(column, text);
  return value === undefined
    ? wrong(`Expected ${expectedOf(column)} or null for ${name}, got ${quote(text)}.`)
    : good({ name, operator, value });
}

const isEquality = (operator: Operator) => operator === '=' || operator === '!=';

function readValue({ kind, choices }: Column, text: string): Scalar | undefined {
  if (kind === 'number') return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : parseSize(text);
  if (kind === 'flag') return text === 'true' ? true : text === 'false' ? false : undefined;
  return kind === 'choice' && !choices.includes(text) ? undefined : text;
}

function expectedOf({ kind, choices }: Column): string {
  if (kind === 'number') return 'a number or a size such as 10G';
  return kind === 'flag' ? 'true or false' : `one of ${sentenceList(choices.map((one) => quote(one)))}`;
}

function unknownField(columns: List['columns'], name: string): string {
  return `These records have no field ${quote(name)} that can be chosen by. They have ${sentenceList([...columns.keys()])}.`;
}

export function matches(row: Readonly<Record<string, unknown>>, { name, operator, value }: Condition): boolean {
  const present = row[name] ?? null;
  if (value === null) return (present === null) === (operator === '=');
  const entries: readonly unknown[] = Array.isArray(present) ? present : [present];
  if (operator === '!=') return !entries.some((entry) => fulfils(entry, '=', value));
  return entries.some((entry) => fulfils(entry, operator, value));
}

function fulfils(entry: unknown, operator: Operator, value: Scalar): boolean {
  if (entry === null || entry === undefined) return false;
  const one = typeof value === 'string' ? String(entry) : entry;
  if (typeof one !== typeof value) return false;
  if (operator === '~') return String(one).toLowerCase().includes(String(value).toLowerCase());
  if (operator === '^') return String(one).startsWith(String(value));
  const difference = compareValues(one, value);
  switch (operator) {
    case '<':
      return difference < 0;
    case '<=':
      return difference <= 0;
    case '>':
      return difference > 0;
    case '>=':
      return difference >= 0;
    default:
      return difference === 0;
  }
}

// Order and cursor ---------------------------------------------------------------------------------------------------

/** The values that a record is ordered by. */
export type Position = readonly Scalar[];

const nameIn = (order: string) => order.replace(/^[-+]/, '');

/** The order of pages: as requested, then by what identifies a record. */
export function pageOrder(list: List, requested: readonly string[]): readonly string[] {
  const order = requested.length > 0 ? requested : list.order;
  const names = order.map(nameIn);
  return [...order, ...list.key.filter((name) => !names.includes(name))];
}

export function positionOf(order: readonly string[], list: List, row: Readonly<Record<string, unknown>>): Position {
  return order.map((one) => {
    const name = nameIn(one);
    const value = row[name] ?? null;
    const column = list.columns.get(name);
    if (column?.kind === 'choice') return column.choices.indexOf(String(value));
    return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : String(value);
  });
}

export function comparing(order: readonly string[]): (a: Position, b: Position) => number {
  const signs = order.map((one) => (one.startsWith('-') ? -1 : 1));
  return (a, b) => {
    for (const [index, sign] of signs.entries()) {
      const difference = compareValues(a[index], b[index]);
      if (difference !== 0) return sign * difference;
    }
    return 0;
  };
}

export function cursorAt(order: readonly string[], position: Position): string {
  return Buffer.from(JSON.stringify([order, position])).toString('base64url');
}

function readCursor(sent: unknown): Reading<{ readonly order: readonly string[]; readonly position: Position }> {
  const none = wrong('Expected a cursor from the header Link of the page before.');
  if (typeof sent !== 'string') return none;
  try {
    const value: unknown = JSON.parse(Buffer.from(sent, 'base64url').toString('utf8'));
    const [order, position]: readonly unknown[] = Array.isArray(value) ? value : [];
    if (!Array.isArray(order) || !Array.isArray(position) || order.length !== position.length) return none;
    const [names, values]: readonly (readonly unknown[])[] = [order, position];
    if (!names?.every((name) => typeof name === 'string') || !values?.every(isScalar)) return none;
    return good({ order: names, position: values });
  } catch {
    return none;
  }
}

function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

// Words --------------------------------------------------------------------------------------------------------------

/** Largest page. */
const most = 1000;

/** The words as fields of the query, so that they are read, refused and described like all others. */
export function wordsOf(list: List) {
  const { columns, key, limit } = list;
  const names = [...columns.keys()];
  const sortable = names.filter((name) => columns.get(name)?.kind !== 'parts' && columns.get(name)?.isList !== true);
  const byDefault = pageOrder(list, []);
  const [first = 'id'] = [...key, ...sortable];
  const limited = limit === undefined ? 'All records if not sent.' : `${limit} if not sent, all as NDJSON.`;
  return {
    filter: several<Condition>(
      'Only records that fulfil this condition; sent several times, all of them. A field, an operator and a value: = != < <= > >=, ~ for a text that contains the value in any letter case, ^ for one that begins with it. A list fulfils it if one of its entries does, and != if none equals the value. null is a field without a value; numbers may have a unit, such as 10G.',
      { type: 'string', examples: [`${first}!=null`] },
      (sent) => readCondition(columns, sent),
      { isSplit: false },
    ),
    fields: several<string>('Only these fields of each record, separated by commas.', { enum: names }, (sent) =>
      typeof sent === 'string' && columns.has(sent) ? good(sent) : wrong(unknownField(columns, String(sent))),
    ),
    order: several<string>(
      `Fields that the records are ordered by, separated by commas, - before a field for descending. A closed list is ordered as it is described.${byDefault.length > 0 ? ` Pages are in the order ${byDefault.join(',')} if not sent.` : ''}`,
      { enum: sortable.flatMap((name) => [name, `-${name}`]) },
      (sent) => {
        const name = nameIn(String(sent));
        if (!columns.has(name)) return wrong(unknownField(columns, name));
        return sortable.includes(name) ? good(String(sent).replace(/^\+/, '')) : wrong(`${name} has no order.`);
      },
    ),
    limit: optional(
      field<number>({
        description: `Maximum number of records. ${limited}`,
        schema: { type: 'integer', minimum: 1, maximum: most },
        read: (sent) => {
          const value = /^\d{1,15}$/.test(String(sent)) ? Number(sent) : undefined;
          return value === undefined || value < 1 || value > most
            ? wrong(`Expected a number between 1 and ${most}, got ${quote(sent)}.`)
            : good(value);
        },
      }),
    ),
    ...(key.length > 0 && {
      cursor: optional(
        field({
          description:
            'Where the page begins: the cursor of the header Link of the page before. Records that come and go in between neither repeat nor hide others.',
          schema: { type: 'string' },
          read: readCursor,
        }),
      ),
    }),
  };
}

const knownWords = memo(wordsOf);

/** A list whose entries can also be separated by commas. */
function several<T>(
  description: string,
  items: JsonObject,
  read: (sent: unknown) => Reading<T>,
  { isSplit = true } = {},
): Field<readonly T[], 'plain'> {
  return field<readonly T[]>({
    description,
    initial: [],
    schema: { type: 'array', items },
    read(sent) {
      const given: readonly unknown[] = Array.isArray(sent) ? sent : [sent];
      const entries = isSplit
        ? given.flatMap((one) => String(one).split(',')).filter((one) => one.trim() !== '')
        : given;
      if (entries.length > mostEntries) return wrong(`Expected at most ${mostEntries} entries, got ${entries.length}.`);
      const values: T[] = [];
      for (const entry of entries) {
        const reading = read(typeof entry === 'string' ? entry.trim() : entry);
        if (!reading.ok) return reading;
        values.push(reading.value);
      }
      return good(Object.freeze(values));
    },
  });
}

const mostEntries = 100;

/** What a request chooses from a list. */
export interface Selection {
  readonly filter: readonly Condition[];
  /** Empty for all fields. */
  readonly fields: readonly string[];
  readonly order: readonly string[];
  readonly limit: number | undefined;
  /** The position after which the page begins. */
  readonly after: Position | undefined;
}

export const listWords = ['filter', 'fields', 'order', 'limit', 'cursor'] as const;

/** Reads the words. What is wrong with them is added to `issues`. */
export function readSelection(list: List, sent: Readonly<Record<string, unknown>>, issues: IssueList): Selection {
  const words = knownWords(list);
  const read = <T>(name: string, of: Field<T> | undefined): T | undefined => {
    if (of === undefined || sent[name] === undefined || sent[name] === '') return undefined;
    const reading = of.read(sent[name]);
    if (reading.ok) return reading.value;
    issues.add(name, reading.wrong);
    return undefined;
  };
  const order = read('order', words.order) ?? [];
  const cursor = read('cursor', words.cursor);
  const whole = pageOrder(list, order);
  if (cursor !== undefined && cursor.order.join() !== whole.join())
    issues.add(
      'cursor',
      `Expected a cursor of a list in the order ${whole.join()}, got one of ${cursor.order.join()}.`,
    );
  return {
    filter: read('filter', words.filter) ?? [],
    fields: read('fields', words.fields) ?? [],
    order,
    limit: read('limit', words.limit),
    after: cursor?.position,
  };
}
