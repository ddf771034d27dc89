import type { Facts } from '../../engine/facts/facts.ts';
import { contains, type Ip, networkOf, parseIp, parseNetwork, showIp } from '../../lib/ip.ts';
import { addressIn, type JailSettings, rangeOf } from './configuration.ts';

/** The addresses of a jail, by field name. */
export interface JailAddresses {
  readonly jail_ipv4: string | null;
  readonly jail_ipv6: string | null;
  readonly jail_alias_ipv4: string | null;
  readonly jail_alias_ipv6: string | null;
  readonly jail_bridge_ipv4: string | null;
  readonly jail_bridge_ipv6: string | null;
  readonly jail_alias_bridge_ipv4: string | null;
  readonly jail_alias_bridge_ipv6: string | null;
}

/** Addresses of the jail itself. They must differ from those of other jails and of the machine's interfaces. */
export const ownAddresses = ['jail_ipv4', 'jail_ipv6', 'jail_alias_ipv4', 'jail_alias_ipv6'] as const;

/** Addresses of the machine on the jails' bridge, which jails may share. */
export const bridgeAddresses = [
  'jail_bridge_ipv4',
  'jail_bridge_ipv6',
  'jail_alias_bridge_ipv4',
  'jail_alias_bridge_ipv6',
] as const;

/** The addresses of the machine's interfaces. Those on the jails' bridge are excluded: they come from the jails. */
export function machineAddresses({ network }: Facts): readonly string[] {
  return network.links
    .filter(({ name }) => name !== jailBridge)
    .flatMap(({ addresses }) => addresses.flatMap((address) => address.split('/')[0] ?? []));
}

/** The bridge that connects jails with their own network stack. */
export const jailBridge = 'jails0';

/**
 * The next free address of the configured range; null without a range. The network and broadcast addresses of an IPv4
 * network are never used.
 */
export function nextFree(
  settings: JailSettings,
  family: 4 | 6,
  taken: readonly string[],
): { readonly address: string; readonly bits: number } | null | 'none' {
  const { network, start, end } = rangeOf(settings, family);
  const whole = parseNetwork(network ?? '');
  if (whole === undefined) return null;
  const size = 1n << BigInt((family === 4 ? 32 : 128) - whole.bits);
  const base = networkOf(whole).value;
  const first = addressIn(start)?.value ?? base + (size > 2n ? 1n : 0n);
  const last = addressIn(end)?.value ?? base + size - (size > 2n && family === 4 ? 2n : 1n);
  const used = new Set(
    taken.flatMap((address) => {
      const ip = parseIp(address);
      return ip?.family === family ? ip.value : [];
    }),
  );
  // One more candidate than there are used addresses is enough to find a free one.
  for (let value = first, tries = 0; value <= last && tries <= used.size; value += 1n, tries += 1)
    if (!used.has(value)) return { address: showIp({ family, value }), bits: whole.bits };
  return 'none';
}

/** The interface whose network contains the address. Other machines reach the jail through it. */
export function interfaceFor(address: Ip, facts: Facts): string | undefined {
  return facts.network.links.find(
    ({ name, addresses }) =>
      name !== jailBridge &&
      addresses.some((own) => {
        const network = parseNetwork(own);
        return network !== undefined && network.family === address.family && contains(network, address);
      }),
  )?.name;
}
