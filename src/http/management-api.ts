import type { FastifyReply, FastifyRequest } from 'fastify';
import { missing } from '../engine/declare/errors.ts';
import type { AnyEvent } from '../engine/declare/events.ts';
import type { Engine, RequestContext } from '../engine/engine.ts';
import { type Answer, json, nothing, sentence } from './answer.ts';
import type { Authenticator, Principal } from './authenticator.ts';
import { bodyOf } from './body-of.ts';
import { clientConnectionOf } from './client-connection.ts';

/** An operation of one area that the document does not define. It answers JSON. */
export type ManagementOperation = (body: unknown, context: RequestContext) => Promise<unknown>;

/**
 * The API that the document does not define: jobs, schedules, events, the change that waits for confirmation, drift,
 * revisions, and tokens for pairing.
 */
export class ManagementApi {
  readonly #engine: Engine;
  readonly #authenticator: Authenticator;
  readonly #root: string;
  readonly #management: ReadonlyMap<string, ManagementOperation>;
  /** Open event streams. */
  readonly #listeners = new Set<FastifyReply['raw']>();

  constructor(
    engine: Engine,
    authenticator: Authenticator,
    root: string,
    management: ReadonlyMap<string, ManagementOperation>,
  ) {
    this.#engine = engine;
    this.#authenticator = authenticator;
    this.#management = management;
    this.#root = root;
  }

  async answer(request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<Answer> {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const [subject = '', id = '', action = ''] = pathname
      .slice(this.#root.length + 1)
      .split('/')
      .filter((part) => part !== '');
    const operation = this.#management.get(
      `${request.method} ${[subject, id, action].filter((part) => part !== '').join('/')}`,
    );
    if (operation !== undefined)
      return json(
        200,
        await operation(bodyOf(request, false), {
          actor: principal.name,
          request: request.id,
          connection: clientConnectionOf(request),
        }),
      );
    const limit = Math.min(Number(searchParams.get('limit')) || 20, 1000);
    switch (`${request.method} ${subject}${id === '' ? '' : '/{id}'}${action === '' ? '' : `/${action}`}`) {
      case 'GET jobs':
        return json(200, this.#engine.jobs.list(limit, searchParams.get('subject') ?? undefined));
      case 'GET jobs/{id}':
        return json(200, this.#engine.jobs.get(Number(id)) ?? none(`job ${id}`));
      case 'POST jobs/{id}/abort':
        return this.#engine.jobs.abort(Number(id)) ? nothing(204) : none(`running job ${id}`);
      case 'GET events':
        return this.#stream(request, reply);
      case 'GET schedules':
        return json(200, this.#engine.schedules());
      case 'GET confirmation':
        return json(200, this.#confirmation());
      case 'POST tokens':
        return json(201, this.#authenticator.issueToken());
      case 'GET drift':
        return json(200, await this.#engine.report());
      case 'GET revisions':
        return json(200, this.#engine.revisions(limit, Number(searchParams.get('before')) || undefined));
      default:
        return sentence(404, 'Not found');
    }
  }

  /** The change that waits for confirmation, or null. */
  #confirmation() {
    const waits = this.#engine.provisional;
    return waits === undefined
      ? null
      : { title: waits.title, request: waits.request, until: new Date(waits.until).toISOString() };
  }

  /** Ends every event stream. */
  close(): void {
    for (const raw of this.#listeners) raw.end();
  }

  /** Streams server-sent events, beginning after `Last-Event-ID` if the client sends it, until the daemon stops. */
  #stream(request: FastifyRequest, reply: FastifyReply): Promise<Answer> {
    const { events } = this.#engine;
    const last = Number(request.headers['last-event-id']);
    const { raw } = reply.hijack();
    raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': request.id,
    });
    const send = (event: AnyEvent) =>
      raw.write(
        `id: ${event.number}\nevent: ${event.name}\ndata: ${JSON.stringify({ at: event.at, ...event.payload })}\n\n`,
      );
    if (Number.isSafeInteger(last)) for (const event of events.since(last)) send(event);
    const stop = events.listen(send);
    const heartbeat = setInterval(() => raw.write(': heartbeat\n\n'), 15_000);
    this.#listeners.add(raw);
    return new Promise(() => {
      raw.on('close', () => {
        this.#listeners.delete(raw);
        clearInterval(heartbeat);
        stop();
      });
    });
  }
}

function none(what: string): never {
  throw missing(`There is no ${what}.`);
}
