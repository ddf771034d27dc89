import type { Access } from '../../engine/declare/access.ts';
import type { View } from '../../engine/declare/resource.ts';
import { contains, parseIp } from '../../lib/ip.ts';
import { type Key, keyRecord, removedKey } from './key.ts';
import { KeyAccess, rangeOf } from './key-access.ts';
import type { LastUses } from './key-uses.ts';
import { digestOf } from './token.ts';

/** A key as a request sends it. */
export interface PresentedKey {
  readonly token: string;
  /** The user name of Basic authentication; undefined with Bearer. */
  readonly user: string | undefined;
  readonly address: string;
}

export interface KeyPrincipal {
  readonly name: string;
  readonly access: Access;
}

/** The name under which revisions and logs show a key. No account can have it, because it contains a space. */
export const actorOf = ({ name }: Pick<Key, 'name'>): string => `key ${name}`;

/** Checks keys: one lookup of a digest, without a slow hash. Notes their last use. */
export class KeyRing {
  readonly #view: () => View;
  readonly #now: () => number;
  /** A changed key is another record, so that its permissions are prepared again. */
  readonly #principals = new WeakMap<Key, KeyPrincipal>();
  readonly #uses: LastUses;

  constructor(view: () => View, uses: LastUses, now: () => number) {
    this.#view = view;
    this.#now = now;
    this.#uses = uses;
  }

  /** The principal, a sentence why the key is refused, or undefined for a key that there never was. */
  admit({ token, user, address }: PresentedKey): KeyPrincipal | string | undefined {
    const view = this.#view();
    const digest = digestOf(token);
    const key = view.find(keyRecord, 'digest', digest);
    if (key === undefined) {
      const removed = view.find(removedKey, 'digest', digest);
      return removed && `The key "${removed.name}" was removed on ${removed.removed} by ${removed.removed_by}.`;
    }
    const problem = this.#problem(key, user, address);
    if (problem !== undefined) return problem;
    this.#uses.note(key.id, this.#now(), address);
    const known = this.#principals.get(key);
    if (known !== undefined) return known;
    const principal = Object.freeze({ name: actorOf(key), access: new KeyAccess(key) });
    this.#principals.set(key, principal);
    return principal;
  }

  /** The sentence names the key and its limits only to who has the key. */
  #problem(key: Key, user: string | undefined, address: string): string | undefined {
    if (user !== undefined && user !== key.name)
      return `Expected the name of the key as the user name, which is "${key.name}".`;
    if (!key.enabled) return `The key "${key.name}" is disabled since ${key.disabled}.`;
    if (key.expires !== '' && Date.parse(key.expires) <= this.#now())
      return `The key "${key.name}" expired on ${new Date(key.expires).toISOString()}.`;
    const ip = parseIp(address);
    if (key.addresses.length > 0 && !key.addresses.some((one) => ip !== undefined && isInside(one, ip)))
      return `The key "${key.name}" may not be used from the address ${address}.`;
    return undefined;
  }
}

function isInside(text: string, ip: NonNullable<ReturnType<typeof parseIp>>): boolean {
  const range = rangeOf(text);
  return range !== undefined && contains(range, ip);
}
