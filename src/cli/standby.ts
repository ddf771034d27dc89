/**
 * The interface of the machine of a pair that does not have the pool. It answers for its own health and for the cluster,
 * and names the machine with the pool for everything else.
 *
 * Accounts and keys are on the pool. So that the cluster is shown also while no machine has it, the machine with the pool
 * publishes the password hash of its administrator in the cluster, encrypted (`engine/pair/shared`).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { refuseMove, shownCluster } from '../areas/cluster/shown.ts';
import type { Principal } from '../engine/change/request.ts';
import { Fault } from '../engine/declare/errors.ts';
import type { OwnPair } from '../engine/pair/pair.ts';
import type { PairWatch } from '../engine/pair/watch.ts';
import { Passwords } from '../engine/passwords.ts';
import type { ClusterControl } from '../engine/services.ts';
import { type Host, HostError } from '../host/ports/index.ts';
import type { LeaseState } from '../host/ports/lease.ts';
import { backlog, type Endpoint } from '../host/ports/web.ts';
import { type Account, Authenticator, type Refusal } from '../http/authenticator.ts';
import { clientConnection } from '../http/client-connection.ts';
import { crossSiteProblem } from '../http/origin.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';
import type { DaemonLog } from './daemon-log.ts';
import { listenLocally, localSocket } from './local-socket.ts';
import type { Settings } from './settings.ts';

export interface Standby {
  readonly server: Server;
  /** Opens the endpoints that the machine with the pool has published. */
  openEndpoints(): void;
  close(): Promise<void>;
}

interface StandbyParts {
  readonly settings: Pick<Settings, 'host' | 'state' | 'listen' | 'names'>;
  readonly pair: OwnPair;
  readonly host: Pick<Host, 'lease' | 'web'>;
  readonly watch: Pick<PairWatch, 'condition' | 'known' | 'shared' | 'look' | 'lookAtState'>;
  readonly log: DaemonLog['log'];
  readonly now: () => number;
}

const root = '/api/holdfast/v1/cluster';
/** Bytes of the longest body of a request. */
const longestBody = 4096;

export async function openStandby(parts: StandbyParts): Promise<Standby> {
  const {
    settings,
    pair,
    host: { lease, web },
    watch,
    log,
    now,
  } = parts;
  const { listen } = settings;
  await watch.lookAtState();
  const unwatch = lease.watch(() => void watch.lookAtState());
  const passwords = new Passwords();
  const ofAdministrator = new WeakSet<Socket>();
  const authenticator = new Authenticator(passwords, (name) => accountOf(name, watch.shared?.administrator), {
    now,
    local: (socket) => (ofAdministrator.has(socket) ? localAdministrator : undefined),
    refused: (login) => log.warn(login, 'login refused'),
  });
  const control: ClusterControl = {
    pair,
    get condition() {
      return watch.condition;
    },
    lastSwitch: () => watch.shared?.last,
    look: () => watch.look(),
    lookAtState: () => watch.lookAtState(),
    move: (node) => lease.move(node),
    maintain: (isMaintained) => lease.maintain(isMaintained),
    fence: (node) => lease.fence(node),
  };
  const shown = () => {
    const { name = '', address = '' } = watch.shared ?? {};
    return shownCluster(control, { name, address });
  };
  const operations = new Map<string, (body: Body) => Promise<Reply>>([
    [
      `GET ${root}`,
      async () => {
        if (watch.known === undefined) await control.look();
        return { status: 200, value: shown() };
      },
    ],
    [
      `POST ${root}/switch`,
      async ({ to }) => {
        if (typeof to !== 'string') return refusedField('to', 'Expected the name of a machine.');
        await control.lookAtState();
        refuseMove(control, to);
        await control.move(to);
        return { status: 202 };
      },
    ],
    [
      `POST ${root}/maintenance`,
      async ({ enabled }) => {
        if (typeof enabled !== 'boolean') return refusedField('enabled', 'Expected true or false.');
        await control.maintain(enabled);
        await control.look();
        return { status: 200, value: shown() };
      },
    ],
  ]);

  async function replyTo(request: IncomingMessage, order: string): Promise<Reply> {
    const perform = operations.get(order);
    const { error_message, holder } = refusalOf(pair, watch.condition.state);
    if (perform === undefined)
      return { status: 503, value: { error_message, holder }, headers: { 'retry-after': '5' } };
    const foreign =
      request.method === 'POST'
        ? crossSiteProblem(request.headers, request.socket instanceof TLSSocket, settings.names)
        : undefined;
    if (foreign !== undefined) return { status: 403, value: { error_message: foreign } };
    const admitted = await authenticator.admit(request);
    if (!('name' in admitted)) return refusalReply(admitted);
    if (request.method === 'GET') return perform({});
    const body = await bodyOf(request);
    if (body === undefined)
      return { status: 400, value: { error_message: `Expected JSON of at most ${longestBody} bytes.` } };
    const reply = await perform(body);
    // The audit log is on the pool.
    const { remote: address } = clientConnection(request.socket);
    log.info({ actor: admitted.name, address, status: reply.status }, `pair: ${order}`);
    return reply;
  }

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? '').replace(/[?#].*$/, '').replace(/\/+$/, '');
    const isProbe = request.method === 'GET' || request.method === 'HEAD';
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    if (isProbe && path === '/healthz') return void response.writeHead(200, headers).end('alive\n');
    if (isProbe && path === '/readyz') return void response.writeHead(503, headers).end('standby\n');
    const order = `${request.method} ${path}`;
    replyTo(request, order).then(
      (reply) => write(response, reply),
      (error: unknown) =>
        write(
          response,
          replyToError(error, (failure) => log.error({ err: failure }, order)),
        ),
    );
  };
  const server = createServer(answer);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new HostError(`cannot listen on ${listen.address}:${listen.port}: ${messageOf(error)}`)),
    );
    server.listen({ host: listen.address, port: listen.port, backlog }, resolve);
  });
  const local = createServer(answer);
  local.on('connection', (socket) => ofAdministrator.add(socket));
  await listenLocally(local, localSocket(settings)).catch((error: unknown) =>
    log.error({ err: error }, 'commands: the socket could not be opened'),
  );
  web.attach(answer, () => {}, new Map());
  let opened = '[]';
  let opening: Promise<void> = Promise.resolve();
  /** One that cannot be opened, such as one of an address that this machine does not have, is tried again when it changed. */
  const open = (endpoints: readonly Endpoint[]) => {
    const text = JSON.stringify(endpoints);
    if (text === opened) return;
    opened = text;
    opening = opening.then(() =>
      web
        .serve(endpoints)
        .catch((error: unknown) => log.warn({ error: messageOf(error) }, 'pair: HTTPS is not served without the pool')),
    );
  };
  let isClosed = false;
  return {
    server,
    openEndpoints() {
      if (!isClosed) open(watch.shared?.endpoints ?? []);
    },
    async close() {
      isClosed = true;
      unwatch();
      open([]);
      await Promise.all([ended(server), ended(local), opening]);
      await passwords.close();
    },
  };
}

type Body = Readonly<Record<string, unknown>>;

interface Reply {
  readonly status: number;
  readonly value?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const localAdministrator: Principal = Object.freeze({
  name: 'root',
  id: 'root',
  credential: { kind: 'socket' } as const,
});

function accountOf(name: string, administrator: { readonly name: string; readonly hash: string } | undefined) {
  if (administrator === undefined || administrator.name !== name) return undefined;
  const principal: Principal = Object.freeze({ name, id: 'root', credential: { kind: 'password' } as const });
  return { hash: administrator.hash, least: 0, admit: () => principal } satisfies Account;
}

function refusalReply({ retryAfter, message }: Refusal): Reply {
  if (retryAfter !== undefined)
    return {
      status: 429,
      value: { error_message: `Too many login attempts. Send this request again in ${retryAfter} s.` },
      headers: { 'retry-after': String(retryAfter) },
    };
  const error_message = message ?? 'Expected the password of the administrator of the pair.';
  return { status: 401, value: { error_message }, headers: { 'www-authenticate': 'Basic realm="Holdfast"' } };
}

const refusedField = (name: string, sentence: string): Reply => ({ status: 400, value: { [name]: [sentence] } });

function replyToError(error: unknown, unexpected: (error: unknown) => void): Reply {
  if (error instanceof Fault)
    return { status: 400, value: error.kind === 'invalid' ? error.issues : { error_message: error.message } };
  if (error instanceof HostError) return { status: 409, value: { error_message: error.message } };
  unexpected(error);
  return { status: 500, value: { error_message: 'Unexpected error. The log has the details.' } };
}

/** Undefined for a body that is too long or no JSON object. */
async function bodyOf(request: IncomingMessage): Promise<Body | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request) {
    const bytes = Buffer.from(piece);
    length += bytes.length;
    if (length > longestBody) return undefined;
    pieces.push(bytes);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(pieces).toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function write(response: ServerResponse, { status, value, headers }: Reply): void {
  if (response.headersSent || response.destroyed) return;
  const all = { ...headers, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  if (value === undefined) return void response.writeHead(status, all).end();
  response.writeHead(status, { ...all, 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function ended(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/** The address of the holder, and a sentence with it. */
export function refusalOf({ nodes, self }: OwnPair, state: LeaseState | undefined) {
  const name = state?.holder === self ? undefined : state?.holder;
  const url = name === undefined ? undefined : nodes[name];
  return {
    error_message:
      url === undefined
        ? 'This machine of a pair does not have the pool, and no other one has it now. Send the request again in a few seconds.'
        : `This machine of a pair does not have the pool. Send the request to ${url}.`,
    holder: url ?? null,
  };
}
