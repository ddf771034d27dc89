import { contains, type Ip, type Network, networkOf } from '../../lib/ip.ts';

/** Finds the link in whose network an address lies, among thousands of networks without looking at each. */
export class Towards {
  /** By family and length, and in that by the network's number. */
  readonly #links = new Map<string, Map<bigint, string>>();
  readonly #lengths: { readonly family: 4 | 6; readonly bits: number }[] = [];

  add(network: Network, link: string): void {
    const key = `${network.family}/${network.bits}`;
    let links = this.#links.get(key);
    if (links === undefined) {
      links = new Map();
      this.#links.set(key, links);
      this.#lengths.push({ family: network.family, bits: network.bits });
      // The narrowest network wins, as it does for the kernel.
      this.#lengths.sort((a, b) => b.bits - a.bits);
    }
    const { value } = networkOf(network);
    if (!links.has(value)) links.set(value, link);
  }

  find(ip: Ip): string | undefined {
    for (const { family, bits } of this.#lengths) {
      if (family !== ip.family) continue;
      const network = networkOf({ ...ip, bits });
      const link = contains(network, ip) ? this.#links.get(`${family}/${bits}`)?.get(network.value) : undefined;
      if (link !== undefined) return link;
    }
    return undefined;
  }
}
