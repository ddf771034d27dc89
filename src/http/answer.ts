import { Fault } from '../engine/declare/errors.ts';
import type { Quirks } from '../engine/declare/resource.ts';
import { sortedJson } from '../lib/json.ts';
import type { Operation } from './routes.ts';

/** A complete answer, ready for the socket. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly body?: string;
  /** The body where it is too much to be made at once: the rest of the daemon goes on between its pieces. */
  readonly pieces?: Iterable<string>;
}

export const jsonType = 'application/json';
/** What the server that clients know sends with bare sentences (gaps 1.3). */
const textType = 'text/html; charset=utf-8';

/** `text` is JSON already. */
export function jsonText(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, type: jsonType, body: text, headers };
}

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return jsonText(status, sortedJson(value), headers);
}

/** How many records of a list are put into words at once. */
const mostAtOnce = 500;

/** A list of records; one that is long is made while it is sent. */
export function jsonList<T>(
  items: readonly T[],
  present: (item: T) => unknown,
  headers: Readonly<Record<string, string>>,
): Answer {
  if (items.length <= 2 * mostAtOnce) return json(200, items.map(present), headers);
  return { status: 200, type: jsonType, headers, pieces: piecesOf(items, present) };
}

function* piecesOf<T>(items: readonly T[], present: (item: T) => unknown): Generator<string> {
  for (let from = 0; from < items.length; from += mostAtOnce) {
    const texts = items.slice(from, from + mostAtOnce).map((item) => sortedJson(present(item)));
    yield `${from === 0 ? '[' : ','}${texts.join(',')}`;
  }
  yield ']';
}

export function sentence(status: number, text: string): Answer {
  return { status, type: textType, body: text };
}

export function nothing(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers };
}

/** Where a fault happened decides how it is said (gaps 1.9). */
export interface Place {
  readonly method: string;
  readonly operation: Operation | undefined;
  /** Status of a validation failure here. */
  readonly invalid: 400 | 409;
  /** Whether records here are named by people, as datasets are: their absence is explained. */
  readonly byPath: boolean;
  readonly fault: Quirks['fault'];
  readonly issueNames: Quirks['issueNames'];
}

/** The answer to a fault that was foreseen; undefined for what nobody foresaw. */
export function faultAnswer(error: unknown, place: Place): Answer | undefined {
  if (!(error instanceof Fault)) return undefined;
  switch (error.kind) {
    case 'invalid':
      return json(
        place.invalid,
        Object.fromEntries(
          Object.entries(error.issues).map(([name, sentences]) => [place.issueNames?.[name] ?? name, sentences]),
        ),
      );
    case 'refused':
      return json(400, place.fault === undefined ? error.message : { [place.fault]: error.message });
    case 'failed':
      return json(400, { [place.fault ?? 'error_message']: error.message });
    case 'unavailable':
      return json(503, { [place.fault ?? 'error_message']: error.message }, { 'retry-after': '60' });
    case 'missing': {
      if (place.fault !== undefined && place.method === 'DELETE') return json(400, { [place.fault]: error.message });
      const onRecord = place.operation !== undefined && 'verb' in place.operation;
      if (place.method === 'PUT' && onRecord && !place.byPath) return json(404, 'Object not found');
      if (onRecord ? place.method === 'DELETE' || place.byPath : place.byPath)
        return json(404, { error_message: error.message });
      return nothing(404);
    }
  }
}
