/**
 * Protection against requests that web pages of other servers cause. A browser caches the password of this API and adds
 * it to every request that any page sends here (CSRF). A page can even count as same-origin when its server's name
 * resolves to this machine's address (DNS rebinding). Other programs do not have this problem: of the headers that are
 * checked here, they send only `Host`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { quote } from '../lib/text.ts';

/** The names that are accepted in `Host`. */
export interface Names {
  /** The machine's names in the current configuration, in lower case. */
  readonly own: () => ReadonlySet<string>;
  /** Names of reverse proxies, in lower case and with an optional port: `nas.example.org:8443`. */
  readonly further: readonly string[];
}

/** Maximum number of accepted values of Host that are cached. */
const mostRemembered = 100;

/** Compares `Host` with the names of the machine. */
export class Hosts {
  readonly #names: Names;
  readonly #further: ReadonlySet<string>;
  /** Values that are valid whatever the machine's name is. */
  readonly #always = new Set<string>();

  constructor(names: Names) {
    this.#names = names;
    this.#further = new Set(names.further.map((name) => readAuthority(name)?.name ?? name));
  }

  /** Describes the problem of the header in a sentence. HTTP/1.0 clients send no Host, which is accepted. */
  problem(host: string | undefined): string | undefined {
    if (host === undefined || host === '' || this.#always.has(host)) return undefined;
    const name = readAuthority(host)?.name;
    // DNS rebinding needs a name, so every address is safe. With port forwarding, Host may have an address that this
    // machine does not know.
    if (name === 'localhost' || (name !== undefined && isIP(name) !== 0)) {
      if (this.#always.size < mostRemembered) this.#always.add(host);
      return undefined;
    }
    if (name !== undefined && (this.#further.has(name) || this.#names.own().has(name))) return undefined;
    return `Expected an address or a name of this machine in Host, got ${quote(host)}. If this is another name of this machine, add it to --names or HOLDFAST_NAMES.`;
  }
}

/** Describes in a sentence why a changing request is refused as cross-site; undefined when it is accepted. */
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
  const sender = origin === undefined ? `Sec-Fetch-Site ${quote(String(site))}` : `Origin ${quote(origin)}`;
  return `Expected a page of this machine or a program as the sender of a change, got ${sender}. If a proxy in front of this machine serves that page, add its name to --names or HOLDFAST_NAMES.`;
}

/** Whether `origin` is the origin that a browser assigns to a page of this server at the request's own address. */
function isOwnOrigin(origin: string, host: string | undefined, isSecure: boolean, further: readonly string[]): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const page = new URL(origin);
  const own = `${isSecure ? 'https' : 'http'}://${host}`;
  return (
    (host !== undefined && URL.canParse(own) && new URL(own).origin === page.origin) || further.includes(page.host)
  );
}

/**
 * Parses `name`, `name:port`, `192.0.2.7:port` or `[2001:db8::7]:port`. Returns the name in lower case, without a
 * trailing dot.
 */
export function readAuthority(text: string): { readonly name: string; readonly port: number | undefined } | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)(?:%[\w.~-]+)?\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text);
  const name = (match?.[1] ?? match?.[2] ?? '').toLowerCase().replace(/\.$/, '');
  return name === '' ? undefined : { name, port: match?.[3] === undefined ? undefined : Number(match[3]) };
}
