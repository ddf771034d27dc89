import { networkSettings } from '../../areas/network/globalconfiguration.ts';
import { networkInterface } from '../../areas/network/interface.ts';
import { lagg } from '../../areas/network/lagg.ts';
import { laggMember } from '../../areas/network/lagginterfacemembers.ts';
import { staticRoute } from '../../areas/network/staticroute.ts';
import { vlan } from '../../areas/network/vlan.ts';
import type { Access } from '../../engine/change/confirm.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import {
  contains,
  type Ip,
  isSameIp,
  type Network,
  networkOf,
  parseIp,
  parseNetwork,
  showIp,
  showNetwork,
} from '../../lib/ip.ts';
import { type LinkPlan, planLinks } from './links.ts';

/** The local address of a client's connection, the links that carry it, and the route of the answers. */
export const networkAccess: Access = {
  name: 'network',
  reads: [networkSettings, networkInterface, vlan, lagg, laggMember, staticRoute],
  of(view, facts, { local, remote }) {
    const plans = new Map(planLinks(view).links.map((plan) => [plan.name, plan]));
    // A link-local address with a zone names its link and needs no route.
    const zone = /%(.+)$/.exec(local)?.[1];
    if (zone !== undefined) return JSON.stringify(ofLink(zone, plans, true));
    const [here, there] = [parseIp(local), parseIp(remote)];
    if (here === undefined || there === undefined) return `${local} ${remote}`;
    return JSON.stringify([endOf(here, plans, facts), routeTo(there, plans, facts)]);
  },
};

type Plans = ReadonlyMap<string, LinkPlan>;

/** The link that has the address, whether the address is fixed or assigned, and how the link is built. */
function endOf(here: Ip, plans: Plans, { network }: Facts): unknown {
  const has = (address: Network) => isSameIp(address, here);
  const fixed = [...plans.values()].find(({ addresses }) => addresses.some(has));
  if (fixed !== undefined) return [fixed.addresses.filter(has).map(showNetwork), linkOf(fixed, plans)];
  const name = network.links.find(({ addresses }) =>
    addresses.map(parseNetwork).some((address) => address !== undefined && has(address)),
  )?.name;
  return name === undefined
    ? null
    : ofLink(name, plans, here.family === 4 ? plans.get(name)?.dhcp : plans.get(name)?.ipv6auto);
}

/** A link with an assigned address, and what assigns it. Holdfast does not change a link without a record. */
function ofLink(name: string, plans: Plans, source: boolean | undefined): unknown {
  const plan = plans.get(name);
  return plan === undefined ? name : [source, linkOf(plan, plans)];
}

/** A link with the links below it: the parent of a VLAN, the members of an aggregate. */
function linkOf({ name, device, options, member }: LinkPlan, plans: Plans): unknown {
  const below = [...plans.values()].filter(
    ({ vlans, member: lower }) => vlans.includes(name) || (lower?.carries && lower.of === name),
  );
  return [name, device, options, member ?? null, below.map((plan) => linkOf(plan, plans))];
}

/** The most specific route to the address: its network, link and gateway. */
function routeTo(there: Ip, plans: Plans, { network }: Facts): unknown {
  const everything = (family: 4 | 6): Network => ({ family, bits: 0, value: 0n });
  const planned = [...plans.values()].flatMap(({ name, addresses, routes }) => [
    ...addresses.map((address) => ({ to: networkOf(address), by: name })),
    ...routes.map(({ destination, gateway }) => ({
      to: destination ?? everything(gateway.includes(':') ? 6 : 4),
      by: `${name} ${gateway}`,
    })),
  ]);
  const others = network.links
    .filter(({ name }) => !plans.has(name))
    .flatMap(({ name, addresses }) =>
      addresses
        .map(parseNetwork)
        .flatMap((address) => (address === undefined ? [] : [{ to: networkOf(address), by: name }])),
    );
  const best = [...planned, ...others].filter(({ to }) => contains(to, there)).sort((a, b) => b.to.bits - a.to.bits)[0];
  return best === undefined ? null : [showIp(best.to), best.to.bits, best.by];
}
