import { isIPv4 } from 'node:net';
import { HostError } from '../ports/index.ts';
import type { Network } from '../ports/network.ts';
import type { Endpoint, Web } from '../ports/web.ts';
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

/**
 * Opens no sockets: the daemon on a virtual host is reached where it was started. Refuses endpoints as a real machine
 * would.
 */
export class VirtualWeb implements Web {
  readonly #memory: Memory<readonly Endpoint[]>;

  readonly #network: Network;

  constructor(path: string, network: Network) {
    this.#network = network;
    this.#memory = new Memory<readonly Endpoint[]>(path, listOf(isEndpoint), Object.freeze([]));
  }

  attach(): void {}

  async serve(endpoints: readonly Endpoint[]): Promise<void> {
    const { links } = await this.#network.look();
    const own = [...anywhere, ...links.flatMap((link) => link.addresses.map((one) => one.split('/')[0] ?? ''))];
    for (const { address, port } of endpoints) {
      const shown = `${isIPv4(address) ? address : `[${address}]`}:${port}`;
      if (!own.includes(address))
        throw new HostError(`cannot listen on ${shown}: this machine does not have the address.`);
      if (taken.has(port)) throw new HostError(`cannot listen on ${shown}: another program has this port.`);
    }
    this.#memory.keep(Object.freeze(endpoints.map((endpoint) => Object.freeze({ ...endpoint }))));
  }

  async served(): Promise<readonly Endpoint[]> {
    return this.#memory.value;
  }
}
