import { forgetOldest } from '../lib/recent.ts';

/** A refused login as it is logged and published as an event. */
export interface RefusedLogin {
  readonly address: string;
  readonly account: string;
  readonly reason: 'wrong credential' | 'too many attempts' | 'cross-site request';
  /** Refused logins from this address since its last report, including this one. */
  readonly refused: number;
}

/** Token buckets that limit the reports of one address and of all addresses. */
const ofOne = { burst: 5, perSecond: 1 } as const;
const ofAll = { burst: 100, perSecond: 20 } as const;

/** Addresses that are remembered. The least recently active are evicted first. */
const mostKnown = 10_000;

/**
 * Reports refused logins at a limited rate, so that a flood cannot fill the log; logins in between are only counted.
 */
export class RefusedLogins {
  readonly #report: (login: RefusedLogin) => void;
  readonly #now: () => number;
  readonly #addresses = new Map<string, Allowance & { readonly unreported: number }>();
  #all: Allowance;

  constructor(report: (login: RefusedLogin) => void, now: () => number = () => performance.now()) {
    this.#report = report;
    this.#now = now;
    this.#all = { left: ofAll.burst, at: now() };
  }

  note(login: Omit<RefusedLogin, 'refused'>): void {
    const now = this.#now();
    const known = this.#addresses.get(login.address) ?? { left: ofOne.burst, at: now, unreported: 0 };
    const ofAddress = refilled(known, ofOne, now);
    const all = refilled(this.#all, ofAll, now);
    const isReported = ofAddress.left >= 1 && all.left >= 1;
    const cost = isReported ? 1 : 0;
    this.#all = { ...all, left: all.left - cost };
    this.#addresses.delete(login.address);
    this.#addresses.set(login.address, {
      ...ofAddress,
      left: ofAddress.left - cost,
      unreported: isReported ? 0 : known.unreported + 1,
    });
    forgetOldest(this.#addresses, mostKnown);
    // The order of the fields matters: the filter in docs/fail2ban matches the log line made from them.
    if (isReported)
      this.#report(
        Object.freeze({
          address: login.address,
          account: login.account,
          reason: login.reason,
          refused: known.unreported + 1,
        }),
      );
  }
}

interface Allowance {
  readonly left: number;
  /** When `left` was computed, in milliseconds. */
  readonly at: number;
}

function refilled(
  { left, at }: Allowance,
  { burst, perSecond }: { readonly burst: number; readonly perSecond: number },
  now: number,
): Allowance {
  return { left: Math.min(left + ((now - at) / 1000) * perSecond, burst), at: now };
}
