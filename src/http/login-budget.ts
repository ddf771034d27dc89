import { parseIp } from '../lib/ip.ts';

/** Where a login comes from: an address, or for IPv6 the network of 64 bits that one customer has. */
export interface Source {
  readonly name: string;
  /** Another program of this machine, which is never kept waiting: what it lets in is the machine's own business. */
  readonly isLocal: boolean;
}

export function sourceOf({ local, remote }: { readonly local: string; readonly remote: string }): Source {
  const isLocal = remote === '' || remote === local || /^(127\.|::1$)/.test(remote);
  // The zone of a link-local address names an interface of this machine.
  const ip = remote.includes(':') ? parseIp(remote.replace(/%.*$/, '')) : undefined;
  return { name: ip === undefined ? remote : `${(ip.value >> 64n).toString(16)}::/64`, isLocal };
}

/** Milliseconds after which half of an attempt is forgotten. */
const halfLife = 5 * 60_000;

/** Attempts of one source before it has to wait, and while the account is under attack. */
const free = { calm: 5, attacked: 1 } as const;

/** Seconds of the longest wait. */
const longestWait = 60;

/** Refused logins of one account, counted with their decay, from which on it is under attack. */
const attackedFrom = 20;

/** Milliseconds that an attack is reported after its last refused login. */
const reportedFor = 60 * 60_000;

/** A source that has let somebody in before comes ahead of one that nobody knows. */
const headStart = 3;

/** Sources and accounts that are remembered. Of more, those that were quiet for longest are forgotten. */
const mostKnown = 10_000;

/** What is known of guesses at an account's password. */
export interface LoginAttack {
  readonly account: string;
  readonly refused: number;
  /** Where the last of them came from. */
  readonly address: string;
}

/**
 * What each source may still try. An attempt counts from when it begins, so that many at once are no way around it; one
 * that succeeds clears its source. The waits grow with each further attempt and decay with time. An account never waits:
 * while it is under attack, each source has one free attempt instead of five, and a right password from a source that
 * made none is let in at once.
 */
export class LoginBudget {
  readonly #now: () => number;
  readonly #sources = new Map<string, Score>();
  readonly #accounts = new Map<string, Score>();
  readonly #welcome = new Set<string>();
  #attack: { readonly report: LoginAttack; readonly at: number } | undefined;

  /** The clock counts milliseconds and never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Seconds until the source may try again; 0 when it may now. */
  wait({ name, isLocal }: Source, account: string): number {
    const score = this.#sources.get(name);
    if (isLocal || score === undefined) return 0;
    const isAttacked = this.#countOf(this.#accounts.get(account)) >= attackedFrom;
    const over = Math.round(this.#countOf(score)) - (isAttacked ? free.attacked : free.calm);
    if (over < 0) return 0;
    const seconds = Math.min(2 ** over, longestWait) - (this.#now() - score.at) / 1000;
    return Math.max(Math.ceil(seconds), 0);
  }

  /** Notes an attempt. */
  begin({ name }: Source): void {
    this.#count(this.#sources, name);
  }

  succeeded({ name }: Source): void {
    this.#sources.delete(name);
    remember(this.#welcome, name);
  }

  refused(account: string, address: string): void {
    const { count } = this.#count(this.#accounts, account);
    if (count < attackedFrom) return;
    const before = this.#attack;
    const refused =
      before?.report.account === account && this.#now() - before.at < reportedFor
        ? before.report.refused + 1
        : Math.round(count);
    this.#attack = { report: Object.freeze({ account, refused, address }), at: this.#now() };
  }

  /** The lower, the sooner a source is served. */
  rank({ name }: Source): number {
    return Math.floor(this.#countOf(this.#sources.get(name))) - (this.#welcome.has(name) ? headStart : 0);
  }

  /** Guesses at a password, while they go on and for an hour afterwards. */
  get attack(): LoginAttack | undefined {
    return this.#attack !== undefined && this.#now() - this.#attack.at < reportedFor ? this.#attack.report : undefined;
  }

  #countOf(score: Score | undefined): number {
    return score === undefined ? 0 : score.count * 0.5 ** ((this.#now() - score.at) / halfLife);
  }

  #count(scores: Map<string, Score>, name: string): Score {
    const score = { count: this.#countOf(scores.get(name)) + 1, at: this.#now() };
    scores.delete(name);
    scores.set(name, score);
    forgetOldest(scores);
    return score;
  }
}

interface Score {
  readonly count: number;
  /** When it was counted last. */
  readonly at: number;
}

function remember(names: Set<string>, name: string): void {
  names.delete(name);
  names.add(name);
  forgetOldest(names);
}

function forgetOldest(known: Map<string, unknown> | Set<string>): void {
  if (known.size <= mostKnown) return;
  const [oldest] = known.keys();
  if (oldest !== undefined) known.delete(oldest);
}
