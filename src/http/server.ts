import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { longestConfirm } from '../engine/change/confirm.ts';
import { type Access, type Act, Forbidden } from '../engine/declare/access.ts';
import { Fault, refused } from '../engine/declare/errors.ts';
import type { Section } from '../engine/declare/operation.ts';
import { publicName, publicRelease } from '../engine/declare/public-release.ts';
import type { Profile } from '../engine/declare/resource.ts';
import { type Engine, isKeptResource, type Log, type RequestContext } from '../engine/engine.ts';
import type { PlannedRequest, Services } from '../engine/services.ts';
import { messageOf, quote } from '../lib/text.ts';
import { Acts, memberFilter } from './acts.ts';
import { type Answer, faultAnswer, json, jsonText, jsonType, nothing, sentence } from './answer.ts';
import type { Authenticator, Principal, Refusal } from './authenticator.ts';
import { Bodies } from './bodies.ts';
import { AnswerError, bodyOf, refuseOtherTypes } from './body-of.ts';
import { clientConnectionOf } from './client-connection.ts';
import type { Connections } from './connections.ts';
import { debugArchive } from './debug.ts';
import { contentPolicy, documentationPage } from './documentation.ts';
import { ignoredNames } from './ignored.ts';
import { bodyLimit, type Limits } from './limits.ts';
import { QueryError } from './lists.ts';
import { ManagementController } from './management-controller.ts';
import { openApi } from './openapi/document.ts';
import { crossSiteProblem, Hosts, type Names } from './origin.ts';
import { type Call, carriedOut, ResourceController } from './resource-controller.ts';
import { keyProblem, Retries } from './retries.ts';
import {
  type ManagementRoute,
  type Match,
  type Method,
  managementRoutesOf,
  type Operation,
  pathOf,
  plainPath,
  type Route,
  Router,
  routesOf,
} from './routes.ts';
import { type ServedText, servedText } from './served-text.ts';
import { heldChange, heldRead, readiness } from './starting.ts';
import { ChangedMeanwhile, tagged } from './tags.ts';

export interface ServerParts {
  readonly engine: Engine;
  readonly authenticator: Authenticator;
  readonly log: Log;
  readonly profile: Profile;
  readonly version: string;
  /** The management interface, and what its operations work with. */
  readonly management: readonly Section[];
  readonly services: Omit<Services, 'plan' | 'actOf'>;
  /** When each connection was opened or last answered. A later request on it proves that traffic passes both ways. */
  readonly shown: WeakMap<Socket, number>;
  readonly connections: Connections;
  readonly limits: Limits;
  readonly names: Names;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated principal; the `onRequest` hook sets it before any handler runs. */
    principal: Principal;
    /** What the request would do, for a principal that may not do everything. */
    act: Act | undefined;
  }
}

/** Root of the API that the document defines. */
export const root = '/api/v1.0';
/** The one path of the newer API that profile `clients` answers. */
const newerVersion = 'api/v2.0/system/version';
/** Root of the API that only Holdfast has. */
const managementRoot = '/api/holdfast/v1';

/**
 * The HTTP server: routes generated from the catalogue, one hook that every request passes, and one function that
 * writes answers.
 */
export function buildServer(parts: ServerParts): FastifyInstance {
  const { engine, authenticator, log, profile, version, shown, connections, limits, names } = parts;
  const routes = routesOf(engine.resources);
  const router = new Router(routes);
  const controller = new ResourceController(engine, { profile, root });
  const managementRoutes = managementRoutesOf(parts.management, managementRoot.slice(1));
  const managementRouter = new Router(managementRoutes);
  const acts = new Acts(
    engine,
    { documented: router, managed: managementRouter },
    { document: root, management: managementRoot },
  );
  const management = new ManagementController({
    ...parts.services,
    plan: (request, context) => {
      const call = plannedCall(request, context, router);
      const act = acts.planned(call.method, request.path);
      const problem =
        act === undefined || act === 'open'
          ? undefined
          : (context.access?.problem(act) ?? context.access?.problemIn(act, request.body));
      if (problem !== undefined) throw new AnswerError(json(403, { error: problem }));
      return controller.plan(call);
    },
    actOf: (method, path) => acts.planned(methodNamed(method), path),
  });
  const withoutSecretMembers = memberFilter(secretNamesOf(engine));
  // Generated on the first request for it: it costs a third of the processor time of the daemon's start.
  let description: ServedText | undefined;
  const retries = new Retries(engine.retries, engine.now);
  const prefix = randomBytes(4).toString('hex');
  let count = 0;

  const hosts = new Hosts(names);
  const bodies = new Bodies(limits.bodyBytes);
  /** The response to each request that has a body. */
  const answers = new WeakMap<IncomingMessage, ServerResponse>();
  const app = fastify({
    requestTimeout: limits.requestTime,
    http: {
      headersTimeout: Math.min(limits.requestTime, 30_000),
      connectionsCheckingInterval: Math.min(limits.requestTime, 5000),
    },
    clientErrorHandler: answerMalformed,
    // A client that sends headers and then nothing must not delay a stop.
    forceCloseConnections: 'idle',
    genReqId: () => {
      count += 1;
      return `${prefix}-${count.toString(36)}`;
    },
  });
  // Declared, so that requests have one shape for the JavaScript engine, with and without a principal.
  app.decorateRequest('principal');
  app.decorateRequest('act');
  app.server.on('connection', (socket) => {
    shown.set(socket, performance.now());
    connections.add(socket);
  });
  app.addHook('onResponse', (request, _reply, done) => {
    const { raw } = request;
    shown.set(raw.socket, performance.now());
    // The request was answered before its body was complete: the rest is read and discarded, for a limited time.
    if (!raw.complete && raw.socket instanceof Socket)
      setTimeout(() => raw.complete || raw.socket.destroy(), limits.restTime).unref();
    done();
  });

  // All checks that do not need the body are made before any of it is read.
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
      const forbidden = admitted.access && forbiddenProblem(request, admitted.access);
      if (forbidden !== undefined) return write(reply, json(403, { error: forbidden }));
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
    bodies.read(request.raw, answers.get(request.raw), bodyLimit(pathOf(request.url)).bytes, done);
  });

  app.get('/healthz', (_request, reply) => write(reply, json(200, { status: 'alive' })));
  app.get('/readyz', (_request, reply) => write(reply, readiness(engine)));
  app.get('/openapi.json', (request, reply) => {
    description ??= servedText(
      JSON.stringify(
        openApi(routes, parts.management, { version, roots: { document: root, management: managementRoot }, profile }),
      ),
    );
    const answer = { etag: description.etag, vary: 'Accept-Encoding' };
    if (request.headers['if-none-match'] === description.etag) return write(reply, nothing(304, answer));
    if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? '')))
      return write(reply, jsonText(200, description.text, answer));
    return reply
      .headers({ ...answer, 'content-encoding': 'gzip', 'content-type': jsonType })
      .send(description.compressed);
  });
  // The page shows the OpenAPI document and requires the same credential. Its links are absolute, so that it works at
  // /docs and at /docs/.
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
  // Clients download debug archives from this address, outside of the API's root (gaps 16).
  const download = async (request: FastifyRequest, reply: FastifyReply) => {
    const held = heldChange(engine);
    if (held !== undefined) return write(reply, held);
    const now = Date.now();
    const archive = await debugArchive(engine, { actor: request.principal.name, request: request.id }, now);
    const name = `debug-${new Date(now).toISOString().slice(0, 10)}.tar.gz`;
    return reply
      .header('content-type', 'application/gzip')
      .header('content-disposition', `attachment; filename="${name}"`)
      .send(archive);
  };
  for (const prefix of ['', '/legacy'])
    app.get(`${prefix}/system/debug/download/`, { exposeHeadRoute: false }, download);

  app.all(`${managementRoot}/*`, (request, reply) => {
    const { path, query } = split(request.url);
    const match = managementRouter.match(plainPath(path) ?? '');
    if (match === undefined) return write(reply, sentence(404, 'Not found'));
    const method = methodOf(request);
    const operation = method && match.route.operations.get(method);
    if (operation === undefined)
      return write(reply, request.method === 'OPTIONS' ? allowed(match) : wrongMethod(match));
    const { params } = match;
    const perform = (ignored: Set<string>) =>
      (operation.awaitsStart ? heldChange(engine) : undefined) ??
      management.perform({ ...partsOf(request, query), ignored, operation, params, request, reply });
    return answering(request, reply, perform);
  });

  const documented = (request: FastifyRequest, reply: FastifyReply) => {
    const { path, query } = split(request.url);
    const plain = plainPath(path);
    if (plain === root.slice(1)) return write(reply, json(200, index(engine)));
    // The driver of most container clusters speaks this API only to a server with this version (clients-need H14).
    if (profile === 'clients' && plain === newerVersion && methodOf(request) === 'GET')
      return write(reply, json(200, `${publicName}-${publicRelease}`));
    const match = matchOf(plain);
    if (match === undefined) return write(reply, sentence(404, 'Not found'));
    const method = methodOf(request);
    const operation = method && match.route.operations.get(method);
    if (operation === undefined)
      return write(reply, request.method === 'OPTIONS' ? allowed(match) : wrongMethod(match));
    return answering(
      request,
      reply,
      (ignored) =>
        held(match, operation) ??
        controller.perform({
          ...partsOf(request, query),
          ignored,
          match,
          operation,
          range: request.headers.range,
          ifMatch: request.headers['if-match'],
        }),
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
  // Without this sweep, a connection that was busy when the stop began would stay open for the client's next request.
  app.addHook('preClose', (done) => {
    management.close();
    const sweep = setInterval(() => app.server.closeIdleConnections(), 50);
    app.server.once('close', () => clearInterval(sweep));
    done();
  });
  /** The 503 answer to a request of the document's API that has to wait for the end of the start. */
  function held({ route }: Match, operation: Operation): Answer | undefined {
    return 'verb' in operation && (operation.verb === 'list' || operation.verb === 'read')
      ? heldRead(engine, route.resource)
      : heldChange(engine);
  }

  /**
   * Performs a request and writes its answer or its error. An answer that needs no waiting is written synchronously.
   * `perform` adds the fields of the body that it ignores to its argument.
   */
  function answering(
    request: FastifyRequest,
    reply: FastifyReply,
    perform: (ignored: Set<string>) => Answer | Promise<Answer>,
    target?: Target,
  ): void | Promise<void> {
    const ignored = new Set<string>();
    const isRead = methodOf(request) === 'GET' && (target === undefined || 'verb' in target.operation);
    const answered = (answer: Answer) => {
      if (ignored.size > 0) {
        const names = ignoredNames(ignored);
        reply.header('x-holdfast-ignored', names.join(', '));
        log.info(
          { request: request.id, ignored: names },
          `${request.method} ${split(request.url).path}: unknown fields`,
        );
      }
      const shown = request.principal.access?.readsSecrets === false ? withoutSecrets(answer) : answer;
      write(reply, isRead ? tagged(shown, request.headers['if-none-match']) : shown);
    };
    const failed = (error: unknown) => {
      if (error instanceof AnswerError) return write(reply, error.answer);
      if (error instanceof ChangedMeanwhile) return write(reply, json(412, { error: error.message }));
      if (error instanceof Forbidden) return write(reply, json(403, { error: error.message }));
      if (error instanceof QueryError) return write(reply, json(400, { error: error.message }));
      const known = faultAnswer(error, {
        method: request.method,
        operation: target?.operation,
        invalid: invalidStatus(target),
        byPath:
          target?.match.route.resource.kind === 'hosted' &&
          (target.match.route.resource.key.slashes || target.match.route.resource.quirks.missing === 'told'),
        fault:
          target &&
          ('action' in target.operation ? target.operation.action.fault : target.match.route.resource.quirks.fault),
        issueNames:
          target &&
          ('action' in target.operation
            ? target.operation.action.issueNames
            : target.match.route.resource.quirks.issueNames),
      });
      if (known === undefined) return unexpected(request, reply, error);
      if (error instanceof Fault && error.kind !== 'missing')
        log.debug(
          { request: request.id, error: error.message },
          `${request.method} ${split(request.url).path}: ${known.status}`,
        );
      answered(known);
    };
    try {
      refuseOtherTypes(request, methodOf(request));
      const answer = repeatable(request, () => perform(ignored), target);
      if (answer instanceof Promise) return answer.then(answered).catch(failed);
      answered(answer);
    } catch (error) {
      failed(error);
    }
  }

  /** Why a key may not send this request, judged before its body is read. Notes what the request would do. */
  function forbiddenProblem(request: FastifyRequest, access: Access): string | undefined {
    const intent = acts.routed(request.routeOptions.url, methodOf(request), split(request.url).path);
    if (intent === undefined || intent === 'open') return undefined;
    request.act = intent;
    return access.problem(intent);
  }

  /** Performs the request, or, if it carries the `Idempotency-Key` of an earlier one, gives the answer to that one. */
  function repeatable(
    request: FastifyRequest,
    perform: () => Answer | Promise<Answer>,
    target: Target | undefined,
  ): Answer | Promise<Answer> {
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string' || !changes(request)) return perform();
    const problem = keyProblem(key);
    if (problem !== undefined) return problem;
    const body = Buffer.isBuffer(request.body) ? request.body.toString('base64') : '';
    const content = `${methodOf(request)} ${request.url} ${body}`;
    return retries.once({ actor: request.principal.name, key, content, request: request.id }, perform, (changed) =>
      target === undefined ? carriedOut : controller.recall(target, changed),
    );
  }

  function matchOf(plain: string | undefined): Match | undefined {
    return plain?.startsWith(`${root.slice(1)}/`) ? router.match(plain.slice(root.length)) : undefined;
  }

  /**
   * Whether a request changes anything. A GET of the document does when it is an action, such as dismissing an alert.
   */
  function changes(request: FastifyRequest): boolean {
    const method = methodOf(request);
    if (method !== 'GET') return request.method !== 'OPTIONS' || method !== undefined;
    const operation = matchOf(plainPath(split(request.url).path))?.route.operations.get(method);
    return operation !== undefined && 'action' in operation;
  }

  /** Keys without the right to it do not read secrets and raw lines, in which people write passwords too. */
  function withoutSecrets(answer: Answer): Answer {
    const { body, type } = answer;
    if (body === undefined || type !== jsonType) return answer;
    return { ...answer, body: withoutSecretMembers(body) };
  }

  /** Unexpected error: log the details, answer with the request id. */
  function unexpected(request: FastifyRequest, reply: FastifyReply, error: unknown) {
    log.error({ request: request.id, err: error }, `${request.method} ${split(request.url).path}: unexpected error`);
    return write(
      reply,
      json(500, { error_message: `Unexpected error. The log has the details under the request id ${request.id}.` }),
    );
  }

  return app;
}

/** The route and the operation that a request matched. */
interface Target {
  readonly match: Match;
  readonly operation: Operation;
}

/** What calls of both interfaces have. */
function partsOf(request: FastifyRequest, query: string) {
  return {
    query,
    body: ({ needed }: { readonly needed: boolean }) => permittedBody(request, bodyOf(request, needed)),
    context: {
      actor: request.principal.name,
      request: request.id,
      access: request.principal.access,
      connection: clientConnectionOf(request),
      ...confirmIn(query),
    },
  };
}

/** The body, if the principal may send it. Every operation gets its body here. */
function permittedBody({ act, principal: { access } }: FastifyRequest, body: unknown): unknown {
  const problem = access && act && access.problemIn(act, body);
  if (problem !== undefined) throw new AnswerError(json(403, { error: problem }));
  return body;
}

/** The names of the fields that have secrets or raw lines. */
function secretNamesOf({ resources }: Engine): ReadonlySet<string> {
  return new Set(
    resources
      .filter(isKeptResource)
      .flatMap(({ fields }) =>
        Object.entries(fields).flatMap(([name, { secret, raw, use }]) =>
          (secret || raw === true) && use !== 'hidden' ? [name] : [],
        ),
      ),
  );
}

/** Reads `confirm_within` from the query. */
function confirmIn(query: string): { readonly confirmWithin?: number } {
  const value = new URLSearchParams(query).get('confirm_within');
  if (value === null || value === '') return {};
  if (!/^\d{1,4}$/.test(value) || Number(value) > longestConfirm)
    throw new AnswerError(
      json(400, { error: `Expected confirm_within in seconds, from 0 to ${longestConfirm}, got ${quote(value)}.` }),
    );
  return { confirmWithin: Number(value) };
}

/** The call for the dry run of a request. */
function plannedCall(
  { method, path, body }: PlannedRequest,
  context: RequestContext,
  router: Router<Route>,
): Call & { readonly method: Method } {
  const match = router.match(plainPath(path) ?? '');
  const [known, operation] = [...(match?.route.operations ?? [])].find(([name]) => name === method) ?? [];
  if (match === undefined || known === undefined || operation === undefined)
    throw refused('Expected the method, path and body of a request that changes records, such as POST sharing/cifs/.');
  const { actor, request } = context;
  return {
    method: known,
    match,
    operation,
    query: '',
    range: undefined,
    ifMatch: undefined,
    body: () => body ?? {},
    ignored: new Set(),
    // Without the connection: a dry run cannot interrupt a client.
    context: { actor, request },
  };
}

/** Browsers send at least one of these headers with every request of a page that is not a plain read. */
function isFromBrowser({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}

function refusal(request: FastifyRequest, { retryAfter, message }: Refusal): Answer {
  if (retryAfter !== undefined)
    return json(
      429,
      { error: `Too many login attempts. Send this request again in ${retryAfter} s.` },
      { 'retry-after': String(retryAfter) },
    );
  const headers: Readonly<Record<string, string>> =
    request.headers['x-requested-from'] === 'WebUI' ? {} : { 'www-authenticate': 'Basic realm="Holdfast"' };
  // The program has a key that was once accepted, or is limited: it learns why it is refused.
  if (message !== undefined) return json(401, { error: message }, headers);
  // A page that sends requests by script handles the 401 itself: it must not cause a prompt of the browser (gaps 1.1).
  return nothing(
    401,
    request.headers['x-requested-from'] === 'WebUI' ? {} : { 'www-authenticate': 'Basic realm="Holdfast"' },
  );
}

/** Answers input that is not HTTP, and requests that were not complete in time. */
function answerMalformed(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy();
  const [status, message] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'The request was not complete in time.']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'The headers are too large.']
        : ['400 Bad Request', 'This is not a valid HTTP request.'];
  const body = JSON.stringify({ error: message });
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

/** Writes an answer unchanged: no charset is added to JSON, and the framework sets no type (clients-need H1, H2). */
function write(reply: FastifyReply, { status, headers, type, body, pieces }: Answer): void {
  reply.code(status);
  if (headers !== undefined) reply.headers(headers);
  if (pieces !== undefined && type !== undefined)
    reply.header('vary', 'Accept').header('content-type', type).send(Readable.from(pieces));
  else if (body === undefined || type === undefined) reply.send();
  else reply.header('vary', 'Accept').header('content-type', type).serializer(unchanged).send(body);
}

/** A custom serializer keeps fastify from changing the body, which as a string leaves in one piece with the headers. */
function unchanged(body: string): string {
  return body;
}

function split(url: string): { readonly path: string; readonly query: string } {
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** The effective method: HEAD is a GET without a body, and a header may override the method (gaps 1.3). */
function methodOf(request: FastifyRequest): Method | undefined {
  const override = request.headers['x-http-method-override'];
  return methodNamed(typeof override === 'string' ? override.toUpperCase() : request.method);
}

function methodNamed(method: string): Method | undefined {
  if (method === 'HEAD') return 'GET';
  return method === 'POST' || method === 'PUT' || method === 'DELETE' || method === 'GET' ? method : undefined;
}

type AnyMatch = Match<Route | ManagementRoute>;

function allow({ route }: AnyMatch): string {
  return [...route.operations.keys()].map((method) => method.toLowerCase()).join(',');
}

function wrongMethod(match: AnyMatch): Answer {
  return { ...sentence(405, allow(match)), headers: { allow: allow(match).toUpperCase() } };
}

function allowed(match: AnyMatch): Answer {
  return { ...sentence(200, allow(match)), headers: { allow: allow(match).toUpperCase() } };
}

function invalidStatus(target: Target | undefined): 400 | 409 {
  if (target === undefined) return 400;
  // The refusal to remove a record in use names fields, but has the status of a failure (gaps 7.5).
  if (
    'verb' in target.operation &&
    target.operation.verb === 'remove' &&
    target.match.route.resource.kind === 'collection'
  )
    return 400;
  return 'action' in target.operation
    ? target.operation.action.invalid
    : (target.match.route.resource.quirks.invalid ?? 409);
}

/** All resources with their URLs (gaps 1.2). */
function index(engine: Engine): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    engine.resources
      .filter(({ path, verbs }) => verbs.length > 0 && !path.includes('{'))
      .map(({ path }) => [path, { list_endpoint: `${root}/${path}/`, schema: '/openapi.json' }]),
  );
}
