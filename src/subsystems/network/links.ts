import { networkSettings } from '../../areas/network/globalconfiguration.ts';
import { addressesOf, networkInterface } from '../../areas/network/interface.ts';
import { lagg } from '../../areas/network/lagg.ts';
import { laggMember } from '../../areas/network/lagginterfacemembers.ts';
import { type LinkOptions, optionsOf } from '../../areas/network/options.ts';
import { staticRoute } from '../../areas/network/staticroute.ts';
import { vlan } from '../../areas/network/vlan.ts';
import type { Problem } from '../../engine/declare/problem.ts';
import type { RecordOf, View } from '../../engine/declare/resource.ts';
import { isLinkLocal, type Network, networkOf, parseIp, parseNetwork, showIp, showNetwork } from '../../lib/ip.ts';
import { LinkLookup } from './link-lookup.ts';

export type Protocol = RecordOf<typeof lagg.fields>['lagg_protocol'];

/** One link with everything that is configured for it, merged from several records. */
export interface LinkPlan {
  readonly name: string;
  readonly device:
    | { readonly kind: 'plugged' }
    | { readonly kind: 'vlan'; readonly tag: number; readonly priority: number | null }
    | { readonly kind: 'bond'; readonly protocol: Protocol };
  readonly options: LinkOptions;
  readonly addresses: readonly Network[];
  readonly dhcp: boolean;
  readonly ipv6auto: boolean;
  /** VLANs on this link. */
  readonly vlans: readonly string[];
  /** The aggregate that the link is a member of, whether it carries traffic, and whether it is the preferred member. */
  readonly member: { readonly of: string; readonly carries: boolean; readonly preferred: boolean } | undefined;
  readonly routes: readonly Route[];
}

export interface Route {
  /** Undefined for the default route. */
  readonly destination: Network | undefined;
  readonly gateway: string;
  /**
   * Whether the gateway is in the network of a fixed address. Otherwise the route waits for DHCP or a router
   * advertisement.
   */
  readonly within: boolean;
}

export interface NetworkPlan {
  readonly links: readonly LinkPlan[];
  /** Records that cannot be applied. */
  readonly problems: readonly Problem[];
}

type Building = { -readonly [K in keyof LinkPlan]: LinkPlan[K] } & { vlans: string[]; routes: Route[] };

/** Merges the records of each link, and finds the link of each route. */
export function planLinks(view: View): NetworkPlan {
  const links = new Map<string, Building>();
  const problems: Problem[] = [];
  const link = (name: string): Building => {
    let plan = links.get(name);
    if (plan === undefined) {
      plan = {
        name,
        device: { kind: 'plugged' },
        options: {},
        addresses: [],
        dhcp: false,
        ipv6auto: false,
        vlans: [],
        member: undefined,
        routes: [],
      };
      links.set(name, plan);
    }
    return plan;
  };

  for (const { id, lagg_interface, lagg_protocol } of view.all(lagg)) {
    // The collection is sorted by aggregate, then by lagg_ordernum.
    const members = view.all(laggMember).filter((member) => member.lagg_interfacegroup === id);
    const aggregate = link(lagg_interface);
    aggregate.device = { kind: 'bond', protocol: lagg_protocol };
    const options = members.map((member) => optionsOf(member.lagg_deviceoptions));
    for (const [index, { lagg_physnic }] of members.entries()) {
      const member = link(lagg_physnic);
      member.member = {
        of: lagg_interface,
        carries: lagg_protocol !== 'none',
        preferred: lagg_protocol === 'failover' && index === 0,
      };
      // The MTU applies to the aggregate.
      const { mtu: _, ...own } = options[index] ?? {};
      member.options = own;
    }
    const mtu = options.find((option) => option.mtu !== undefined)?.mtu;
    if (mtu !== undefined) aggregate.options = { mtu };
  }
  for (const record of view.all(networkInterface)) {
    const plan = link(record.int_interface);
    if (plan.member !== undefined) {
      problems.push(
        notApplied(
          `${networkInterface.path}/${record.id}`,
          `${record.int_interface} is a member of ${plan.member.of} and has no configuration of its own.`,
        ),
      );
      continue;
    }
    plan.options = { ...plan.options, ...optionsOf(record.int_options) };
    plan.addresses = addressesOf(record);
    plan.dhcp = record.int_dhcp;
    plan.ipv6auto = record.int_ipv6auto;
  }
  for (const { id, vlan_vint, vlan_pint, vlan_tag, vlan_pcp } of view.all(vlan)) {
    const parent = link(vlan_pint);
    if (parent.member !== undefined) {
      problems.push(
        notApplied(
          `${vlan.path}/${id}`,
          `The VLAN ${vlan_vint} does not exist, because ${vlan_pint} is a member of ${parent.member.of}.`,
        ),
      );
      links.delete(vlan_vint);
      continue;
    }
    parent.vlans.push(vlan_vint);
    link(vlan_vint).device = { kind: 'vlan', tag: vlan_tag, priority: vlan_pcp };
  }
  assignRoutes(view, links, problems);
  return { links: [...links.values()], problems };
}

export const notApplied = (about: string, message: string): Problem => ({
  kind: 'not-applied',
  about,
  detail: message,
  severity: 'warning',
  message,
});

function assignRoutes(view: View, links: ReadonlyMap<string, Building>, problems: Problem[]): void {
  const linkLookup = new LinkLookup();
  for (const { name, addresses } of links.values()) for (const address of addresses) linkLookup.add(address, name);
  const all = [...links.values()];
  // Networks from DHCP or router advertisements are not known here. A gateway outside of all fixed networks is assumed
  // there.
  const leased = all.find(({ dhcp }) => dhcp);
  const announced =
    all.find(({ ipv6auto }) => ipv6auto) ?? all.find(({ addresses }) => addresses.some(({ family }) => family === 6));
  // The kernel uses one route to a network: the first one wins.
  const taken = new Set<string>();
  const assign = (about: string, title: string, gateway: string, destination: Network | undefined): void => {
    const [address = '', zone] = gateway.split('%');
    const ip = parseIp(address);
    if (ip === undefined) return;
    const fallback = ip.family === 4 ? leased : isLinkLocal(ip) || announced?.ipv6auto ? announced : undefined;
    const connected = linkLookup.find(ip);
    const through = links.get(zone ?? connected ?? fallback?.name ?? '');
    const to = destination === undefined ? `everything/${ip.family}` : showNetwork(destination);
    if (through === undefined)
      problems.push(
        notApplied(about, `${title} is not set: no configured interface has an address in the network of ${gateway}.`),
      );
    else if (taken.has(to))
      problems.push(
        notApplied(
          about,
          `${title} is not set: another route to the same network exists, so the gateway ${gateway} is not used.`,
        ),
      );
    else {
      taken.add(to);
      through.routes.push({ destination, gateway: showIp(ip), within: zone === undefined && connected !== undefined });
    }
  };
  const { gc_ipv4gateway, gc_ipv6gateway } = view.only(networkSettings);
  if (gc_ipv4gateway !== '') assign(networkSettings.path, 'The IPv4 gateway', gc_ipv4gateway, undefined);
  if (gc_ipv6gateway !== '') assign(networkSettings.path, 'The IPv6 gateway', gc_ipv6gateway, undefined);
  for (const { id, sr_destination, sr_gateway } of view.all(staticRoute)) {
    const destination = parseNetwork(sr_destination);
    if (destination === undefined) continue;
    const network = networkOf(destination);
    assign(
      `${staticRoute.path}/${id}`,
      `The static route to ${showNetwork(network)}`,
      sr_gateway,
      network.bits === 0 ? undefined : network,
    );
  }
}
