import type { Problem } from '../engine/declare/problem.ts';
import { parseIp } from '../lib/ip.ts';
import { forgetOldest } from '../lib/recent.ts';

/**
 * The origin of a login attempt: an IPv4 address, or an IPv6 /64 network, which is what providers assign to one
 * customer.
 */
export interface Source {
  readonly name: string;
  /** Whether the connection comes from this machine itself. Such a source never waits. */
  readonly isLocal: boolean;
}

export function sourceOf({ local, remote }: { readonly local: string; readonly remote: string }): Source {
  const isLocal = remote === '' || remote === local || /^(127\.|::1$)/.test(remote);
  // The zone of a link-local address names an interface of this machine.
  const ip = remote.includes(':') ? parseIp(remote.replace(/%.*$/, '')) : undefined;
  return { name: ip === undefined ? remote : `${(ip.value >> 64n).toString(16)}::/64`, isLocal };
}

/** Milliseconds after which an attempt counts only half. */
const halfLife = 5 * 60_000;

/** Attempts that one source has before it must wait: normally, and while the account is under attack. */
const free = { calm: 5, attacked: 1 } as const;

/** The longest wait, in seconds. */
const longestWait = 60;

/** An account is under attack from this number of refused logins on, counted with decay. */
const attackedFrom = 20;

/** Milliseconds for which an attack is reported after its last refused login. */
const reportedFor = 60 * 60_000;

/** By how many attempts a source with an earlier successful login ranks ahead of an unknown one. */
const headStart = 3;

/** Sources and accounts that are remembered. The least recently active are evicted first. */
const mostKnown = 10_000;

/** An ongoing attempt to guess an account's password. */
export interface LoginAttack {
  readonly account: string;
  readonly refused: number;
  /** The address of the last refused login. */
  readonly address: string;
}

/** An ongoing attempt, as a problem of the appliance. */
export function loginProblems(attack: LoginAttack | undefined): readonly Problem[] {
  if (attack === undefined) return [];
  const { account, refused, address } = attack;
  return [
    {
      kind: 'login',
      about: 'account/users',
      detail: account,
      severity: 'warning',
      message: `Many failed logins as ${account}: ${refused} were refused, the last from ${address}. Clients that logged in before are still accepted. Restrict the networks that can reach Holdfast.`,
    },
  ];
}

/**
 * Limits the login attempts of each source. An attempt counts from the moment it begins, so that parallel attempts do
 * not evade the limit; a success clears its source. Each further attempt doubles the wait, and attempts decay with
 * time.
 *
 * Accounts are never locked, because then any client could lock out the administrator. While an account is under
 * attack, each source has one free attempt instead of five. A correct password from a source without earlier attempts
 * is therefore accepted at once.
 */
export class LoginBudget {
  readonly #now: () => number;
  readonly #sources = new Map<string, Score>();
  readonly #accounts = new Map<string, Score>();
  readonly #trusted = new Set<string>();
  #attack: { readonly report: LoginAttack; readonly at: number } | undefined;

  /** `now` is a monotonic clock in milliseconds. */
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

  /** Counts an attempt. */
  begin({ name }: Source): void {
    this.#count(this.#sources, name);
  }

  succeeded({ name }: Source): void {
    this.#sources.delete(name);
    remember(this.#trusted, name);
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

  /** The priority of a source among waiting password checks: the lowest rank is checked first. */
  rank({ name }: Source): number {
    return Math.floor(this.#countOf(this.#sources.get(name))) - (this.#trusted.has(name) ? headStart : 0);
  }

  /** The current attack, until an hour after its last refused login. */
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
    forgetOldest(scores, mostKnown);
    return score;
  }
}

interface Score {
  readonly count: number;
  /** When `count` was computed. */
  readonly at: number;
}

function remember(names: Set<string>, name: string): void {
  names.delete(name);
  names.add(name);
  forgetOldest(names, mostKnown);
}
