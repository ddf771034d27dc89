import { measureJson } from '../lib/json.ts';
import type { Answer } from './answer.ts';
import { refusal } from './problem-answer.ts';

/** Deeper than any schema of the API; without a bound, traversing a hostile body would exhaust the stack. */
const deepest = 32;

export type Body = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly answer: Answer };

/**
 * Parses a JSON body of at most `mostValues` values. Parsing and reading take a time that grows with the number of
 * values, during which no other request is served; so they are counted before. A body without a content type counts as
 * JSON (clients-need H11).
 */
export function readBody(raw: Buffer | undefined, type: string | undefined, mostValues: number): Body {
  const problem = typeProblem(raw, type);
  if (problem !== undefined) return { ok: false, answer: problem };
  const { values, depth } = measureJson(raw ?? empty, { values: mostValues, depth: deepest });
  if (depth > deepest) return unreadable(`The body is nested more than ${deepest} levels deep.`);
  if (values > mostValues) return unreadable(`The body has too many values: the limit here is ${mostValues}.`);
  try {
    const value: unknown = JSON.parse(decoder.decode(raw));
    return { ok: true, value };
  } catch {
    return unreadable('The body is not valid JSON.');
  }
}

function unreadable(error: string): Body {
  return { ok: false, answer: refusal('invalid_body', 400, error) };
}

/** The answer to a body whose content type is not JSON; undefined for JSON and for an empty body. */
export function typeProblem(raw: Buffer | undefined, type: string | undefined): Answer | undefined {
  if (
    type === undefined ||
    raw === undefined ||
    raw.length === 0 ||
    /^application\/(\w[\w.+-]*\+)?json\s*(;|$)/i.test(type)
  )
    return undefined;
  return refusal('invalid_body', 400, `Expected a body of type application/json, got ${type.slice(0, 80)}.`, {
    member: 'error_message',
  });
}

const decoder = new TextDecoder('utf-8', { fatal: true });
const empty = new Uint8Array();
