import { isIP } from 'node:net';
import { isLinkLocal, parseIp } from '../../lib/ip.ts';
import { isObject } from '../../lib/json.ts';

/** What a machine of a pair has to know before it reaches the pool, which has everything else. */
export interface Pair {
  readonly pool: string;
  readonly guid: string;
  /** The base URL of the interface of each machine, by its name. */
  readonly nodes: Readonly<Record<string, string>>;
  /** The addresses of each machine by which they see each other, one for each network between them. */
  readonly links: Readonly<Record<string, readonly string[]>>;
}

/** A pair as one of its machines sees it. */
export interface OwnPair extends Pair {
  /** The name of this machine. */
  readonly self: string;
}

/** From a JSON value; undefined if it is not a pair. */
export function readPair(value: unknown): Pair | undefined {
  if (!isObject(value)) return undefined;
  const { pool, guid, nodes } = value;
  if (typeof pool !== 'string' || !/^[A-Za-z][\w.:-]*$/.test(pool)) return undefined;
  if (typeof guid !== 'string' || !/^\d{1,20}$/.test(guid) || !isObject(nodes)) return undefined;
  const urls = Object.entries(nodes).flatMap(([name, url]) =>
    isNodeName(name) && typeof url === 'string' && isBaseUrl(url) ? [[name, url] as const] : [],
  );
  if (urls.length !== 2 || Object.keys(nodes).length !== 2) return undefined;
  const links = readLinks(
    value['links'],
    urls.map(([name]) => name),
  );
  return links && Object.freeze({ pool, guid, nodes: Object.freeze(Object.fromEntries(urls)), links });
}

/** A pair whose cluster was set up by hand has none. Each machine has as many as the other one. */
function readLinks(value: unknown, names: readonly string[]): Pair['links'] | undefined {
  if (value === undefined) return noLinks;
  if (!isObject(value)) return undefined;
  const links = Object.keys(value).length === 0 ? [] : names.map((name) => [name, addressesIn(value[name])] as const);
  const count = links[0]?.[1]?.length;
  return links.every(([, addresses]) => addresses !== undefined && addresses.length === count)
    ? Object.freeze(Object.fromEntries(links.map(([name, addresses = []]) => [name, addresses])))
    : undefined;
}

/** Corosync has at most eight. */
function addressesIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) &&
    value.length > 0 &&
    value.length <= 8 &&
    value.every((address): address is string => typeof address === 'string' && isIP(address) !== 0)
    ? Object.freeze([...value])
    : undefined;
}

const noLinks: Pair['links'] = Object.freeze({});

/** As `readPair`, from the file of a machine. */
export function readOwnPair(value: unknown): OwnPair | undefined {
  const pair = readPair(value);
  const self = isObject(value) ? value['self'] : undefined;
  return pair !== undefined && typeof self === 'string' && Object.hasOwn(pair.nodes, self)
    ? Object.freeze({ ...pair, self })
    : undefined;
}

/** As a host name: the name of a node of the cluster. */
export const isNodeName = (name: string): boolean => /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$/.test(name);

const hostName = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/**
 * An IP address or a host name of a third machine that has a vote. The file of Corosync has it as it is, and nothing in it
 * can end its line or its section. Link-local addresses are refused, because they require the name of an interface.
 */
export function isVoteHost(text: string): boolean {
  const ip = parseIp(text);
  if (ip !== undefined) return !isLinkLocal(ip);
  return text.length <= 253 && hostName.test(text) && !/(?:^|\.)\d+$/.test(text);
}

/** `https://192.0.2.7` or `http://nas1.example.org:8080`. */
export function isBaseUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@\s]+$/.test(text) && URL.canParse(text);
}
