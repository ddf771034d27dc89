import type { FastifyReply, FastifyRequest } from 'fastify';
import { IssueList, missing } from '../engine/declare/errors.ts';
import { EventStream, type Operation, readInput, type StreamedEvent } from '../engine/declare/operation.ts';
import type { RequestContext } from '../engine/engine.ts';
import type { Services } from '../engine/services.ts';
import { quote } from '../lib/text.ts';
import { type Answer, json, nothing } from './answer.ts';

/** One authenticated request for the management interface. */
export interface ManagementCall {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  /** Reads and parses the body; `{}` when it is empty and not needed. */
  body(options: { readonly needed: boolean }): unknown;
  /** Receives the keys of the body that no field reads. */
  readonly ignored: Set<string>;
  readonly context: RequestContext;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Milliseconds between the comments that keep idle streams open. */
const heartbeat = 15_000;

/** Performs the operations of the management interface: reads the input by its fields, and writes the answer. */
export class ManagementController {
  readonly #services: Services;
  /** Open event streams. */
  readonly #streams = new Set<FastifyReply['raw']>();

  constructor(services: Services) {
    this.#services = services;
  }

  async perform(call: ManagementCall): Promise<Answer> {
    const { operation, context } = call;
    const result = await operation.run({ ...this.#services, ...inputOf(call), context });
    if (result instanceof EventStream) return this.#stream(result, call);
    return operation.answer === 'nothing' ? nothing(operation.status) : json(operation.status, result);
  }

  /** Ends every event stream. */
  close(): void {
    for (const raw of this.#streams) raw.end();
  }

  /** Sends server-sent events, beginning after `Last-Event-ID` if the client sends it, until one of the two ends it. */
  #stream({ follow }: EventStream, { request, reply }: ManagementCall): Answer | Promise<Answer> {
    const headers = { 'content-type': 'text/event-stream' };
    if (request.method === 'HEAD') return nothing(200, headers);
    const last = Number(request.headers['last-event-id']);
    const { raw } = reply.hijack();
    raw.writeHead(200, {
      ...headers,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': request.id,
    });
    const send = ({ number, name, data }: StreamedEvent) =>
      raw.write(`id: ${number}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    const stop = follow(Number.isSafeInteger(last) ? last : undefined, send);
    const beat = setInterval(() => raw.write(': heartbeat\n\n'), heartbeat);
    this.#streams.add(raw);
    return new Promise(() => {
      raw.on('close', () => {
        this.#streams.delete(raw);
        clearInterval(beat);
        stop();
      });
    });
  }
}

/** Reads path, query and body by their fields, and refuses them with every problem that they have. */
function inputOf({ operation, params, query, body, ignored }: ManagementCall) {
  const issues = new IssueList();
  const unnamed = new IssueList();
  const named = readInput(operation.params, params, unnamed);
  if (!unnamed.isEmpty) throw missing(`Nothing is named ${Object.values(params).map(quote).join(' and ')}.`);
  const sent = {
    params: named,
    query: readInput(operation.query, queryOf(query), issues),
    body: hasFields(operation)
      ? readInput(operation.body, body({ needed: needsBody(operation) }), issues, ignored)
      : {},
  };
  issues.throwIfAny();
  return sent;
}

const hasFields = ({ body }: Operation) => Object.keys(body).length > 0;
const needsBody = ({ body }: Operation) => Object.values(body).some((field) => field.required);

/** The query by name. A name that is sent several times has a list, and an empty value counts as not sent. */
function queryOf(query: string): Readonly<Record<string, unknown>> {
  const values = Map.groupBy(
    [...new URLSearchParams(query)].filter(([, value]) => value !== ''),
    ([name]) => name,
  );
  return Object.fromEntries(
    [...values].map(([name, pairs]) => [name, pairs.length === 1 ? pairs[0]?.[1] : pairs.map(([, value]) => value)]),
  );
}
