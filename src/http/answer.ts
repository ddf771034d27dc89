import { Fault } from '../engine/errors.ts';
import { sortedJson } from '../lib/json.ts';
import type { Operation } from './routes.ts';

/** A complete answer, ready for the socket. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly body?: string;
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
  /** Whether records here are named by paths, as datasets are: their absence is explained. */
  readonly byPath: boolean;
}

/** The answer to a fault that was foreseen; undefined for what nobody foresaw. */
export function faultAnswer(error: unknown, place: Place): Answer | undefined {
  if (!(error instanceof Fault)) return undefined;
  switch (error.kind) {
    case 'invalid':
      return json(place.invalid, error.issues);
    case 'refused':
      return json(400, error.message);
    case 'failed':
      return json(400, { error_message: error.message });
    case 'missing': {
      const onRecord = place.operation !== undefined && 'verb' in place.operation;
      if (place.method === 'PUT' && onRecord && !place.byPath) return json(404, 'Object not found');
      if (onRecord ? place.method === 'DELETE' || place.byPath : place.byPath) return json(404, { error_message: error.message });
      return nothing(404);
    }
  }
}
