import { readdirSync, readFileSync } from 'node:fs';
import { parseNetwork, showNetwork } from '../../lib/ip.ts';
import { HostError } from '../ports/index.ts';
import type { Link, LinkOrder, Network, NetworkState } from '../ports/network.ts';
import { codeOf, isFlag, isNumber, isText, listOf, Memory, optional, shapeOf } from './state.ts';
import type { Tree } from './tree.ts';

const folder = '/etc/systemd/network';

interface Kept {
  readonly hostname: string;
  readonly links: readonly Link[];
}

const isLink = shapeOf<Link>({ name: isText, kind: isText, up: isFlag, carrier: optional(isFlag), mtu: isNumber, master: optional(isText), addresses: listOf(isText) });

/** The kernel's links and a model of systemd-networkd: what its files say becomes true when they come into force. */
export class VirtualNetwork implements Network {
  readonly #memory: Memory<Kept>;
  readonly #tree: Tree;
  readonly #nics: number;

  /** The interfaces are `em0` and on: the names that existing clients look for. */
  constructor(path: string, tree: Tree, nics: number) {
    this.#tree = tree;
    this.#nics = nics;
    this.#memory = new Memory(path, shapeOf<Kept>({ hostname: isText, links: listOf(isLink) }), Object.freeze({ hostname: 'nas', links: this.#links() }));
  }

  async look(): Promise<NetworkState> {
    return Object.freeze({ ...this.#memory.value, hosts: '', nameServers: [] });
  }

  async rename(hostname: string): Promise<void> {
    if (hostname === '' || hostname.length > 64) throw new HostError('sethostname: Invalid argument');
    this.#memory.keep(Object.freeze({ ...this.#memory.value, hostname }));
  }

  /** Other hands do not reach in here. */
  watch(): () => void {
    return () => {};
  }

  async apply({ links }: LinkOrder): Promise<void> {
    const now = this.#links();
    const there = new Map(now.map((link) => [link.name, link]));
    for (const { name, addresses } of links) {
      const link = there.get(name);
      if (link === undefined) throw new HostError(`${name} did not come up: there is no such link`);
      const missing = addresses.find((address) => !link.addresses.includes(address));
      if (missing !== undefined) throw new HostError(`${name} did not get the address ${missing}`);
    }
    this.#memory.keep(Object.freeze({ ...this.#memory.value, links: now }));
  }

  /** All links as the files say. */
  #links(): readonly Link[] {
    const files = this.#files();
    const settings = new Map(files.filter(({ name }) => name.endsWith('.network')).map(({ sections }) => [valuesOf(sections, 'Match', 'Name')[0] ?? '', sections]));
    const physical = Array.from({ length: this.#nics }, (_, index) => this.#link(`em${index}`, '', settings));
    const made = files
      .filter(({ name }) => name.endsWith('.netdev'))
      .map(({ sections }) => ({ name: valuesOf(sections, 'NetDev', 'Name')[0] ?? '', kind: valuesOf(sections, 'NetDev', 'Kind')[0] ?? '' }))
      // networkd makes a VLAN on the link whose file asks for it, and an aggregate by itself.
      .filter(({ name, kind }) => kind !== 'vlan' || [...settings.values()].some((sections) => valuesOf(sections, 'Network', 'VLAN').includes(name)))
      .map(({ name, kind }) => this.#link(name, kind, settings));
    return Object.freeze([...physical, ...made]);
  }

  #link(name: string, kind: string, settings: ReadonlyMap<string, readonly Section[]>): Link {
    const sections = settings.get(name) ?? [];
    const first = (section: string, key: string) => valuesOf(sections, section, key)[0];
    const number = Number(/\d+$/.exec(name)?.[0] ?? 0);
    const up = sections.length > 0 && first('Link', 'ActivationPolicy') !== 'always-down';
    const fixed = valuesOf(sections, 'Address', 'Address').map((text) => {
      const network = parseNetwork(text);
      if (network === undefined) throw new HostError(`${name}: ${text} is no address`);
      return showNetwork(network);
    });
    const leased = first('Network', 'DHCP') === 'ipv4' ? [`198.51.100.${(number % 200) + 20}/24`] : [];
    const advertised = first('Network', 'IPv6AcceptRA') === 'yes' ? [`2001:db8:ffff::${(number + 1).toString(16)}/64`] : [];
    return Object.freeze({
      name,
      kind,
      up,
      carrier: up,
      mtu: Number(first('Link', 'MTUBytes') ?? 1500),
      master: first('Network', 'Bond'),
      addresses: Object.freeze(up ? [...fixed, ...leased, ...advertised] : fixed),
    });
  }

  #files(): readonly { readonly name: string; readonly sections: readonly Section[] }[] {
    const place = this.#tree.locate(folder);
    let names: readonly string[];
    try {
      names = readdirSync(place).sort();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
    return names.filter((name) => /\.(network|netdev)$/.test(name)).map((name) => ({ name, sections: sectionsOf(readFileSync(`${place}/${name}`, 'utf8')) }));
  }
}

interface Section {
  readonly title: string;
  readonly entries: readonly (readonly [key: string, value: string])[];
}

function sectionsOf(text: string): readonly Section[] {
  return text
    .split(/^\[/m)
    .slice(1)
    .map((part) => {
      const [head = '', ...lines] = part.split('\n');
      return {
        title: head.replace(/\].*$/, ''),
        entries: lines.filter((line) => /^\w+=/.test(line)).map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
      };
    });
}

function valuesOf(sections: readonly Section[], title: string, key: string): readonly string[] {
  return sections.filter((section) => section.title === title).flatMap(({ entries }) => entries.filter(([name]) => name === key).map(([, value]) => value));
}
