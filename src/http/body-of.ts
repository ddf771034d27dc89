import type { FastifyRequest } from 'fastify';
import type { Answer } from './answer.ts';
import { readBody } from './body.ts';

/** An answer found while reading the request. */
export class AnswerError extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super('answered');
    this.answer = answer;
  }
}

/** The body of a request as JSON; `{}` when there is none and none is needed. */
export function bodyOf(request: FastifyRequest, needed: boolean): unknown {
  const raw = Buffer.isBuffer(request.body) ? request.body : undefined;
  if (!needed && (raw === undefined || raw.length === 0)) return {};
  const body = readBody(raw, request.headers['content-type']);
  if (!body.ok) throw new AnswerError(body.answer);
  return body.value;
}
