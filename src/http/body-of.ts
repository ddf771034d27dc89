import type { FastifyRequest } from 'fastify';
import type { Answer } from './answer.ts';
import { readBody, typeProblem } from './body.ts';
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
export function bodyOf(request: FastifyRequest, needed: boolean): unknown {
  const raw = Buffer.isBuffer(request.body) ? request.body : undefined;
  if (!needed && (raw === undefined || raw.length === 0)) return {};
  const body = readBody(raw, request.headers['content-type'], bodyLimit(pathOf(request.url)).values);
  if (!body.ok) throw new AnswerError(body.answer);
  return body.value;
}

/**
 * Refuses a body of another type than JSON, also where the operation ignores the body: plain HTML forms can send no
 * other kind of body, so this stops forged requests of web pages. With GET and DELETE any body is accepted, because
 * existing clients send them (clients-need H4).
 */
export function refuseOtherTypes(request: FastifyRequest, method: Method | undefined): void {
  if (method !== 'POST' && method !== 'PUT') return;
  const problem = typeProblem(
    Buffer.isBuffer(request.body) ? request.body : undefined,
    request.headers['content-type'],
  );
  if (problem !== undefined) throw new AnswerError(problem);
}
