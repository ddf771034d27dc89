import { hash, randomBytes } from 'node:crypto';
import type { Passwords } from '../engine/passwords.ts';

/** Who a request speaks for. */
export interface Caller {
  readonly name: string;
}

/** The password hash of the account that may use the interface, as the configuration has it now. */
export type HashOf = (name: string) => string | undefined;

/**
 * HTTP Basic (gaps 1.1, but never open to everyone). A password is checked against its slow hash once; from then on a
 * keyed digest of the header is enough, as long as the account still has the hash it was checked against.
 */
export class Gate {
  readonly #passwords: Passwords;
  readonly #hashOf: HashOf;
  /** Made anew at each start, so that the digests in memory are of no use elsewhere. */
  readonly #key = randomBytes(16).toString('hex');
  readonly #known = new Map<string, { readonly caller: Caller; readonly against: string }>();
  readonly #checking = new Map<string, Promise<Caller | undefined>>();

  /** Digests of the tokens that were given out, and until when each is good. */
  readonly #tokens = new Map<string, number>();
  readonly #now: () => number;

  constructor(passwords: Passwords, hashOf: HashOf, now: () => number = Date.now) {
    this.#passwords = passwords;
    this.#hashOf = hashOf;
    this.#now = now;
  }

  /** A word that lets another machine pair itself with this one, once and within ten minutes (`repl_remote_token`). */
  issueToken(): { readonly token: string; readonly until: string } {
    const token = randomBytes(24).toString('base64url');
    const until = this.#now() + tokenLife;
    this.#tokens.set(hash('sha256', this.#key + token), until);
    return { token, until: new Date(until).toISOString() };
  }

  /** Who comes with a token instead of a password; the token is good for that one address and is used up. */
  admitToken(header: string | undefined, path: string): Caller | undefined {
    const [, token] = /^Token +([\w-]+)\s*$/i.exec(header ?? '') ?? [];
    if (token === undefined || path.replace(/\?.*$/, '').replace(/\/$/, '') !== tokenPath) return undefined;
    const digest = hash('sha256', this.#key + token);
    const until = this.#tokens.get(digest) ?? 0;
    this.#tokens.delete(digest);
    return until > this.#now() ? Object.freeze({ name: 'replication token' }) : undefined;
  }

  /** The caller at once when the header is known, a promise while it is being checked, undefined for a stranger. */
  admit(header: string | undefined): Caller | undefined | Promise<Caller | undefined> {
    if (header === undefined) return undefined;
    const digest = hash('sha256', this.#key + header);
    const known = this.#known.get(digest);
    if (known !== undefined) {
      if (known.against === this.#hashOf(known.caller.name)) return known.caller;
      this.#known.delete(digest);
    }
    const credentials = readBasic(header);
    if (credentials === undefined) return undefined;
    // Who comes while the same credential is being checked waits for that one check.
    const waiting = this.#checking.get(digest);
    if (waiting !== undefined) return waiting;
    const check = this.#check(digest, credentials).finally(() => this.#checking.delete(digest));
    this.#checking.set(digest, check);
    return check;
  }

  async #check(digest: string, { name, password }: Credentials): Promise<Caller | undefined> {
    const against = this.#hashOf(name);
    // A name that may not enter costs the same time as a wrong password.
    const right = await this.#passwords.verify(password, against ?? nobodysHash);
    if (!right || against === undefined) return undefined;
    const caller = Object.freeze({ name });
    this.#known.set(digest, { caller, against });
    return caller;
  }
}

/** The one address that a token opens. */
const tokenPath = '/api/v1.0/storage/replication/pair';

/** Milliseconds. */
const tokenLife = 10 * 60_000;

const nobodysHash = `$6$${'.'.repeat(16)}$${'.'.repeat(86)}`;

interface Credentials {
  readonly name: string;
  readonly password: string;
}

function readBasic(header: string): Credentials | undefined {
  const match = /^Basic +([A-Za-z0-9+/=_-]+)\s*$/i.exec(header);
  if (match === null) return undefined;
  const text = Buffer.from(match[1] ?? '', 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}
