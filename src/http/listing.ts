import {
  comparing,
  cursorAt,
  type List,
  matches,
  type Position,
  pageOrder,
  positionOf,
  type Selection,
} from '../engine/declare/listing.ts';
import { sortedJson } from '../lib/json.ts';
import { pauses } from '../lib/slices.ts';
import { type Answer, jsonText, jsonType } from './answer.ts';

export const linesType = 'application/x-ndjson';

/** Whether the client accepts one JSON text for each line. Programs of the document never name this type. */
export function acceptsLines(accept = ''): boolean {
  // Almost no request names it, and the expression takes a twentieth of the time of a GET.
  return (
    accept.toLowerCase().includes('ndjson') &&
    /(^|,)\s*application\/x-ndjson\s*(;(?!\s*q=0(\.0*)?\s*(,|$))|,|$)/i.test(accept)
  );
}

export interface Listing<T> {
  readonly items: Iterable<T> | AsyncIterable<T>;
  present(item: T): Row;
  readonly list: List;
  readonly selection: Selection;
  /** Records of the selection to skip. */
  readonly offset?: number;
  /** Path and query of the request. */
  readonly address: string;
  /** Whether the answer is NDJSON. */
  readonly asLines: boolean;
  /** Removes what the principal may not read from a record's text. */
  readonly opened?: (text: string) => string;
}

type Row = Readonly<Record<string, unknown>>;

/** Records of one answer that is held in memory; longer answers are written while they are computed. */
const mostAtOnce = 1000;

/** Records of one piece of a longer answer. */
const perPiece = 200;

/** The part of a list that a request chooses. A page that is not the last one has a link to the next. */
export async function listed<T>(listing: Listing<T>): Promise<Answer> {
  const { list, selection, asLines, opened, address } = listing;
  const { fields } = selection;
  const { limit = asLines ? undefined : list.limit } = selection;
  const chosen = fields.length === 0 ? undefined : fields;
  const order = pageOrder(list, selection.order);
  const isPaged = limit !== undefined || selection.after !== undefined;
  const rows = selected(listing, order, isPaged);
  const text = (row: Row) => {
    const shown = sortedJson(chosen === undefined ? row : Object.fromEntries(chosen.map((name) => [name, row[name]])));
    return opened === undefined ? shown : opened(shown);
  };
  const texts: string[] = [];
  let last: Row | undefined;
  let isWhole = true;
  for (let { done, value } = await rows.next(); done !== true; { done, value } = await rows.next()) {
    if (value === undefined) continue;
    if (texts.length === (limit ?? mostAtOnce)) {
      isWhole = false;
      if (limit === undefined)
        return {
          status: 200,
          type: asLines ? linesType : jsonType,
          pieces: piecesOf([...texts, text(value)], rows, text, asLines),
        };
      break;
    }
    texts.push(text(value));
    last = value;
  }
  await rows.return(undefined);
  const headers: Readonly<Record<string, string>> =
    !isWhole && last !== undefined && list.key.length > 0
      ? { link: `<${next(address, cursorAt(order, positionOf(order, list, last)))}>; rel="next"` }
      : {};
  const answer = asLines
    ? { status: 200, type: linesType, body: texts.map((one) => `${one}\n`).join(''), headers }
    : jsonText(200, `[${texts.join(',')}]`, headers);
  return opened === undefined ? answer : { ...answer, isOpen: true };
}

async function* piecesOf(
  first: readonly string[],
  rows: AsyncIterable<Row>,
  text: (row: Row) => string,
  asLines: boolean,
): AsyncGenerator<string> {
  const separator = asLines ? '\n' : ',';
  yield `${asLines ? '' : '['}${first.join(separator)}`;
  let texts: string[] = [];
  for await (const row of rows) {
    texts.push(text(row));
    if (texts.length < perPiece) continue;
    yield `${separator}${texts.join(separator)}`;
    texts = [];
  }
  yield `${texts.map((one) => `${separator}${one}`).join('')}${asLines ? '\n' : ']'}`;
}

/** The records that fulfil the conditions, in the order of the pages, from where the page begins. */
async function* selected<T>(
  { items, present, list, selection, offset = 0 }: Listing<T>,
  order: readonly string[],
  isPaged: boolean,
): AsyncGenerator<Row> {
  const { filter, after } = selection;
  const compare = comparing(order);
  const pause = pauses();
  const isWanted = (row: Row) =>
    filter.every((condition) => matches(row, condition)) &&
    (after === undefined || compare(positionOf(order, list, row), after) > 0);
  const isSorted = selection.order.length > 0 || (isPaged && !list.isOrdered && order.length > 0);
  let skip = offset;
  if (!isSorted) {
    for await (const item of items) {
      const row = present(item);
      if (isWanted(row) && --skip < 0) yield row;
      await pause();
    }
    return;
  }
  const runs: Entry<T>[][] = [];
  let run: Entry<T>[] = [];
  const endRun = () => {
    runs.push(run.sort((a, b) => compare(a.at, b.at)));
    run = [];
  };
  for await (const item of items) {
    const row = present(item);
    if (isWanted(row)) run.push({ at: positionOf(order, list, row), item });
    if (run.length === perRun) endRun();
    await pause();
  }
  endRun();
  for (const { item } of merged(runs, (a, b) => compare(a.at, b.at))) {
    if (--skip < 0) yield present(item);
    await pause();
  }
}

/** What is kept of a record while a list is sorted: not the record itself, because a list can be long. */
interface Entry<T> {
  readonly at: Position;
  readonly item: T;
}

/** Short enough that sorting one run delays no other request. */
const perRun = 4096;

/** Merges sorted runs. */
function* merged<T>(runs: readonly (readonly T[])[], compare: (a: T, b: T) => number): Generator<T> {
  const heads = runs.map((run) => ({ run, index: 0 }));
  for (;;) {
    let least: { run: readonly T[]; index: number } | undefined;
    for (const head of heads) {
      const [one, best] = [head.run[head.index], least?.run[least.index]];
      if (one !== undefined && (best === undefined || compare(one, best) < 0)) least = head;
    }
    const found = least?.run[least.index];
    if (least === undefined || found === undefined) return;
    least.index += 1;
    yield found;
  }
}

function next(address: string, cursor: string): string {
  const [path = '', query = ''] = address.split('?', 2);
  const words = new URLSearchParams(query);
  words.delete('offset');
  words.set('cursor', cursor);
  return `${path}?${words}`;
}
