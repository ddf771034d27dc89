import type { Facts } from '../../engine/facts/facts.ts';
import type { Link } from '../../host/ports/network.ts';

/** Names of the devices that Holdfast creates from records. */
export const vlanName = /^vlan\d+$/;
export const laggName = /^lagg\d+$/;

/** The interfaces that can be configured: hardware, and devices that were created outside of Holdfast. */
export function plugged({ network }: Facts): readonly Link[] {
  return network.links.filter(({ name }) => /^[\w.-]+$/.test(name) && !vlanName.test(name) && !laggName.test(name));
}

export function noSuchNic(name: string): string {
  return `Pick one of the existing interfaces; ${name} is not one of them.`;
}
