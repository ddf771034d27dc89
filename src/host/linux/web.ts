import type { Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import { messageOf } from '../../lib/text.ts';
import { HostError } from '../ports/index.ts';
import type { Entrance, Handler, Web } from '../ports/web.ts';
import { http } from './node-http.ts';

interface Door {
  readonly entrance: Entrance;
  readonly server: Server;
}

export class LinuxWeb implements Web {
  #handler: Handler | undefined;
  #connected: (socket: Socket) => void = () => {};
  #doors: readonly Door[] = [];
  #served: readonly Entrance[] = [];

  attach(handler: Handler, connected: (socket: Socket) => void): void {
    this.#handler = handler;
    this.#connected = connected;
  }

  async serve(entrances: readonly Entrance[]): Promise<void> {
    const staying = this.#doors.filter((door) => entrances.some((one) => isSame(one, door.entrance)));
    const leaving = this.#doors.filter((door) => !staying.includes(door));
    const coming = entrances.filter((one) => !staying.some((door) => isSame(one, door.entrance)));
    // One that is to be opened may need the port of one that is to be closed.
    const shut = leaving.filter(({ entrance }) => coming.some(({ port }) => port === entrance.port));
    for (const door of shut) close(door);
    const opened: Door[] = [];
    try {
      for (const entrance of coming) {
        const door = await this.#open(entrance);
        if (door !== undefined) opened.push(door);
      }
    } catch (error) {
      for (const door of opened) close(door);
      const again = await Promise.all(shut.map(({ entrance }) => this.#open(entrance)));
      this.#doors = [...this.#doors.filter((door) => !shut.includes(door)), ...again.filter((door) => door !== undefined)];
      throw error;
    }
    for (const door of leaving) if (!shut.includes(door)) close(door);
    this.#doors = [...staying, ...opened];
    this.#served = entrances;
  }

  async served(): Promise<readonly Entrance[]> {
    return this.#served;
  }

  close(): void {
    for (const door of this.#doors) close(door);
    this.#doors = [];
  }

  /** Undefined for the whole of an address family that this machine does not have. */
  async #open(entrance: Entrance): Promise<Door | undefined> {
    const { address, port, tls, redirectTo } = entrance;
    const handler = redirectTo === undefined ? this.#handler : redirecting(redirectTo);
    if (handler === undefined) throw new Error('nobody answers at the doors yet');
    const shown = `${isIPv6(address) ? `[${address}]` : address}:${port}`;
    try {
      const server = tls === undefined ? http.createServer(handler) : createHttps({ cert: tls.chain, key: tls.key }, handler);
      server.on(tls === undefined ? 'connection' : 'secureConnection', this.#connected);
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host: address, port, ipv6Only: isIPv6(address) }, () => {
          server.off('error', reject);
          resolve();
        });
      });
      return { entrance, server };
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

function isSame(a: Entrance, b: Entrance): boolean {
  return a.address === b.address && a.port === b.port && a.tls?.chain === b.tls?.chain && a.tls?.key === b.tls?.key && a.redirectTo === b.redirectTo;
}

/** It takes nobody any more; who is being answered is answered to the end. */
function close({ server }: Door): void {
  server.close();
  server.closeIdleConnections();
}

function redirecting(port: number): Handler {
  return (request, response) => {
    // Without its port; an address of IPv6 stands in brackets.
    const host = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d+)?$/.exec(request.headers.host ?? '')?.[1];
    if (host === undefined) response.writeHead(400).end();
    else response.writeHead(308, { location: `https://${host}${port === 443 ? '' : `:${port}`}${request.url ?? '/'}` }).end();
  };
}
