import { hash, randomBytes, randomInt } from 'node:crypto';
import { failed, refused } from '../../engine/declare/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ConfirmedFactor, NewFactor, SecondFactors as Offered } from '../../engine/services.ts';
import { user } from '../account/users.ts';
import { qrCode } from './qr-code.ts';
import { type SecondFactor, secondFactor } from './second-factor.ts';
import { base32, fromBase32, matchingPeriod, otpauthUrl, periodOf } from './totp.ts';

/** Milliseconds within which an authenticator program must be set up. */
const patience = 10 * 60_000;
/** Wrong codes in a row after which an account has to wait, and the longest wait in milliseconds. */
const free = 5;
const longestWait = 15 * 60_000;
const recoveryCount = 10;

/** Checks, sets up and removes second factors. */
export class SecondFactors implements Offered {
  readonly #engine: Engine;
  readonly #machine: () => string;
  /** Secrets that were shown and not confirmed yet, by account. */
  readonly #pending = new Map<number, { readonly secret: string; readonly until: number }>();
  /**
   * The last period whose code each account used, so that a code that somebody watched is worth nothing. Those before
   * the start of the daemon count as used.
   */
  readonly #used = new Map<number, number>();
  readonly #first: number;
  readonly #wrong = new Map<number, { readonly count: number; readonly at: number }>();

  constructor(engine: Engine, machine: () => string) {
    this.#engine = engine;
    this.#machine = machine;
    this.#first = periodOf(engine.now()) - 1;
  }

  of(account: number): SecondFactor | undefined {
    return this.#engine.world.view.find(secondFactor, 'user', account);
  }

  /** The factor as a login checks it; undefined for an account without one. */
  factorOf(account: number): { wait(): number; accepts(code: string): Promise<boolean> } | undefined {
    if (this.of(account) === undefined) return undefined;
    return { wait: () => this.wait(account), accepts: (code) => this.accepts(account, code) };
  }

  has(name: string): boolean {
    const account = this.#engine.world.view.find(user, 'bsdusr_username', name);
    return account !== undefined && this.of(account.id) !== undefined;
  }

  /** Milliseconds until the account may send another code. */
  wait(account: number): number {
    const { count, at } = this.#wrong.get(account) ?? { count: 0, at: 0 };
    return count < free ? 0 : Math.max(0, at + Math.min(2 ** (count - free) * 1000, longestWait) - this.#engine.now());
  }

  /** Whether the code is right. A recovery code is used up. */
  async accepts(account: number, code: string): Promise<boolean> {
    const factor = this.of(account);
    if (factor === undefined || this.wait(account) > 0) return false;
    const right = this.#isCurrent(factor, code) || (await this.#useRecovery(factor, code));
    if (right) this.#wrong.delete(account);
    else this.#wrong.set(account, { count: (this.#wrong.get(account)?.count ?? 0) + 1, at: this.#engine.now() });
    return right;
  }

  /** A new secret for an authenticator program, which a code has to confirm. */
  begin(name: string): NewFactor {
    const account = this.accountOf(name);
    if (this.of(account) !== undefined)
      throw refused('This account has a second factor already. Remove it first, with one of its codes.');
    const secret = base32(randomBytes(20));
    this.#pending.set(account, { secret, until: this.#engine.now() + patience });
    const url = otpauthUrl(name, this.#machine(), secret);
    return { secret, url, qr: qrCode(url) };
  }

  /** The record of a factor that is being set up, if the code is that of its secret, with the recovery codes. */
  confirmed(name: string, code: string): ConfirmedFactor {
    const account = this.accountOf(name);
    const pending = this.#pending.get(account);
    const now = this.#engine.now();
    if (pending === undefined || pending.until < now)
      throw refused(
        'Expected a second factor that is being set up. Begin again: a secret can be confirmed for ten minutes.',
      );
    const period = matchingPeriod(fromBase32(pending.secret), code, now, this.#first);
    if (period === undefined)
      throw refused(
        'This is not the current code. Check the secret, and the clocks of the authenticator program and of this machine.',
      );
    const recoveryCodes = Array.from({ length: recoveryCount }, newRecoveryCode);
    return {
      recoveryCodes,
      user: account,
      secrets: {
        ...{ secret: pending.secret, recovery: recoveryCodes.map(digestOf).join(' ') },
        created: new Date(now).toISOString(),
      },
      settle: () => {
        this.#pending.delete(account);
        this.#used.set(account, period);
      },
    };
  }

  accountOf(name: string): number {
    const account = this.#engine.world.view.find(user, 'bsdusr_username', name);
    if (account === undefined) throw refused('Only accounts of this appliance have a second factor.');
    return account.id;
  }

  #isCurrent({ user: account, secret }: SecondFactor, code: string): boolean {
    const after = this.#used.get(account) ?? this.#first;
    const period = matchingPeriod(fromBase32(secret), code, this.#engine.now(), after);
    if (period === undefined) return false;
    this.#used.set(account, period);
    return true;
  }

  async #useRecovery({ id, user: account }: SecondFactor, code: string): Promise<boolean> {
    const digest = digestOf(code.toLowerCase().replaceAll(/[\s-]/g, ''));
    const name = this.#engine.world.view.get(user, account)?.bsdusr_username ?? '';
    const isListed = (factor: SecondFactor | undefined) => factor?.recovery.split(' ').includes(digest) === true;
    if (!isListed(this.of(account))) return false;
    // Of two logins with the same code, the second finds it gone.
    return this.#engine
      .change(`use a recovery code of ${name}`, { actor: name, request: 'login' }, (draft) => {
        const factor = draft.get(secondFactor, id);
        if (factor === undefined || !isListed(factor)) throw failed('This recovery code was used.');
        draft.update(
          secondFactor,
          id,
          {},
          {
            recovery: factor.recovery
              .split(' ')
              .filter((one) => one !== digest)
              .join(' '),
          },
        );
      })
      .then(
        () => true,
        () => false,
      );
  }
}

const digestOf = (code: string): string => hash('sha256', code.replaceAll('-', ''));

/** 16 letters and digits that look different from each other, in groups: 80 bits. */
function newRecoveryCode(): string {
  const text = Array.from({ length: 16 }, () => '23456789abcdefghijkmnpqrstuvwxyz'[randomInt(32)]).join('');
  return text.replaceAll(/(.{4})(?=.)/g, '$1-');
}
