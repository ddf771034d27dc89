import type { Principal } from '../../engine/change/request.ts';
import type { View } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { type Key, keyRecord, removedKey } from './key.ts';
import { KeyAccess } from './key-access.ts';
import type { LastUses } from './key-uses.ts';
import { refusalOf } from './refusal.ts';
import { digestOf } from './token.ts';

/** A key as a request sends it. */
export interface PresentedKey {
  readonly token: string;
  /** The user name of Basic authentication; undefined with Bearer. */
  readonly user: string | undefined;
  readonly address: string;
}

/** The name under which revisions and logs show a key. No account can have it, because it contains a space. */
export const actorOf = ({ name }: Pick<Key, 'name'>): string => `key ${name}`;

/** What a key may do. */
export const accessOf = (key: Key): KeyAccess => new KeyAccess(`The key ${quote(key.name)}`, key);

/** Checks keys: one lookup of a digest, without a slow hash. Notes their last use. */
export class KeyRing {
  readonly #view: () => View;
  readonly #now: () => number;
  /** A changed key is another record, so that its permissions are prepared again. */
  readonly #principals = new WeakMap<Key, Principal>();
  readonly #uses: LastUses;

  constructor(view: () => View, uses: LastUses, now: () => number) {
    this.#view = view;
    this.#now = now;
    this.#uses = uses;
  }

  /** The principal, a sentence why the key is refused, or undefined for a key that there never was. */
  admit({ token, user, address }: PresentedKey): Principal | string | undefined {
    const view = this.#view();
    const digest = digestOf(token);
    const key = view.find(keyRecord, 'digest', digest);
    if (key === undefined) {
      const removed = view.find(removedKey, 'digest', digest);
      return removed && `The key ${quote(removed.name)} was removed on ${removed.removed} by ${removed.removed_by}.`;
    }
    const problem = this.#problem(key, user, address);
    if (problem !== undefined) return problem;
    this.#uses.note(key.id, this.#now(), address);
    const known = this.#principals.get(key);
    if (known !== undefined) return known;
    const principal = Object.freeze({
      name: actorOf(key),
      id: `key ${key.id}`,
      access: accessOf(key),
      credential: { kind: 'key', id: String(key.id) } as const,
    });
    this.#principals.set(key, principal);
    return principal;
  }

  /** The sentence names the key and its limits only to who has the key. */
  #problem(key: Key, user: string | undefined, address: string): string | undefined {
    if (user !== undefined && user !== key.name)
      return `Expected the name of the key as the user name, which is ${quote(key.name)}.`;
    return refusalOf(`The key ${quote(key.name)}`, key, { address, now: this.#now() });
  }
}
