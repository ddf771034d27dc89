import { randomBytes } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { longestConfirm } from '../engine/change/confirm.ts';
import type { Principal } from '../engine/change/request.ts';
import { type Access, Forbidden } from '../engine/declare/access.ts';
import { Fault, refused } from '../engine/declare/errors.ts';
import type { Section } from '../engine/declare/operation.ts';
import { publicName, publicRelease } from '../engine/declare/public-release.ts';
import type { Operations, Profile } from '../engine/declare/resource.ts';
import type { JobRun } from '../engine/declare/step.ts';
import { type Engine, isKeptResource, type Log, type RequestContext } from '../engine/engine.ts';
import { planHeader, tokenOf } from '../engine/plan/token.ts';
import type { AuditEntry, Bin, PlannedRequest, RequestAnswer, RequestOutcome, Services } from '../engine/services.ts';
import type { Distribution } from '../lib/distribution.ts';
import { type Exposition, expositionFor, expositionTypes } from '../lib/exposition.ts';
import { collected } from '../lib/slices.ts';
import { quote } from '../lib/text.ts';
import { Acts, memberFilter } from './acts.ts';
import { type Answer, faultAnswer, json, jsonType, nothing, sentence } from './answer.ts';
import { type Authenticator, codeHeader, type Refusal } from './authenticator.ts';
import { Bodies } from './bodies.ts';
import { AnswerError, bodyOf, refuseOtherTypes } from './body-of.ts';
import type { Connections } from './connections.ts';
import { type ConsoleFiles, consoleAnswer, consoleFileOf } from './console.ts';
import { contentPolicy, documentationPage } from './documentation.ts';
import { Exchange, methodNamed } from './exchange.ts';
import { ignoredNames } from './ignored.ts';
import { bodyLimit, type Limits } from './limits.ts';
import { acceptsLines } from './listing.ts';
import { QueryError } from './lists.ts';
import { ManagementController } from './management-controller.ts';
import { crossSiteProblem, Hosts, type Names } from './origin.ts';
import { inTime, preferenceIn } from './preferences.ts';
import { acceptsProblem, asProblem, refusal } from './problem-answer.ts';
import { RefusedLogins } from './refused-logins.ts';
import { type Call, carriedOut, ResourceController } from './resource-controller.ts';
import { keyProblem, Retries } from './retries.ts';
import {
  type Endpoint,
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
  readonly console: () => ConsoleFiles;
  /** The metrics as text, in pieces. */
  readonly metrics: (format: Exposition) => Iterable<string>;
  /** Called when a request begins. */
  readonly begins: () => void;
  /** Receives how long each request took, by its route. */
  readonly requestTimes: Distribution;
  /** Receives the requests that changed something or were refused. */
  readonly audited: (entry: Omit<AuditEntry, 'at' | 'revision'>) => void;
}

/** The server of the interface. */
export interface HttpServer {
  readonly server: Server;
  /** Answers one request, also those that other servers of this process receive. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  /** Resolves with the address, as a URL. */
  listen(at: { readonly host: string; readonly port: number; readonly backlog?: number }): Promise<string>;
  /** Ends when every connection is closed. */
  close(): Promise<void>;
}

/** Milliseconds that the text of the metrics is written without a pause. */
const longestScrapeSlice = 4;
/** Root of the API that the document defines. */
export const root = '/api/v1.0';
/** The one path of the newer API that profile `clients` answers. */
const newerVersion = 'api/v2.0/system/version';
/** Root of the API that only Holdfast has. */
const managementRoot = '/api/holdfast/v1';

/** Milliseconds that a connection without requests stays open. Clients and proxies keep theirs for a minute. */
const keepAlive = 72_000;

/** How many paths are remembered with their endpoints, and how long they may be. */
const mostRemembered = 2000;
const longestRemembered = 200;

/** Requests with one of these methods can have a body. With GET, existing clients send bodies that mean nothing. */
const withBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * The HTTP server: routes generated from the catalogue, one function that every request passes, and one that writes
 * answers.
 */
export function buildServer(parts: ServerParts): HttpServer {
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
  let isClosing = false;
  /** The endpoints of paths that were requested before. */
  const endpoints = new Map<string, Endpoint>();
  /** Where the time of a request is counted, by its route and method. */
  const times = new Map<Route | ManagementRoute | string, Map<string, (seconds: number) => void>>();
  const server = createServer(
    {
      requestTimeout: limits.requestTime,
      headersTimeout: Math.min(limits.requestTime, 30_000),
      connectionsCheckingInterval: Math.min(limits.requestTime, 5000),
      keepAliveTimeout: keepAlive,
    },
    serve,
  );
  server.on('clientError', answerMalformed);
  server.on('connection', (socket) => {
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
  function serve(raw: IncomingMessage, response: ServerResponse): void {
    count += 1;
    parts.begins();
    const exchange = new Exchange(raw, response, `${prefix}-${count.toString(36)}`, ended);
    try {
      admit(exchange);
    } catch (error) {
      failed(exchange, error);
    }
  }

  /** Called when the request was answered. */
  function ended(exchange: Exchange, seconds: number): void {
    const { raw, status, headers } = exchange;
    connections.answered(exchange);
    if (exchange.isAuthenticated) {
      // Without a principal, a flood of refused logins would say how fast refusals are.
      countTime(exchange, seconds);
      if (status === 403 || (changes(exchange) && !isPlan(exchange))) {
        const { principal } = exchange;
        audited({ ...described(exchange), actor: principal.name, credential: credentialText(principal), status });
      }
    } else if (status === 403)
      // Refused logins and requests that pages of other servers cause can be a flood: they are counted.
      crossSite.note({ address: exchange.connection.remote, account: '', reason: 'cross-site request' });
    shown.set(raw.socket, performance.now());
    // The request was answered before its body was complete: the rest is read and discarded, for a limited time. A request
    // without a body is often answered before Node calls it complete, and a timer would retain each of them for seconds.
    if (announcesBody(headers) && !raw.complete && raw.socket instanceof Socket)
      setTimeout(() => raw.complete || raw.socket.destroy(), limits.restTime).unref();
  }

  /** Makes all checks that do not need the body, before any of it is read. */
  function admit(exchange: Exchange) {
    const { raw, headers } = exchange;
    if (isClosing) return write(exchange, stopping);
    // An authority has no credential, and asks for the name that it validates.
    const challenge = exchange.method === 'GET' ? parts.challengeAnswer(exchange.url) : undefined;
    if (challenge !== undefined) return exchange.send({ status: 200, type: 'text/plain', body: challenge });
    if (connections.isRefused(raw.socket))
      return write(
        exchange,
        refusal('overloaded', 503, 'Too many connections.', { headers: { 'retry-after': '5', connection: 'close' } }),
      );
    const wrongHost = hosts.problem(headers.host);
    if (wrongHost !== undefined) return write(exchange, refusal('wrong_host', 421, wrongHost));
    const file = consoleFileOf(parts.console, exchange);
    if (file !== undefined) return exchange.send(consoleAnswer(file, headers));
    const foreign =
      isFromBrowser(exchange) && changes(exchange)
        ? crossSiteProblem(headers, exchange.connection.isSecure, names.further)
        : undefined;
    if (foreign !== undefined) return write(exchange, refusal('cross_site', 403, foreign));
    const admitted = authenticator.admit(raw);
    if (admitted instanceof Promise)
      admitted.then((result) => pass(exchange, result)).catch((error: unknown) => failed(exchange, error));
    else pass(exchange, admitted);
  }

  function pass(exchange: Exchange, admitted: Principal | Refusal) {
    const { raw, headers } = exchange;
    if (!('name' in admitted)) {
      const answer = headers.authorization === undefined ? probed(engine, exchange) : undefined;
      return write(exchange, answer ?? credentialRefusal(exchange, admitted));
    }
    // A cookie is sent without the page's doing, so that a change must name the page that it comes from.
    if (admitted.credential.kind === 'session' && changes(exchange) && !isFromBrowser(exchange))
      return write(exchange, refusal('cross_site', 403, missingOrigin));
    exchange.principal = admitted;
    const forbidden = admitted.access && forbiddenProblem(exchange, admitted.access);
    if (forbidden !== undefined) return write(exchange, forbiddenAnswer(forbidden));
    connections.proven(raw.socket);
    // A page that shows the countdown asks for much by itself, and confirms only when a person says so.
    if (headers['x-holdfast-confirm'] !== 'no')
      engine.heard(exchange.connection, shown.get(raw.socket) ?? 0, admitted.access);
    if (!hasBody(exchange)) return handle(exchange);
    bodies.read(raw, exchange.response, bodyLimit(pathOf(exchange.url)).bytes, (error, body) => {
      if (error !== null) return failed(exchange, error);
      exchange.body = body;
      handle(exchange);
    });
  }

  function handle(exchange: Exchange): void {
    connections.arrived(exchange);
    try {
      const done = handlerOf(exchange)(exchange);
      if (done instanceof Promise) done.catch((error: unknown) => failed(exchange, error));
    } catch (error) {
      failed(exchange, error);
    }
  }

  function failed(exchange: Exchange, error: unknown): void {
    if (error instanceof AnswerError) write(exchange, error.answer);
    else unexpected(exchange, error);
  }

  type Handler = (exchange: Exchange) => void | Promise<void>;

  function handlerOf(exchange: Exchange): Handler {
    const endpoint = endpointOf(exchange);
    if (endpoint.kind === 'documented') return documented;
    if (endpoint.kind === 'managed') return managed;
    return own.get(endpoint.address)?.handler ?? documented;
  }

  /** What answers a request. Rights and metrics are decided by the same look-up as the answer. */
  function endpointOf(exchange: Exchange): Endpoint {
    exchange.endpoint ??= endpoints.get(exchange.path) ?? lookUp(exchange);
    return exchange.endpoint;
  }

  function lookUp(exchange: Exchange): Endpoint {
    const { path, plain, method } = exchange;
    if (path.startsWith(`${managementRoot}/`) || path.startsWith(`${root}/`)) {
      const endpoint: Endpoint = path.startsWith(`${root}/`)
        ? { kind: 'documented', match: matchOf(plain) }
        : { kind: 'managed', match: plain === undefined ? undefined : managementRouter.match(plain) };
      if (endpoint.match !== undefined && path.length <= longestRemembered) {
        if (endpoints.size >= mostRemembered) endpoints.clear();
        endpoints.set(path, endpoint);
      }
      return endpoint;
    }
    const decoded = decodedPath(path);
    const address = decoded.startsWith('/docs/') ? '/docs/*' : decoded;
    const isRead = method === 'GET' || (method === 'HEAD' && own.get(address)?.hasHead === true);
    return isRead && own.has(address) ? { kind: 'own', address } : { kind: 'documented', match: matchOf(plain) };
  }

  const metrics = async (exchange: Exchange) => {
    const format = expositionFor(exchange.headers.accept);
    const text = (await collected(parts.metrics(format), longestScrapeSlice)).join('');
    write(exchange, { status: 200, type: expositionTypes[format], body: text });
  };
  const openApi = async (exchange: Exchange) => {
    const roots = { document: root, management: managementRoot };
    description ??= import('./openapi/document.ts')
      .then(({ openApiInSlices }) => openApiInSlices(routes, parts.management, { version, roots, profile }))
      .then((whole) => servedText(JSON.stringify(whole)));
    const { compressed, etag } = await description;
    const headers = { etag, vary: 'Accept-Encoding' };
    if (exchange.headers['if-none-match'] === etag) write(exchange, nothing(304, headers));
    else if (/\bgzip\b/.test(String(exchange.headers['accept-encoding'] ?? '')))
      exchange.send({
        ...{ status: 200, headers: { ...headers, 'content-encoding': 'gzip' } },
        ...{ type: jsonType, body: compressed },
      });
    else exchange.send({ status: 200, headers, type: jsonType, body: await decompress(compressed) });
  };
  // The page shows the OpenAPI document and requires the same credential. Its links are absolute, so that it works at
  // /docs and at /docs/.
  const documentation = (exchange: Exchange) => {
    const page = documentationPage(decodedPath(exchange.path).replace(/^\/docs\/?/, ''));
    if (page === undefined) return write(exchange, sentence(404, 'Not found'));
    const headers = { 'content-security-policy': contentPolicy, 'referrer-policy': 'no-referrer' };
    exchange.send({ status: 200, headers, type: page.type, body: page.content });
  };
  // Clients download debug archives from this address, outside of the API's root (gaps 16).
  const download = async (exchange: Exchange) => {
    const held = heldChange(engine);
    if (held !== undefined) return write(exchange, held);
    const now = Date.now();
    const { debugArchive } = await import('./debug.ts');
    const archive = await debugArchive(engine, { actor: exchange.principal.name, request: exchange.id }, now);
    const name = `debug-${new Date(now).toISOString().slice(0, 10)}.tar.gz`;
    const headers = { 'content-disposition': `attachment; filename="${name}"` };
    exchange.send({ status: 200, headers, type: 'application/gzip', body: archive });
  };
  /** What is outside of both interfaces. A debug archive is made for a GET alone, because making it takes long. */
  const own = new Map<string, { readonly handler: Handler; readonly hasHead: boolean }>([
    ['/healthz', { handler: (exchange) => write(exchange, json(200, { status: 'alive' })), hasHead: true }],
    ['/readyz', { handler: (exchange) => write(exchange, readiness(engine)), hasHead: true }],
    ['/metrics', { handler: metrics, hasHead: true }],
    // The cookie of a session is sent only below /api.
    ['/openapi.json', { handler: openApi, hasHead: true }],
    ['/api/openapi.json', { handler: openApi, hasHead: true }],
    ['/docs', { handler: documentation, hasHead: true }],
    ['/docs/*', { handler: documentation, hasHead: true }],
    ['/system/debug/download/', { handler: download, hasHead: false }],
    ['/legacy/system/debug/download/', { handler: download, hasHead: false }],
  ]);

  function managed(exchange: Exchange): void | Promise<void> {
    const endpoint = endpointOf(exchange);
    const match = endpoint.kind === 'managed' ? endpoint.match : undefined;
    if (match === undefined) return write(exchange, unknownPath);
    const method = exchange.effectiveMethod;
    const operation = method && match.route.operations.get(method);
    if (operation === undefined)
      return write(exchange, exchange.method === 'OPTIONS' ? allowed(match) : wrongMethod(match));
    const { params } = match;
    const perform = (ignored: Set<string>) =>
      (operation.awaitsStart ? heldChange(engine) : undefined) ??
      management.perform({
        ...partsOf(exchange),
        ignored,
        operation,
        params,
        exchange,
        isAdmitted: () => isAdmitted(exchange),
      });
    return answering(exchange, perform);
  }

  function documented(exchange: Exchange): void | Promise<void> {
    const endpoint = endpointOf(exchange);
    const { effectiveMethod: method } = exchange;
    const match = endpoint.kind === 'documented' ? endpoint.match : undefined;
    if (match === undefined) {
      if (exchange.plain === root.slice(1)) return write(exchange, json(200, index(engine)));
      // The driver of most container clusters speaks this API only to a server with this version (clients-need H14).
      if (profile === 'clients' && exchange.plain === newerVersion && method === 'GET')
        return write(exchange, json(200, `${publicName}-${publicRelease}`));
      return write(exchange, unknownPath);
    }
    const operation = method && match.route.operations.get(method);
    if (operation === undefined)
      return write(exchange, exchange.method === 'OPTIONS' ? allowed(match) : wrongMethod(match));
    return answering(
      exchange,
      (ignored) => held(match, operation) ?? controller.perform(new ExchangeCall(exchange, match, operation, ignored)),
      { match, operation },
    );
  }

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
    exchange: Exchange,
    perform: (ignored: Set<string>) => Answer | Promise<Answer>,
    target?: Target,
  ): void | Promise<void> {
    const ignored = new Set<string>();
    const method = exchange.effectiveMethod;
    const isRead = method === 'GET' && (target === undefined || 'verb' in target.operation);
    const answered = (answer: Answer) => {
      if (ignored.size > 0) noteIgnored(exchange, ignored);
      const shown = helped(
        exchange.principal.access?.readsSecrets === false ? withoutSecrets(answer) : answer,
        exchange,
      );
      write(exchange, isRead ? tagged(shown, exchange.headers['if-none-match']) : shown);
    };
    const refused = (error: unknown) => {
      const known = refusalAnswer(error, exchange.method, target);
      if (known === undefined) return unexpected(exchange, error);
      if (!(error instanceof Fault)) return write(exchange, helped(known, exchange));
      if (error.kind !== 'missing')
        log.debug(
          { request: exchange.id, error: error.message },
          `${exchange.method} ${exchange.path}: ${known.status}`,
        );
      answered(known);
    };
    try {
      refuseOtherTypes(exchange, method);
      const answer = deferrable(
        exchange,
        () => repeatable(exchange, () => asPlanned(exchange, () => perform(ignored)), target),
        target,
      );
      if (answer instanceof Promise) return answer.then(answered).catch(refused);
      answered(answer);
    } catch (error) {
      refused(error);
    }
  }

  function noteIgnored(exchange: Exchange, ignored: ReadonlySet<string>): void {
    const names = ignoredNames(ignored);
    exchange.ignored = names.join(', ');
    log.info({ request: exchange.id, ignored: names }, `${exchange.method} ${exchange.path}: unknown fields`);
  }

  /**
   * Performs the request, if its client has not seen another plan of it. The plan is made once more right before: what
   * changes between the two is not noticed.
   */
  function asPlanned(exchange: Exchange, perform: () => Answer | Promise<Answer>): Answer | Promise<Answer> {
    const token = exchange.headers[planHeader];
    if (token === undefined || !changes(exchange) || isPlan(exchange)) return perform();
    const { method, path: address } = exchange;
    const { body, context } = partsOf(exchange);
    return plan({ method, path: address, body: body({ needed: false }) }, context)
      .then((present) => tokenOf(present, engine.world))
      .then((present) => {
        if (present !== token) throw new AnswerError(planChanged);
        return perform();
      });
  }

  /** Carries out the request, which becomes a job if it takes longer than its client prefers to wait. */
  function deferrable(
    exchange: Exchange,
    perform: () => Answer | Promise<Answer>,
    target: Target | undefined,
  ): Answer | Promise<Answer> {
    const preference = preferenceIn(exchange.headers.prefer);
    if (preference === undefined || !changes(exchange) || isPlan(exchange)) return perform();
    const { principal, id, path } = exchange;
    const deferred = {
      title: `${exchange.effectiveMethod} ${path}`.slice(0, longestPath),
      subject: subjectOf(path),
      request: id,
      owner: principal.id,
      async perform(job: JobRun) {
        exchange.job = job;
        try {
          return await perform();
        } catch (error) {
          return refusalAnswer(error, exchange.method, target) ?? unexpectedAnswer(exchange, error);
        }
      },
      ended: ({ status }: Answer) =>
        audited({ ...described(exchange), actor: principal.name, credential: credentialText(principal), status }),
    };
    return inTime(engine.jobs, deferred, preference, managementRoot);
  }

  function countTime(exchange: Exchange, seconds: number): void {
    const { method } = exchange;
    const endpoint = endpointOf(exchange);
    const key = endpoint.kind === 'own' ? endpoint.address : (endpoint.match?.route ?? 'unknown');
    let ofRoute = times.get(key);
    if (ofRoute === undefined) {
      ofRoute = new Map();
      times.set(key, ofRoute);
    }
    let add = ofRoute.get(method);
    if (add === undefined) {
      add = parts.requestTimes.of({ method, route: routeName(exchange) });
      ofRoute.set(method, add);
    }
    add(seconds);
  }

  /** The pattern of the route that a request was for; the number of patterns does not grow. */
  function routeName(exchange: Exchange): string {
    const endpoint = endpointOf(exchange);
    if (endpoint.kind === 'own') return endpoint.address;
    const pattern = endpoint.match?.route.pattern;
    if (pattern === undefined) return 'unknown';
    return endpoint.kind === 'managed' ? `/${pattern}` : `${root}/${pattern}`;
  }

  /** Adds the request that helps where the path says it: for what is missing the list, after a lost race the record. */
  function helped(answer: Answer, exchange: Exchange): Answer {
    const { problem, status } = answer;
    if ((status !== 404 && status !== 412) || problem?.help !== undefined) return answer;
    const path = status === 412 ? exchange.path : listAbove(exchange.plain ?? '');
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
  async function isAdmitted({ raw }: Exchange): Promise<boolean> {
    return 'name' in (await authenticator.admit(raw, { isUse: false }));
  }

  /** Why a key may not send this request, judged before its body is read. Notes what the request would do. */
  function forbiddenProblem(exchange: Exchange, access: Access): string | undefined {
    const intent = acts.routed(endpointOf(exchange), exchange.effectiveMethod, exchange.plain);
    if (intent === undefined || intent === 'open') return undefined;
    exchange.act = intent;
    return access.problem(intent);
  }

  /** Performs the request, or, if it carries the `Idempotency-Key` of an earlier one, gives the answer to that one. */
  function repeatable(
    exchange: Exchange,
    perform: () => Answer | Promise<Answer>,
    target: Target | undefined,
  ): Answer | Promise<Answer> {
    const key = exchange.headers['idempotency-key'];
    if (typeof key !== 'string' || !changes(exchange)) return perform();
    const problem = keyProblem(key);
    if (problem !== undefined) return problem;
    const content = `${exchange.effectiveMethod} ${exchange.url} ${exchange.body?.toString('base64') ?? ''}`;
    return retries.once({ holder: exchange.principal.id, key, content, request: exchange.id }, perform, (changed) =>
      target === undefined ? carriedOut : controller.recall(target, changed),
    );
  }

  function matchOf(plain: string | undefined): Match | undefined {
    return plain?.startsWith(`${root.slice(1)}/`) ? router.match(plain.slice(root.length)) : undefined;
  }

  /**
   * Whether a request changes anything. A GET of the document does when it is an action, such as dismissing an alert.
   */
  function changes(exchange: Exchange): boolean {
    const { effectiveMethod: method } = exchange;
    if (method !== 'GET') return exchange.method !== 'OPTIONS' || method !== undefined;
    const endpoint = endpointOf(exchange);
    if (endpoint.kind !== 'documented') return false;
    const operation = endpoint.match?.route.operations.get(method);
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
  function unexpected(exchange: Exchange, error: unknown): void {
    write(exchange, unexpectedAnswer(exchange, error));
  }

  function unexpectedAnswer(exchange: Exchange, error: unknown): Answer {
    log.error({ request: exchange.id, err: error }, `${exchange.method} ${exchange.path}: unexpected error`);
    return refusal(
      'unexpected',
      500,
      `Unexpected error. The log has the details under the request id ${exchange.id}.`,
      { member: 'error_message' },
    );
  }

  return {
    server,
    answer: serve,
    listen: (at) => listening(server, at),
    close() {
      isClosing = true;
      management.close();
      return closed(server, connections, limits.restTime);
    },
  };
}

/**
 * Ends when the server accepts no connections any more and all are closed. A request that has arrived whole is answered.
 * A connection that waits for its client is closed after `patience` milliseconds: browsers open connections in advance and
 * send nothing, and Node ends its own time limits for a request with the first step of the stop.
 */
async function closed(server: Server, connections: Connections, patience: number): Promise<void> {
  const end = performance.now() + patience;
  // A connection that was busy when the stop began would stay open for the client's next request.
  const sweep = setInterval(() => {
    server.closeIdleConnections();
    if (performance.now() > end) connections.endIdle();
  }, 50);
  await new Promise<void>((resolve) => {
    // A server that never listened is closed already.
    server.close(() => resolve());
  });
  clearInterval(sweep);
}

function listening(server: Server, at: { readonly host: string; readonly port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new TypeError('the server has no address'));
      resolve(`http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`);
    });
  });
}

const decompress = (compressed: Buffer) => promisify<Buffer, Buffer>(gunzip)(compressed);

/** The same address has many spellings. One that cannot be decoded stays as it is, and names nothing. */
function decodedPath(path: string): string {
  try {
    return path.includes('%') ? decodeURIComponent(path) : path;
  } catch {
    return path;
  }
}

/** Whether a body has to be read before the request is carried out. */
function hasBody({ method, headers }: Exchange): boolean {
  return withBody.has(method) && announcesBody(headers);
}

function announcesBody({ 'content-length': length, 'transfer-encoding': encoding }: IncomingHttpHeaders): boolean {
  return encoding !== undefined || (length !== undefined && length !== '0');
}

const stopping: Answer = refusal('unavailable', 503, 'The daemon is stopping. Send this request again in a minute.', {
  headers: { 'retry-after': '60', connection: 'close' },
});

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

/** The context in which a request is carried out. */
function contextOf(exchange: Exchange): RequestContext {
  const { principal, job, query, headers } = exchange;
  const { name, credential, access, id } = principal;
  return {
    ...{ actor: name, credential, request: exchange.id, access, principal: id },
    ...(job && { job }),
    connection: exchange.connection,
    ...confirmIn(query),
    ...commentIn(headers),
  };
}

/** What calls of both interfaces have. */
function partsOf(exchange: Exchange) {
  return {
    query: exchange.query,
    body: ({ needed }: { readonly needed: boolean }) => permittedBody(exchange, bodyOf(exchange, needed)),
    context: contextOf(exchange),
  };
}

/** A request for the document's API. Most reads need only a part of it, so that the rest is made when it is read. */
class ExchangeCall implements Call {
  readonly #exchange: Exchange;
  readonly match: Match;
  readonly operation: Operation;
  readonly ignored: Set<string>;
  #context: RequestContext | undefined;

  constructor(exchange: Exchange, match: Match, operation: Operation, ignored: Set<string>) {
    this.#exchange = exchange;
    this.match = match;
    this.operation = operation;
    this.ignored = ignored;
  }

  get query(): string {
    return this.#exchange.query;
  }

  get range(): string | undefined {
    return this.#exchange.headers.range;
  }

  get address(): string {
    return this.#exchange.url;
  }

  get asLines(): boolean {
    return acceptsLines(this.#exchange.headers.accept);
  }

  get ifMatch(): string | undefined {
    return this.#exchange.headers['if-match'];
  }

  get readsSecrets(): boolean {
    return this.#exchange.principal.access?.readsSecrets !== false;
  }

  get context(): RequestContext {
    this.#context ??= contextOf(this.#exchange);
    return this.#context;
  }

  body({ needed }: { readonly needed: boolean }): unknown {
    return permittedBody(this.#exchange, bodyOf(this.#exchange, needed));
  }
}

/** What a job of a request is about: the path below the root of either interface, such as `storage/volume`. */
function subjectOf(path: string): string {
  return (plainPath(path) ?? '').replace(/^api\/(?:v1\.0|holdfast\/v1)\//, '').slice(0, 200);
}

/** What the audit log has of a request. The query is left out, because it may be long, and the body has secrets. */
function described(exchange: Exchange) {
  return {
    address: exchange.connection.remote,
    method: exchange.effectiveMethod ?? exchange.method,
    path: exchange.path.slice(0, longestPath),
    request: exchange.id,
  };
}

const longestPath = 500;

const credentialText = ({ credential: { kind, id } }: Principal): string => (id === undefined ? kind : `${kind} ${id}`);

/** A dry run changes nothing. */
const isPlan = ({ plain }: Exchange): boolean => plain === `${managementRoot.slice(1)}/plan`;

/** The body, if the principal may send it. Every operation gets its body here. */
function permittedBody({ act, principal: { access } }: Exchange, body: unknown): unknown {
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
function commentIn(headers: IncomingHttpHeaders): { readonly comment?: string } {
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
function isFromBrowser({ headers }: Exchange): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}

const planChanged = refusal(
  'changed',
  412,
  'The request would do something else than the plan that X-Holdfast-Plan names: something has changed meanwhile. Nothing was done. Ask for the plan again.',
  { help: { method: 'POST', path: `${managementRoot}/plan` } },
);

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

function credentialRefusal(exchange: Exchange, { retryAfter, message, needsCode }: Refusal): Answer {
  if (retryAfter !== undefined)
    return refusal('too_many_attempts', 429, `Too many login attempts. Send this request again in ${retryAfter} s.`, {
      headers: { 'retry-after': String(retryAfter) },
    });
  // A page that sends requests by script handles the 401 itself: it must not cause a prompt of the browser (gaps 1.1).
  const isPage = exchange.headers['x-requested-from'] === 'WebUI' || tokenIn(exchange.raw) !== undefined;
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

/** Writes an answer, as a problem if the client reads problems. */
function write(exchange: Exchange, answer: Answer): void {
  const isProblem = answer.status >= 400 && acceptsProblem(exchange, managementRoot);
  const { status, headers, type, body, pieces } = isProblem ? asProblem(answer, exchange) : answer;
  if (type === undefined) exchange.send({ status, headers });
  else exchange.send({ status, headers, vary: 'Accept', type, body, pieces });
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
