/** Reads /etc/network/interfaces. */
import type { NotCarried, Origin } from '../../engine/declare/proposal.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { words } from '../../lib/text.ts';
import {
  bondMode,
  type FoundDevice,
  type FoundLink,
  type FoundNetwork,
  type FoundRoute,
  isUsualOfBond,
  lost,
  type Said,
} from './found-network.ts';

interface Stanza extends Origin {
  readonly text: string;
  readonly name: string;
  readonly family: string;
  readonly method: string;
  readonly options: Said[];
}

export function ifupdownNetwork(files: readonly (readonly [string, string])[], { network }: Facts): FoundNetwork {
  const notCarried: NotCarried[] = [];
  const stanzas = files.flatMap(([file, content]) => stanzasOf(file, content, notCarried));
  const nameServers: Said[] = [];
  const domains: Said[] = [];
  const links: FoundLink[] = [];
  const byName = Map.groupBy(
    stanzas.filter(({ method }) => method !== 'loopback'),
    (stanza) => stanza.name,
  );
  for (const [name, all] of byName) {
    const [first] = all;
    if (first === undefined) continue;
    const options = all.flatMap((stanza) => stanza.options);
    const device = deviceOf(name, options, byName);
    const reading: Mutable = { addresses: [], options: [], routes: [], dhcp: false, ipv6auto: false };
    for (const stanza of all) stanzaInto(reading, stanza, { nameServers, domains, notCarried });
    if (device?.kind === 'bond') notCarried.push(...furtherOfBond(options, first.line));
    const kind = network.links.find((link) => link.name === name)?.kind ?? '';
    links.push({
      ...{ file: first.file, line: first.line, text: first.text, program: 'ifupdown', name, ...reading, device },
      vlans: [],
      refusal:
        device === undefined && /^(?:bond|bridge|vlan)$/.test(kind)
          ? 'It is a VLAN, an aggregate or a bridge that these lines do not make.'
          : undefined,
    });
  }
  return { links, nameServers, domains, notCarried };
}

/** The name of an option without the variants that people write, as bridge-ports for bridge_ports. */
const optionOf = ({ text }: Said) => (words(text)[0] ?? '').replaceAll('_', '-');

function deviceOf(
  name: string,
  options: readonly Said[],
  all: ReadonlyMap<string, readonly Stanza[]>,
): FoundDevice | undefined {
  const of = (...names: readonly string[]) => options.find((option) => names.includes(optionOf(option)))?.value;
  const removal = `ip link delete ${name}`;
  const ports = of('bridge-ports');
  if (ports !== undefined) return { kind: 'bridge', members: words(ports).filter((one) => one !== 'none'), removal };
  const slaves = of('bond-slaves', 'slaves');
  const parts = [...all].filter(([, stanzas]) =>
    stanzas.some((one) => one.options.some((option) => optionOf(option) === 'bond-master' && option.value === name)),
  );
  const mode = of('bond-mode');
  if (slaves !== undefined || mode !== undefined || parts.length > 0) {
    const given = [...words(slaves ?? '').filter((one) => one !== 'none'), ...parts.map(([part]) => part)];
    const first = words(of('bond-primary') ?? '').filter((one) => given.includes(one));
    return { kind: 'bond', mode: bondMode(mode), members: [...new Set([...first, ...given])], removal };
  }
  const parent = of('vlan-raw-device');
  const [, ofName, ofTag] = /^(.+)\.0*(\d+)$/.exec(name) ?? [];
  const tag = of('vlan-id') ?? ofTag ?? /^vlan0*(\d+)$/.exec(name)?.[1];
  const under = parent ?? ofName;
  return under === undefined || tag === undefined
    ? undefined
    : { kind: 'vlan', parent: under, tag: Number(tag), priority: undefined, removal };
}

const isOfDevice = /^(?:bond-(?:slaves|master|mode|primary)|slaves|bridge-.*|vlan-raw-device|vlan-id)$/;

function furtherOfBond(options: readonly Said[], within: number): readonly NotCarried[] {
  return options
    .filter((option) => {
      const name = optionOf(option);
      return name.startsWith('bond-') && !isOfDevice.test(name) && !isUsualOfBond(name.slice(5), option.value);
    })
    .map((option) => lost(option, 'Holdfast has no field for it.', { within, toDo: 'Do without it.' }));
}

interface Mutable {
  addresses: string[];
  options: string[];
  routes: FoundRoute[];
  dhcp: boolean;
  ipv6auto: boolean;
}

interface Into {
  readonly nameServers: Said[];
  readonly domains: Said[];
  readonly notCarried: NotCarried[];
}

function stanzaInto(link: Mutable, stanza: Stanza, { nameServers, domains, notCarried }: Into): void {
  const { family, method, options } = stanza;
  const of = (name: string) => options.find(({ text }) => words(text)[0] === name)?.value;
  if (method === 'dhcp' && family === 'inet') link.dhcp = true;
  else if (method === 'auto' && family === 'inet6') link.ipv6auto = true;
  else if (method !== 'static' && method !== 'manual')
    notCarried.push(
      lost(stanza, `Holdfast has no way ${method} to configure ${family}.`, {
        toDo: 'Set addresses of the interface.',
      }),
    );
  for (const option of options) {
    const { text, value } = option;
    const name = words(text)[0] ?? '';
    if (name === 'address')
      link.addresses.push(value.includes('/') ? value : `${value}/${bitsOf(of('netmask'), family)}`);
    else if (name === 'gateway') link.routes.push({ ...option, destination: undefined, gateway: value });
    else if (name === 'dns-nameservers' || name === 'dns-nameserver')
      nameServers.push(...words(value).map((one) => ({ ...option, value: one })));
    else if (name === 'dns-search' || name === 'dns-domain')
      domains.push(...words(value).map((one) => ({ ...option, value: one })));
    else if (name === 'mtu') link.options.push(`mtu ${value}`);
    else if (name === 'hwaddress') link.options.push(`ether ${(words(value).at(-1) ?? '').toLowerCase()}`);
    else if (/^(?:netmask|broadcast|network|metric|accept_ra|autoconf|privext)$/.test(name)) continue;
    else {
      const [, destination, gateway] =
        /^(?:up|post-up)\s+(?:\/\S+\/)?ip(?:\s+-[46])?\s+r(?:oute)?\s+add\s+(\S+)\s+via\s+(\S+)(?:\s+dev\s+\S+)?$/.exec(
          text,
        ) ?? [];
      if (destination !== undefined && gateway !== undefined)
        link.routes.push({ ...option, destination: destination === 'default' ? undefined : destination, gateway });
      else if (
        !/^(?:pre-down|down|post-down)\s+.*\bip\b.*\br(?:oute)?\s+del/.test(text) &&
        !name.startsWith('bond-') &&
        !isOfDevice.test(optionOf(option))
      )
        notCarried.push(
          lost(option, 'Holdfast has no field for it.', {
            within: stanza.line,
            toDo: /^(?:pre-|post-)?(?:up|down)$/.test(name)
              ? 'Create a task/script that runs after the start, if it is still needed.'
              : 'Do without it.',
          }),
        );
    }
  }
}

function bitsOf(mask: string | undefined, family: string): string {
  if (mask === undefined) return family === 'inet' ? '32' : '128';
  if (/^\d+$/.test(mask)) return mask;
  const binary = mask.split('.').map((part) => Number(part).toString(2).padStart(8, '0'));
  return String(binary.join('').replace(/0+$/, '').length);
}

function stanzasOf(file: string, content: string, notCarried: NotCarried[]): readonly Stanza[] {
  const stanzas: Stanza[] = [];
  let stanza: Stanza | undefined;
  for (const [index, raw] of content.split('\n').entries()) {
    const text = raw.replace(/^\s*#.*$/, '').trim();
    if (text === '') continue;
    const [word = '', name = '', family = '', method = ''] = words(text);
    const said = { file, line: index + 1, text, value: text.replace(/^\S+\s*/, '') };
    if (word === 'iface') {
      stanza = { ...said, name, family, method, options: [] };
      stanzas.push(stanza);
    } else if (/^(?:auto|allow-\S+|source|source-directory|no-auto-down|no-scripts|rename)$/.test(word))
      stanza = undefined;
    else if (word === 'mapping' || word === 'template' || stanza === undefined) {
      stanza = undefined;
      notCarried.push(lost(said, 'Holdfast has nothing like it.', { toDo: 'Do without it.' }));
    } else stanza.options.push(said);
  }
  return stanzas;
}
