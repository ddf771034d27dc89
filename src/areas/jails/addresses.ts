import type { Facts } from '../../engine/upkeep/facts.ts';
import { contains, type Ip, networkOf, parseIp, parseNetwork, showIp } from '../../lib/ip.ts';
import { addressIn, type JailSettings, rangeOf } from './configuration.ts';

/** The addresses of a jail, by the names of their fields. */
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

/** The fields whose addresses no other jail and no card of the machine may have. */
export const ownAddresses = ['jail_ipv4', 'jail_ipv6', 'jail_alias_ipv4', 'jail_alias_ipv6'] as const;

/** Those of the machine's end, which jails may share. */
export const bridgeAddresses = [
  'jail_bridge_ipv4',
  'jail_bridge_ipv6',
  'jail_alias_bridge_ipv4',
  'jail_alias_bridge_ipv6',
] as const;

/** The addresses that cards of the machine have. What is on the jails' bridge came from jails. */
export function machineAddresses({ network }: Facts): readonly string[] {
  return network.links
    .filter(({ name }) => name !== jailBridge)
    .flatMap(({ addresses }) => addresses.flatMap((one) => one.split('/')[0] ?? []));
}

/** The bridge that jails with a network of their own are on. */
export const jailBridge = 'jails0';

/**
 * The next address of the configured range that nobody has; null without a range. Neither the name of an IPv4 network
 * nor its address for all is anybody's.
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
    taken.flatMap((one) => {
      const ip = parseIp(one);
      return ip?.family === family ? ip.value : [];
    }),
  );
  // Among one more than are taken there is a free one, if there is any.
  for (let value = first, tries = 0; value <= last && tries <= used.size; value += 1n, tries += 1)
    if (!used.has(value)) return { address: showIp({ family, value }), bits: whole.bits };
  return 'none';
}

/** The card whose network an address lies in: by way of it others know the jail. */
export function cardFor(address: Ip, facts: Facts): string | undefined {
  return facts.network.links.find(
    ({ name, addresses }) =>
      name !== jailBridge &&
      addresses.some((one) => {
        const network = parseNetwork(one);
        return network !== undefined && network.family === address.family && contains(network, address);
      }),
  )?.name;
}
