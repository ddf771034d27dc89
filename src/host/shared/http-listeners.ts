import type { Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import { messageOf } from '../../lib/text.ts';
import { HostError } from '../ports/index.ts';
import { backlog, type Endpoint, type Handler, type Web } from '../ports/web.ts';
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

  attach(handler: Handler, connected: (socket: Socket) => void): void {
    this.#handler = handler;
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

  async served(): Promise<readonly Endpoint[]> {
    return this.#served;
  }

  close(): void {
    for (const listener of this.#listeners) close(listener);
    this.#listeners = [];
  }

  /** Undefined for the wildcard of an address family that this machine does not have. */
  async #open(endpoint: Endpoint): Promise<Listener | undefined> {
    const { address, port, tls, redirectTo } = endpoint;
    const handler = redirectTo === undefined ? this.#handler : redirecting(redirectTo);
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
      if (address === '::' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL')) return undefined;
      throw new HostError(`cannot listen on ${shown}: ${reasons[String(code)] ?? messageOf(error)}`);
    }
  }
}

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
