import { isIPv4 } from 'node:net';
import { HostError } from '../ports/index.ts';
import type { Network } from '../ports/network.ts';
import type { Challenge, Endpoint, Web } from '../ports/web.ts';
import { HttpListeners } from '../shared/http-listeners.ts';
import { isNumber, isText, listOf, Memory, optional, shapeOf } from './state.ts';

/** Ports that other programs of the machine use. */
const taken: ReadonlySet<number> = new Set([21, 22, 139, 445]);

/** Addresses that every machine has. */
const anywhere: readonly string[] = ['0.0.0.0', '::', '127.0.0.1', '::1'];

const isEndpoint = shapeOf<Endpoint>({
  address: isText,
  port: isNumber,
  tls: optional(shapeOf<{ chain: string; key: string }>({ chain: isText, key: isText })),
  redirectTo: optional(isNumber),
});

/** How endpoints of the virtual machine are opened on the machine that the daemon runs on. */
export interface Exposure {
  /** The address on which all of them are opened: the virtual machine's own do not exist. */
  readonly address: string;
  /** Is added to ports below 1024, which programs without privileges cannot open. */
  readonly offset: number;
  /** The port of `address` at which the daemon is reached anyway. */
  readonly own: number;
}

/**
 * Refuses endpoints as a real machine would, and opens sockets for them when there is an exposure. Without one the
 * daemon is only reached where it was started.
 */
export class VirtualWeb implements Web {
  readonly #memory: Memory<readonly Endpoint[]>;
  readonly #network: Network;
  readonly #exposure: Exposure | undefined;
  readonly #listeners = new HttpListeners();
  /** Sockets do not outlive the daemon, as the memory does. */
  #isOpen = false;

  constructor(path: string, network: Network, exposure?: Exposure) {
    this.#network = network;
    this.#exposure = exposure;
    this.#memory = new Memory<readonly Endpoint[]>(path, listOf(isEndpoint), Object.freeze([]));
  }

  attach(...parts: Parameters<Web['attach']>): void {
    this.#listeners.attach(...parts);
  }

  async serve(endpoints: readonly Endpoint[]): Promise<void> {
    const { links } = await this.#network.look();
    const own = [...anywhere, ...links.flatMap((link) => link.addresses.map((one) => one.split('/')[0] ?? ''))];
    for (const endpoint of endpoints) {
      const { address, port } = endpoint;
      if (!own.includes(address))
        throw new HostError(`cannot listen on ${shown(endpoint)}: this machine does not have the address.`);
      if (taken.has(port)) throw new HostError(`cannot listen on ${shown(endpoint)}: another program has this port.`);
    }
    if (this.#exposure !== undefined) {
      await this.#listeners.serve(exposed(endpoints, this.#exposure));
      this.#isOpen = true;
    }
    this.#memory.keep(Object.freeze(endpoints.map((endpoint) => Object.freeze({ ...endpoint }))));
  }

  async isFree(port: number): Promise<boolean> {
    return !taken.has(port) && !(await this.served()).some((endpoint) => endpoint.port === port);
  }

  async beginChallenge(challenge: Challenge): Promise<void> {
    const at = this.#exposure;
    const port = at === undefined ? challenge.port : portOf(challenge.port, at);
    await this.#listeners.beginChallenge({ ...challenge, port }, at === undefined ? [] : [at.address]);
  }

  endChallenge(token: string): Promise<void> {
    return this.#listeners.endChallenge(token);
  }

  async served(): Promise<readonly Endpoint[]> {
    return this.#exposure === undefined || this.#isOpen ? this.#memory.value : [];
  }

  close(): void {
    this.#listeners.close();
  }
}

function portOf(port: number, { offset }: Exposure): number {
  return port < 1024 ? port + offset : port;
}

/** One socket for each port: endpoints of several addresses of the virtual machine share it. */
function exposed(endpoints: readonly Endpoint[], at: Exposure): readonly Endpoint[] {
  const { address, own } = at;
  const byPort = new Map<number, Endpoint>();
  for (const { port, tls, redirectTo } of endpoints) {
    const open = portOf(port, at);
    if (open === own && (tls !== undefined || redirectTo !== undefined))
      throw new HostError(`cannot listen on ${shown({ address, port: open })}: the daemon was started with this port.`);
    if (open !== own)
      byPort.set(open, {
        address,
        port: open,
        ...(tls && { tls }),
        ...(redirectTo !== undefined && { redirectTo: portOf(redirectTo, at) }),
      });
  }
  return [...byPort.values()];
}

function shown({ address, port }: Endpoint): string {
  return `${isIPv4(address) ? address : `[${address}]`}:${port}`;
}
