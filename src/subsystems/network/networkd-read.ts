/** Reads the .network files of networkd. */

import type { NotCarried } from '../../engine/declare/proposal.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { lastElement } from '../../lib/path.ts';
import { words } from '../../lib/text.ts';
import { type IniLine, iniOf } from '../ini.ts';
import { type FoundLink, type FoundNetwork, type FoundRoute, lost, type Said } from './found-network.ts';

/** Lines that make the interface a part of something that Holdfast does not take over while it runs. */
const attaches = /^Network (?:Bond|Bridge|VLAN|VXLAN|MACVLAN|MACVTAP|IPVLAN|VRF|Tunnel|L2TP|Xfrm|BatmanAdvanced)$/;

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

export function networkdNetwork(files: readonly (readonly [string, string])[], facts: Facts): FoundNetwork {
  const links: FoundLink[] = [];
  const nameServers: Said[] = [];
  const domains: Said[] = [];
  const notCarried: NotCarried[] = [];
  const taken = new Set<string>();
  // For each link, networkd uses the first file that matches.
  for (const [file, content] of files.toSorted(([a], [b]) => (lastElement(a) < lastElement(b) ? -1 : 1))) {
    const lines = iniOf(file, content);
    const whole = { file, line: 0, text: file };
    if (file.endsWith('.netdev')) {
      notCarried.push(
        lost(whole, 'Devices that networkd makes, such as VLANs, aggregates and bridges, are not read.', {
          toDo: 'Nothing: it goes on making them. Create vlan or lagg to let Holdfast do it, after removing this file.',
        }),
      );
      continue;
    }
    if (!file.endsWith('.network')) {
      notCarried.push(lost(whole, 'It is no .network file.', { toDo: 'Nothing: it stays as it is.' }));
      continue;
    }
    const match = lines.filter(({ section }) => section === 'Match');
    const names = match.filter(({ name }) => name === 'Name').flatMap(({ value }) => words(value));
    const matched = facts.network.links.filter(
      ({ name }) => name !== 'lo' && !taken.has(name) && names.some((pattern) => globOf(pattern).test(name)),
    );
    if (
      match.some(({ name }) => name !== 'Name') ||
      names.some((name) => name.startsWith('!')) ||
      matched.length === 0
    ) {
      const reason =
        matched.length === 0 && names.length > 0
          ? 'It matches no interface of this machine.'
          : 'It matches interfaces by something else than their names.';
      notCarried.push(lost(whole, reason, { toDo: 'Create the record of the interface that it is for.' }));
      continue;
    }
    const parts = Map.groupBy(
      lines.filter(({ section }) => section !== 'Match'),
      ({ part }) => part,
    );
    const read = sectionsOf([...parts.values()], notCarried);
    nameServers.push(...read.nameServers);
    domains.push(...read.domains);
    for (const { name } of matched) {
      taken.add(name);
      links.push({ file, line: 1, text: file, program: 'networkd', name, ...read });
    }
  }
  return { links, nameServers, domains, notCarried };
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
      else if (attaches.test(place)) refusal = `The interface is part of another device (${line.text}).`;
      else if (place === 'Route Destination' && of('Gateway') !== undefined) continue;
      else if (!usual.some(({ names, values }) => names.test(place) && values.test(value)))
        notCarried.push(lost(line, 'Holdfast has no field for it.', { within: 1, toDo: 'Do without it.' }));
    }
  }
  return { addresses, options, routes, nameServers, domains, refusal, ...is };
}
