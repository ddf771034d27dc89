import type { Principal } from '../../engine/change/request.ts';
import type { RecordOf, View } from '../../engine/declare/resource.ts';
import { shortestPassword } from '../../engine/passwords.ts';
import { quote } from '../../lib/text.ts';
import { type Person, person } from '../account/person.ts';
import { user } from '../account/users.ts';
import { KeyAccess } from '../keys/key-access.ts';
import { refusalOf } from '../keys/refusal.ts';

type User = RecordOf<typeof user.fields>;

/** An account that may use the interface with its password. */
export interface PersonalAccount {
  /** Undefined for an account of a directory. */
  readonly id: number | undefined;
  readonly hash: string;
  readonly least: number;
  /** Checks a password where there is no hash. */
  readonly check?: (password: string) => Promise<boolean>;
  /** What ends its sessions when it changes, where that is not the hash. */
  readonly lasting?: string;
  admit(address: string): Principal | string;
}

/** What a person may do. */
export const accessOf = (account: string, rights: Person): KeyAccess =>
  new KeyAccess(`The account ${quote(account)}`, rights);

/** Milliseconds. */
const knownFor = 5 * 60_000;

/** Finds the accounts that have been given rights. */
export class People {
  readonly #view: () => View;
  readonly #now: () => number;
  /** Changed rights and accounts are other records, so that their principals are prepared again. */
  readonly #principals = new WeakMap<Person, { readonly of: User | undefined; readonly principal: Principal }>();
  readonly #accepts: (name: string, password: string) => Promise<boolean>;

  /** `accepts` asks the directory of an account. */
  constructor(view: () => View, now: () => number, accepts: (name: string, password: string) => Promise<boolean>) {
    this.#accepts = accepts;
    this.#view = view;
    this.#now = now;
  }

  account(name: string): PersonalAccount | undefined {
    const view = this.#view();
    const of = view.find(user, 'bsdusr_username', name);
    if (of === undefined) return this.#ofDirectory(name);
    const rights = view.find(person, 'user', of.id);
    if (rights === undefined || of.bsdusr_locked) return undefined;
    return { id: of.id, hash: of.bsdusr_unixhash, ...this.#admission(name, of, rights) };
  }

  #ofDirectory(name: string): PersonalAccount | undefined {
    const rights = name === '' ? undefined : this.#view().find(person, 'directory', name);
    return (
      rights && {
        id: undefined,
        // A checked password is known for so long: the directory does not say when it changes.
        hash: `directory ${rights.id} ${Math.floor(this.#now() / knownFor)}`,
        lasting: `directory ${rights.id}`,
        check: (password) => this.#accepts(name, password),
        ...this.#admission(name, undefined, rights),
      }
    );
  }

  #admission(name: string, of: User | undefined, rights: Person): Pick<PersonalAccount, 'least' | 'admit'> {
    return {
      least: shortestPassword,
      admit: (address) =>
        refusalOf(`The account ${quote(name)}`, rights, { address, now: this.#now() }) ??
        this.#principal(name, of, rights),
    };
  }

  #principal(name: string, of: User | undefined, rights: Person): Principal {
    const known = this.#principals.get(rights);
    if (known !== undefined && known.of === of) return known.principal;
    const principal: Principal = Object.freeze({
      name,
      id: `person ${rights.id}`,
      access: accessOf(name, rights),
      credential: { kind: 'password' } as const,
    });
    this.#principals.set(rights, { of, principal });
    return principal;
  }
}
