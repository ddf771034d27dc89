import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Access } from '../engine/declare/access.ts';
import { ChecksBusy, longestPassword, type Passwords } from '../engine/passwords.ts';
import { connectionOf } from './client-connection.ts';
import { LoginBudget, type Source, sourceOf } from './login-budget.ts';
import { type RefusedLogin, RefusedLogins } from './refused-logins.ts';

/** The account that a request is authenticated as. */
export interface Principal {
  readonly name: string;
  /** What it may do; undefined for the account that may do everything. */
  readonly access?: Access;
}

/**
 * Why a request is not admitted: its credential is missing or wrong, or was not checked and may be sent again later.
 */
export interface Refusal {
  /** Seconds after which to try again; undefined for a credential that is missing or wrong. */
  readonly retryAfter: number | undefined;
  /** Why a key is refused, for the program that has it. */
  readonly message?: string;
}

/** Checks keys of programs, which need no slow hash. */
export interface Keys {
  isToken(text: string): boolean;
  /** The principal, a sentence why the key is refused, or undefined for a key that there never was. */
  admit(key: {
    readonly token: string;
    readonly user: string | undefined;
    readonly address: string;
  }): Principal | string | undefined;
}

/** Returns the current password hash of an account that may use the API, and undefined for any other name. */
export type HashOf = (name: string) => string | undefined;

export interface AuthenticatorOptions {
  readonly now?: () => number;
  /** Called for refused logins, at a limited rate. */
  readonly refused?: (login: RefusedLogin) => void;
  readonly budget?: LoginBudget;
  readonly keys?: Keys;
}

/**
 * HTTP Basic authentication (gaps 1.1, except that a credential is always required). A password is checked against its
 * slow hash once. From then on, a keyed digest of the header identifies it, as long as the account still has the hash
 * that the password was checked against. A client with a known credential therefore never waits for the checks of
 * others, and is never refused because of them.
 */
export class Authenticator {
  readonly #passwords: Passwords;
  readonly #hashOf: HashOf;
  /** Generated at each start, so that digests that leak from memory are useless elsewhere. */
  readonly #key = randomBytes(16).toString('hex');
  readonly #known = new Map<string, { readonly principal: Principal; readonly against: string }>();
  /** Wrong credentials by digest, with the hash that they did not match. Sending one again is not another guess. */
  readonly #wrong = new Map<string, string>();
  readonly #checking = new Map<string, Check>();
  readonly #budget: LoginBudget;
  readonly #refused: RefusedLogins;

  /** Digests of the issued tokens, with their expiry times. */
  readonly #tokens = new Map<string, number>();
  readonly #now: () => number;
  readonly #keys: Keys | undefined;

  constructor(
    passwords: Passwords,
    hashOf: HashOf,
    { now = Date.now, refused = () => {}, budget = new LoginBudget(), keys }: AuthenticatorOptions = {},
  ) {
    this.#keys = keys;
    this.#passwords = passwords;
    this.#hashOf = hashOf;
    this.#now = now;
    this.#budget = budget;
    this.#refused = new RefusedLogins(refused);
  }

  /**
   * Issues a token by which another machine can pair with this one, once and within ten minutes (`repl_remote_token`).
   */
  issueToken(): { readonly token: string; readonly until: string } {
    const token = randomBytes(24).toString('base64url');
    const until = this.#now() + tokenLife;
    this.#tokens.set(hash('sha256', this.#key + token), until);
    return { token, until: new Date(until).toISOString() };
  }

  /** Returns the principal synchronously when the header is known, and a promise when it must be checked. */
  admit(message: IncomingMessage): Principal | Refusal | Promise<Principal | Refusal> {
    const header = message.headers.authorization;
    if (header === undefined) return wrongCredential;
    const digest = hash('sha256', this.#key + header);
    const known = this.#known.get(digest);
    if (known !== undefined) {
      if (known.against === this.#hashOf(known.principal.name)) return known.principal;
      this.#known.delete(digest);
    }
    const [, token] = /^Token +([\w-]+)\s*$/i.exec(header) ?? [];
    if (token !== undefined) return this.#admitToken(token, message);
    const [, bearer] = /^Bearer +(\w+)\s*$/i.exec(header) ?? [];
    if (bearer !== undefined) return this.#admitKey(bearer, undefined, message.socket);
    const credentials = readBasic(header);
    if (credentials === undefined) return wrongCredential;
    const { name, password } = credentials;
    if (this.#keys?.isToken(password) === true) return this.#admitKey(password, name, message.socket);
    return this.#admitUnknown(digest, credentials, message.socket);
  }

  /** Admits a key. Refused ones are not counted as guesses: 256 random bits cannot be guessed. */
  #admitKey(token: string, user: string | undefined, socket: Socket): Principal | Refusal {
    const address = connectionOf(socket).remote;
    const found = this.#keys?.isToken(token) ? this.#keys.admit({ token, user, address }) : undefined;
    if (typeof found === 'object') return found;
    this.#refused.note({ address, account: (user ?? 'key').slice(0, longestShown), reason: 'wrong credential' });
    return found === undefined ? wrongCredential : { retryAfter: undefined, message: found };
  }

  /** Admits a token instead of a password. Any request with the token uses it up, also one that is refused. */
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
    return wrongCredential;
  }

  #admitUnknown(digest: string, credentials: Credentials, socket: Socket): Refusal | Promise<Principal | Refusal> {
    const connection = connectionOf(socket);
    const source = sourceOf(connection);
    const login = { account: credentials.name.slice(0, longestShown), address: connection.remote, source };
    const against = this.#hashOf(credentials.name);
    if (this.#wrong.get(digest) === (against ?? dummyHash)) return this.#refuse(login, 'wrong credential');
    // Requests with a credential that is already being checked share that check.
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
      // An unknown name is checked against a dummy hash, so that it takes the same time as a wrong password.
      const right = await this.#passwords.verify(password, against ?? dummyHash, waiting);
      if (!right || against === undefined) {
        remember(this.#wrong, digest, against ?? dummyHash);
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

  /** Counts a wrong credential that was not sent before. */
  #guessed(login: Login): Refusal {
    this.#budget.refused(login.account, login.address);
    return this.#refuse(login, 'wrong credential');
  }

  #refuse({ account, address }: Login, reason: RefusedLogin['reason']): Refusal {
    this.#refused.note({ account, address, reason });
    return wrongCredential;
  }
}

/** A password check in progress, and the connections that wait for its result. */
interface Check {
  readonly callers: Socket[];
  readonly result: Promise<Principal | Refusal>;
}

interface Login {
  readonly account: string;
  readonly address: string;
  readonly source: Source;
}

const wrongCredential: Refusal = Object.freeze({ retryAfter: undefined });

/** Seconds in which the worker checks about as many passwords as may wait for it. */
const busyFor = 5;

/** The only path at which a token is accepted. */
const tokenPath = '/api/v1.0/storage/replication/pair';

/** Validity of a token, in milliseconds. */
const tokenLife = 10 * 60_000;

/** Characters of a name that are kept and logged. Names of accounts are shorter. */
const longestShown = 64;

/** Maximum number of remembered credentials, for correct and wrong ones each. */
const mostKnown = 10_000;

/** A valid hash that no password matches. */
const dummyHash = `$6$${'.'.repeat(16)}$${'.'.repeat(86)}`;

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
