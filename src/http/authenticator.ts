import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Principal } from '../engine/change/request.ts';
import { ChecksBusy, longestPassword, type Passwords } from '../engine/passwords.ts';
import { messageOf, quote } from '../lib/text.ts';
import { clientConnection } from './client-connection.ts';
import { LoginBudget, type Source, sourceOf } from './login-budget.ts';
import { type RefusedLogin, RefusedLogins } from './refused-logins.ts';
import { pathOf } from './routes.ts';

/**
 * Why a request is not admitted: its credential is missing or wrong, or was not checked and may be sent again later.
 */
export interface Refusal {
  /** Seconds after which to try again; undefined for a credential that is missing or wrong. */
  readonly retryAfter: number | undefined;
  /** Why a key or a right password is refused, for who has it. */
  readonly message?: string;
  /** Whether the request can be sent again with a code of the second factor. */
  readonly needsCode?: boolean;
}

/** The header with a code of the second factor. */
export const codeHeader = 'x-holdfast-code';

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

/** An account that may use the API. */
export interface Account {
  /** Its current password hash. */
  readonly hash: string;
  /** Checks a password where there is no hash: `hash` then says until when what was checked is known. */
  readonly check?: (password: string) => Promise<boolean>;
  /** What its sessions end with instead of the hash. */
  readonly lasting?: string;
  /** Characters that its password must have. */
  readonly least: number;
  /** The principal, or a sentence for who has the password why the account is refused. */
  admit(address: string): Principal | string;
  /** Undefined for an account without one. */
  readonly factor?: Factor | undefined;
}

/** The second factor of an account. */
export interface Factor {
  /** Milliseconds until it accepts another code. */
  wait(): number;
  accepts(code: string): Promise<boolean>;
}

/** Finds the session of a request. */
export interface SessionBook {
  admit(message: IncomingMessage, options: { readonly isUse: boolean }): Principal | undefined;
}

/** Finds an account that may use the API by its name. */
export type AccountOf = (name: string) => Account | undefined;

export interface AuthenticatorOptions {
  readonly now?: () => number;
  /** Called for refused logins, at a limited rate. */
  readonly refused?: (login: RefusedLogin) => void;
  readonly budget?: LoginBudget;
  readonly keys?: Keys;
  readonly sessions?: SessionBook;
  /** The administrator, if only the administrator of the machine can have opened this connection. */
  readonly local?: (socket: Socket) => Principal | undefined;
}

/**
 * HTTP Basic authentication (gaps 1.1, except that a credential is always required). A password is checked against its
 * slow hash once. From then on, a keyed digest of the header identifies it, as long as the account still has the hash
 * that the password was checked against. A client with a known credential therefore never waits for the checks of
 * others, and is never refused because of them.
 */
export class Authenticator {
  readonly #passwords: Passwords;
  readonly #accountOf: AccountOf;
  /** Generated at each start, so that digests that leak from memory are useless elsewhere. */
  readonly #key = randomBytes(16).toString('hex');
  readonly #known = new Map<string, { readonly name: string; readonly against: string }>();
  /** Wrong credentials by digest, with the hash that they did not match. Sending one again is not another guess. */
  readonly #wrong = new Map<string, string>();
  readonly #checking = new Map<string, Check>();
  /** Passwords that directories are checking. */
  #asking = 0;
  readonly #budget: LoginBudget;
  readonly #refused: RefusedLogins;

  /** The issued tokens that were not used yet. */
  #tokens: readonly IssuedToken[] = [];
  #lastToken = 0;
  readonly #now: () => number;
  readonly #keys: Keys | undefined;
  readonly #sessions: SessionBook | undefined;
  readonly #local: (socket: Socket) => Principal | undefined;

  constructor(
    passwords: Passwords,
    accountOf: AccountOf,
    {
      now = Date.now,
      refused = () => {},
      budget = new LoginBudget(),
      keys,
      sessions,
      local = () => undefined,
    }: AuthenticatorOptions = {},
  ) {
    this.#keys = keys;
    this.#sessions = sessions;
    this.#local = local;
    this.#passwords = passwords;
    this.#accountOf = accountOf;
    this.#now = now;
    this.#budget = budget;
    this.#refused = new RefusedLogins(refused);
  }

  /**
   * Issues a token by which another machine can pair with this one, once and within ten minutes (`repl_remote_token`).
   */
  issueToken(): { readonly token: string; readonly until: string } {
    const token = randomBytes(24).toString('base64url');
    return { token, until: this.#expect(token, 'replication').until };
  }

  /**
   * Accepts a credential by which another machine can join the pair of this one, once and within ten minutes. `id` is
   * that of the credential of the request.
   */
  expectJoin(credential: string): { readonly id: string; readonly until: string } {
    return this.#expect(credential, 'cluster');
  }

  #expect(token: string, use: TokenUse): { readonly id: string; readonly until: string } {
    this.#lastToken += 1;
    const [id, until] = [String(this.#lastToken), this.#now() + tokenLife];
    const unused = this.#tokens.filter((one) => one.until > this.#now());
    this.#tokens = [...unused, { id, use, until, digest: this.#digestOf(token) }].slice(-mostTokens);
    return { id, until: new Date(until).toISOString() };
  }

  #digestOf(token: string): Buffer {
    return hash('sha256', this.#key + token, 'buffer');
  }

  /**
   * Returns the principal synchronously when the header is known, and a promise when it must be checked. `isUse` is false
   * for a request that was admitted before.
   */
  admit(message: IncomingMessage, { isUse } = { isUse: true }): Principal | Refusal | Promise<Principal | Refusal> {
    const header = message.headers.authorization;
    if (header === undefined)
      return this.#local(message.socket) ?? this.#sessions?.admit(message, { isUse }) ?? wrongCredential;
    const digest = hash('sha256', this.#key + header);
    const known = this.#known.get(digest);
    if (known !== undefined) {
      const account = this.#accountOf(known.name);
      if (account !== undefined && known.against === account.hash) return this.#admitted(account, known.name, message);
      this.#known.delete(digest);
    }
    const [, token] = /^Token +([\w-]+)\s*$/i.exec(header) ?? [];
    if (token !== undefined) return this.#admitToken(token, message);
    const [, bearer] = /^Bearer +(\w+)\s*$/i.exec(header) ?? [];
    if (bearer !== undefined) return this.#admitKey(bearer, undefined, message.socket, this.#keys?.isToken(bearer));
    const credentials = readBasic(header);
    if (credentials === undefined) return wrongCredential;
    const { name, password } = credentials;
    if (this.#keys?.isToken(password) === true) return this.#admitKey(password, name, message.socket, true);
    return this.#admitUnknown(digest, credentials, message);
  }

  /** Connections can share a check, and the account may be limited to some of their addresses. */
  async #settled(result: Promise<Account | Refusal>, name: string, message: IncomingMessage) {
    const checked = await result;
    return 'hash' in checked ? this.#admitted(checked, name, message) : checked;
  }

  /** Admits an account whose password was right. With a second factor, that admits only to a session. */
  #admitted(
    account: Account,
    name: string,
    message: IncomingMessage,
  ): Principal | Refusal | Promise<Principal | Refusal> {
    const admitted = account.admit(clientConnection(message.socket).remote);
    if (typeof admitted === 'string') return { retryAfter: undefined, message: admitted };
    if (account.factor === undefined) return admitted;
    if (!isLogin(message))
      return {
        retryAfter: undefined,
        message: `The account ${quote(name)} has a second factor: begin a session with POST /${loginPath}, or use a key.`,
      };
    const code = message.headers[codeHeader];
    if (typeof code !== 'string')
      return {
        ...{ retryAfter: undefined, needsCode: true },
        message: `Expected a code of the second factor in ${codeHeader}.`,
      };
    return this.#admitWithCode({ admitted, name, factor: account.factor, code: code.slice(0, longestShown) }, message);
  }

  /** A wrong code counts as a guess of the address and of the account. */
  async #admitWithCode(
    { admitted, name, factor, code }: { admitted: Principal; name: string; factor: Factor; code: string },
    { socket }: IncomingMessage,
  ): Promise<Principal | Refusal> {
    const connection = clientConnection(socket);
    const source = sourceOf(connection);
    const login = { account: name, address: connection.remote, source };
    const seconds = Math.max(this.#budget.wait(source, name), Math.ceil(factor.wait() / 1000));
    if (seconds > 0) {
      this.#refuse(login, 'too many attempts');
      return { retryAfter: seconds };
    }
    this.#budget.begin(source);
    if (await factor.accepts(code)) {
      this.#budget.succeeded(source);
      return admitted;
    }
    this.#guessed(login);
    return {
      ...{ retryAfter: undefined, needsCode: true },
      message: 'This code of the second factor is wrong or was used.',
    };
  }

  /** Admits a key. Refused ones are not counted as guesses: 256 random bits cannot be guessed. */
  #admitKey(token: string, user: string | undefined, socket: Socket, isToken = false): Principal | Refusal {
    const address = clientConnection(socket).remote;
    const found = isToken ? this.#keys?.admit({ token, user, address }) : undefined;
    if (typeof found === 'object') return found;
    this.#refused.note({ address, account: (user ?? 'key').slice(0, longestShown), reason: 'wrong credential' });
    return found === undefined ? wrongCredential : { retryAfter: undefined, message: found };
  }

  /**
   * Admits a token instead of a password. Any request with the token uses it up, also one that is refused. A wrong one
   * counts as a guess of the address.
   */
  #admitToken(token: string, { method, url = '', socket }: IncomingMessage): Principal | Refusal {
    const path = pathOf(url);
    const connection = clientConnection(socket);
    const source = sourceOf(connection);
    const account = path === tokenUses.cluster.path ? tokenUses.cluster.name : tokenUses.replication.name;
    const login = { account, address: connection.remote, source };
    const seconds = this.#budget.wait(source, account);
    if (seconds > 0) {
      this.#refuse(login, 'too many attempts');
      return { retryAfter: seconds };
    }
    const digest = this.#digestOf(token);
    // All of them are compared, each in constant time.
    const [found] = this.#tokens.filter((one) => timingSafeEqual(one.digest, digest));
    this.#tokens = this.#tokens.filter((one) => one !== found && one.until > this.#now());
    this.#budget.begin(source);
    if (found !== undefined && found.until > this.#now() && method === 'POST' && path === tokenUses[found.use].path) {
      this.#budget.succeeded(source);
      return found.use === 'replication' ? replicationToken : joinToken(found.id);
    }
    return this.#guessed(login);
  }

  #admitUnknown(
    digest: string,
    credentials: Credentials,
    message: IncomingMessage,
  ): Refusal | Promise<Principal | Refusal> {
    const { socket } = message;
    const connection = clientConnection(socket);
    const source = sourceOf(connection);
    const login = { account: credentials.name.slice(0, longestShown), address: connection.remote, source };
    const account = this.#accountOf(credentials.name);
    const against = account?.hash;
    if (this.#wrong.get(digest) === (against ?? dummyHash)) return this.#refuse(login, 'wrong credential');
    // Requests with a credential that is already being checked share that check.
    const open = this.#checking.get(digest);
    if (open !== undefined) {
      open.callers.push(socket);
      return this.#settled(open.result, credentials.name, message);
    }
    const seconds = this.#budget.wait(source, login.account);
    if (seconds > 0) {
      this.#refuse(login, 'too many attempts');
      return { retryAfter: seconds };
    }
    this.#budget.begin(source);
    if (Buffer.byteLength(credentials.password) > longestPassword) return this.#guessed(login);
    const callers = [socket];
    const result = this.#check(digest, credentials, account, login, callers).finally(() =>
      this.#checking.delete(digest),
    );
    this.#checking.set(digest, { callers, result });
    return this.#settled(result, credentials.name, message);
  }

  async #check(
    digest: string,
    { name, password }: Credentials,
    account: Account | undefined,
    login: Login,
    callers: readonly Socket[],
  ): Promise<Account | Refusal> {
    const waiting = {
      rank: () => this.#budget.rank(login.source),
      isWanted: () => callers.some(({ destroyed }) => !destroyed),
    };
    const against = account?.hash ?? dummyHash;
    try {
      // An unknown name is checked against a dummy hash, so that it takes the same time as a wrong password.
      const right =
        account?.check === undefined
          ? await this.#passwords.verify(password, against, waiting)
          : await this.#askDirectory(account.check, password);
      if (!right || account === undefined) {
        remember(this.#wrong, digest, against);
        return this.#guessed(login);
      }
    } catch (error) {
      if (error instanceof ChecksBusy) return { retryAfter: busyFor };
      throw error;
    }
    this.#budget.succeeded(login.source);
    if (password.length < account.least)
      return {
        retryAfter: undefined,
        message: `Expected a password of at least ${account.least} characters for this interface. Set a longer one for the account ${quote(name)}.`,
      };
    remember(this.#known, digest, { name, against });
    return account;
  }

  /** Few at a time, because a directory can take seconds, and locks accounts. */
  async #askDirectory(check: (password: string) => Promise<boolean>, password: string): Promise<boolean> {
    if (this.#asking >= mostAsking) throw new ChecksBusy('The directory is being asked by others.');
    this.#asking += 1;
    try {
      return await check(password);
    } catch (error) {
      throw new ChecksBusy(`The directory could not be asked: ${messageOf(error)}`);
    } finally {
      this.#asking -= 1;
    }
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
  readonly result: Promise<Account | Refusal>;
}

interface Login {
  readonly account: string;
  readonly address: string;
  readonly source: Source;
}

type TokenUse = 'replication' | 'cluster';

interface IssuedToken {
  readonly id: string;
  readonly use: TokenUse;
  readonly digest: Buffer;
  readonly until: number;
}

/** The names that logs show, and the only path at which each kind of token is accepted. */
const tokenUses: Readonly<Record<TokenUse, { readonly name: string; readonly path: string }>> = {
  replication: { name: 'replication token', path: 'api/v1.0/storage/replication/pair' },
  cluster: { name: 'cluster token', path: 'api/holdfast/v1/cluster/join' },
};

const replicationToken: Principal = Object.freeze({
  name: tokenUses.replication.name,
  id: tokenUses.replication.name,
  credential: { kind: 'token' } as const,
});

const joinToken = (id: string): Principal =>
  Object.freeze({
    name: tokenUses.cluster.name,
    id: tokenUses.cluster.name,
    credential: Object.freeze({ kind: 'token', id } as const),
  });

const wrongCredential: Refusal = Object.freeze({ retryAfter: undefined });

/** Seconds in which the worker checks about as many passwords as may wait for it. */
const busyFor = 5;
const mostAsking = 4;

/** Where a session begins. */
const loginPath = 'api/holdfast/v1/sessions';

const isLogin = ({ method, url = '' }: IncomingMessage): boolean => method === 'POST' && pathOf(url) === loginPath;

/** Validity of a token, in milliseconds. */
const tokenLife = 10 * 60_000;
/** Tokens that are remembered: the oldest ends when there is another. */
const mostTokens = 100;

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
