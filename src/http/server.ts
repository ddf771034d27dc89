import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { longestConfirm } from '../engine/change/confirm.ts';
import type { Principal } from '../engine/change/request.ts';
import { type Access, type Act, Forbidden } from '../engine/declare/access.ts';
import { Fault, refused } from '../engine/declare/errors.ts';
import type { Section } from '../engine/declare/operation.ts';
import { publicName, publicRelease } from '../engine/declare/public-release.ts';
import type { Operations, Profile } from '../engine/declare/resource.ts';
import type { JobRun } from '../engine/declare/step.ts';
import { type Engine, isKeptResource, type Log, type RequestContext } from '../engine/engine.ts';
import type { AuditEntry, Bin, PlannedRequest, RequestAnswer, RequestOutcome, Services } from '../engine/services.ts';
import type { Distribution } from '../lib/distribution.ts';
import { type Exposition, expositionFor, expositionTypes } from '../lib/exposition.ts';
import { collected } from '../lib/slices.ts';
import { messageOf, quote } from '../lib/text.ts';
import { Acts, memberFilter } from './acts.ts';
import { type Answer, faultAnswer, json, jsonText, jsonType, nothing, sentence } from './answer.ts';
import { type Authenticator, codeHeader, type Refusal } from './authenticator.ts';
import { Bodies } from './bodies.ts';
import { AnswerError, bodyOf, refuseOtherTypes } from './body-of.ts';
import { clientConnectionOf } from './client-connection.ts';
import type { Connections } from './connections.ts';
import { type ConsoleFiles, consoleFileOf, sendConsoleFile } from './console.ts';
import { debugArchive } from './debug.ts';
import { contentPolicy, documentationPage } from './documentation.ts';
import { ignoredNames } from './ignored.ts';
import { bodyLimit, type Limits } from './limits.ts';
import { acceptsLines } from './listing.ts';
import { QueryError } from './lists.ts';
import { ManagementController } from './management-controller.ts';
import { openApiInSlices } from './openapi/document.ts';
import { crossSiteProblem, Hosts, type Names } from './origin.ts';
import { inTime, preferenceIn } from './preferences.ts';
import { acceptsProblem, asProblem, refusal } from './problem-answer.ts';
import { RefusedLogins } from './refused-logins.ts';
import { carriedOut, ResourceController } from './resource-controller.ts';
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
import { tokenIn } from './sessions.ts';
import { heldChange, heldRead, probed, readiness } from './starting.ts';
import { ChangedMeanwhile, tagged } from './tags.ts';

export interface ServerParts {
  readonly engine: Engine;
  readonly authenticator: Authenticator;
  readonly log: Log;
  readonly profile: Profile;
  readonly version: string;
  /** The management interface, and what its operations work with. */
  readonly management: readonly Section[];
  readonly bin: Bin;
  readonly services: Omit<Services, 'plan' | 'request' | 'refusalOf' | 'actOf'>;
  /** When each connection was opened or last answered. A later request on it proves that traffic passes both ways. */
  readonly shown: WeakMap<Socket, number>;
  readonly connections: Connections;
  readonly limits: Limits;
  readonly names: Names;
  /** The answer to an authority that validates a name of this machine; undefined for every other path. */
  readonly challengeAnswer: (path: string) => string | undefined;
  readonly console: ConsoleFiles;
  /** The metrics as text, in pieces. */
  readonly metrics: (format: Exposition) => Iterable<string>;
  /** Receives how long each request took, by its route. */
  readonly requestTimes: Distribution;
  /** Receives the requests that changed something or were refused. */
  readonly audited: (entry: Omit<AuditEntry, 'at' | 'revision'>) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated principal; the `onRequest` hook sets it before any handler runs. */
    principal: Principal;
    /** What the request would do, for a principal that may not do everything. */
    act: Act | undefined;
    /** The job that it becomes if it takes longer than its client waits. */
    job: JobRun | undefined;
    /** Whether it changes anything, once its route is known. */
    changes: boolean | undefined;
  }
}

/** Milliseconds that the text of the metrics is written without a pause. */
const longestScrapeSlice = 4;
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
  const { engine, authenticator, log, profile, version, shown, connections, limits, names, audited } = parts;
  const routes = routesOf(engine.resources);
  const router = new Router(routes);
  const secretNames = secretNamesOf(engine);
  const withoutSecretMembers = memberFilter(secretNames);
  const controller = new ResourceController(engine, {
    ...{ profile, root, bin: parts.bin },
    withoutSecrets: withoutSecretMembers,
  });
  const managementRoutes = managementRoutesOf(parts.management, managementRoot.slice(1));
  const managementRouter = new Router(managementRoutes);
  const acts = new Acts(
    engine,
    { documented: router, managed: managementRouter },
    { document: root, management: managementRoot },
  );
  const management: ManagementController = new ManagementController(
    {
      ...parts.services,
      plan,
      request: (request, context, operations) => requestAmong(request, context, operations),
      refusalOf,
      actOf: (method, path) => acts.planned(methodNamed(method), path),
    },
    { names: secretNames, withoutSecrets: withoutSecretMembers },
  );
  // Generated on the first request for it: it costs a third of the processor time of the daemon's start.
  let description: Promise<ServedText> | undefined;
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
  app.decorateRequest('job');
  app.decorateRequest('changes');
  app.server.on('connection', (socket) => {
    shown.set(socket, performance.now());
    connections.add(socket);
  });
  const crossSite = new RefusedLogins(({ address, reason, refused }) =>
    audited({
      ...{ actor: '', credential: '', address, method: '', path: reason, status: 403 },
      request: '',
      count: refused,
    }),
  );
  app.addHook('onResponse', (request, reply, done) => {
    const { raw, principal } = request;
    const status = reply.statusCode;
    // Without a principal, a flood of refused logins would say how fast refusals are.
    if (principal !== undefined)
      parts.requestTimes.add(reply.elapsedTime / 1000, { method: request.method, route: routeName(request) });
    // Refused logins and requests that pages of other servers cause can be a flood: they are counted.
    if (principal === undefined) {
      if (status === 403)
        crossSite.note({ address: clientConnectionOf(request).remote, account: '', reason: 'cross-site request' });
    } else if (status === 403 || (changes(request) && !isPlan(request)))
      audited({ ...described(request), actor: principal.name, credential: credentialText(principal), status });
    shown.set(raw.socket, performance.now());
    // The request was answered before its body was complete: the rest is read and discarded, for a limited time.
    if (!raw.complete && raw.socket instanceof Socket)
      setTimeout(() => raw.complete || raw.socket.destroy(), limits.restTime).unref();
    done();
  });

  // An authority has no credential, and asks for the name that it validates.
  app.addHook('onRequest', (request, reply, done) => {
    const answer = request.method === 'GET' ? parts.challengeAnswer(request.url) : undefined;
    if (answer === undefined) done();
    else reply.type('text/plain').send(answer);
  });
  // All checks that do not need the body are made before any of it is read.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('cache-control', 'no-store');
    reply.header('x-content-type-options', 'nosniff');
    const { raw } = request;
    if (connections.isRefused(raw.socket))
      return write(
        reply,
        refusal('overloaded', 503, 'Too many connections.', { headers: { 'retry-after': '5', connection: 'close' } }),
      );
    const wrongHost = hosts.problem(raw.headers.host);
    if (wrongHost !== undefined) return write(reply, refusal('wrong_host', 421, wrongHost));
    const file = consoleFileOf(parts.console, request);
    if (file !== undefined) return sendConsoleFile(file, request, reply);
    const foreign =
      isFromBrowser(request) && changes(request)
        ? crossSiteProblem(raw.headers, raw.socket instanceof TLSSocket, names.further)
        : undefined;
    if (foreign !== undefined) return write(reply, refusal('cross_site', 403, foreign));
    const pass = (admitted: Principal | Refusal) => {
      if (!('name' in admitted)) {
        const answer = raw.headers.authorization === undefined ? probed(engine, request) : undefined;
        return write(reply, answer ?? credentialRefusal(request, admitted));
      }
      // A cookie is sent without the page's doing, so that a change must name the page that it comes from.
      if (admitted.credential.kind === 'session' && changes(request) && !isFromBrowser(request))
        return write(reply, refusal('cross_site', 403, missingOrigin));
      request.principal = admitted;
      const forbidden = admitted.access && forbiddenProblem(request, admitted.access);
      if (forbidden !== undefined) return write(reply, forbiddenAnswer(forbidden));
      if (raw.headers['content-length'] !== undefined || raw.headers['transfer-encoding'] !== undefined)
        answers.set(raw, reply.raw);
      connections.proven(raw.socket);
      // A page that shows the countdown asks for much by itself, and confirms only when a person says so.
      if (raw.headers['x-holdfast-confirm'] !== 'no')
        engine.heard(clientConnectionOf(request), shown.get(raw.socket) ?? 0, admitted.access);
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
  app.get('/metrics', async (request, reply) => {
    const format = expositionFor(request.headers.accept);
    const text = (await collected(parts.metrics(format), longestScrapeSlice)).join('');
    write(reply, { status: 200, type: expositionTypes[format], body: text });
    return reply;
  });
  // The cookie of a session is sent only below /api.
  for (const path of ['/openapi.json', '/api/openapi.json'])
    app.get(path, async (request, reply) => {
      const roots = { document: root, management: managementRoot };
      description ??= openApiInSlices(routes, parts.management, { version, roots, profile }).then((whole) =>
        servedText(JSON.stringify(whole)),
      );
      const { text, compressed, etag } = await description;
      const answer = { etag, vary: 'Accept-Encoding' };
      if (request.headers['if-none-match'] === etag) write(reply, nothing(304, answer));
      else if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? '')))
        write(reply, jsonText(200, text, answer));
      else reply.headers({ ...answer, 'content-encoding': 'gzip', 'content-type': jsonType }).send(compressed);
      return reply;
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
    if (match === undefined) return write(reply, unknownPath);
    const method = methodOf(request);
    const operation = method && match.route.operations.get(method);
    if (operation === undefined)
      return write(reply, request.method === 'OPTIONS' ? allowed(match) : wrongMethod(match));
    const { params } = match;
    const perform = (ignored: Set<string>) =>
      (operation.awaitsStart ? heldChange(engine) : undefined) ??
      management.perform({
        ...partsOf(request, query),
        ignored,
        operation,
        params,
        request,
        reply,
        isAdmitted: () => isAdmitted(request),
      });
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
    if (match === undefined) return write(reply, unknownPath);
    const method = methodOf(request);
    const operation = method && match.route.operations.get(method);
    if (operation === undefined)
      return write(reply, request.method === 'OPTIONS' ? allowed(match) : wrongMethod(match));
    if (method === 'GET') request.changes = 'action' in operation;
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
          address: request.url,
          asLines: acceptsLines(request.headers.accept),
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
    if (status < 500) return write(reply, refusal('refused', status, messageOf(error)));
    return unexpected(request, reply, error);
  });
  // Without this sweep, a connection that was busy when the stop began would stay open for the client's next request.
  app.addHook('preClose', (done) => {
    management.close();
    const sweep = setInterval(() => app.server.closeIdleConnections(), 50);
    app.server.once('close', () => clearInterval(sweep));
    done();
  });
  /** The dry run of a request of either interface. */
  function plan({ method: name, path, body }: PlannedRequest, { actor, credential, request, access }: RequestContext) {
    const address = addressIn(path);
    const method = methodNamed(name);
    const problem = problemOfRequest(method, path, body, access);
    if (problem !== undefined) throw new AnswerError(forbiddenAnswer(problem));
    const call = {
      ...{ query: '', body: () => body ?? {}, ignored: new Set<string>() },
      // Without the connection: a dry run cannot interrupt a client.
      context: { actor, request, access, ...(credential && { credential }) },
    };
    const managed = managementRouter.match(address);
    const own = method && managed?.route.operations.get(method);
    if (own !== undefined) return management.plan({ ...call, operation: own, params: managed?.params ?? {} });
    const match = matchOf(address);
    const operation = method && match?.route.operations.get(method);
    if (match !== undefined && operation !== undefined)
      return controller.plan({ ...call, match, operation, range: undefined, ifMatch: undefined });
    throw refused(
      'Expected the method, path and body of a request that changes something, such as POST sharing/cifs/.',
    );
  }

  /** Carries out a request of either interface with these operations, as one of several. */
  async function requestAmong(
    sent: Parameters<Services['request']>[0],
    context: RequestContext,
    operations: Operations,
  ): Promise<RequestOutcome> {
    const { method: name, path, body, ifMatch } = sent;
    const managed = managementRouter.match(addressIn(path));
    if (managed !== undefined) return ownRequestAmong(sent, managed, context, operations);
    const { match, operation, method } = targetOf({ method: name, path });
    if (match === undefined || operation === undefined || method === 'GET')
      throw refused('Expected the method, path and body of a request that changes something.');
    const problem = problemOfRequest(method, path, body, context.access);
    if (problem !== undefined) throw new AnswerError(forbiddenAnswer(problem));
    const entered = await controller.enter({
      ...{ query: '', range: undefined, body: () => body ?? {}, ignored: new Set<string>() },
      ...{ match, operation, ifMatch, context, operations },
    });
    const answer = () => {
      const made = entered.answer();
      return made && shownAnswer(context.access?.readsSecrets === false ? withoutSecrets(made) : made);
    };
    return { result: entered.result, answer };
  }

  async function ownRequestAmong(
    { method: name, path, body, ifMatch }: Parameters<Services['request']>[0],
    { route, params }: { readonly route: ManagementRoute; readonly params: Readonly<Record<string, string>> },
    context: RequestContext,
    operations: Operations,
  ): Promise<RequestOutcome> {
    const method = methodNamed(name);
    const operation = method && route.operations.get(method);
    if (operation === undefined)
      throw refused('Expected the method, path and body of a request that changes something.');
    if (ifMatch !== undefined)
      throw refused('if_match is for records of /api/v1.0/; those of this request have no tag.');
    const problem = problemOfRequest(method, path, body, context.access);
    if (problem !== undefined) throw new AnswerError(forbiddenAnswer(problem));
    const call = { query: '', body: () => body ?? {}, ignored: new Set<string>(), operation, params, context };
    const value = await management.enter(call, operations);
    const made = operation.answer === 'nothing' ? nothing(operation.status) : json(operation.status, value);
    const open = shownAnswer(context.access?.readsSecrets === false ? withoutSecrets(made) : made);
    return { result: open.body, answer: () => open };
  }

  function targetOf({ method: name, path }: Pick<PlannedRequest, 'method' | 'path'>) {
    const method = methodNamed(name);
    const match = matchOf(addressIn(path));
    return { method, match, operation: method && match?.route.operations.get(method) };
  }

  /** Why a principal may not send this request; undefined if it may. */
  function problemOfRequest(method: Method | undefined, path: string, body: unknown, access: Access | undefined) {
    const act = acts.planned(method, path);
    return act === undefined || act === 'open' ? undefined : (access?.problem(act) ?? access?.problemIn(act, body));
  }

  function refusalOf(request: PlannedRequest, error: unknown): RequestAnswer | undefined {
    const { match, operation } = targetOf(request);
    const target = match && operation && { match, operation };
    const answer = refusalAnswer(error, request.method, target);
    return answer && shownAnswer(answer);
  }

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
  ): Promise<unknown> | undefined {
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
      const shown = helped(request.principal.access?.readsSecrets === false ? withoutSecrets(answer) : answer, request);
      write(reply, isRead ? tagged(shown, request.headers['if-none-match']) : shown);
      // What is sent in pieces has not been sent when the handler ends.
      return shown.pieces === undefined ? undefined : reply;
    };
    const failed = (error: unknown) => {
      const known = refusalAnswer(error, request.method, target);
      if (known === undefined) return unexpected(request, reply, error);
      if (!(error instanceof Fault)) return write(reply, helped(known, request));
      if (error.kind !== 'missing')
        log.debug(
          { request: request.id, error: error.message },
          `${request.method} ${split(request.url).path}: ${known.status}`,
        );
      answered(known);
    };
    try {
      refuseOtherTypes(request, methodOf(request));
      const answer = deferrable(request, () => repeatable(request, () => perform(ignored), target), target);
      if (answer instanceof Promise) return answer.then(answered).catch(failed);
      answered(answer);
    } catch (error) {
      failed(error);
    }
    return undefined;
  }

  /** Carries out the request, which becomes a job if it takes longer than its client prefers to wait. */
  function deferrable(
    request: FastifyRequest,
    perform: () => Answer | Promise<Answer>,
    target: Target | undefined,
  ): Answer | Promise<Answer> {
    const preference = preferenceIn(request.headers.prefer);
    if (preference === undefined || !changes(request) || isPlan(request)) return perform();
    const { principal, id } = request;
    const { path } = split(request.url);
    const deferred = {
      title: `${methodOf(request)} ${path}`.slice(0, longestPath),
      subject: subjectOf(path),
      request: id,
      owner: principal.id,
      async perform(job: JobRun) {
        request.job = job;
        try {
          return await perform();
        } catch (error) {
          return refusalAnswer(error, request.method, target) ?? unexpectedAnswer(request, error);
        }
      },
      ended: ({ status }: Answer) =>
        audited({ ...described(request), actor: principal.name, credential: credentialText(principal), status }),
    };
    return inTime(engine.jobs, deferred, preference, managementRoot);
  }

  /** The pattern of the route that a request was for; the number of patterns does not grow. */
  function routeName(request: FastifyRequest): string {
    const address = request.routeOptions.url;
    if (address !== '/*' && address !== `${managementRoot}/*`) return address ?? 'unknown';
    const path = plainPath(split(request.url).path);
    const own = path === undefined ? undefined : managementRouter.match(path)?.route.pattern;
    if (own !== undefined) return `/${own}`;
    const pattern = matchOf(path)?.route.pattern;
    return pattern === undefined ? 'unknown' : `${root}/${pattern}`;
  }

  /** Adds the request that helps where the path says it: for what is missing the list, after a lost race the record. */
  function helped(answer: Answer, { url }: FastifyRequest): Answer {
    const { problem, status } = answer;
    if (problem?.help !== undefined || (status !== 404 && status !== 412)) return answer;
    const path = status === 412 ? split(url).path : listAbove(plainPath(split(url).path) ?? '');
    if (path === undefined) return answer;
    const code = status === 412 ? 'changed' : 'not_found';
    return { ...answer, problem: { code, ...problem, help: { method: 'GET', path } } };
  }

  function listAbove(path: string): string | undefined {
    for (let plain = path; plain.includes('/'); plain = plain.slice(0, plain.lastIndexOf('/'))) {
      if (managementRouter.match(plain)?.route.operations.get('GET')?.list !== undefined) return `/${plain}`;
      const operation = matchOf(plain)?.route.operations.get('GET');
      if (operation !== undefined && 'verb' in operation && operation.verb === 'list') return `/${plain}/`;
    }
    return undefined;
  }

  /** Checks the credential of a request again, which does not count as its use. */
  async function isAdmitted({ raw }: FastifyRequest): Promise<boolean> {
    return 'name' in (await authenticator.admit(raw, { isUse: false }));
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
    return retries.once({ holder: request.principal.id, key, content, request: request.id }, perform, (changed) =>
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
    if (request.changes !== undefined) return request.changes;
    const operation = matchOf(plainPath(split(request.url).path))?.route.operations.get(method);
    return operation !== undefined && 'action' in operation;
  }

  /** Keys without the right to it do not read secrets and raw lines, in which people write passwords too. */
  function withoutSecrets(answer: Answer): Answer {
    const { body, type, isOpen, problem } = answer;
    if (body === undefined || type !== jsonType || isOpen === true) return answer;
    const open = { ...answer, body: withoutSecretMembers(body) };
    if (problem?.more === undefined) return open;
    return { ...open, problem: { ...problem, more: JSON.parse(withoutSecretMembers(JSON.stringify(problem.more))) } };
  }

  /** Unexpected error: log the details, answer with the request id. */
  function unexpected(request: FastifyRequest, reply: FastifyReply, error: unknown) {
    return write(reply, unexpectedAnswer(request, error));
  }

  function unexpectedAnswer(request: FastifyRequest, error: unknown): Answer {
    log.error({ request: request.id, err: error }, `${request.method} ${split(request.url).path}: unexpected error`);
    return refusal('unexpected', 500, `Unexpected error. The log has the details under the request id ${request.id}.`, {
      member: 'error_message',
    });
  }

  return app;
}

/** The answer to a request that ends with this error; undefined if it is unexpected. */
function refusalAnswer(error: unknown, method: string, target: Target | undefined): Answer | undefined {
  if (error instanceof AnswerError) return error.answer;
  if (error instanceof ChangedMeanwhile) return refusal('changed', 412, error.message);
  if (error instanceof Forbidden) return forbiddenAnswer(error.message);
  if (error instanceof QueryError) return refusal('invalid_query', 400, error.message);
  return faultAnswer(error, {
    method,
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
}

/** An answer as a part of another one. */
function shownAnswer({ status, type, body }: Answer): RequestAnswer {
  if (body === undefined) return { status, body: null };
  const value: unknown = type === jsonType ? JSON.parse(body) : body;
  return { status, body: value };
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
      credential: request.principal.credential,
      request: request.id,
      access: request.principal.access,
      principal: request.principal.id,
      ...(request.job && { job: request.job }),
      connection: clientConnectionOf(request),
      ...confirmIn(query),
      ...commentIn(request),
    },
  };
}

/** What a job of a request is about: the path below the root of either interface, such as `storage/volume`. */
function subjectOf(path: string): string {
  return (plainPath(path) ?? '').replace(/^api\/(?:v1\.0|holdfast\/v1)\//, '').slice(0, 200);
}

/** What the audit log has of a request. The query is left out, because it may be long, and the body has secrets. */
function described(request: FastifyRequest) {
  return {
    address: clientConnectionOf(request).remote,
    method: methodOf(request) ?? request.method,
    path: split(request.url).path.slice(0, longestPath),
    request: request.id,
  };
}

const longestPath = 500;

const credentialText = ({ credential: { kind, id } }: Principal): string => (id === undefined ? kind : `${kind} ${id}`);

/** A dry run changes nothing. */
const isPlan = (request: FastifyRequest): boolean => pathOf(request.url) === `${managementRoot.slice(1)}/plan`;

/** The body, if the principal may send it. Every operation gets its body here. */
function permittedBody({ act, principal: { access } }: FastifyRequest, body: unknown): unknown {
  const problem = access && act && access.problemIn(act, body);
  if (problem !== undefined) throw new AnswerError(forbiddenAnswer(problem));
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
  // Most requests have no query, and parsing it takes longer than finding their record.
  if (query === '') return {};
  const value = new URLSearchParams(query).get('confirm_within');
  if (value === null || value === '') return {};
  if (!/^\d{1,4}$/.test(value) || Number(value) > longestConfirm)
    throw new AnswerError(
      refusal(
        'invalid_query',
        400,
        `Expected confirm_within in seconds, from 0 to ${longestConfirm}, got ${quote(value)}.`,
      ),
    );
  return { confirmWithin: Number(value) };
}

/** Longest comment on a change, in characters. */
const longestComment = 500;

/** Reads the header `X-Holdfast-Comment`, whose bytes are UTF-8. */
function commentIn({ headers }: FastifyRequest): { readonly comment?: string } {
  const header = headers['x-holdfast-comment'];
  if (typeof header !== 'string' || header.trim() === '') return {};
  const comment = Buffer.from(header, 'latin1').toString('utf8').trim();
  if (comment.length > longestComment)
    throw new AnswerError(
      refusal(
        'invalid_header',
        400,
        `Expected at most ${longestComment} characters in X-Holdfast-Comment, got ${comment.length}.`,
      ),
    );
  return { comment };
}

/** The address of a planned request from the root of the server, from where its path leaves out the document's root. */
function addressIn(path: string): string {
  const plain = plainPath(path.replace(/[?#].*$/s, '')) ?? '';
  return plain.startsWith('api/') ? plain : `${root.slice(1)}/${plain}`;
}

/** Browsers send at least one of these headers with every request of a page that is not a plain read. */
function isFromBrowser({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}

const unknownPath: Answer = {
  ...sentence(404, 'Not found'),
  problem: { code: 'unknown_path', help: { method: 'GET', path: '/openapi.json' } },
};

/** What the principal may do is in the answer of the request that helps. */
function forbiddenAnswer(message: string): Answer {
  return refusal('forbidden', 403, message, { help: { method: 'GET', path: `${managementRoot}/sessions/current` } });
}

const missingOrigin =
  'Expected Origin or Sec-Fetch-Site with a change in a session, as browsers send them. Programs use a key instead.';

function credentialRefusal(request: FastifyRequest, { retryAfter, message, needsCode }: Refusal): Answer {
  if (retryAfter !== undefined)
    return refusal('too_many_attempts', 429, `Too many login attempts. Send this request again in ${retryAfter} s.`, {
      headers: { 'retry-after': String(retryAfter) },
    });
  // A page that sends requests by script handles the 401 itself: it must not cause a prompt of the browser (gaps 1.1).
  const isPage = request.headers['x-requested-from'] === 'WebUI' || tokenIn(request.raw) !== undefined;
  const headers: Readonly<Record<string, string>> = {
    ...(isPage ? {} : { 'www-authenticate': 'Basic realm="Holdfast"' }),
    ...(needsCode === true ? { [codeHeader]: 'required' } : {}),
  };
  // The program has a right password or a key that was once accepted: it learns why it is refused.
  return message === undefined ? nothing(401, headers) : refusal('unauthorized', 401, message, { headers });
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
function write(reply: FastifyReply, answer: Answer): void {
  const isProblem = answer.status >= 400 && acceptsProblem(reply.request, managementRoot);
  const { status, headers, type, body, pieces } = isProblem ? asProblem(answer, reply.request) : answer;
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
