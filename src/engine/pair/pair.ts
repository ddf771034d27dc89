import { isObject } from '../../lib/json.ts';

/** What a machine of a pair has to know before it reaches the pool, which has everything else. */
export interface Pair {
  readonly pool: string;
  readonly guid: string;
  /** The base URL of the interface of each machine, by its name. */
  readonly nodes: Readonly<Record<string, string>>;
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
  return Object.freeze({ pool, guid, nodes: Object.freeze(Object.fromEntries(urls)) });
}

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

/** `https://192.0.2.7` or `http://nas1.example.org:8080`. */
export function isBaseUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@\s]+$/.test(text) && URL.canParse(text);
}
