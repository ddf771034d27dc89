/**
 * Reads the hand-made files of networkd, netplan, ifupdown and NetworkManager, and the name servers: the opposite of
 * `networkd-files.ts`.
 */
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
import { foundDevices } from './found-devices.ts';
import { type FoundLink, type FoundNetwork, lost, noNetwork, type Said } from './found-network.ts';
import { ifupdownNetwork } from './ifupdown.ts';
import { networkManagerNetwork } from './keyfile-read.ts';
import { networkdNetwork } from './networkd-read.ts';

const networkd = '/etc/systemd/network/';
/** Files that netplan and others write at each start. */
const running = '/run/systemd/network/';
const netplan = '/etc/netplan/';
const connections = '/etc/NetworkManager/system-connections/';
const volatile = '/run/NetworkManager/system-connections/';
const ifupdown = '/etc/network/interfaces';
const resolv = '/etc/resolv.conf';
const resolved = '/etc/systemd/resolved.conf';

export const networkAdoption: Adoption = {
  files: [
    ...[`${networkd}*`, `${running}*`, ifupdown, `${ifupdown}.d/*`, resolv, resolved, `${resolved}.d/*`],
    ...[`${netplan}*`, `${connections}*`, `${volatile}*`],
  ],
  // Interfaces without a record are as others configured them, beside those of Holdfast.
  isBeside: true,
  read({ files, facts, view }) {
    const some = (prefix: string) => [...files].filter(([path]) => path.startsWith(prefix));
    const found = [
      networkdNetwork([...some(networkd), ...some(running)], facts),
      ifupdownNetwork(some(ifupdown), facts),
      networkManagerNetwork([...some(connections), ...some(volatile)], facts),
      nameServersOf(some(resolv), some(resolved)),
    ];
    const notCarried = [...found.flatMap((one) => one.notCarried), ...netplanFiles(some(netplan), found)];
    const records = interfacesOf(found, { facts, view }, notCarried);
    return { records: [...records, ...settingsOf(found, { facts, view, notCarried })], notCarried };
  },
};

/** netplan writes the files of other programs, which are read. */
function netplanFiles(files: readonly (readonly [string, string])[], found: readonly FoundNetwork[]) {
  const isRead = found.some(({ links }) => links.some(({ file }) => file.includes('netplan-')));
  return files.map(([path]) =>
    isRead
      ? lost(
          { file: path, line: 0, text: path },
          'What netplan wrote from it for networkd or NetworkManager was read.',
          {
            toDo: 'Remove the interfaces there that the file has, once it has been applied: netplan would make their files again.',
          },
        )
      : lost({ file: path, line: 0, text: path }, 'netplan has written no files from it.', {
          toDo: 'Run: netplan generate, and read again.',
        }),
  );
}

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
  const all = found.flatMap(({ links }) => links);
  const devices = foundDevices(all, { facts, view });
  for (const link of all) {
    const name = devices.nameOf(link.name);
    const refusal = devices.refusalOf(link.name);
    const master = devices.masterOf(link.name);
    const isKnown =
      view.find(networkInterface, 'int_interface', name) !== undefined ||
      view.find(laggMember, 'lagg_physnic', name) !== undefined;
    if (isKnown || (master !== undefined && devices.refusalOf(master) === undefined)) continue;
    const first = records.find(({ values }) => values['int_interface'] === name);
    if (first !== undefined) {
      const toDo = 'Compare both, and change the record where this one counts.';
      notCarried.push(lost(link, `${first.file} has the interface ${name} too, and comes first.`, { toDo }));
      continue;
    }
    if (link.device === undefined && !names.has(name)) {
      notCarried.push(lost(link, `This machine has no interface ${name} now.`, { toDo: 'Remove its configuration.' }));
      continue;
    }
    if (refusal !== undefined || master !== undefined) {
      const { file, line, text } = link;
      notCarried.push(
        lost({ file, line, text }, refusal ?? `The interface is part of ${master}.`, { toDo: leftAlone }),
      );
      continue;
    }
    if (link.device !== undefined)
      notCarried.push(
        lost(link, `Holdfast makes the device itself, as ${name}, and the one that is there is in its way.`, {
          toDo: `Right before the file is applied, in one command with that, ${runOf(link.device.removal)}. Use ${name} in scripts.`,
        }),
      );
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
    const { file, line } = link;
    records.push(...devices.recordsOf(link));
    records.push({ resource: networkInterface.path, file, line, values: valuesOf({ ...link, name }, taken) });
    taken.dhcp ||= link.dhcp;
    taken.ipv6auto ||= link.ipv6auto;
    const end = ends[link.program]?.(link);
    if (end !== undefined)
      notCarried.push(
        lost(link, `${link.program} configures ${link.name} too as long as this is there.`, { toDo: end }),
      );
  }
  return records;
}

const runOf = (removal: string) => (removal.startsWith('remove ') ? removal : `run: ${removal}`);

/** How a program that also configures an interface ends to do so. */
const ends: Readonly<Partial<Record<FoundLink['program'], (link: FoundLink) => string>>> = {
  ifupdown: () => 'Remove the lines once the file has been applied, before the next start. Do not run ifdown.',
  NetworkManager: ({ file }) =>
    `Once the file has been applied, remove ${file}, before the next start. Do not take the connection down.`,
};

const leftAlone =
  'Nothing: Holdfast leaves an interface without a record as it is. Create vlan or lagg to change that.';

function valuesOf(
  { name, addresses, dhcp, ipv6auto, options: all, device }: FoundLink,
  taken: { dhcp: boolean; ipv6auto: boolean },
) {
  const networks = addresses.flatMap((address) => parseNetwork(address) ?? []);
  // The size of packets of an aggregate is an option of its members.
  const options = device?.kind === 'bond' ? all.filter((option) => !option.startsWith('mtu ')) : all;
  const hasLease = dhcp && !taken.dhcp;
  const first4 = hasLease ? undefined : networks.find(({ family }) => family === 4);
  const first6 = networks.find(({ family, bits }) => family === 6 && bits % 4 === 0);
  const more = networks.filter((one) => one !== first4 && one !== first6);
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
  const links = found.flatMap((one) => one.links);
  const devices = foundDevices(links, { facts, view });
  const carried = links.filter(({ name }) => devices.refusalOf(name) === undefined);
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
