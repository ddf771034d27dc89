import { randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { request as requestSecurely, type RequestOptions as SecureOptions } from 'node:https';
import { text as readAll } from 'node:stream/consumers';
import { connect as connectSecurely, TLSSocket } from 'node:tls';
import { messageOf } from '../../lib/text.ts';
import { CommandError, exits } from './failure.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body if it is JSON, otherwise the text. */
  readonly value: unknown;
}

export interface Sending {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How commands reach an appliance. */
export interface Connection {
  /** The appliance, for messages. */
  readonly title: string;
  /** Sends a request; `path` begins at the root of the server, without a slash. */
  send(method: string, path: string, sending?: Sending): Promise<Answer>;
}

/** The daemon of this machine, by its Unix socket. The right to open the socket is the right of its administrator. */
export function localConnection(socketPath: string): Connection {
  return connectionTo({
    title: 'this machine',
    options: { socketPath, headers: { host: 'localhost' } },
    unreachable: (why) =>
      `The daemon does not answer on ${socketPath} (${why}). Start it with: systemctl start holdfast; or choose another appliance with --context.`,
  });
}

export interface Remote {
  readonly address: string;
  readonly key: string;
  /** How the key is sent; Bearer without it. */
  readonly scheme?: 'Bearer' | 'Token';
  /** SHA-256 of the certificate, if the address begins with https. */
  readonly fingerprint?: string;
}

/** Another appliance, whose certificate was pinned when its context was added. */
export function remoteConnection(name: string, { address, key, scheme = 'Bearer', fingerprint }: Remote): Connection {
  const url = new URL(address);
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return connectionTo({
    title: name,
    options: {
      host,
      port,
      headers: { host: url.host, authorization: `${scheme} ${key}` },
    },
    ...(url.protocol === 'https:' && { pinned: fingerprint ?? '' }),
    unreachable: (why) => `The appliance ${name} does not answer on ${address} (${why}).`,
  });
}

/** SHA-256 of the certificate that a server shows, as `AB:CD:…`. */
export async function fingerprintOf(address: string): Promise<string> {
  const url = new URL(address);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = await secureSocket(host, Number(url.port || 443));
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

function secureSocket(host: string, port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    // The fingerprint is what identifies the appliance: its certificate may be signed by itself.
    const socket = connectSecurely({
      host,
      port,
      servername: /^[\d.:]+$/.test(host) ? '' : host,
      rejectUnauthorized: false,
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => resolve(socket));
  });
}

/** The problem with the certificate of a server, if it is not the pinned one. */
function certificateProblem(socket: unknown, fingerprint: string): CommandError | undefined {
  const shown = socket instanceof TLSSocket ? socket.getPeerCertificate().fingerprint256 : 'none';
  if (shown === fingerprint) return undefined;
  return new CommandError(
    exits.unreachable,
    `The certificate of the appliance is not the pinned one: expected ${fingerprint}, got ${shown}. If the certificate was replaced on purpose, remove the context and add it again.`,
  );
}

interface Endpoint {
  readonly title: string;
  readonly options: RequestOptions;
  /** SHA-256 of the certificate; undefined for a connection without TLS. */
  readonly pinned?: string;
  readonly unreachable: (why: string) => string;
}

function connectionTo({ title, options, pinned, unreachable }: Endpoint): Connection {
  return {
    title,
    async send(method, path, { body, headers = {} } = {}) {
      // A repetition of the same command after a broken connection must not make the change twice.
      const key = method === 'GET' ? {} : { 'idempotency-key': randomUUID() };
      const text = body === undefined ? undefined : JSON.stringify(body);
      const all = { ...options.headers, ...key, ...headers };
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await exchange(
            {
              ...options,
              method,
              path: `/${path}`,
              agent: false,
              headers: { ...all, ...(text === undefined ? {} : { 'content-type': 'application/json' }) },
            },
            text,
            pinned,
          );
        } catch (error) {
          if (error instanceof CommandError) throw error;
          if (attempt < 3 && isBroken(error)) continue;
          throw new CommandError(exits.unreachable, unreachable(messageOf(error)));
        }
      }
    },
  };
}

/**
 * Milliseconds without an answer until the other side has to show that it is there. Without that, a command waits for
 * ever when its request was sent to a machine that has lost its power, or whose address went to the other machine of a
 * pair. That one knows nothing of the connection and ends it, and the command is sent again, with its key. A move takes
 * less than this.
 */
const keepAlive = 60_000;

function isBroken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
}

function exchange(options: SecureOptions, body: string | undefined, pinned: string | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const receive = (response: IncomingMessage) => {
      readAll(response).then((text) => {
        const isJson = /^application\/(?:problem\+)?json/.test(response.headers['content-type'] ?? '');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          value: isJson && text !== '' ? JSON.parse(text) : text,
        });
      }, reject);
    };
    const sent =
      pinned === undefined
        ? request(options, receive)
        : requestSecurely({ ...options, rejectUnauthorized: false }, receive);
    sent.on('error', reject);
    sent.setSocketKeepAlive(true, keepAlive);
    if (pinned === undefined) sent.end(body);
    // Nothing is written before end() is called: the key is sent only after the certificate has been compared.
    else
      sent.once('socket', (socket) =>
        socket.once('secureConnect', () => {
          const problem = certificateProblem(socket, pinned);
          if (problem === undefined) sent.end(body);
          else sent.destroy(problem);
        }),
      );
  });
}
