import { catalogue } from '../../src/areas/index.ts';
import type { Reference } from '../../src/engine/declare/fields.ts';
import type { Collection, Resource } from '../../src/engine/declare/resource.ts';
import { examples } from '../support/examples.ts';

export type Record_ = Readonly<Record<string, unknown>>;

/** Those that make more than themselves, or are made by other means than a POST of their own; test/e2e has their tests. */
const apart: ReadonlySet<string> = new Set([
  'account/users',
  'network/vlan',
  'network/lagg',
  'network/lagginterfacemembers',
  'storage/replication',
  'jails/jails',
  'jails/mountpoints',
]);

/** The kinds that take part: those of which any number of records can be made, changed and removed. */
export const kinds: readonly Collection[] = catalogue.filter(takesPart);

function takesPart(resource: Resource): resource is Collection {
  const { create, update, params, first } = examples[resource.path] ?? {};
  const can = (['create', 'update', 'remove'] as const).every((verb) => resource.verbs.includes(verb));
  return (
    resource.kind === 'collection' &&
    can &&
    create !== undefined &&
    update !== undefined &&
    params === undefined &&
    first === undefined &&
    !apart.has(resource.path)
  );
}

/** A record that must be there, as it was last answered. */
export interface Kept {
  readonly kind: Collection;
  readonly id: number;
  readonly record: Record_;
}

/** What the references of a kind say happens to its records when others go. */
function references({ fields }: Collection): readonly (readonly [string, Reference])[] {
  return Object.entries(fields).flatMap(([name, { refers }]) =>
    refers === undefined ? [] : [[name, refers] as const],
  );
}

/** What must be there. It knows the references of the kinds, and nothing of how they are carried out. */
export class Model {
  readonly #kept = new Map<string, Kept>();
  readonly #gone = new Map<string, Kept>();

  all(kind: Collection): readonly Kept[] {
    return [...this.#kept.values()].filter((one) => one.kind === kind);
  }

  get gone(): readonly Kept[] {
    return [...this.#gone.values()];
  }

  keep(one: Kept): void {
    this.#kept.set(addressOf(one), one);
  }

  has(one: Kept): boolean {
    return this.#kept.has(addressOf(one));
  }

  /** A record goes; what refers to it goes with it or refers to something else, as its field says. */
  remove(one: Kept): void {
    if (!this.#kept.delete(addressOf(one))) return;
    this.#gone.set(addressOf(one), one);
    for (const other of [...this.#kept.values()])
      for (const [name, { to, onRemove }] of references(other.kind))
        if (to === one.kind.path && other.record[name] === one.id) {
          if (onRemove === 'remove') this.remove(other);
          else this.keep({ ...other, record: { ...other.record, [name]: onRemove.becomes } });
        }
  }

  /** All that a request about this record may touch: itself, what it refers to, and what refers to it, and so on. */
  around(one: Kept): readonly string[] {
    const found = new Set<string>([addressOf(one)]);
    const near = (address: string): readonly string[] => {
      const kept = this.#kept.get(address);
      if (kept === undefined) return [];
      const up = references(kept.kind).flatMap(([name, { to }]) =>
        typeof kept.record[name] === 'number' ? [`${to}/${kept.record[name]}`] : [],
      );
      const down = [...this.#kept.values()]
        .filter((other) =>
          references(other.kind).some(([name, { to }]) => to === kept.kind.path && other.record[name] === kept.id),
        )
        .map(addressOf);
      return [...up, ...down];
    };
    for (const address of found) for (const next of near(address)) found.add(next);
    return [...found];
  }
}

export function addressOf({ kind, id }: Pick<Kept, 'kind' | 'id'>): string {
  return `${kind.path}/${id}`;
}
