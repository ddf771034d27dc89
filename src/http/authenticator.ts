import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ChecksBusy, longestPassword, type Passwords } from '../engine/passwords.ts';
import { connectionOf } from './client-connection.ts';
import { LoginBudget, type Source, sourceOf } from './login-budget.ts';
import { type RefusedLogin, RefusedLogins } from './refused-logins.ts';

/** Who a request speaks for. */
export interface Principal {
  readonly name: string;
}

/** Why a request is not let in: its credential is missing or wrong, or was not looked at and may be sent again later. */
export interface Refusal {
  /** Seconds after which to try again; undefined for a credential that is missing or wrong. */
  readonly retryAfter: number | undefined;
}

/** The password hash of the account that may use the interface, as the configuration has it now. */
export type HashOf = (name: string) => string | undefined;

export interface GateOptions {
  readonly now?: () => number;
  /** Is called for refused logins, but not for every one of a flood. */
  readonly refused?: (login: RefusedLogin) => void;
  readonly budget?: LoginBudget;
}

/**
 * HTTP Basic (gaps 1.1, but never open to everyone). A password is checked against its slow hash once; from then on a
 * keyed digest of the header is enough, as long as the account still has the hash it was checked against. So a caller
 * whose credential is known never waits for the checks of others, and is never refused because of them.
 */
export class Authenticator {
  readonly #passwords: Passwords;
  readonly #hashOf: HashOf;
  /** Made anew at each start, so that the digests in memory are of no use elsewhere. */
  readonly #key = randomBytes(16).toString('hex');
  readonly #known = new Map<string, { readonly principal: Principal; readonly against: string }>();
  /** Wrong credentials by their digest, with the hash that they do not fit: to send one again is no further guess. */
  readonly #wrong = new Map<string, string>();
  readonly #checking = new Map<string, Check>();
  readonly #budget: LoginBudget;
  readonly #refused: RefusedLogins;

  /** Digests of the tokens that were given out, and until when each is good. */
  readonly #tokens = new Map<string, number>();
  readonly #now: () => number;

  constructor(
    passwords: Passwords,
    hashOf: HashOf,
    { now = Date.now, refused = () => {}, budget = new LoginBudget() }: GateOptions = {},
  ) {
    this.#passwords = passwords;
    this.#hashOf = hashOf;
    this.#now = now;
    this.#budget = budget;
    this.#refused = new RefusedLogins(refused);
  }

  /** A word that lets another machine pair itself with this one, once and within ten minutes (`repl_remote_token`). */
  issueToken(): { readonly token: string; readonly until: string } {
    const token = randomBytes(24).toString('base64url');
    const until = this.#now() + tokenLife;
    this.#tokens.set(hash('sha256', this.#key + token), until);
    return { token, until: new Date(until).toISOString() };
  }

  /** The caller at once when the header is known, a promise while it is being checked. */
  admit(message: IncomingMessage): Principal | Refusal | Promise<Principal | Refusal> {
    const header = message.headers.authorization;
    if (header === undefined) return notRight;
    const digest = hash('sha256', this.#key + header);
    const known = this.#known.get(digest);
    if (known !== undefined) {
      if (known.against === this.#hashOf(known.principal.name)) return known.principal;
      this.#known.delete(digest);
    }
    const [, token] = /^Token +([\w-]+)\s*$/i.exec(header) ?? [];
    if (token !== undefined) return this.#admitToken(token, message);
    const credentials = readBasic(header);
    return credentials === undefined ? notRight : this.#admitUnknown(digest, credentials, message.socket);
  }

  /** Who comes with a token instead of a password. It is used up, whatever is asked for, and is good for one request. */
  #admitToken(token: string, { method, url = '', socket }: IncomingMessage): Principal | Refusal {
    const digest = hash('sha256', this.#key + token);
    const until = this.#tokens.get(digest) ?? 0;
    this.#tokens.delete(digest);
    const isPairing = method === 'POST' && url.replace(/\?.*$/, '').replace(/\/$/, '') === tokenPath;
    if (until > this.#now() && isPairing) return Object.freeze({ name: 'replication token' });
    this.#refused.note({
      address: connectionOf(socket).remote,
      account: 'replication token',
      reason: 'wrong credential',
    });
    return notRight;
  }

  #admitUnknown(digest: string, credentials: Credentials, socket: Socket): Refusal | Promise<Principal | Refusal> {
    const connection = connectionOf(socket);
    const source = sourceOf(connection);
    const login = { account: credentials.name.slice(0, longestShown), address: connection.remote, source };
    const against = this.#hashOf(credentials.name);
    if (this.#wrong.get(digest) === (against ?? nobodysHash)) return this.#refuse(login, 'wrong credential');
    // Who comes while the same credential is being checked waits for that one check.
    const open = this.#checking.get(digest);
    if (open !== undefined) {
      open.callers.push(socket);
      return open.result;
    }
    const seconds = this.#budget.wait(source, login.account);
    if (seconds > 0) {
      this.#refuse(login, 'too many attempts');
      return { retryAfter: seconds };
    }
    this.#budget.begin(source);
    if (Buffer.byteLength(credentials.password) > longestPassword) return this.#guessed(login);
    const callers = [socket];
    const result = this.#check(digest, credentials, against, login, callers).finally(() =>
      this.#checking.delete(digest),
    );
    this.#checking.set(digest, { callers, result });
    return result;
  }

  async #check(
    digest: string,
    { name, password }: Credentials,
    against: string | undefined,
    login: Login,
    callers: readonly Socket[],
  ): Promise<Principal | Refusal> {
    const waiting = {
      rank: () => this.#budget.rank(login.source),
      isWanted: () => callers.some(({ destroyed }) => !destroyed),
    };
    try {
      // A name that may not enter costs the same time as a wrong password.
      const right = await this.#passwords.verify(password, against ?? nobodysHash, waiting);
      if (!right || against === undefined) {
        remember(this.#wrong, digest, against ?? nobodysHash);
        return this.#guessed(login);
      }
    } catch (error) {
      if (error instanceof ChecksBusy) return { retryAfter: busyFor };
      throw error;
    }
    this.#budget.succeeded(login.source);
    const principal = Object.freeze({ name });
    remember(this.#known, digest, { principal, against });
    return principal;
  }

  /** A wrong credential that was not sent before. */
  #guessed(login: Login): Refusal {
    this.#budget.refused(login.account, login.address);
    return this.#refuse(login, 'wrong credential');
  }

  #refuse({ account, address }: Login, reason: RefusedLogin['reason']): Refusal {
    this.#refused.note({ account, address, reason });
    return notRight;
  }
}

/** A check that is under way, and whose answer is waited for by these connections. */
interface Check {
  readonly callers: Socket[];
  readonly result: Promise<Principal | Refusal>;
}

interface Login {
  readonly account: string;
  readonly address: string;
  readonly source: Source;
}

const notRight: Refusal = Object.freeze({ retryAfter: undefined });

/** Seconds in which the worker has checked about as many passwords as may wait for it. */
const busyFor = 5;

/** The one address that a token opens. */
const tokenPath = '/api/v1.0/storage/replication/pair';

/** Milliseconds. */
const tokenLife = 10 * 60_000;

/** Characters of a name that are remembered and logged; no account has so many. */
const longestShown = 64;

/** Credentials that are remembered, of either kind. */
const mostKnown = 10_000;

const nobodysHash = `$6$${'.'.repeat(16)}$${'.'.repeat(86)}`;

function remember<T>(known: Map<string, T>, digest: string, value: T): void {
  known.set(digest, value);
  const [oldest] = known.keys();
  if (known.size > mostKnown && oldest !== undefined) known.delete(oldest);
}

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
