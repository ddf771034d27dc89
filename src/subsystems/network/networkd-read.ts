/** Reads the files of networkd, and those that netplan writes for it. */

import type { NotCarried } from '../../engine/declare/proposal.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { lastElement } from '../../lib/path.ts';
import { words } from '../../lib/text.ts';
import { type IniLine, iniOf } from '../ini.ts';
import {
  type FoundDevice,
  type FoundLink,
  type FoundNetwork,
  type FoundRoute,
  lost,
  type Said,
} from './found-network.ts';
import { type Netdev, netdevOf } from './netdev-read.ts';

/** Lines that make the interface a part of something that Holdfast does not take over while it runs. */
const attaches = /^Network (?:VXLAN|MACVLAN|MACVTAP|IPVLAN|VRF|Tunnel|L2TP|Xfrm|BatmanAdvanced)$/;

/** Lines that mean what Holdfast writes too, or nothing once networkd has its file. */
const usual: readonly { readonly names: RegExp; readonly values: RegExp }[] = [
  { names: /^Network (?:LinkLocalAddressing)$/, values: /^(?:ipv6|yes)$/i },
  {
    names:
      /^Network (?:ConfigureWithoutCarrier|IPv6PrivacyExtensions|KeepConfiguration|Description|MulticastDNS|LLMNR|LLDP|EmitLLDP)$/,
    values: /^/,
  },
  {
    names: /^Link (?:RequiredForOnline|RequiredFamilyForOnline|ActivationPolicy)$/,
    values: /^(?!always-down|manual|down)/,
  },
  {
    names: /^DHCP(?:v4)? (?:UseDNS|UseHostname|SendRelease|ClientIdentifier|RouteMetric|UseMTU|UseDomains)$/,
    values: /^/,
  },
  { names: /^IPv6AcceptRA (?:UseDNS|DHCPv6Client|RouteMetric)$/, values: /^/ },
  { names: /^Route (?:Metric|GatewayOnLink)$/, values: /^/ },
];

/** A .network file, and the links that it is for. */
interface NetworkFile extends ReturnType<typeof sectionsOf> {
  readonly file: string;
  readonly names: readonly string[];
}

export function networkdNetwork(files: readonly (readonly [string, string])[], facts: Facts): FoundNetwork {
  const notCarried: NotCarried[] = [];
  const netdevs = new Map<string, Netdev>();
  const networks: NetworkFile[] = [];
  for (const [file, content] of inOrder(files))
    if (file.endsWith('.netdev')) {
      const device = netdevOf(file, content, notCarried);
      if (device !== undefined) netdevs.set(device.name, device);
    }
  const there = new Map<string, string | undefined>([
    ...[...netdevs.keys()].map((name) => [name, undefined] as const),
    ...facts.network.links.map(({ name, mac }) => [name, mac] as const),
  ]);
  // For each link, networkd uses the first file that matches.
  const free = new Set([...there.keys()].filter((name) => name !== 'lo'));
  for (const [file, content] of inOrder(files)) {
    if (file.endsWith('.netdev')) continue;
    const whole = { file, line: 0, text: file };
    if (!file.endsWith('.network')) {
      notCarried.push(lost(whole, 'It is no .network file.', { toDo: 'Nothing: it stays as it is.' }));
      continue;
    }
    const lines = iniOf(file, content);
    const names = matching(
      lines.filter(({ section }) => section === 'Match'),
      there,
    )?.filter((name) => free.has(name));
    if (names === undefined || names.length === 0) {
      const reason =
        names === undefined
          ? 'It matches interfaces by something else than their names and hardware addresses.'
          : 'It matches no interface of this machine.';
      notCarried.push(lost(whole, reason, { toDo: 'Create the record of the interface that it is for.' }));
      continue;
    }
    for (const name of names) free.delete(name);
    const parts = Map.groupBy(
      lines.filter(({ section }) => section !== 'Match'),
      ({ part }) => part,
    );
    networks.push({ file, names, ...sectionsOf([...parts.values()], notCarried) });
  }
  const described = networks.flatMap(({ names, ...rest }) => names.map((name) => ({ name, ...rest })));
  const deviceOf = (name: string) => foundDevice(netdevs.get(name), described);
  return {
    links: [
      ...described.map(({ name, file, options, master, ...read }): FoundLink => {
        const all = [...(netdevs.get(name)?.options ?? []), ...options];
        const isPartOfOther = master !== undefined && !netdevs.has(master.name);
        const refusal = read.refusal ?? (isPartOfOther ? `The interface is part of ${master.name}.` : undefined);
        return { ...read, name, options: all, ...originOf(file), device: deviceOf(name), refusal };
      }),
      ...[...netdevs.values()]
        .filter(({ name }) => !described.some((one) => one.name === name))
        .map(({ name, file, options }): FoundLink => {
          return { ...sectionsOf([], []), name, options, ipv6auto: false, ...originOf(file), device: deviceOf(name) };
        }),
    ],
    nameServers: networks.flatMap((one) => one.nameServers),
    domains: networks.flatMap((one) => one.domains),
    notCarried,
  };
}

/** By the names of the files, whatever their folders. */
const inOrder = (files: readonly (readonly [string, string])[]) =>
  files.toSorted(([a], [b]) => (lastElement(a) < lastElement(b) ? -1 : 1));

const isOfNetplan = (file: string) => lastElement(file).includes('-netplan-');

const originOf = (file: string) => ({
  ...{ file, line: 1, text: file },
  program: isOfNetplan(file) ? ('netplan' as const) : ('networkd' as const),
});

/** The links that match, by name and hardware address; undefined if it takes something else to say. */
function matching(
  match: readonly IniLine[],
  there: ReadonlyMap<string, string | undefined>,
): readonly string[] | undefined {
  if (match.length === 0) return undefined;
  let names = [...there.keys()];
  for (const { name, value } of match) {
    const given = words(value.toLowerCase());
    if (name === 'Name') {
      const patterns = words(value);
      if (patterns.some((pattern) => pattern.startsWith('!'))) return undefined;
      names = names.filter((one) => patterns.some((pattern) => globOf(pattern).test(one)));
    } else if (name === 'MACAddress' || name === 'PermanentMACAddress')
      names = names.filter((one) => given.includes(there.get(one) ?? ''));
    else return undefined;
  }
  return names;
}

type Described = Pick<NetworkFile, 'master' | 'vlans'> & { readonly name: string };

/** A device with what the files of the links say that are attached to it, or that it is attached to. */
function foundDevice(netdev: Netdev | undefined, links: readonly Described[]): FoundDevice | undefined {
  if (netdev === undefined) return undefined;
  const { file, name, kind, tag, priority, mode } = netdev;
  const end = `rm ${file} && ip link delete ${name}`;
  const removal = isOfNetplan(file) ? `remove ${name} from the files in /etc/netplan, ${end}` : end;
  if (kind === 'vlan') {
    const parent = links.find(({ vlans }) => vlans.includes(name))?.name ?? '';
    return { kind, parent, tag, priority, removal };
  }
  const parts = links.filter(({ master }) => master?.name === name);
  const members = [
    ...parts.filter(({ master }) => master?.isPreferred === true),
    ...parts.filter(({ master }) => master?.isPreferred !== true),
  ].map((link) => link.name);
  return kind === 'bond' ? { kind, mode, members, removal } : { kind: 'bridge', members, removal };
}

/** A pattern of shells, of which people use the star. */
const globOf = (pattern: string) =>
  new RegExp(
    `^${pattern
      .replaceAll(/[.+^${}()|\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  );

function sectionsOf(parts: readonly (readonly IniLine[])[], notCarried: NotCarried[]) {
  const addresses: string[] = [];
  const options: string[] = [];
  const routes: FoundRoute[] = [];
  const nameServers: Said[] = [];
  const domains: Said[] = [];
  // networkd accepts router advertisements unless a file says otherwise.
  const is = { dhcp: false, ipv6auto: true };
  const vlans: string[] = [];
  // A part of an aggregate has no addresses of its own.
  const isPart = parts.flat().some(({ section, name }) => section === 'Network' && /^(?:Bond|Bridge)$/.test(name));
  let master: { readonly name: string; readonly isPreferred: boolean } | undefined;
  let refusal: string | undefined;
  for (const lines of parts) {
    const of = (name: string) => lines.find((line) => line.name === name);
    for (const line of lines) {
      const { value } = line;
      const place = `${line.section} ${line.name}`;
      if (place === 'Network Address' || place === 'Address Address') addresses.push(value);
      else if (place === 'Network DHCP') {
        is.dhcp = /^(?:yes|true|1|on|ipv4|v4|both)$/i.test(value);
        if (/^(?:ipv6|v6)$/i.test(value))
          notCarried.push(
            lost(line, 'Holdfast has IPv6 by router advertisements only.', {
              within: 1,
              toDo: 'Set ipv6auto or a fixed address.',
            }),
          );
      } else if (place === 'Network IPv6AcceptRA') is.ipv6auto = /^(?:yes|true|1|on)$/i.test(value);
      else if (place === 'Network DNS')
        nameServers.push(...words(value).map((one) => ({ ...line, value: one.replace(/#.*$/, '') })));
      else if (place === 'Network Domains') domains.push(...words(value).map((one) => ({ ...line, value: one })));
      else if (place === 'Network Gateway') routes.push({ ...line, destination: undefined, gateway: value });
      else if (place === 'Route Gateway') {
        const destination = of('Destination')?.value;
        const isDefault = destination === undefined || /^(?:0\.0\.0\.0|::)\/0$/.test(destination);
        routes.push({ ...line, destination: isDefault ? undefined : destination, gateway: value });
      } else if (place === 'Link MTUBytes' && /^\d+$/.test(value)) options.push(`mtu ${value}`);
      else if (place === 'Link MACAddress') options.push(`ether ${value.toLowerCase()}`);
      else if (place === 'Network VLAN') vlans.push(...words(value));
      else if (place === 'Network Bond' || place === 'Network Bridge')
        master = { name: value, isPreferred: /^(?:yes|true|1|on)$/i.test(of('PrimarySlave')?.value ?? 'no') };
      else if (place === 'Network PrimarySlave' || (isPart && place === 'Network LinkLocalAddressing')) continue;
      else if (attaches.test(place)) refusal = `The interface is part of another device (${line.text}).`;
      else if (place === 'Route Destination' && of('Gateway') !== undefined) continue;
      else if (!usual.some(({ names, values }) => names.test(place) && values.test(value)))
        notCarried.push(lost(line, 'Holdfast has no field for it.', { within: 1, toDo: 'Do without it.' }));
    }
  }
  return { addresses, options, routes, nameServers, domains, vlans, master, refusal, ...is };
}
