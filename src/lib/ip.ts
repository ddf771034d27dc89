/** An address as a number, for comparing it with networks. */
export interface Ip {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** An address and its prefix length. */
export interface Network extends Ip {
  readonly bits: number;
}

const width = (family: 4 | 6): number => (family === 4 ? 32 : 128);

export function isSameIp(a: Ip | undefined, b: Ip): boolean {
  return a?.family === b.family && a.value === b.value;
}

/** Parses an IPv4 or IPv6 address without a zone. */
export function parseIp(text: string): Ip | undefined {
  const value = text.includes(':') ? parseV6(text) : parseV4(text);
  return value === undefined ? undefined : { family: text.includes(':') ? 6 : 4, value };
}

/** Parses `address/bits`. Host bits may be set. */
export function parseNetwork(text: string): Network | undefined {
  const match = /^([0-9A-Fa-f.:]+)\/(\d{1,3})$/.exec(text);
  const ip = parseIp(match?.[1] ?? '');
  const bits = Number(match?.[2]);
  return ip === undefined || bits > width(ip.family) ? undefined : { ...ip, bits };
}

/** The network with all host bits zero. */
export function networkOf({ family, value, bits }: Network): Network {
  const rest = BigInt(width(family) - bits);
  return { family, bits, value: (value >> rest) << rest };
}

export function contains(network: Network, ip: Ip): boolean {
  const rest = BigInt(width(network.family) - network.bits);
  return ip.family === network.family && ip.value >> rest === network.value >> rest;
}

export function overlap(a: Network, b: Network): boolean {
  return a.bits <= b.bits ? contains(a, b) : contains(b, a);
}

/** In `fe80::/10` or `169.254.0.0/16`: valid only together with a link. */
export function isLinkLocal({ family, value }: Ip): boolean {
  return family === 6 ? value >> 118n === 0xfe80n >> 6n : value >> 16n === 0xa9fen;
}

export function isLoopback({ family, value }: Ip): boolean {
  return family === 4 ? value >> 24n === 127n : value === 1n;
}

/** The canonical text of an address: IPv6 in lower case with the longest run of zeros omitted (RFC 5952). */
export function showIp({ family, value }: Ip): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  const zeros = [...groups.join(':').matchAll(/(?<=^|:)0(?::0)+(?=:|$)/g)]
    .map(([row]) => row)
    .toSorted((a, b) => b.length - a.length)[0];
  const text = groups.join(':');
  if (zeros === undefined) return text;
  const at = text.search(new RegExp(`(?<=^|:)${zeros}(?=:|$)`));
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + zeros.length).replace(/^:/, '')}`;
}

export function showNetwork(network: Network): string {
  return `${showIp(network)}/${network.bits}`;
}

function parseV4(text: string): bigint | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return undefined;
  const parts = text.split('.');
  if (parts.some((part) => Number(part) > 255 || (part.length > 1 && part.startsWith('0')))) return undefined;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseV6(text: string): bigint | undefined {
  const tail = /^(.*:)(\d[\d.]*\.\d+)$/.exec(text);
  const v4 = tail === null ? undefined : parseV4(tail[2] ?? '');
  if (tail !== null && v4 === undefined) return undefined;
  const plain = v4 === undefined ? text : `${tail?.[1]}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`;
  const halves = plain.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], end = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - head.length - end.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array<string>(halves.length === 2 ? missing : 0).fill('0'), ...end];
  if (!groups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return undefined;
  return groups.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}
