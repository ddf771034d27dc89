/**
 * Whether a request may come from where it says it comes from. A browser remembers the password of this interface and
 * adds it to whatever a page of any other server sends here, and a server whose name is pointed at this machine's
 * address (DNS rebinding) is the same origin for the browser. Programs are no danger of this kind; they send none of the
 * headers that are looked at, except `Host`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { quote } from '../lib/text.ts';

/** By which names this machine may be asked. */
export interface Names {
  /** The machine's own, as the configuration has them now, in lower case. */
  readonly own: () => ReadonlySet<string>;
  /** Those of proxies in front of it, in lower case, each perhaps with a port: `nas.example.org:8443`. */
  readonly further: readonly string[];
}

/** How many accepted values of Host are remembered. */
const mostRemembered = 100;

/** Holds `Host` against the names of the machine. */
export class Hosts {
  readonly #names: Names;
  readonly #further: ReadonlySet<string>;
  /** Values that are right whatever the machine is called. */
  readonly #always = new Set<string>();

  constructor(names: Names) {
    this.#names = names;
    this.#further = new Set(names.further.map((name) => readAuthority(name)?.name ?? name));
  }

  /** What is wrong with the header, as a sentence. Programs that speak HTTP/1.0 send none. */
  problem(host: string | undefined): string | undefined {
    if (host === undefined || host === '' || this.#always.has(host)) return undefined;
    const name = readAuthority(host)?.name;
    // An address cannot be pointed elsewhere, and a forwarded port has one that this machine does not know of.
    if (name === 'localhost' || (name !== undefined && isIP(name) !== 0)) {
      if (this.#always.size < mostRemembered) this.#always.add(host);
      return undefined;
    }
    if (name !== undefined && (this.#further.has(name) || this.#names.own().has(name))) return undefined;
    return `Expected an address or a name of this machine in Host, got ${quote(host)}. If this is another name of it, add the name to --names or HOLDFAST_NAMES.`;
  }
}

/** What is wrong with where a request that changes something comes from, as a sentence. */
export function crossSiteProblem(
  headers: IncomingHttpHeaders,
  isSecure: boolean,
  further: readonly string[],
): string | undefined {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isForeign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    (origin !== undefined && !isOwnOrigin(origin, headers.host, isSecure, further));
  if (!isForeign) return undefined;
  const told = origin === undefined ? `Sec-Fetch-Site ${quote(String(site))}` : `Origin ${quote(origin)}`;
  return `Expected a page of this machine or a program as the sender of a change, got ${told}. If that is a proxy in front of this machine, add its name to --names or HOLDFAST_NAMES.`;
}

/** Whether a browser would say of a page at the address that the request came by that it has this origin. */
function isOwnOrigin(origin: string, host: string | undefined, isSecure: boolean, further: readonly string[]): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const page = new URL(origin);
  const own = `${isSecure ? 'https' : 'http'}://${host}`;
  return (
    (host !== undefined && URL.canParse(own) && new URL(own).origin === page.origin) || further.includes(page.host)
  );
}

/** Reads `name`, `name:port`, `192.0.2.7:port` or `[2001:db8::7]:port`; the name in lower case, without a dot at its end. */
export function readAuthority(text: string): { readonly name: string; readonly port: number | undefined } | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)(?:%[\w.~-]+)?\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text);
  const name = (match?.[1] ?? match?.[2] ?? '').toLowerCase().replace(/\.$/, '');
  return name === '' ? undefined : { name, port: match?.[3] === undefined ? undefined : Number(match[3]) };
}
