import { compareValues } from '../engine/configuration/tables.ts';
import { IssueList } from '../engine/declare/errors.ts';
import type { Field, Fields } from '../engine/declare/fields.ts';
import { type List, listWith, listWords, readSelection, type Selection } from '../engine/declare/listing.ts';
import { isAnswered } from '../engine/declare/record.ts';
import type { Resource } from '../engine/declare/resource.ts';
import { integerOf } from '../engine/declare/schema.ts';
import { memo } from '../lib/memo.ts';
import type { Rows } from '../lib/rows.ts';
import { quote } from '../lib/text.ts';
import { queryOf } from './query.ts';

/** The paging, sorting and filters of a list request (gaps 1.10). */
export interface Page {
  readonly offset: number;
  /** Undefined for all records. */
  readonly limit: number | undefined;
  /** Fields to sort by, one stable sort after the other, so that the last one dominates. */
  readonly sort: readonly { readonly name: string; readonly descending: boolean }[];
  readonly filters: readonly { readonly name: string; readonly value: string }[];
  /** The limit that was sent; zero for all. */
  readonly sentLimit: number | undefined;
  /** Whether the query has words of our own, such as `filter`. */
  readonly isChosen: boolean;
}

const mostPerPage = 1000;

/** An invalid query; the message is the answer's `error`. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
}

/**
 * Reads the query. Unknown keys and empty values are ignored. `limit=0` means all records, any other limit is cut to
 * 1000, and a `Range: items=10-29` header applies when the query has neither offset nor limit. An order by a field that
 * the principal may not read would show its values.
 */
export function readPage(
  query: string,
  range: string | undefined,
  fields: Fields,
  filterable: readonly string[],
  readsSecrets = true,
): Page {
  let offset: number | undefined;
  let limit: number | undefined;
  const sort: { name: string; descending: boolean }[] = [];
  const filters: { name: string; value: string }[] = [];
  let isChosen = false;
  for (const [key, value] of new URLSearchParams(query)) {
    const sorting = /^sort\((.*)\)$/.exec(key);
    if (sorting !== null) {
      for (const key of (sorting[1] ?? '')
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')) {
        const name = key.replace(/^[-+]/, '');
        if (name !== 'id' && !(isOwn(fields, name) && (readsSecrets || isOpen(fields[name]))))
          throw new QueryError(`Cannot sort by ${quote(name)}: these records have no such field.`);
        sort.push({ name, descending: key.startsWith('-') });
      }
    } else if (value === '') {
      // An empty value counts as not sent.
    } else if (key === 'offset') offset = wholeNumber('offset', value);
    else if (key === 'limit') limit = wholeNumber('limit', value);
    else if (ownWords.has(key)) isChosen = true;
    else if (filterable.includes(key)) filters.push({ name: key.replace(/__id$/, ''), value });
    else if (key === 'id' || isOwn(fields, key.replace(/__.*$/s, '')))
      throw new QueryError(`Cannot filter this list by ${key}.`);
  }
  const bounds = offset === undefined && limit === undefined ? /^items=(\d{1,15})-(\d{0,15})$/.exec(range ?? '') : null;
  if (bounds !== null) {
    offset = Number(bounds[1]);
    limit = bounds[2] === '' ? 0 : Math.max(1, Number(bounds[2]) - offset + 1);
  }
  return {
    offset: offset ?? 0,
    limit: limit === 0 ? undefined : Math.min(limit ?? 20, mostPerPage),
    sort,
    filters,
    sentLimit: limit,
    isChosen,
  };
}

const ownWords: ReadonlySet<string> = new Set(listWords.filter((word) => word !== 'limit'));

/** How requests choose from a list of records. Values of secrets must not be in addresses, so they choose nothing. */
const lists = memo((resource: Resource) => ({ whole: listOf(resource, false), open: listOf(resource, true) }));

export function readableList(resource: Resource, isOpenOnly: boolean): List {
  const { whole, open } = lists(resource);
  return isOpenOnly ? open : whole;
}

function listOf({ kind, fields, ...resource }: Resource, isOpenOnly: boolean): List {
  const readable = Object.entries(fields).filter(
    ([, field]) => isAnswered(field) && !field.secret && (!isOpenOnly || isOpen(field)),
  );
  const { key, order } =
    'key' in resource ? { key: resource.key.name, order: [] } : { key: 'id', order: orderOf(resource) };
  const properties = Object.fromEntries(readable.map(([name, field]) => [name, field.schema]));
  const whole = kind === 'hosted' ? properties : { id: integerOf('Id of the record.'), ...properties };
  return listWith(whole, {
    key: Object.hasOwn(whole, key) ? [key] : [],
    order: order.filter((name) => Object.hasOwn(whole, name.replace(/^-/, ''))),
  });
}

function orderOf(resource: object): readonly string[] {
  const order: unknown = 'order' in resource ? resource.order : [];
  return Array.isArray(order) ? order.filter((name) => typeof name === 'string') : [];
}

/** Reads the words of our own, together with the paging of the document. */
export function readChoice(list: List, query: string, page: Page, asLines: boolean): Selection {
  const { limit: _, ...words } = Object.fromEntries(
    Object.entries(queryOf(query)).filter(([name]) => ownWords.has(name)),
  );
  const issues = new IssueList();
  const selection = readSelection(list, words, issues);
  const [[name, [wrong = ''] = []] = []] = Object.entries(issues.toIssues());
  if (name !== undefined) throw new QueryError(`${name}: ${wrong}`);
  if (selection.after !== undefined && page.offset > 0)
    throw new QueryError('Expected cursor or offset, got both. The cursor says where the page begins.');
  if (selection.order.length > 0 && page.sort.length > 0)
    throw new QueryError('Expected order or sort(...), got both.');
  return {
    ...selection,
    filter: [...selection.filter, ...page.filters.map(({ name, value }) => ({ name, operator: '=' as const, value }))],
    // The last field of the document's order dominates.
    order: [...selection.order, ...page.sort.toReversed().map((one) => `${one.descending ? '-' : ''}${one.name}`)],
    limit: page.sentLimit === undefined && asLines ? undefined : page.limit,
  };
}

/** Whether principals without the right to secrets may read the field. */
export function isOpen(field: Field | undefined): boolean {
  return field !== undefined && !field.secret && field.raw !== true;
}

function isOwn(fields: Fields, name: string): boolean {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return field !== undefined && isAnswered(field);
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,30}$/.test(text)) throw new QueryError(`${name} must be a whole number of zero or more.`);
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

export interface Slice<L> {
  readonly items: L;
  /** The `Content-Range` header's value; an empty list at the beginning gives `items 0--1/0`. */
  readonly range: string;
}

export function slice<T>(items: readonly T[], page: Page): Slice<readonly T[]>;
export function slice<T>(items: Rows<T>, page: Page): Slice<Rows<T>>;
export function slice<T>(items: Rows<T>, { offset, limit }: Page): Slice<Rows<T>> {
  const page = items.slice(offset, limit === undefined ? undefined : offset + limit);
  return { items: page, range: `items ${offset}-${offset + page.length - 1}/${items.length}` };
}

export function sorted<T extends object>(
  items: readonly T[],
  sort: Page['sort'],
  fieldValue: (item: T, name: string) => unknown,
): readonly T[] {
  return sort.reduce<readonly T[]>(
    (list, { name, descending }) =>
      list.toSorted((a, b) => (descending ? -1 : 1) * compareValues(fieldValue(a, name), fieldValue(b, name))),
    items,
  );
}
