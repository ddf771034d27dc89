/** Reads hand-made files of networkd and ifupdown, and the name servers: the opposite of `networkd-files.ts`. */
import { networkSettings } from '../../areas/network/globalconfiguration.ts';
import { networkInterface } from '../../areas/network/interface.ts';
import { laggMember } from '../../areas/network/lagginterfacemembers.ts';
import { plugged } from '../../areas/network/nics.ts';
import { staticRoute } from '../../areas/network/staticroute.ts';
import type { Adoption, NotCarried, Origin, ProposedRecord } from '../../engine/declare/proposal.ts';
import type { View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { isLoopback, parseIp, parseNetwork, showIp } from '../../lib/ip.ts';
import { words } from '../../lib/text.ts';
import { iniOf } from '../ini.ts';
import { type FoundLink, type FoundNetwork, lost, noNetwork, type Said } from './found-network.ts';
import { ifupdownNetwork } from './ifupdown.ts';
import { networkdNetwork } from './networkd-read.ts';

const networkd = '/etc/systemd/network/';
const ifupdown = '/etc/network/interfaces';
const resolv = '/etc/resolv.conf';
const resolved = '/etc/systemd/resolved.conf';

export const networkAdoption: Adoption = {
  files: [
    ...[`${networkd}*`, ifupdown, `${ifupdown}.d/*`, resolv, resolved, `${resolved}.d/*`],
    ...['/etc/netplan/*', '/etc/NetworkManager/system-connections/*'],
  ],
  // Interfaces without a record are as others configured them, beside those of Holdfast.
  isBeside: true,
  read({ files, facts, view }) {
    const some = (prefix: string) => [...files].filter(([path]) => path.startsWith(prefix));
    const found = [
      networkdNetwork(some(networkd), facts),
      ifupdownNetwork(some(ifupdown), facts),
      nameServersOf(some(resolv), some(resolved)),
    ];
    const notCarried = [
      ...found.flatMap((one) => one.notCarried),
      ...[...some('/etc/netplan/'), ...some('/etc/NetworkManager/')].map(([path]) =>
        lost({ file: path, line: 0, text: path }, 'The files of this program are not read.', {
          toDo: 'Remove the connection there, and create the record of its interface with the same addresses.',
        }),
      ),
    ];
    const records = interfacesOf(found, { facts, view }, notCarried);
    return { records: [...records, ...settingsOf(found, { facts, view, notCarried })], notCarried };
  },
};

interface Where {
  readonly facts: Facts;
  readonly view: View;
}

function interfacesOf(found: readonly FoundNetwork[], { facts, view }: Where, notCarried: NotCarried[]) {
  const names = new Set(plugged(facts).map(({ name }) => name));
  const records: ProposedRecord[] = [];
  const taken = { dhcp: false, ipv6auto: false };
  for (const record of view.all(networkInterface)) {
    taken.dhcp ||= record.int_dhcp;
    taken.ipv6auto ||= record.int_ipv6auto;
  }
  for (const link of found.flatMap(({ links }) => links)) {
    const { name, file, line, text } = link;
    const isKnown =
      view.find(networkInterface, 'int_interface', name) !== undefined ||
      view.find(laggMember, 'lagg_physnic', name) !== undefined ||
      records.some(({ values }) => values['int_interface'] === name);
    if (isKnown) continue;
    if (!names.has(name)) {
      notCarried.push(lost(link, `This machine has no interface ${name} now.`, { toDo: 'Remove its configuration.' }));
      continue;
    }
    if (link.refusal !== undefined) {
      notCarried.push(lost({ file, line, text }, link.refusal, { toDo: leftAlone }));
      continue;
    }
    for (const [is, what] of [
      ['dhcp', 'IPv4 by DHCP'],
      ['ipv6auto', 'IPv6 by router advertisements'],
    ] as const)
      if (link[is] && taken[is])
        notCarried.push(
          lost(link, `One interface has ${what} in Holdfast, and another one has it already.`, {
            toDo: `Give ${name} a fixed address.`,
          }),
        );
    records.push({ resource: networkInterface.path, file, line, values: valuesOf(link, taken) });
    taken.dhcp ||= link.dhcp;
    taken.ipv6auto ||= link.ipv6auto;
    if (link.program === 'ifupdown')
      notCarried.push(
        lost(link, `ifupdown configures ${name} too as long as these lines are there.`, {
          toDo: 'Remove them once the file has been applied, before the next start. Do not run ifdown.',
        }),
      );
  }
  return records;
}

const leftAlone =
  'Nothing: Holdfast leaves an interface without a record as it is. Create vlan or lagg to change that.';

function valuesOf(
  { name, addresses, dhcp, ipv6auto, options }: FoundLink,
  taken: { dhcp: boolean; ipv6auto: boolean },
) {
  const all = addresses.flatMap((address) => parseNetwork(address) ?? []);
  const hasLease = dhcp && !taken.dhcp;
  const first4 = hasLease ? undefined : all.find(({ family }) => family === 4);
  const first6 = all.find(({ family, bits }) => family === 6 && bits % 4 === 0);
  const more = all.filter((one) => one !== first4 && one !== first6);
  return {
    int_name: name,
    int_interface: name,
    ...(first4 && { int_ipv4address: showIp(first4), int_v4netmaskbit: String(first4.bits) }),
    ...(first6 && { int_ipv6address: showIp(first6), int_v6netmaskbit: String(first6.bits) }),
    ...(hasLease && { int_dhcp: true }),
    ...(ipv6auto && !taken.ipv6auto && { int_ipv6auto: true }),
    ...(options.length > 0 && { int_options: options.join(' ') }),
    ...(more.length > 0 && { int_aliases: more.map((one) => `${showIp(one)}/${one.bits}`) }),
  };
}

/** Gateways, routes, name servers and domains. What Holdfast has already stays. */
function settingsOf(
  found: readonly FoundNetwork[],
  { facts, view, notCarried }: Where & { readonly notCarried: NotCarried[] },
): readonly ProposedRecord[] {
  const settings = view.only(networkSettings);
  const values: Record<string, unknown> = {};
  let origin: Origin | undefined;
  const records: ProposedRecord[] = [];
  const carried = found.flatMap(({ links }) => links).filter(({ refusal }) => refusal === undefined);
  for (const { destination, gateway, ...said } of carried.flatMap(({ routes }) => routes)) {
    const ip = parseIp(gateway);
    if (ip === undefined) continue;
    const field = ip.family === 4 ? 'gc_ipv4gateway' : 'gc_ipv6gateway';
    if (destination !== undefined) {
      const known = view
        .all(staticRoute)
        .some((one) => one.sr_destination === destination && one.sr_gateway === gateway);
      const values = { sr_destination: destination, sr_gateway: gateway };
      if (!known) records.push({ resource: staticRoute.path, file: said.file, line: said.line, values });
    } else if (settings[field] === gateway) continue;
    else if (settings[field] === '' && (values[field] ?? gateway) === gateway) {
      values[field] = gateway;
      origin ??= said;
    } else
      notCarried.push(
        lost(said, 'The machine has one default gateway in Holdfast.', { toDo: `Create a route through ${gateway}.` }),
      );
  }
  const servers = new Map(
    found
      .flatMap(({ nameServers }) => nameServers)
      .flatMap((one) => {
        const ip = parseIp(one.value.replace(/%.*$/, ''));
        return ip === undefined || isLoopback(ip) ? [] : [[showIp(ip), one] as const];
      }),
  );
  const domains = [...new Set(found.flatMap((one) => one.domains.map(({ value }) => value)))].filter(
    (domain) => !domain.startsWith('~') && domain !== '.',
  );
  const has = [settings.gc_nameserver1, settings.gc_nameserver2, settings.gc_nameserver3];
  const further = [...servers].filter(([server]) => !has.includes(server));
  if (has[0] === '' && further.length > 0 && facts.services.get('systemd-resolved')?.installed !== true)
    for (const [server, said] of further)
      notCarried.push(
        lost(said, `Holdfast gives the name server ${server} to systemd-resolved, which is not installed.`, {
          toDo: 'Run: apt-get install systemd-resolved, and read again.',
        }),
      );
  else
    for (const [index, [server, said]] of further.entries()) {
      if (has[0] === '' && index < 3) {
        values[`gc_nameserver${index + 1}`] = server;
        origin ??= said;
      } else
        notCarried.push(
          lost(said, `The machine has other name servers in Holdfast, at most three: ${server} is not among them.`, {
            toDo: 'Set nameserver1 to nameserver3 of network.',
          }),
        );
    }
  const known = [settings.gc_domain, ...words(settings.gc_domains)];
  const search = domains.filter((domain) => !known.includes(domain));
  if (search.length > 0) {
    values['gc_domains'] = [...words(settings.gc_domains), ...search].slice(0, 5).join(' ');
    origin ??= found.flatMap((one) => one.domains)[0];
  }
  if (origin === undefined) return records;
  return [...records, { resource: networkSettings.path, file: origin.file, line: origin.line, values }];
}

/** resolv.conf as people write it, and the settings of systemd-resolved. */
function nameServersOf(
  plain: readonly (readonly [string, string])[],
  ofResolved: readonly (readonly [string, string])[],
): FoundNetwork {
  const nameServers: Said[] = [];
  const domains: Said[] = [];
  for (const [file, content] of plain)
    for (const [index, text] of content.split('\n').entries()) {
      const [name = '', ...rest] = words(text);
      const said = { file, line: index + 1, text };
      if (name === 'nameserver') nameServers.push(...rest.slice(0, 1).map((value) => ({ ...said, value })));
      if (name === 'search' || name === 'domain') domains.push(...rest.map((value) => ({ ...said, value })));
    }
  for (const line of ofResolved.flatMap(([file, content]) => iniOf(file, content)))
    if (line.name === 'DNS')
      nameServers.push(...words(line.value).map((value) => ({ ...line, value: value.replace(/#.*$/, '') })));
    else if (line.name === 'Domains') domains.push(...words(line.value).map((value) => ({ ...line, value })));
  return { ...noNetwork, nameServers, domains };
}
