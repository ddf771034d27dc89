import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { longestConfirm } from '../engine/change/confirm.ts';
import { Fault, refused } from '../engine/declare/errors.ts';
import type { Profile } from '../engine/declare/resource.ts';
import type { Engine, Log } from '../engine/engine.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';
import { type Answer, faultAnswer, json, jsonText, nothing, sentence } from './answer.ts';
import type { Authenticator, Principal, Refusal } from './authenticator.ts';
import { Bodies } from './bodies.ts';
import { AnswerError, bodyOf, refuseOtherTypes } from './body-of.ts';
import { clientConnectionOf } from './client-connection.ts';
import type { Connections } from './connections.ts';
import { debugArchive } from './debug.ts';
import { contentPolicy, documentationPage } from './documentation.ts';
import { bodyLimit, type Limits } from './limits.ts';
import { QueryError } from './lists.ts';
import { ManagementApi, type ManagementOperation } from './management-api.ts';
import { openApi } from './openapi.ts';
import { crossSiteProblem, Hosts, type Names } from './origin.ts';
import { type Call, ResourceController } from './resource-controller.ts';
import { type Match, type Method, type Operation, plainPath, Router, routesOf } from './routes.ts';
import { heldChange, heldRead, readiness } from './starting.ts';

export interface ServerParts {
  readonly engine: Engine;
  readonly authenticator: Authenticator;
  readonly log: Log;
  readonly profile: Profile;
  readonly version: string;
  /** What is offered beyond the document and belongs to one area, by method and path: `POST email/test`. */
  readonly management?: ReadonlyMap<string, ManagementOperation>;
  /** When each connection was made, or last answered: what comes by it later shows that both sides hear one another. */
  readonly shown: WeakMap<Socket, number>;
  readonly connections: Connections;
  readonly limits: Limits;
  readonly names: Names;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who it speaks for; no handler runs before it is known. */
    principal: Principal;
  }
}

/** Where the document's interface lives. */
export const root = '/api/v1.0';
const beyond = '/api/holdfast/v1';

/** The HTTP face: routes made from the catalogue, one hook that all requests must pass, and one place that writes answers. */
export function buildServer(parts: ServerParts): FastifyInstance {
  const { engine, authenticator, log, profile, version, shown, connections, limits, names } = parts;
  const routes = routesOf(engine.resources);
  const router = new Router(routes);
  const controller = new ResourceController(engine, { profile, root });
  const management = new ManagementApi(engine, authenticator, beyond, parts.management ?? new Map());
  // Made when it is first asked for: it takes a third of the processor time that the daemon's start needs.
  let description: string | undefined;
  const prefix = randomBytes(4).toString('hex');
  let count = 0;

  const hosts = new Hosts(names);
  const bodies = new Bodies(limits.bodyBytes);
  /** The answer to each request that has a body. */
  const answers = new WeakMap<IncomingMessage, ServerResponse>();
  const app = fastify({
    requestTimeout: limits.requestTime,
    http: {
      headersTimeout: Math.min(limits.requestTime, 30_000),
      connectionsCheckingInterval: Math.min(limits.requestTime, 5000),
    },
    clientErrorHandler: answerMalformed,
    // A client that sends headers and then nothing must not keep a stop waiting.
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    genReqId: () => {
      count += 1;
      return `${prefix}-${count.toString(36)}`;
    },
  });
  // Declared, so that requests have one shape for the compiler, with and without a caller.
  app.decorateRequest('caller');
  app.server.on('connection', (socket) => {
    shown.set(socket, performance.now());
    connections.add(socket);
  });
  app.addHook('onResponse', (request, _reply, done) => {
    const { raw } = request;
    shown.set(raw.socket, performance.now());
    // What was answered before its body had come: the rest is read and thrown away, but not for long.
    if (!raw.complete && raw.socket instanceof Socket)
      setTimeout(() => raw.complete || raw.socket.destroy(), limits.restTime).unref();
    done();
  });

  // Everything that can be said without the body is said before any of it is read.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('cache-control', 'no-store');
    reply.header('x-content-type-options', 'nosniff');
    const { raw } = request;
    if (connections.isRefused(raw.socket))
      return write(reply, json(503, { error: 'Too many connections.' }, { 'retry-after': '5', connection: 'close' }));
    const wrongHost = hosts.problem(raw.headers.host);
    if (wrongHost !== undefined) return write(reply, json(421, { error: wrongHost }));
    const crossSite =
      isFromBrowser(request) && changes(request)
        ? crossSiteProblem(raw.headers, raw.socket instanceof TLSSocket, names.further)
        : undefined;
    if (crossSite !== undefined) return write(reply, json(403, { error: crossSite }));
    const pass = (admitted: Principal | Refusal) => {
      if (!('name' in admitted)) return write(reply, refusal(request, admitted));
      request.principal = admitted;
      if (raw.headers['content-length'] !== undefined || raw.headers['transfer-encoding'] !== undefined)
        answers.set(raw, reply.raw);
      connections.proven(raw.socket);
      engine.heard(clientConnectionOf(request), shown.get(raw.socket) ?? 0);
      done();
    };
    const admitted = authenticator.admit(raw);
    if (admitted instanceof Promise) admitted.then(pass).catch(done);
    else pass(admitted);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, _payload, done) => {
    bodies.read(request.raw, answers.get(request.raw), bodyLimit(plainPath(split(request.url).path) ?? ''), done);
  });

  app.get('/healthz', (_request, reply) => write(reply, json(200, { status: 'alive' })));
  app.get('/readyz', (_request, reply) => write(reply, readiness(engine)));
  app.get('/openapi.json', (_request, reply) => {
    description ??= JSON.stringify(openApi(routes, { version, root, profile }));
    return write(reply, jsonText(200, description));
  });
  // The page has no more to tell than the description, and is guarded like it. Its own links are absolute, so that
  // both spellings of its address do.
  const documentation = (name: string, reply: FastifyReply) => {
    const page = documentationPage(name);
    if (page === undefined) return write(reply, sentence(404, 'Not found'));
    return reply
      .headers({ 'content-security-policy': contentPolicy, 'referrer-policy': 'no-referrer' })
      .type(page.type)
      .send(page.content);
  };
  app.get('/docs', (_request, reply) => documentation('', reply));
  app.get<{ Params: { '*': string } }>('/docs/*', (request, reply) => documentation(request.params['*'], reply));
  app.all(`${beyond}/*`, (request, reply) =>
    answering(request, reply, () => heldBeyond(request) ?? management.answer(request, reply, request.principal)),
  );

  // The address that debug archives are fetched from, beside the interface (gaps 16).
  app.get('/system/debug/download/', async (request, reply) => {
    const held = heldChange(engine);
    if (held !== undefined) return write(reply, held);
    const now = Date.now();
    const archive = await debugArchive(engine, { actor: request.principal.name, request: request.id }, now);
    const name = `debug-${new Date(now).toISOString().slice(0, 10)}.tar.gz`;
    return reply
      .header('content-type', 'application/gzip')
      .header('content-disposition', `attachment; filename="${name}"`)
      .send(archive);
  });

  // A dry run: the body names the request that would be sent.
  const planned = (request: FastifyRequest, reply: FastifyReply) =>
    answering(request, reply, () => heldChange(engine) ?? controller.plan(plannedCall(request, router)));
  for (const path of [`${beyond}/plan`, `${beyond}/plan/`]) app.post(path, planned);

  const documented = (request: FastifyRequest, reply: FastifyReply) => {
    const { path, query } = split(request.url);
    const plain = plainPath(path);
    if (plain === root.slice(1)) return write(reply, json(200, index(engine)));
    const match = matchOf(plain);
    if (match === undefined) return write(reply, sentence(404, 'Not found'));
    const method = methodOf(request);
    const operation = method && match.route.operations.get(method);
    if (operation === undefined)
      return write(reply, request.method === 'OPTIONS' ? allowed(match) : wrongMethod(match));
    return answering(
      request,
      reply,
      () => held(match, operation) ?? controller.perform(callOf(request, match, operation, query)),
      { match, operation },
    );
  };
  app.all('/*', documented);

  app.setErrorHandler((error, request, reply) => {
    if (error instanceof AnswerError) return write(reply, error.answer);
    const status =
      error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
    if (status < 500) return write(reply, json(status, { error: messageOf(error) }));
    return unexpected(request, reply, error);
  });
  // A connection that was busy when the stop began would otherwise be kept for the client's next request.
  app.addHook('preClose', (done) => {
    management.close();
    const sweep = setInterval(() => app.server.closeIdleConnections(), 50);
    app.server.once('close', () => clearInterval(sweep));
    done();
  });
  /** The answer to a request of the document that has to wait for the end of the start. */
  function held({ route }: Match, operation: Operation): Answer | undefined {
    return 'verb' in operation && (operation.verb === 'list' || operation.verb === 'read')
      ? heldRead(engine, route.resource)
      : heldChange(engine);
  }

  /** The same for what is offered beyond it. Drift is only known once the machine has been brought to the configuration. */
  function heldBeyond(request: FastifyRequest): Answer | undefined {
    return request.method === 'GET' && !split(request.url).path.startsWith(`${beyond}/drift`)
      ? undefined
      : heldChange(engine);
  }

  /** Carries out a request and says how it went, also when it went wrong. What is at hand is answered in the same turn. */
  function answering(
    request: FastifyRequest,
    reply: FastifyReply,
    perform: () => Answer | Promise<Answer>,
    place?: Place,
  ): void | Promise<void> {
    const failed = (error: unknown) => {
      if (error instanceof AnswerError) return write(reply, error.answer);
      if (error instanceof QueryError) return write(reply, json(400, { error: error.message }));
      const known = faultAnswer(error, {
        method: request.method,
        operation: place?.operation,
        invalid: invalidStatus(place),
        byPath:
          place?.match.route.resource.kind === 'hosted' &&
          (place.match.route.resource.key.slashes || place.match.route.resource.quirks.missing === 'told'),
        fault:
          place &&
          ('action' in place.operation ? place.operation.action.fault : place.match.route.resource.quirks.fault),
        issueNames:
          place &&
          ('action' in place.operation
            ? place.operation.action.issueNames
            : place.match.route.resource.quirks.issueNames),
      });
      if (known === undefined) return unexpected(request, reply, error);
      if (error instanceof Fault && error.kind !== 'missing')
        log.debug(
          { request: request.id, error: error.message },
          `${request.method} ${split(request.url).path}: ${known.status}`,
        );
      write(reply, known);
    };
    try {
      refuseOtherTypes(request, methodOf(request));
      const answer = perform();
      if (answer instanceof Promise) return answer.then((it) => write(reply, it)).catch(failed);
      write(reply, answer);
    } catch (error) {
      failed(error);
    }
  }

  function matchOf(plain: string | undefined): Match | undefined {
    return plain?.startsWith(`${root.slice(1)}/`) ? router.match(plain.slice(root.length)) : undefined;
  }

  /** Whether something is another way afterwards. Of the document's GETs those count that are actions, as the one that dismisses an alert. */
  function changes(request: FastifyRequest): boolean {
    const method = methodOf(request);
    if (method !== 'GET') return request.method !== 'OPTIONS' || method !== undefined;
    const operation = matchOf(plainPath(split(request.url).path))?.route.operations.get(method);
    return operation !== undefined && 'action' in operation;
  }

  /** What nobody foresaw: the log has all of it, the client the number to find it by. */
  function unexpected(request: FastifyRequest, reply: FastifyReply, error: unknown) {
    log.error({ request: request.id, err: error }, `unexpected, at ${request.method} ${split(request.url).path}`);
    return write(
      reply,
      json(500, { error_message: `Something unexpected happened; the log has it under ${request.id}.` }),
    );
  }

  return app;
}

/** Where in the interface a request has got to. */
interface Place {
  readonly match: Match;
  readonly operation: Operation;
}

function callOf(request: FastifyRequest, match: Match, operation: Operation, query: string) {
  return {
    match,
    operation,
    query,
    range: request.headers.range,
    body: ({ needed }: { readonly needed: boolean }) => bodyOf(request, needed),
    context: {
      actor: request.principal.name,
      request: request.id,
      connection: clientConnectionOf(request),
      ...confirmIn(query),
    },
  };
}

/** What the query says of confirming the change. */
function confirmIn(query: string): { readonly confirmWithin?: number } {
  const value = new URLSearchParams(query).get('confirm_within');
  if (value === null || value === '') return {};
  if (!/^\d{1,4}$/.test(value) || Number(value) > longestConfirm)
    throw new AnswerError(json(400, { error: `confirm_within is a number of seconds from 0 to ${longestConfirm}.` }));
  return { confirmWithin: Number(value) };
}

/** The call that a dry run's body describes: `{"method": "POST", "path": "sharing/cifs/", "body": {…}}`. */
function plannedCall(request: FastifyRequest, router: Router): Call {
  const planned = bodyOf(request, true);
  const { method, path, body } = isObject(planned) ? planned : {};
  const match = typeof path === 'string' ? router.match(plainPath(path) ?? '') : undefined;
  const operation = [...(match?.route.operations ?? [])].find(([one]) => one === method)?.[1];
  if (match === undefined || operation === undefined || method === 'GET')
    throw refused('A plan needs the method and the path of a request that changes something, and its body.');
  return {
    match,
    operation,
    query: '',
    range: undefined,
    body: () => body ?? {},
    context: { actor: request.principal.name, request: request.id },
  };
}

/** Browsers send at least one of these with whatever a page makes them send, but for reading. */
function isFromBrowser({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}

function refusal(request: FastifyRequest, { retryAfter }: Refusal): Answer {
  if (retryAfter !== undefined)
    return json(
      429,
      { error: `Too many logins: send this request again in ${retryAfter} s.` },
      { 'retry-after': String(retryAfter) },
    );
  // A page that asks by script handles the refusal itself and wants no browser prompt (gaps 1.1).
  return nothing(
    401,
    request.headers['x-requested-from'] === 'WebUI' ? {} : { 'www-authenticate': 'Basic realm="Holdfast"' },
  );
}

/** Answers what is no HTTP, or did not come to its end in time. */
function answerMalformed(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy();
  const [status, told] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'The request did not come to its end in time.']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'The headers are too large.']
        : ['400 Bad Request', 'This is no request of HTTP.'];
  const body = JSON.stringify({ error: told });
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** Writes an answer exactly as it is: no charset is added to JSON, none of the framework's own types (clients-need H1, H2). */
function write(reply: FastifyReply, { status, headers, type, body, pieces }: Answer): void {
  reply.code(status);
  if (headers !== undefined) reply.headers(headers);
  if (pieces !== undefined && type !== undefined)
    reply.header('vary', 'Accept').header('content-type', type).send(Readable.from(pieces));
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
  if (
    'verb' in place.operation &&
    place.operation.verb === 'remove' &&
    place.match.route.resource.kind === 'collection'
  )
    return 400;
  return 'action' in place.operation
    ? place.operation.action.invalid
    : (place.match.route.resource.quirks.invalid ?? 409);
}

/** All resources with their addresses (gaps 1.2). */
function index(engine: Engine): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    engine.resources
      .filter(({ path, verbs }) => verbs.length > 0 && !path.includes('{'))
      .map(({ path }) => [path, { list_endpoint: `${root}/${path}/`, schema: '/openapi.json' }]),
  );
}
