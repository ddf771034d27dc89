import { readdirSync, readFileSync } from 'node:fs';
import { parseNetwork, showNetwork } from '../../lib/ip.ts';
import { isWithin, lastElement } from '../../lib/path.ts';
import { HostError } from '../ports/index.ts';
import type { Connection, FixedRoute, Link, LinkOrder, Medium, Network, NetworkState } from '../ports/network.ts';
import { codeOf, isFlag, isNumber, isText, listOf, Memory, mapOf, oneOf, optional, shapeOf } from './state.ts';
import type { Tree } from './tree.ts';

const folder = '/etc/systemd/network';

/** The interface that the machine was installed with. Holdfast leaves it alone until it has a record. */
const ownLink: Link = Object.freeze({
  name: 'mgmt0',
  kind: '',
  mac: '02:00:00:00:01:00',
  up: true,
  carrier: true,
  mtu: 1500,
  master: undefined,
  addresses: Object.freeze(['192.0.2.7/24', '2001:db8::7/64']),
});

const macOf = (number: number) => `02:00:00:00:00:${(number % 256).toString(16).padStart(2, '0')}`;

interface Kept {
  readonly hostname: string;
  /** The interfaces with a fixed speed. */
  readonly media: Readonly<Record<string, Exclude<Medium, 'auto'>>>;
  readonly routes: readonly FixedRoute[];
  readonly links: readonly Link[];
}

const isRoute = shapeOf<FixedRoute>({ destination: isText, gateway: isText });
const isFixed = shapeOf<Exclude<Medium, 'auto'>>({ speed: isNumber, duplex: oneOf(['full', 'half']) });
const isLink = shapeOf<Link>({
  name: isText,
  kind: isText,
  mac: optional(isText),
  up: isFlag,
  carrier: optional(isFlag),
  mtu: isNumber,
  master: optional(isText),
  addresses: listOf(isText),
});

/** The kernel's links and a model of systemd-networkd: links take the state in its files when these are applied. */
export class VirtualNetwork implements Network {
  readonly #memory: Memory<Kept>;
  readonly #tree: Tree;
  readonly #nics: number;
  /** The files as they were last applied, by name. */
  readonly #files = new Map<string, File>();

  /** The interfaces are named from `em0` on, as existing clients expect. */
  constructor(path: string, tree: Tree, nics: number) {
    this.#tree = tree;
    this.#nics = nics;
    this.#read(namesIn(tree.locate(folder)).map((name) => `${folder}/${name}`));
    this.#memory = new Memory(
      path,
      shapeOf<Kept>({ hostname: isText, media: mapOf(isFixed), routes: listOf(isRoute), links: listOf(isLink) }),
      Object.freeze({ hostname: 'nas', media: {}, routes: [], links: this.#links() }),
    );
  }

  async look(): Promise<NetworkState> {
    const { hostname, links } = this.#memory.value;
    return Object.freeze({ hostname, domain: '', links, hosts: '', nameServers: [] });
  }

  async routes(): Promise<readonly FixedRoute[]> {
    return this.#memory.value.routes;
  }

  /** No client can connect to an address of the simulated machine. */
  async connections(): Promise<readonly Connection[]> {
    return [];
  }

  async rename(hostname: string): Promise<void> {
    if (hostname === '' || hostname.length > 64) throw new HostError('sethostname: Invalid argument');
    this.#memory.keep(Object.freeze({ ...this.#memory.value, hostname }));
  }

  async medium(link: string): Promise<Medium | undefined> {
    return /^em\d+$/.test(link) ? (this.#memory.value.media[link] ?? 'auto') : undefined;
  }

  /** A typical copper interface: 10, 100 and 1000 Mbit/s, the last one in full duplex only. */
  async setMedium(link: string, medium: Medium): Promise<void> {
    if (!this.#memory.value.links.some(({ name, kind }) => name === link && kind === ''))
      throw new HostError(`netlink error: No such device`);
    if (
      medium !== 'auto' &&
      (![10, 100, 1000].includes(medium.speed) || (medium.speed === 1000 && medium.duplex === 'half'))
    )
      throw new HostError(`${link} does not support ${medium.speed} Mbit/s with ${medium.duplex} duplex.`);
    const { [link]: _, ...others } = this.#memory.value.media;
    this.#memory.keep(
      Object.freeze({
        ...this.#memory.value,
        media: Object.freeze(medium === 'auto' ? others : { ...others, [link]: medium }),
      }),
    );
  }

  /** Never calls back: nothing outside of Holdfast can change this machine. */
  watch(): () => void {
    return () => {};
  }

  async apply({ changed, links }: LinkOrder): Promise<void> {
    this.#read(changed);
    const now = this.#links();
    const there = new Map(now.map((link) => [link.name, link]));
    const up = new Set(now.filter((link) => link.up).map(({ name }) => name));
    const routes = [...this.#files.values()]
      .filter((file) => up.has(valuesOf(file, 'Match', 'Name')[0] ?? ''))
      .flatMap((file) => file.routes);
    const routed = new Set(routes.map(({ destination, gateway }) => `${destination} ${gateway}`));
    for (const goal of links) {
      const link = there.get(goal.name);
      if (link === undefined) throw new HostError(`${goal.name} is not there`);
      if (goal.master !== undefined && link.master !== goal.master)
        throw new HostError(`${goal.name} did not become a part of ${goal.master}`);
      const missing = goal.addresses.find((address) => !link.addresses.includes(address));
      if (missing !== undefined) throw new HostError(`${goal.name} did not get the address ${missing}`);
      const route = goal.routes.find(({ destination, gateway }) => !routed.has(`${destination} ${gateway}`));
      if (route !== undefined)
        throw new HostError(`${goal.name} did not get the route to ${route.destination} by way of ${route.gateway}`);
    }
    this.#memory.keep(Object.freeze({ ...this.#memory.value, routes: Object.freeze(routes), links: now }));
  }

  /** All links as the files define them. */
  #links(): readonly Link[] {
    const files = [...this.#files];
    const settings = new Map(
      files
        .filter(([name]) => name.endsWith('.network'))
        .map(([, file]) => [valuesOf(file, 'Match', 'Name')[0] ?? '', file]),
    );
    const stacked = new Set([...settings.values()].flatMap((file) => valuesOf(file, 'Network', 'VLAN')));
    const physical = Array.from({ length: this.#nics }, (_, index) => this.#link(`em${index}`, '', settings));
    const own = settings.has(ownLink.name) ? this.#link(ownLink.name, '', settings) : ownLink;
    const made = files
      .filter(([name]) => name.endsWith('.netdev'))
      .map(([, file]) => ({
        name: valuesOf(file, 'NetDev', 'Name')[0] ?? '',
        kind: valuesOf(file, 'NetDev', 'Kind')[0] ?? '',
      }))
      // networkd makes a VLAN on the link whose file asks for it, and an aggregate by itself.
      .filter(({ name, kind }) => kind !== 'vlan' || stacked.has(name))
      .map(({ name, kind }) => this.#link(name, kind, settings));
    return Object.freeze([...physical, own, ...made]);
  }

  #link(name: string, kind: string, settings: ReadonlyMap<string, File>): Link {
    const file = settings.get(name);
    const values = (section: string, key: string) => (file === undefined ? [] : valuesOf(file, section, key));
    const first = (section: string, key: string) => values(section, key)[0];
    const number = Number(/\d+$/.exec(name)?.[0] ?? 0);
    const up = file !== undefined && first('Link', 'ActivationPolicy') !== 'always-down';
    const fixed = values('Address', 'Address').map((text) => {
      const network = parseNetwork(text);
      if (network === undefined) throw new HostError(`${name}: ${text} is not a valid address`);
      return showNetwork(network);
    });
    const leased = first('Network', 'DHCP') === 'ipv4' ? [`198.51.100.${(number % 200) + 20}/24`] : [];
    const advertised =
      first('Network', 'IPv6AcceptRA') === 'yes' ? [`2001:db8:ffff::${(number + 1).toString(16)}/64`] : [];
    return Object.freeze({
      name,
      kind,
      ...(kind === '' && { mac: name === ownLink.name ? ownLink.mac : macOf(number) }),
      up,
      carrier: up,
      mtu: Number(first('Link', 'MTUBytes') ?? 1500),
      master: first('Network', 'Bond'),
      addresses: Object.freeze(up ? [...fixed, ...leased, ...advertised] : fixed),
    });
  }

  /** Reads the files of these paths again. */
  #read(changed: readonly string[]): void {
    const location = this.#tree.locate(folder);
    for (const path of changed.filter((file) => isWithin(file, folder))) {
      const name = lastElement(path);
      const text = readIfThere(`${location}/${name}`);
      if (text === undefined) this.#files.delete(name);
      else this.#files.set(name, sectionsOf(text));
    }
  }
}

function namesIn(location: string): readonly string[] {
  try {
    return readdirSync(location);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

function readIfThere(location: string): string | undefined {
  try {
    return readFileSync(location, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

interface File {
  /** The values of each key, by section: `Network/VLAN`. Sections with the same title are merged. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly routes: readonly FixedRoute[];
}

function sectionsOf(text: string): File {
  const values = new Map<string, string[]>();
  let title = '';
  for (const line of text.split('\n')) {
    title = /^\[(.*)\]$/.exec(line)?.[1] ?? title;
    const entry = /^(\w+)=(.*)$/.exec(line);
    if (entry === null) continue;
    const key = `${title}/${entry[1]}`;
    const known = values.get(key);
    if (known === undefined) values.set(key, [entry[2] ?? '']);
    else known.push(entry[2] ?? '');
  }
  const routes = [...text.matchAll(/^\[Route\]\n(?:Destination=(.*)\n)?Gateway=(.*)$/gm)].map(
    ([, to, gateway = '']) => ({
      destination: to ?? (gateway.includes(':') ? '::/0' : '0.0.0.0/0'),
      gateway,
    }),
  );
  return { values, routes };
}

function valuesOf({ values }: File, title: string, key: string): readonly string[] {
  return values.get(`${title}/${key}`) ?? [];
}
