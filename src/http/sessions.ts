import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Principal } from '../engine/change/request.ts';
import type { Sessions as Offered, SessionInfo } from '../engine/services.ts';
import type { Account, AccountOf } from './authenticator.ts';
import { clientConnection } from './client-connection.ts';

/** Milliseconds without a request, and in total, after which a session ends. */
export const idleEnd = 30 * 60_000;
export const absoluteEnd = 12 * 3_600_000;

/** Sessions of one account, and of all. The oldest ends when there is another. */
const mostOfOne = 20;
const mostOfAll = 1000;

interface Session {
  readonly id: string;
  readonly account: string;
  /** The password hash when it began: another password ends it. */
  readonly against: string;
  readonly address: string;
  readonly begun: number;
  used: number;
  /** The last principal of the account, and the same with this session as its credential. */
  principal: { readonly of: Principal; readonly own: Principal } | undefined;
}

/**
 * The sessions of browsers. They are only in memory: a restart of the daemon ends them, and nothing that opens the
 * interface lies on a disk or in a backup.
 */
export class Sessions implements Offered {
  readonly #accountOf: AccountOf;
  readonly #now: () => number;
  /** By the digest of the token. */
  readonly #sessions = new Map<string, Session>();
  #last = 0;

  constructor(accountOf: AccountOf, now: () => number) {
    this.#accountOf = accountOf;
    this.#now = now;
  }

  begin(
    account: string,
    address: string,
    isSecure: boolean,
  ): { readonly cookie: string; readonly session: SessionInfo } | undefined {
    const found = this.#accountOf(account);
    if (found === undefined) return undefined;
    this.#sweep();
    const own = [...this.#sessions].filter(([, session]) => session.account === account);
    const surplus = [
      ...own.slice(0, Math.max(0, own.length - mostOfOne + 1)),
      ...[...this.#sessions].slice(0, Math.max(0, this.#sessions.size - mostOfAll + 1)),
    ];
    for (const [digest] of surplus) this.#sessions.delete(digest);
    this.#last += 1;
    const now = this.#now();
    const session: Session = {
      ...{ id: String(this.#last), account, against: found.lasting ?? found.hash, address, begun: now, used: now },
      principal: undefined,
    };
    const token = randomBytes(32).toString('base64url');
    this.#sessions.set(hash('sha256', token), session);
    return { cookie: cookieOf(token, isSecure), session: shown(session) };
  }

  list(): readonly SessionInfo[] {
    this.#sweep();
    return [...this.#sessions.values()].map(shown);
  }

  noCookie(isSecure: boolean): string {
    return cookieOf('', isSecure);
  }

  end(id: string): void {
    for (const [digest, session] of this.#sessions) if (session.id === id) this.#sessions.delete(digest);
  }

  /**
   * The principal of the session that the request has in its cookie, undefined for a cookie without a session. A request
   * that a page sends by itself, with `X-Holdfast-Passive`, does not delay the end.
   */
  admit(message: IncomingMessage, { isUse }: { readonly isUse: boolean }): Principal | undefined {
    const token = tokenIn(message);
    const digest = token === undefined ? '' : hash('sha256', token);
    const session = this.#sessions.get(digest);
    if (session === undefined) return undefined;
    const base = this.#isOver(session) ? undefined : this.#principalOf(session, message);
    if (base === undefined) {
      this.#sessions.delete(digest);
      return undefined;
    }
    if (isUse && message.headers['x-holdfast-passive'] === undefined) session.used = this.#now();
    return base;
  }

  #principalOf(session: Session, { socket }: IncomingMessage): Principal | undefined {
    const account: Account | undefined = this.#accountOf(session.account);
    if (account === undefined || (account.lasting ?? account.hash) !== session.against) return undefined;
    const of = account.admit(clientConnection(socket).remote);
    if (typeof of === 'string') return undefined;
    const known = session.principal;
    if (known?.of.access === of.access && known?.of.name === of.name) return known.own;
    const own: Principal = Object.freeze({ ...of, credential: { kind: 'session', id: session.id } as const });
    session.principal = { of, own };
    return own;
  }

  #isOver({ begun, used }: Session): boolean {
    const now = this.#now();
    return now >= begun + absoluteEnd || now >= used + idleEnd;
  }

  #sweep(): void {
    for (const [digest, session] of this.#sessions) if (this.#isOver(session)) this.#sessions.delete(digest);
  }
}

function shown({ id, account, address, begun, used }: Session): SessionInfo {
  return {
    ...{ id, account, address, created: new Date(begun).toISOString(), last_used: new Date(used).toISOString() },
    ends: new Date(Math.min(begun + absoluteEnd, used + idleEnd)).toISOString(),
  };
}

/** Browsers accept the prefix only from a page of TLS, so that a page without it cannot plant a cookie of this name. */
const nameOf = (isSecure: boolean): string => (isSecure ? '__Secure-holdfast' : 'holdfast');

/** The token in the cookie of a request. */
export function tokenIn({ headers: { cookie = '' }, socket }: IncomingMessage): string | undefined {
  const prefix = `${nameOf(clientConnection(socket).isSecure)}=`;
  return cookie
    .split(/; */)
    .find((part) => part.startsWith(prefix))
    ?.slice(prefix.length);
}

/** The header that sets the cookie, or with an empty token removes it. */
function cookieOf(token: string, isSecure: boolean): string {
  const parts = [`${nameOf(isSecure)}=${token}`, 'Path=/api', 'HttpOnly', 'SameSite=Strict'];
  return [...parts, ...(isSecure ? ['Secure'] : []), ...(token === '' ? ['Max-Age=0'] : [])].join('; ');
}
