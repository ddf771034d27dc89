import type { Facts } from '../../engine/upkeep/facts.ts';
import type { Link } from '../../host/ports/network.ts';

/** The names of the devices that records make. */
export const vlanName = /^vlan\d+$/;
export const laggName = /^lagg\d+$/;

/** The interfaces that were plugged in, or made by other hands: whatever may be configured. */
export function plugged({ network }: Facts): readonly Link[] {
  return network.links.filter(({ name }) => /^[\w.-]+$/.test(name) && !vlanName.test(name) && !laggName.test(name));
}

export function noSuchNic(name: string): string {
  return `Pick one of the existing interfaces; ${name} is not one of them.`;
}
