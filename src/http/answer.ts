import { Fault } from '../engine/declare/errors.ts';
import type { Quirks } from '../engine/declare/resource.ts';
import { sortedJson } from '../lib/json.ts';
import type { Rows } from '../lib/rows.ts';
import { type Problem, problemOfFault } from './problem.ts';
import type { Operation } from './routes.ts';

/** A complete response. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly body?: string;
  /** Replaces `body` for long answers: the body is generated in pieces, and other requests are served between them. */
  readonly pieces?: Iterable<string> | AsyncIterable<string>;
  /** What an error says to programs that read `application/problem+json`. */
  readonly problem?: Problem;
  /** Whether secrets and raw lines were left out when the body was made. */
  readonly isOpen?: boolean;
}

export const jsonType = 'application/json';
/** The content type that existing clients expect of plain sentences (gaps 1.3). */
const textType = 'text/html; charset=utf-8';

/** `text` is already serialized JSON. */
export function jsonText(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, type: jsonType, body: text, headers };
}

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return jsonText(status, sortedJson(value), headers);
}

/** How many records of a list are serialized at once. */
const mostAtOnce = 500;

/** The answer to a list request. Long lists are serialized while they are sent. */
export function jsonList<T>(
  items: Rows<T>,
  present: (item: T) => unknown,
  headers: Readonly<Record<string, string>>,
): Answer {
  if (items.length <= 2 * mostAtOnce) return json(200, Array.from(items, present), headers);
  return { status: 200, type: jsonType, headers, pieces: piecesOf(items, present) };
}

function* piecesOf<T>(items: Rows<T>, present: (item: T) => unknown): Generator<string> {
  for (let from = 0; from < items.length; from += mostAtOnce) {
    const texts = Array.from(items.slice(from, from + mostAtOnce), (item) => sortedJson(present(item)));
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

/** The properties of an operation that decide the form of its error answers (gaps 1.9). */
export interface FaultContext {
  readonly method: string;
  readonly operation: Operation | undefined;
  /** Status of a validation failure. */
  readonly invalid: 400 | 409;
  /** Whether records are addressed by names, like datasets; a missing record is then explained in the answer. */
  readonly byPath: boolean;
  readonly fault: Quirks['fault'];
  readonly issueNames: Quirks['issueNames'];
}

/** The answer to a Fault; undefined for any other error. */
export function faultAnswer(error: unknown, context: FaultContext): Answer | undefined {
  if (!(error instanceof Fault)) return undefined;
  return { ...documentedAnswer(error, context), problem: problemOfFault(error) };
}

function documentedAnswer(error: Fault, context: FaultContext): Answer {
  switch (error.kind) {
    case 'invalid':
      return json(
        context.invalid,
        Object.fromEntries(
          Object.entries(error.issues).map(([name, sentences]) => [context.issueNames?.[name] ?? name, sentences]),
        ),
      );
    case 'refused':
      return json(400, context.fault === undefined ? error.message : { [context.fault]: error.message });
    case 'conflict':
      return json(409, { ...error.details, [context.fault ?? 'error_message']: error.message });
    case 'failed':
      return json(400, { [context.fault ?? 'error_message']: error.message });
    case 'unavailable':
      return json(503, { [context.fault ?? 'error_message']: error.message }, { 'retry-after': '60' });
    case 'missing': {
      const onRecord = context.operation !== undefined && 'verb' in context.operation;
      if (context.fault !== undefined && context.method === 'DELETE' && onRecord)
        return json(400, { [context.fault]: error.message });
      if (context.method === 'PUT' && onRecord && !context.byPath) return json(404, 'Object not found');
      if (onRecord ? context.method === 'DELETE' || context.byPath : context.byPath)
        return json(404, { error_message: error.message });
      return nothing(404);
    }
  }
}
