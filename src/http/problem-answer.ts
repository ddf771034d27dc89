import { type ErrorCode, errorCodes, type Help } from '../engine/declare/error-codes.ts';
import { isObject } from '../lib/json.ts';
import { type Answer, json } from './answer.ts';
import type { Exchange } from './exchange.ts';

export const problemType = 'application/problem+json';

/** An answer with an error that is a sentence. */
export function refusal(
  code: ErrorCode,
  status: number,
  message: string,
  { headers = {}, member = 'error', help }: { headers?: Answer['headers'] & object; member?: string; help?: Help } = {},
): Answer {
  return {
    ...json(status, { [member]: message }, headers),
    problem: { code, detail: message, ...(help && { help }) },
  };
}

/** Whether errors are answered as problems: always in our own interface, otherwise if the client names the type. */
export function acceptsProblem({ url, headers }: Pick<Exchange, 'url' | 'headers' | 'id'>, ownRoot: string): boolean {
  return url.startsWith(`${ownRoot}/`) || /(^|,)\s*application\/problem\+json\s*(;|,|$)/i.test(headers.accept ?? '');
}

/** The same answer as a problem. */
export function asProblem(answer: Answer, request: Pick<Exchange, 'url' | 'headers' | 'id'>): Answer {
  const { status, headers = {}, body } = answer;
  const problem = answer.problem ?? { code: codeOf(status) };
  const { more, detail = errorCodes[problem.code], ...members } = problem;
  const { 'retry-after': wait, allow } = headers;
  const { body: shown, ...rest } = json(
    status,
    {
      ...more,
      ...members,
      type: `urn:holdfast:problem:${problem.code}`,
      title: errorCodes[problem.code],
      status,
      detail,
      request: request.id,
      ...(wait !== undefined && { retry_after: Number(wait) }),
      ...(allow !== undefined && { methods: allow.split(',') }),
      ...(problem.code === 'changed' && recordIn(body)),
    },
    headers,
  );
  return { ...rest, type: problemType, body: shown ?? '' };
}

/** The answer to a change that was overtaken is the record as it is. */
function recordIn(body = 'null'): { readonly record: unknown } | undefined {
  const value: unknown = JSON.parse(body);
  return isObject(value) && 'error' in value ? undefined : { record: value };
}

/** The code of an answer that says no more than its status. */
function codeOf(status: number): ErrorCode {
  switch (status) {
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return 'not_found';
    case 405:
      return 'wrong_method';
    case 412:
      return 'changed';
    case 413:
      return 'too_large';
    case 503:
      return 'unavailable';
    default:
      return status < 500 ? 'refused' : 'unexpected';
  }
}
