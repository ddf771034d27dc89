import type { Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer, isIPv6, type Socket } from 'node:net';
import { messageOf } from '../../lib/text.ts';
import { HostError } from '../ports/index.ts';
import { backlog, type Challenge, challengeAnswer, type Endpoint, type Handler, type Web } from '../ports/web.ts';
import { http } from './node-http.ts';

interface Listener {
  readonly endpoint: Endpoint;
  readonly server: Server;
}

export class HttpListeners implements Web {
  #handler: Handler | undefined;
  #connected: (socket: Socket) => void = () => {};
  #listeners: readonly Listener[] = [];
  #served: readonly Endpoint[] = [];
  #challenges = new Map<string, Challenge>();
  /** The endpoints that are open for challenges only. */
  readonly #forChallenges: Listener[] = [];

  attach(handler: Handler, connected: (socket: Socket) => void, challenges: Map<string, Challenge>): void {
    this.#handler = handler;
    this.#challenges = challenges;
    this.#connected = connected;
  }

  async serve(endpoints: readonly Endpoint[]): Promise<void> {
    const staying = this.#listeners.filter((listener) =>
      endpoints.some((endpoint) => isSame(endpoint, listener.endpoint)),
    );
    const leaving = this.#listeners.filter((listener) => !staying.includes(listener));
    const coming = endpoints.filter((endpoint) => !staying.some((listener) => isSame(endpoint, listener.endpoint)));
    // A new listener may need the port of one that is to be closed.
    const shut = leaving.filter(({ endpoint }) => coming.some(({ port }) => port === endpoint.port));
    for (const listener of shut) close(listener);
    // Settings may ask for the port that is open for a challenge; they answer it too.
    this.#closeForChallenges(({ endpoint }) => coming.some(({ port }) => port === endpoint.port));
    const opened: Listener[] = [];
    try {
      for (const endpoint of coming) {
        const listener = await this.#open(endpoint);
        if (listener !== undefined) opened.push(listener);
      }
    } catch (error) {
      for (const listener of opened) close(listener);
      const again = await Promise.all(shut.map(({ endpoint }) => this.#open(endpoint)));
      this.#listeners = [
        ...this.#listeners.filter((listener) => !shut.includes(listener)),
        ...again.filter((listener) => listener !== undefined),
      ];
      throw error;
    }
    for (const listener of leaving) if (!shut.includes(listener)) close(listener);
    this.#listeners = [...staying, ...opened];
    this.#served = endpoints;
  }

  async isFree(port: number): Promise<boolean> {
    return (await canListen('0.0.0.0', port)) && (await canListen('::', port));
  }

  async served(): Promise<readonly Endpoint[]> {
    return this.#served;
  }

  /** On these addresses, by default all. */
  async beginChallenge(challenge: Challenge, addresses: readonly string[] = ['0.0.0.0', '::']): Promise<void> {
    const { token, port } = challenge;
    const isOpen = [...this.#listeners, ...this.#forChallenges].some(({ endpoint }) => endpoint.port === port);
    this.#challenges.set(token, challenge);
    if (isOpen) return;
    for (const address of addresses) {
      const listener = await this.#open({ address, port }, this.#answering(notFound)).catch(() => undefined);
      if (listener !== undefined) this.#forChallenges.push(listener);
    }
  }

  async endChallenge(token: string): Promise<void> {
    this.#challenges.delete(token);
    const ports = [...this.#challenges.values()].map(({ port }) => port);
    this.#closeForChallenges(({ endpoint }) => !ports.includes(endpoint.port));
  }

  close(): void {
    this.#closeForChallenges(() => true);
    for (const listener of this.#listeners) close(listener);
    this.#listeners = [];
  }

  #answering(otherwise: Handler): Handler {
    return (request, response) => {
      const answer = challengeAnswer(request.url ?? '', this.#challenges);
      if (answer === undefined) return otherwise(request, response);
      response.writeHead(200, { 'content-type': 'text/plain' }).end(answer);
    };
  }

  #closeForChallenges(isOver: (listener: Listener) => boolean): void {
    for (const listener of this.#forChallenges.filter(isOver)) {
      close(listener);
      this.#forChallenges.splice(this.#forChallenges.indexOf(listener), 1);
    }
  }

  /** Undefined for the wildcard of an address family that this machine does not have. */
  async #open(endpoint: Endpoint, special?: Handler): Promise<Listener | undefined> {
    const { address, port, tls, redirectTo } = endpoint;
    const redirect = redirectTo === undefined ? undefined : this.#answering(redirecting(redirectTo));
    const handler = special ?? redirect ?? this.#handler;
    if (handler === undefined) throw new Error('serve() was called before attach()');
    const shown = `${isIPv6(address) ? `[${address}]` : address}:${port}`;
    try {
      const server =
        tls === undefined ? http.createServer(handler) : createHttps({ cert: tls.chain, key: tls.key }, handler);
      server.on(tls === undefined ? 'connection' : 'secureConnection', this.#connected);
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host: address, port, backlog, ipv6Only: isIPv6(address) }, () => {
          server.off('error', reject);
          resolve();
        });
      });
      return { endpoint, server };
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (lacksFamily(address, error)) return undefined;
      throw new HostError(`cannot listen on ${shown}: ${reasons[String(code)] ?? messageOf(error)}`);
    }
  }
}

function canListen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(lacksFamily(host, error)));
    server.listen({ host, port, ipv6Only: isIPv6(host) }, () => server.close(() => resolve(true)));
  });
}

/** Whether the address is the wildcard of an address family that this machine does not have. */
function lacksFamily(address: string, error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return address === '::' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL');
}

const notFound: Handler = (_request, response) => response.writeHead(404).end();

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has this port.',
  EADDRNOTAVAIL: 'this machine does not have the address.',
  EACCES: 'the daemon may not use this port.',
};

function isSame(a: Endpoint, b: Endpoint): boolean {
  return (
    a.address === b.address &&
    a.port === b.port &&
    a.tls?.chain === b.tls?.chain &&
    a.tls?.key === b.tls?.key &&
    a.redirectTo === b.redirectTo
  );
}

/** Stops accepting connections. Requests in progress are answered. */
function close({ server }: Listener): void {
  server.close();
  server.closeIdleConnections();
}

function redirecting(port: number): Handler {
  return (request, response) => {
    // The Host header without its port; an IPv6 address is in brackets.
    const host = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d+)?$/.exec(request.headers.host ?? '')?.[1];
    if (host === undefined) response.writeHead(400).end();
    else
      response
        .writeHead(308, { location: `https://${host}${port === 443 ? '' : `:${port}`}${request.url ?? '/'}` })
        .end();
  };
}
