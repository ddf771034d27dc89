import type { FastifyRequest } from 'fastify';
import type { Answer } from './answer.ts';
import { readBody, typeProblem } from './body.ts';
import type { Method } from './routes.ts';

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

/**
 * Refuses a body that is there and is no JSON, also where the operation does not look at it: such a body is all that a
 * plain form of a web page can send. Programs send bodies of any kind with GET and DELETE (clients-need H4).
 */
export function refuseOtherTypes(request: FastifyRequest, method: Method | undefined): void {
  if (method !== 'POST' && method !== 'PUT') return;
  const problem = typeProblem(
    Buffer.isBuffer(request.body) ? request.body : undefined,
    request.headers['content-type'],
  );
  if (problem !== undefined) throw new AnswerError(problem);
}
