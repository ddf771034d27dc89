import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { longestConfirm } from '../engine/confirm.ts';
import type { Engine, Log } from '../engine/engine.ts';
import { Fault, refused } from '../engine/errors.ts';
import type { Profile } from '../engine/resource.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';
import { type Answer, faultAnswer, json, jsonText, nothing, sentence } from './answer.ts';
import type { Caller, Gate } from './auth.ts';
import { BeyondDocument, type Extra } from './beyond.ts';
import { largestBody } from './body.ts';
import { AnswerError, bodyOf } from './body-of.ts';
import { debugArchive } from './debug.ts';
import { contentPolicy, documentationPage } from './documentation.ts';
import { type Call, Interface } from './interface.ts';
import { QueryError } from './lists.ts';
import { openApi } from './openapi.ts';
import { type Match, type Method, type Operation, plainPath, Router, routesOf } from './routes.ts';
import { wayOf } from './way.ts';

export interface ServerParts {
  readonly engine: Engine;
  readonly gate: Gate;
  readonly log: Log;
  readonly profile: Profile;
  readonly version: string;
  /** What is offered beyond the document and belongs to one area, by method and path: `POST email/test`. */
  readonly extras?: ReadonlyMap<string, Extra>;
  /** When each connection was made, or last answered: what comes by it later shows that both sides hear one another. */
  readonly shown: WeakMap<Socket, number>;
}

/** Where the document's interface lives. */
export const root = '/api/v1.0';
const beyond = '/api/holdfast/v1';

/** The HTTP face: routes made from the catalogue, the gate before all of them, and one place that writes answers. */
export function buildServer(parts: ServerParts): FastifyInstance {
  const { engine, gate, log, profile, version, shown } = parts;
  const routes = routesOf(engine.resources);
  const router = new Router(routes);
  const face = new Interface(engine, { profile, root });
  const extras = new BeyondDocument(engine, gate, beyond, parts.extras ?? new Map());
  const description = JSON.stringify(openApi(routes, { version, root, profile }));
  const prefix = randomBytes(4).toString('hex');
  let count = 0;

  const app = fastify({
    bodyLimit: largestBody,
    // A client that sends headers and then nothing must not keep a stop waiting.
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    genReqId: () => {
      count += 1;
      return `${prefix}-${count.toString(36)}`;
    },
  });
  app.server.on('connection', (socket) => shown.set(socket, performance.now()));
  app.addHook('onResponse', (request, _reply, done) => {
    shown.set(request.raw.socket, performance.now());
    done();
  });
  const guarded = (handler: Guarded) => guardedBy(gate, (request) => engine.heard(wayOf(request), shown.get(request.raw.socket) ?? 0), handler);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, raw, done) => done(null, raw));

  app.get(
    '/healthz',
    guarded((_request, reply) => write(reply, json(200, { status: 'alive' }))),
  );
  app.get(
    '/readyz',
    guarded((_request, reply) => {
      const { obstacle } = engine;
      // A load balancer or a monitor reads the status; a person the reason.
      if (obstacle !== undefined) return write(reply, json(503, { status: 'read-only', reason: obstacle }));
      return write(reply, json(200, { status: engine.isDegraded ? 'degraded' : 'ready' }));
    }),
  );
  app.get(
    '/openapi.json',
    guarded((_request, reply) => write(reply, jsonText(200, description))),
  );
  // The page has no more to tell than the description, and is guarded like it. Its own links are absolute, so that
  // both spellings of its address do.
  const documentation = (name: string) =>
    guarded((_request, reply) => {
      const page = documentationPage(name);
      if (page === undefined) return write(reply, sentence(404, 'Not found'));
      return reply.headers({ 'content-security-policy': contentPolicy, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }).type(page.type).send(page.content);
    });
  app.get('/docs', documentation(''));
  app.get<{ Params: { '*': string } }>('/docs/*', (request, reply) => documentation(request.params['*'])(request, reply));
  app.all(
    `${beyond}/*`,
    guarded((request, reply, caller) => answering(request, reply, () => extras.answer(request, reply, caller))),
  );

  // The address that debug archives are fetched from, beside the interface (gaps 16).
  app.get(
    '/system/debug/download/',
    guarded(async (request, reply, caller) => {
      const now = Date.now();
      const archive = await debugArchive(engine, { actor: caller.name, request: request.id }, now);
      const name = `debug-${new Date(now).toISOString().slice(0, 10)}.tar.gz`;
      return reply.header('content-type', 'application/gzip').header('content-disposition', `attachment; filename="${name}"`).send(archive);
    }),
  );

  // A dry run: the body names the request that would be sent.
  const planned = guarded((request, reply, caller) => answering(request, reply, () => face.plan(plannedCall(request, router, caller))));
  for (const path of [`${beyond}/plan`, `${beyond}/plan/`]) app.post(path, planned);

  const documented = (request: FastifyRequest, reply: FastifyReply) => {
    const { path, query } = split(request.url);
    const plain = plainPath(path);
    const below = plain?.startsWith(`${root.slice(1)}/`) ? plain.slice(root.length) : undefined;
    if (plain === root.slice(1)) return guarded((_request, inner) => write(inner, json(200, index(engine))))(request, reply);
    const match = below === undefined ? undefined : router.match(below);
    // Without a credential nobody learns which addresses there are; with one, a wrong method is told first (gaps 1.1).
    if (match === undefined) return guarded((_request, inner) => write(inner, sentence(404, 'Not found')))(request, reply);
    const method = methodOf(request);
    const operation = method && match.route.operations.get(method);
    if (operation === undefined && request.method !== 'OPTIONS') return write(reply, wrongMethod(match));
    return guarded((_request, inner, caller) =>
      operation === undefined
        ? write(inner, allowed(match))
        : answering(request, inner, () => face.perform(callOf(request, match, operation, query, caller)), { match, operation }),
    )(request, reply);
  };
  app.all('/*', documented);

  app.setErrorHandler((error, request, reply) => {
    const tooLarge = error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE';
    if (tooLarge) return write(reply, json(413, { error: `A body has at most ${largestBody} bytes.` }));
    const status = error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
    if (status < 500) return write(reply, json(status, { error: messageOf(error) }));
    return unexpected(request, reply, error);
  });
  // A connection that was busy when the stop began would otherwise be kept for the client's next request.
  app.addHook('preClose', (done) => {
    extras.close();
    const sweep = setInterval(() => app.server.closeIdleConnections(), 50);
    app.server.once('close', () => clearInterval(sweep));
    done();
  });
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });

  /** Carries out a request and says how it went, also when it went wrong. What is at hand is answered in the same turn. */
  function answering(request: FastifyRequest, reply: FastifyReply, perform: () => Answer | Promise<Answer>, place?: Place): void | Promise<void> {
    const failed = (error: unknown) => {
      if (error instanceof AnswerError) return write(reply, error.answer);
      if (error instanceof QueryError) return write(reply, json(400, { error: error.message }));
      const known = faultAnswer(error, {
        method: request.method,
        operation: place?.operation,
        invalid: invalidStatus(place),
        byPath: place?.match.route.resource.kind === 'hosted' && (place.match.route.resource.key.slashes || place.match.route.resource.quirks.missing === 'told'),
        fault: place && ('action' in place.operation ? place.operation.action.fault : place.match.route.resource.quirks.fault),
        issueNames: place && ('action' in place.operation ? place.operation.action.issueNames : place.match.route.resource.quirks.issueNames),
      });
      if (known === undefined) return unexpected(request, reply, error);
      if (error instanceof Fault && error.kind !== 'missing')
        log.debug({ request: request.id, error: error.message }, `${request.method} ${split(request.url).path}: ${known.status}`);
      write(reply, known);
    };
    try {
      const answer = perform();
      if (answer instanceof Promise) return answer.then((it) => write(reply, it)).catch(failed);
      write(reply, answer);
    } catch (error) {
      failed(error);
    }
  }

  /** What nobody foresaw: the log has all of it, the client the number to find it by. */
  function unexpected(request: FastifyRequest, reply: FastifyReply, error: unknown) {
    log.error({ request: request.id, err: error }, `unexpected, at ${request.method} ${split(request.url).path}`);
    return write(reply, json(500, { error_message: `Something unexpected happened; the log has it under ${request.id}.` }));
  }

  return app;
}

/** Where in the interface a request has got to. */
interface Place {
  readonly match: Match;
  readonly operation: Operation;
}

function callOf(request: FastifyRequest, match: Match, operation: Operation, query: string, caller: Caller) {
  return {
    match,
    operation,
    query,
    range: request.headers.range,
    body: ({ needed }: { readonly needed: boolean }) => bodyOf(request, needed),
    asker: { actor: caller.name, request: request.id, way: wayOf(request), ...confirmIn(query) },
  };
}

/** What the query says of confirming the change. */
function confirmIn(query: string): { readonly confirmWithin?: number } {
  const value = new URLSearchParams(query).get('confirm_within');
  if (value === null || value === '') return {};
  if (!/^\d{1,4}$/.test(value) || Number(value) > longestConfirm) throw new AnswerError(json(400, { error: `confirm_within is a number of seconds from 0 to ${longestConfirm}.` }));
  return { confirmWithin: Number(value) };
}

/** The call that a dry run's body describes: `{"method": "POST", "path": "sharing/cifs/", "body": {…}}`. */
function plannedCall(request: FastifyRequest, router: Router, caller: Caller): Call {
  const planned = bodyOf(request, true);
  const { method, path, body } = isObject(planned) ? planned : {};
  const match = typeof path === 'string' ? router.match(plainPath(path) ?? '') : undefined;
  const operation = [...(match?.route.operations ?? [])].find(([one]) => one === method)?.[1];
  if (match === undefined || operation === undefined || method === 'GET') throw refused('A plan needs the method and the path of a request that changes something, and its body.');
  return { match, operation, query: '', range: undefined, body: () => body ?? {}, asker: { actor: caller.name, request: request.id } };
}

type Guarded = (request: FastifyRequest, reply: FastifyReply, caller: Caller) => unknown;

/** Nobody passes without a credential. A known one passes without waiting. */
function guardedBy(gate: Gate, heard: (request: FastifyRequest) => void, handler: Guarded) {
  const refuse = (request: FastifyRequest, reply: FastifyReply) =>
    // A page that asks by script handles the refusal itself and wants no browser prompt (gaps 1.1).
    write(reply, nothing(401, request.headers['x-requested-from'] === 'WebUI' ? {} : { 'www-authenticate': 'Basic realm="Holdfast"' }));
  return (request: FastifyRequest, reply: FastifyReply) => {
    const admitted = gate.admitToken(request.headers.authorization, request.url) ?? gate.admit(request.headers.authorization);
    const pass = (caller: Caller) => {
      heard(request);
      return handler(request, reply, caller);
    };
    if (!(admitted instanceof Promise)) return admitted === undefined ? refuse(request, reply) : pass(admitted);
    return admitted.then((caller) => (caller === undefined ? refuse(request, reply) : pass(caller)));
  };
}

/** Writes an answer exactly as it is: no charset is added to JSON, none of the framework's own types (clients-need H1, H2). */
function write(reply: FastifyReply, { status, headers, type, body, pieces }: Answer): void {
  reply.code(status);
  if (headers !== undefined) reply.headers(headers);
  if (pieces !== undefined && type !== undefined) reply.header('vary', 'Accept').header('content-type', type).send(Readable.from(pieces));
  else if (body === undefined || type === undefined) reply.send();
  else reply.header('vary', 'Accept').header('content-type', type).serializer(asItIs).send(body);
}

/** With a serializer of its own, an answer is left alone; as a text it goes out in one piece with its head. */
function asItIs(body: string): string {
  return body;
}

function split(url: string): { readonly path: string; readonly query: string } {
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** What is asked for: HEAD is a GET without its body, and a header may name another method (gaps 1.3). */
function methodOf(request: FastifyRequest): Method | undefined {
  const override = request.headers['x-http-method-override'];
  const wanted = typeof override === 'string' ? override.toUpperCase() : request.method;
  if (wanted === 'HEAD') return 'GET';
  return wanted === 'POST' || wanted === 'PUT' || wanted === 'DELETE' || wanted === 'GET' ? wanted : undefined;
}

function allow({ route }: Match): string {
  return [...route.operations.keys()].map((method) => method.toLowerCase()).join(',');
}

function wrongMethod(match: Match): Answer {
  return { ...sentence(405, allow(match)), headers: { allow: allow(match).toUpperCase() } };
}

function allowed(match: Match): Answer {
  return { ...sentence(200, allow(match)), headers: { allow: allow(match).toUpperCase() } };
}

function invalidStatus(place: Place | undefined): 400 | 409 {
  if (place === undefined) return 400;
  // What a record in use is not removed for is told in fields, but as a failure (gaps 7.5).
  if ('verb' in place.operation && place.operation.verb === 'remove' && place.match.route.resource.kind === 'collection') return 400;
  return 'action' in place.operation ? place.operation.action.invalid : (place.match.route.resource.quirks.invalid ?? 409);
}

/** All resources with their addresses (gaps 1.2). */
function index(engine: Engine): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    engine.resources.filter(({ path, verbs }) => verbs.length > 0 && !path.includes('{')).map(({ path }) => [path, { list_endpoint: `${root}/${path}/`, schema: '/openapi.json' }]),
  );
}
