import type { Answer } from './answer.ts';
import { readBody, typeProblem } from './body.ts';
import type { Exchange } from './exchange.ts';
import { bodyLimit } from './limits.ts';
import { type Method, pathOf } from './routes.ts';

/** Carries an answer out of nested calls, such as the refusal of a body. */
export class AnswerError extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super('answered');
    this.answer = answer;
  }
}

/** The parsed JSON body of a request; `{}` when it is empty and not needed. */
export function bodyOf({ body: raw, headers, url }: Exchange, needed: boolean): unknown {
  if (!needed && (raw === undefined || raw.length === 0)) return {};
  const body = readBody(raw, headers['content-type'], bodyLimit(pathOf(url)).values);
  if (!body.ok) throw new AnswerError(body.answer);
  return body.value;
}

/**
 * Refuses a body of another type than JSON, also where the operation ignores the body: plain HTML forms can send no
 * other kind of body, so this stops forged requests of web pages. With GET and DELETE any body is accepted, because
 * existing clients send them (clients-need H4).
 */
export function refuseOtherTypes({ body, headers }: Exchange, method: Method | undefined): void {
  if (method !== 'POST' && method !== 'PUT') return;
  const problem = typeProblem(body, headers['content-type']);
  if (problem !== undefined) throw new AnswerError(problem);
}
