/** Pure readers of iproute2's output and of the files about names. */
import { type Ip, parseIp, parseNetwork, showIp, showNetwork } from '../../lib/ip.ts';
import { isObject } from '../../lib/json.ts';
import type { Connection, FixedRoute, Link, Medium } from '../ports/network.ts';

/** What `ip -json -details address show` prints. */
export function readLinks(text: string): readonly Link[] {
  const entries: unknown = JSON.parse(text.trim() === '' ? '[]' : text);
  return (Array.isArray(entries) ? entries : []).filter(isObject).flatMap((entry) => {
    const { ifname, flags: argv, linkinfo, master, mtu, addr_info, address, permaddr } = entry;
    const flags: readonly unknown[] = Array.isArray(argv) ? argv : [];
    if (typeof ifname !== 'string' || flags.includes('LOOPBACK')) return [];
    const up = flags.includes('UP');
    const kind = isObject(linkinfo) && typeof linkinfo['info_kind'] === 'string' ? linkinfo['info_kind'] : '';
    return [
      Object.freeze({
        name: ifname,
        kind,
        // A member of an aggregate shows the address of the aggregate, and its own apart.
        ...macOf(permaddr ?? address),
        up,
        // A link that is down does not detect a cable.
        carrier: up ? flags.includes('LOWER_UP') : undefined,
        mtu: typeof mtu === 'number' ? mtu : 0,
        master: typeof master === 'string' ? master : undefined,
        addresses: Object.freeze((Array.isArray(addr_info) ? addr_info : []).filter(isObject).flatMap(readAddress)),
      }),
    ];
  });
}

function macOf(address: unknown): Pick<Link, 'mac'> {
  return typeof address === 'string' && /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(address)
    ? { mac: address.toLowerCase() }
    : {};
}

function readAddress({ local, prefixlen, scope }: Readonly<Record<string, unknown>>): readonly string[] {
  const network =
    scope === 'link' || scope === 'host' ? undefined : parseNetwork(`${String(local)}/${String(prefixlen)}`);
  return network === undefined ? [] : [showNetwork(network)];
}

/** The routes with a gateway, from `ip -json route show` for one address family. */
export function readRoutes(text: string, family: 4 | 6): readonly FixedRoute[] {
  const entries: unknown = JSON.parse(text.trim() === '' ? '[]' : text);
  return (Array.isArray(entries) ? entries : []).filter(isObject).flatMap(({ dst, gateway }) => {
    if (typeof dst !== 'string' || typeof gateway !== 'string') return [];
    const whole = family === 4 ? '0.0.0.0/0' : '::/0';
    const network = parseNetwork(
      dst === 'default' ? whole : dst.includes('/') ? dst : `${dst}/${family === 4 ? 32 : 128}`,
    );
    const ip = parseIp(gateway);
    return network === undefined || ip === undefined
      ? []
      : [{ destination: showNetwork(network), gateway: showIp(ip) }];
  });
}

/** An address of IPv4 in the table of a socket for both families. */
const mapped = '0000000000000000FFFF0000';

/** The established connections with an address, in `/proc/net/tcp` and `/proc/net/tcp6`. */
export function readConnections(tables: string, address: string): readonly Connection[] {
  const ip = parseIp(address);
  if (ip === undefined) return [];
  const own = inTable(ip);
  const wanted = ip.family === 4 ? `(?:${mapped})?${own}` : own;
  const row = new RegExp(`^ *\\d+: ${wanted}:([0-9A-F]{4}) ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) 01 `, 'gm');
  return [...tables.matchAll(row)].map(([, port = '', client = '', clientPort = '']) =>
    Object.freeze({
      port: Number.parseInt(port, 16),
      client: showIp(fromTable(client.startsWith(mapped) ? client.slice(mapped.length) : client)),
      clientPort: Number.parseInt(clientPort, 16),
    }),
  );
}

/** The tables show an address as numbers of four bytes, which have their lowest byte first in memory. */
const swapped = (digits: string) =>
  digits.replaceAll(/(..)(..)(..)(..)/g, (_, a: string, b: string, c: string, d: string) => d + c + b + a);

const inTable = ({ family, value }: Ip) =>
  swapped(
    value
      .toString(16)
      .toUpperCase()
      .padStart(family === 4 ? 8 : 32, '0'),
  );

const fromTable = (digits: string): Ip => ({
  family: digits.length === 8 ? 4 : 6,
  value: BigInt(`0x${swapped(digits)}`),
});

/** The lines that this machine's hosts file adds. */
export function readOtherHosts(text: string): string {
  const other = text
    .split('\n')
    .filter((line) => /^[0-9A-Fa-f:.]+\s+\S/.test(line.trim()) && !/^(127\.|::1\s|f[ef]0[0-9a-f]:)/i.test(line.trim()));
  return other.map((line) => line.trim()).join('\n');
}

/** The domain of the machine by its own hosts file: the part behind its name there. */
export function readDomain(text: string, hostname: string): string {
  const names = text.split('\n').flatMap((line) => line.replace(/#.*/, '').trim().split(/\s+/).slice(1));
  return names.find((name) => name.startsWith(`${hostname}.`))?.slice(hostname.length + 1) ?? '';
}

/** The name servers of a `resolv.conf`, without the machine itself. */
export function readNameServers(text: string): readonly string[] {
  const named = [...text.matchAll(/^nameserver\s+(\S+)/gm)].map(([, address = '']) => address);
  return named.filter((address) => !/^(127\.|::1$|fe80:|169\.254\.)/i.test(address)).slice(0, 3);
}

/**
 * The medium of a card from `ethtool`'s output; undefined for a card that reports nothing about negotiation, and for one
 * that cannot negotiate, such as those of virtual machines: it has one medium, which cannot be set.
 */
export function readMedium(text: string): Medium | undefined {
  if (/^\s*Supports auto-negotiation: No/m.test(text)) return undefined;
  const negotiates = /^\s*Auto-negotiation: (on|off)/m.exec(text)?.[1];
  if (negotiates === undefined) return undefined;
  if (negotiates === 'off') {
    const [speed, duplex] = [/^\s*Speed: (\d+)Mb\/s/m.exec(text)?.[1], /^\s*Duplex: (Full|Half)/m.exec(text)?.[1]];
    return speed === undefined ? undefined : { speed: Number(speed), duplex: duplex === 'Half' ? 'half' : 'full' };
  }
  const [supported, advertised] = [modesIn(text, 'Supported'), modesIn(text, 'Advertised')];
  const [only] = advertised;
  return only !== undefined &&
    advertised.every((mode) => mode.speed === only.speed && mode.duplex === only.duplex) &&
    supported.length > advertised.length
    ? only
    : 'auto';
}

/** The modes below a title, over several lines: `10baseT/Half 10baseT/Full`. */
function modesIn(text: string, title: string): readonly Exclude<Medium, 'auto'>[] {
  const block = new RegExp(`^\\s*${title} link modes:((?:\\s+\\d+base\\S+)+)`, 'm').exec(text)?.[1] ?? '';
  return [...block.matchAll(/(\d+)base\S*\/(Full|Half)/g)].map(([, speed, duplex]) => ({
    speed: Number(speed),
    duplex: duplex === 'Half' ? 'half' : 'full',
  }));
}
