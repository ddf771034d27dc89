import { sortedJson } from '../../lib/json.ts';
import { memo } from '../../lib/memo.ts';
import { copied } from '../../lib/text.ts';
import type { Fields } from '../declare/fields.ts';
import type { Configuration, Resource } from '../declare/resource.ts';
import type { Facts } from '../facts/facts.ts';
import type { Backup, ConfigurationStore, KeptRevision, WholeRevision } from './configuration-store.ts';
import { LayeredDraft, type References } from './draft.ts';
import { type Kept, Tables } from './tables.ts';

export function isKeptResource(resource: Resource): resource is Kept {
  return resource.kind !== 'hosted';
}

/** The stored configuration: its records in memory, drafts over them, and what the store keeps of earlier ones. */
export class StoredConfiguration {
  readonly tables: Tables;
  /** The resources whose records are stored. */
  readonly resources: readonly Kept[];
  readonly #store: ConfigurationStore;
  readonly #references: References;

  constructor(resources: readonly Resource[], store: ConfigurationStore) {
    this.resources = resources.filter(isKeptResource);
    this.tables = new Tables(this.resources);
    this.#references = referencesIn(this.resources);
    this.#store = store;
  }

  /** Opens the tables. Each is read when one of its records is first needed, or by `loading`. */
  load(): void {
    this.#store.prune();
    for (const resource of this.resources) {
      const { records, lastId } = this.#store.load(resource);
      this.tables.table(resource).load(records, lastId);
    }
  }

  /** Reads all records that were not needed yet, in pieces. */
  *loading(): Generator<undefined, void> {
    for (const resource of this.resources) yield* this.tables.table(resource).loading();
  }

  /** Whether no resource has ever had a record. */
  get isFresh(): boolean {
    return this.resources.every((resource) => this.tables.table(resource).lastId === 0);
  }

  draft(facts: Facts): LayeredDraft {
    return new LayeredDraft(this.tables, facts, this.#references);
  }

  /** A draft over a configuration without any record. */
  emptyDraft(facts: Facts): LayeredDraft {
    return new LayeredDraft(new Tables(this.resources), facts, this.#references);
  }

  /** All records that a backup contains. */
  get current(): Configuration {
    return this.#recordsOf(this.exchangeable);
  }

  /** All stored records, including those of resources that are `ofMachine`. */
  get whole(): Configuration {
    return this.#recordsOf(this.resources);
  }

  /** The configuration of the fresh system. */
  get fresh(): Configuration {
    return new Map(this.exchangeable.map((resource) => [resource, this.#store.loadFresh(resource)]));
  }

  /** The resources that a restored configuration replaces. */
  get exchangeable(): readonly Kept[] {
    return this.resources.filter(({ ofMachine }) => !ofMachine);
  }

  /** The automatic backups, the newest first. */
  backups(): readonly Backup[] {
    return this.#store.backups();
  }

  backup(number: number): Configuration | undefined {
    return this.#store.backup(number, this.exchangeable);
  }

  revisions(limit: number, before?: number): readonly KeptRevision[] {
    return this.#store.revisions(limit, before);
  }

  revision(number: number): WholeRevision | undefined {
    return this.#store.revision(number, this.resources);
  }

  revisionsAfter(number: number): Iterable<KeptRevision> {
    return this.#store.revisionsAfter(number);
  }

  /** Identifies the content of a record, with the fields that are never answered; the same after a restart. */
  readonly digestOf = memo((record: object): string => copied(this.#store.digest(sortedJson(record))));

  #recordsOf(resources: readonly Kept[]): Configuration {
    return new Map(resources.map((resource) => [resource, [...this.tables.table(resource).all()]]));
  }
}

function referencesIn(resources: readonly Kept[]): References {
  const references = new Map<string, { from: Kept; name: string; field: Fields[string] }[]>();
  for (const from of resources) {
    for (const [name, field] of Object.entries(from.fields)) {
      if (field.refers === undefined) continue;
      const known = references.get(field.refers.to) ?? [];
      references.set(field.refers.to, [...known, { from, name, field }]);
    }
  }
  return references;
}
