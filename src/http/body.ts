import { type Answer, json } from './answer.ts';

/** Deeper than any schema of the API; without a bound, traversing a hostile body would exhaust the stack. */
const deepest = 32;

export type Body = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly answer: Answer };

/** Parses a JSON body. A body without a content type counts as JSON (clients-need H11). */
export function readBody(raw: Buffer | undefined, type: string | undefined): Body {
  const problem = typeProblem(raw, type);
  if (problem !== undefined) return { ok: false, answer: problem };
  try {
    const value: unknown = JSON.parse(decoder.decode(raw));
    if (depthOf(value) > deepest)
      return { ok: false, answer: json(400, { error: `The body is nested more than ${deepest} levels deep.` }) };
    return { ok: true, value };
  } catch {
    return { ok: false, answer: json(400, { error: 'The body is not valid JSON.' }) };
  }
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
  return json(400, { error_message: `Expected a body of type application/json, got ${type.slice(0, 80)}.` });
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Counts levels without recursion, because the body may be deeper than the stack. Stops counting above the bound. */
function depthOf(value: unknown): number {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= deepest; depth += 1) {
    level = level.flatMap((member) => (typeof member === 'object' && member !== null ? Object.values(member) : []));
    if (level.length === 0) return depth;
  }
  return deepest + 1;
}
