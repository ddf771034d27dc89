import { contains, type Ip, type Network, networkOf } from '../../lib/ip.ts';

/** Finds the link whose network contains an address (longest prefix first), without a scan of thousands of networks. */
export class LinkLookup {
  /** By address family and prefix length, then by network address. */
  readonly #links = new Map<string, Map<bigint, string>>();
  readonly #lengths: { readonly family: 4 | 6; readonly bits: number }[] = [];

  add(network: Network, link: string): void {
    const key = `${network.family}/${network.bits}`;
    let links = this.#links.get(key);
    if (links === undefined) {
      links = new Map();
      this.#links.set(key, links);
      this.#lengths.push({ family: network.family, bits: network.bits });
      // The longest prefix wins, as in the kernel.
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
