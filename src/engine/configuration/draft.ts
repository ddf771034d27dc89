import { isDeepStrictEqual } from 'node:util';
import { IssueList, type Issues, invalid, missing, refused } from '../declare/errors.ts';
import { type Field, type Fields, isRequired } from '../declare/fields.ts';
import type { Location } from '../declare/location.ts';
import { blankRecord, isRecordOf, keptFields } from '../declare/record.ts';
import type {
  Collection,
  Configuration,
  Draft,
  Noted,
  Occupant,
  Plan,
  RecordOf,
  SentOf,
  Sequel,
  Singleton,
  Task,
} from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';
import type { Facts } from '../facts/facts.ts';
import { occupantsOf } from './occupants.ts';
import { Reads } from './reads.ts';
import {
  byKey,
  fieldValue,
  groupNumber,
  type Kept,
  placeOf,
  type RecordChange,
  regroup,
  searchedValues,
  type Table,
  type Tables,
} from './tables.ts';

/** For the path of each collection, the fields of other resources that contain its ids. */
export type References = ReadonlyMap<
  string,
  readonly { readonly from: Kept; readonly name: string; readonly field: Field }[]
>;

/** A write, and how to revert it. */
interface Write {
  takeBack(): void;
  readonly change?: RecordChange;
}

/** A position in a draft, to which it returns when a later change is invalid. */
export interface Mark {
  readonly facts: Facts;
  readonly journal: number;
  readonly first: number;
  readonly last: number;
  readonly sequels: number;
  readonly tasks: number;
}

/**
 * Changes over the tables. One draft can contain the changes of several requests: call `mark` before each of them, and
 * `rewind` if it has problems.
 */
export class LayeredDraft implements Draft {
  issues = new IssueList();
  readonly firstSteps: Step[] = [];
  readonly lastSteps: Step[] = [];
  readonly sequels: Sequel[] = [];
  /** Tasks that requests of a transaction start. */
  readonly tasks: Task[] = [];
  readonly plan: Plan = {
    first: (step) => {
      this.firstSteps.push(step);
      // A folder that the change makes is there when what it renders is applied.
      if (step.touches.some((touched) => typeof touched !== 'string' && 'path' in touched))
        this.expect(step.foresee({ facts: this.#known, media: new Map() }).facts);
    },
    last: (step) => {
      // Several records may each ask for the same, such as a new configuration of the boot loader.
      const isThere = step.mayStay === true && this.lastSteps.some((other) => isSameStep(step, other));
      if (!isThere) this.lastSteps.push(step);
    },
    afterwards: (sequel) => void this.sequels.push(sequel),
  };
  #known: Facts;
  readonly #tables: Tables;
  readonly #references: References;
  readonly #overlays = new Map<string, Overlay>();
  /** Every write, oldest first. */
  readonly #journal: Write[] = [];
  #watched: { readonly reads: Reads; readonly facts: Facts } | undefined;

  constructor(tables: Tables, facts: Facts, references: References) {
    this.#tables = tables;
    this.#known = facts;
    this.#references = references;
  }

  get facts(): Facts {
    return this.#watched?.facts ?? this.#known;
  }

  /** Shows these facts from now on: what the machine will be when a dry run comes to the next change. */
  expect(facts: Facts): void {
    this.#known = facts;
    if (this.#watched !== undefined)
      this.#watched = { reads: this.#watched.reads, facts: this.#watched.reads.watch(facts) };
  }

  /** Notes what is read from now on. */
  watch(): Reads {
    const reads = new Reads();
    this.#watched = { reads, facts: reads.watch(this.#known) };
    return reads;
  }

  unwatch(): void {
    this.#watched = undefined;
  }

  mark(): Mark {
    this.issues = new IssueList();
    return this.#position();
  }

  #position(): Mark {
    return {
      facts: this.#known,
      journal: this.#journal.length,
      first: this.firstSteps.length,
      last: this.lastSteps.length,
      sequels: this.sequels.length,
      tasks: this.tasks.length,
    };
  }

  rewind(to: Mark): void {
    while (this.#journal.length > to.journal) this.#journal.pop()?.takeBack();
    if (this.#known !== to.facts) this.expect(to.facts);
    this.firstSteps.length = to.first;
    this.lastSteps.length = to.last;
    this.sequels.length = to.sequels;
    this.tasks.length = to.tasks;
  }

  /** All changed records, with the state before and after all changes. */
  changes(): readonly RecordChange[] {
    return [...this.#overlays.values()].flatMap((overlay) => overlay.changes());
  }

  /** The records changed since a mark, with the state before and after. */
  changesSince(mark: Mark): readonly RecordChange[] {
    const seen = new Map<string, RecordChange>();
    for (const { change } of this.#journal.slice(mark.journal)) {
      if (change === undefined) continue;
      const key = `${change.resource.path}/${change.id}`;
      const first = seen.get(key);
      seen.set(key, first === undefined ? change : { ...change, before: first.before });
    }
    return [...seen.values()];
  }

  stepsSince({ first, last }: Mark): readonly Step[] {
    return [...this.firstSteps.slice(first), ...this.lastSteps.slice(last)];
  }

  /** The last ids of the collections in which ids were assigned. */
  sequences(): ReadonlyMap<string, number> {
    const assigned = [...this.#overlays].filter(([, overlay]) => overlay.lastId > overlay.table.lastId);
    return new Map(assigned.map(([path, overlay]) => [path, overlay.lastId]));
  }

  // Reading ----------------------------------------------------------------------------------------------------------

  all<F extends Fields>(of: Collection<F>): readonly RecordOf<F>[] {
    this.#watched?.reads.collection(of.path);
    return this.#peek(of)?.all() ?? this.#tables.all(of);
  }

  groups<F extends Fields>(of: Collection<F>): ReadonlyMap<number, readonly RecordOf<F>[]> {
    this.#watched?.reads.collection(of.path);
    return this.#peek(of)?.groups() ?? this.#tables.groups(of);
  }

  get<F extends Fields>(of: Collection<F>, id: number): RecordOf<F> | undefined {
    return this.#current(of, id);
  }

  /** The record of any stored resource. */
  record<F extends Fields>(of: Kept<F>, id: number): RecordOf<F> | undefined {
    return this.#current(of, id);
  }

  find<F extends Fields>(of: Collection<F>, name: keyof F & string, value: unknown): RecordOf<F> | undefined {
    this.#watched?.reads.search(of.path, name, value);
    const overlay = this.#peek(of);
    return overlay === undefined ? this.#tables.find(of, name, value) : overlay.having(name, value)[0];
  }

  having<F extends Fields>(of: Collection<F>, name: keyof F & string, value: unknown): readonly RecordOf<F>[] {
    this.#watched?.reads.search(of.path, name, value);
    return this.#peek(of)?.having(name, value) ?? this.#tables.having(of, name, value);
  }

  keyed<F extends Fields>(of: Collection<F>, key: string): readonly RecordOf<F>[] {
    this.#watched?.reads.search(of.path, byKey, key);
    return this.#peek(of)?.having(byKey, key) ?? this.#tables.keyed(of, key);
  }

  only<F extends Fields>(of: Singleton<F>): RecordOf<F> {
    return this.#current(of, 1) ?? this.#tables.only(of);
  }

  occupants(of: Location): readonly Occupant[] {
    return occupantsOf(this, this.#tables.resources, of);
  }

  /** All records of these resources. */
  configuration(resources: readonly Kept[]): Configuration {
    return new Map(
      resources.map((resource) => [resource, [...(this.#peek(resource)?.all() ?? this.#tables.table(resource).all())]]),
    );
  }

  /** Restores the records before these changes. They are not checked, because they were valid then. */
  restore(changes: readonly RecordChange[]): void {
    for (const { resource, id, before } of changes.toReversed()) this.#put(resource, id, before);
  }

  /** Replaces all records of these resources. */
  exchange(wanted: Configuration): void {
    this.give([...wanted].flatMap(([resource, records]) => this.#differences(resource, records)));
  }

  /**
   * Writes these records, which say everything that changes: they are checked, the steps of their hooks are planned, and
   * what a hook would do to other records is discarded.
   */
  give(changes: readonly RecordChange[]): void {
    this.putBack(changes);
    if (this.issues.isEmpty) for (const change of changes) this.#planFor(change);
  }

  putBack(changes: readonly RecordChange[]): void {
    for (const { resource, id, after } of changes) {
      const overlay = this.#overlay(resource);
      if (id > overlay.lastId) this.#raise(overlay, id);
      this.#put(resource, id, after);
    }
    const issues = new IssueList();
    for (const change of changes) {
      this.issues = new IssueList();
      this.#checkGiven(change);
      for (const [name, sentences] of Object.entries(this.issues.toIssues()))
        for (const sentence of sentences)
          issues.add(`${change.resource.path}/${change.id}`, name === '__all__' ? sentence : `${name}: ${sentence}`);
    }
    this.issues = issues;
    this.#checkReferences(new Set(changes.map(({ resource }) => resource.path)));
  }

  noting(make: () => void): Noted {
    const before = this.#position();
    make();
    const isLater = this.sequels.length > before.sequels;
    return { changes: this.changesSince(before), steps: this.stepsSince(before), isLater };
  }

  /** Whether a new record lacks what only the machine knows once the steps have been performed. */
  get mustLearn(): boolean {
    return this.changes().some(({ resource, before, after }) => before === undefined && after && 'learns' in resource);
  }

  /** Completes the new records by what the machine knows now. */
  learn(facts: Facts): void {
    for (const { resource, id, before, after } of this.changes()) {
      if (before !== undefined || after === undefined || resource.kind !== 'collection') continue;
      const learnt = resource.learns?.(after, facts);
      if (learnt !== undefined) this.#put(resource, id, Object.freeze({ ...after, ...learnt }));
    }
  }

  /** Restores the records before these changes, like `restore`, and plans the steps of their hooks. */
  revert(changes: readonly RecordChange[]): void {
    this.restore(changes);
    for (const { resource, id, before, after } of changes.toReversed())
      this.#planFor({ resource, id, before: after, after: before });
  }

  #differences(resource: Kept, records: readonly RecordOf<Fields>[]): readonly RecordChange[] {
    const current = new Map(
      (this.#peek(resource)?.all() ?? this.#tables.table(resource).all()).map((record) => [record.id, record]),
    );
    const wanted = new Map(records.map((record) => [record.id, record]));
    const gone = [...current.values()]
      .filter(({ id }) => !wanted.has(id))
      .map((before) => ({ resource, id: before.id, before, after: undefined }));
    const other = records.filter((record) => !isDeepStrictEqual(record, current.get(record.id)));
    return [
      ...gone,
      ...other.map((after) => ({ resource, id: after.id, before: current.get(after.id), after: Object.freeze(after) })),
    ];
  }

  #checkGiven({ resource, before, after }: RecordChange): void {
    if (after === undefined) return;
    this.#checkFields(resource, after, before, after);
    // Checked like an update without changes, so that checks of sent values, such as a current password, do not apply.
    resource.check?.({
      draft: this,
      view: this,
      facts: this.facts,
      record: after,
      before: after,
      sent: {},
      issues: this.issues,
    });
  }

  /** Plans the steps of a record's hooks. Changes that the hooks make to other records are reverted. */
  #planFor({ resource, id, before, after }: RecordChange): void {
    const world = { draft: this, view: this, facts: this.facts };
    const { issues } = this;
    const records = this.#journal.length;
    this.issues = new IssueList();
    if (after !== undefined) resource.onSave?.({ ...world, record: after, before, sent: {} });
    else if (before !== undefined && resource.kind === 'collection') {
      // The hook expects that its record still exists.
      this.#put(resource, id, before);
      resource.onRemove?.({ ...world, record: before, sent: undefined });
    }
    while (this.#journal.length > records) this.#journal.pop()?.takeBack();
    this.issues = issues;
  }

  /** Checks that no record refers to a removed one. */
  #checkReferences(changed: ReadonlySet<string>): void {
    for (const [path, references] of this.#references) {
      if (!changed.has(path)) continue;
      for (const { from, name } of references) {
        for (const record of this.#overlay(from).all()) {
          const id = fieldValue(record, name);
          if (typeof id === 'number' && !this.#exists(path, id))
            this.issues.add(`${from.path}/${record.id}`, `${name}: Expected the id of a record of ${path}, got ${id}.`);
        }
      }
    }
  }

  // Writing ----------------------------------------------------------------------------------------------------------

  /** Adds problems of the request body. Their fields are not also reported as missing. */
  note(issues: Issues): void {
    for (const [name, sentences] of Object.entries(issues))
      for (const sentence of sentences) this.issues.add(name, sentence);
  }

  create<F extends Fields>(of: Collection<F>, sent: SentOf<F>, fill: Partial<RecordOf<F>> = {}): RecordOf<F> {
    return this.#save(of, this.#nextId(of), undefined, sent, fill);
  }

  /** Adds a record without checks: a default record of a fresh system. */
  plant<F extends Fields>(of: Kept<F>, values: Partial<RecordOf<F>>): RecordOf<F> {
    const laid = blankRecord(of.fields)();
    laid['id'] = this.#nextId(of);
    for (const { name, field } of keptFields(of.fields)) laid[name] = fieldValue(values, name) ?? field.initial ?? null;
    if (!isRecordOf(of.fields, laid)) throw new TypeError(`a first record of ${of.path} lacks a field`);
    Object.freeze(laid);
    return this.plantSame(of, laid);
  }

  /** The same with the record of another draft. */
  plantSame<F extends Fields>(of: Kept<F>, record: RecordOf<F>): RecordOf<F> {
    this.#put(of, record.id, record);
    return record;
  }

  update<F extends Fields>(of: Kept<F>, id: number, sent: SentOf<F>, fill: Partial<RecordOf<F>> = {}): RecordOf<F> {
    const before = this.#current(of, id);
    if (before === undefined) throw missing(`No ${of.title} has the id ${id}.`);
    return this.#save(of, id, before, sent, fill);
  }

  remove<F extends Fields>(of: Collection<F>, id: number, sent?: Readonly<Record<string, unknown>>): void {
    const record = this.#current(of, id);
    if (record === undefined) throw missing(`No ${of.title} has the id ${id}.`);
    of.onRemove?.({ draft: this, view: this, facts: this.facts, record, sent });
    this.#put(of, id, undefined);
    for (const { from, name, field } of this.#references.get(of.path) ?? []) {
      this.#watched?.reads.search(from.path, name, id);
      for (const dependant of this.#overlay(from).having(name, id)) {
        const held = field.refers?.holds?.(dependant);
        if (held !== undefined)
          throw refused(held, {
            code: 'busy',
            holders: [{ kind: 'record', title: `${from.title} ${dependant.id}`, name: `${from.path}/${dependant.id}` }],
          });
        const fate = field.refers?.onRemove;
        if (fate === 'remove' && from.kind === 'collection') this.remove(from, dependant.id);
        else
          this.#put(
            from,
            dependant.id,
            Object.freeze({ ...dependant, [name]: typeof fate === 'object' ? fate.becomes : null }),
          );
      }
    }
  }

  #save<F extends Fields>(
    of: Kept<F>,
    id: number,
    before: RecordOf<F> | undefined,
    sent: SentOf<F>,
    fill: Partial<RecordOf<F>>,
  ): RecordOf<F> {
    const given: Readonly<Record<string, unknown>> = { ...before, ...fill, ...sent };
    const laid = blankRecord(of.fields)();
    laid['id'] = id;
    for (const { name, field } of keptFields(of.fields)) {
      const value = given[name] === undefined ? field.initial : given[name];
      if (value !== undefined || field.use === 'plain') laid[name] = value;
      if (value === undefined && field.use === 'plain' && !this.issues.has(name)) this.issues.add(name, isRequired);
    }
    // Without a required value the record cannot be completed. The other values are still checked, so that the response
    // contains every problem.
    if (!isRecordOf(of.fields, laid)) {
      this.#checkFields(of, laid, before, sent);
      throw invalid(this.issues.toIssues());
    }
    const saving = { draft: this, view: this, facts: this.facts, before, sent };
    const record: RecordOf<F> = { ...laid, ...of.complete?.({ ...saving, record: laid }) };
    Object.freeze(record);
    this.#checkFields(of, record, before, sent);
    of.check?.({ ...saving, record, issues: this.issues });
    this.#put(of, id, record);
    of.onSave?.({ ...saving, record });
    return this.#current(of, id) ?? record;
  }

  /** The checks of single fields: valid on this machine, existing references, unique values. */
  #checkFields(
    of: Kept,
    record: Readonly<Record<string, unknown>>,
    before: Readonly<Record<string, unknown>> | undefined,
    sent: Readonly<Record<string, unknown>>,
  ): void {
    for (const [name, field] of Object.entries(of.fields)) {
      const value = record[name];
      if (value === undefined || value === null || isDeepStrictEqual(value, before?.[name]) || this.issues.has(name))
        continue;
      const sentence = field.checkOnHost?.(value, this.facts);
      if (sentence !== undefined) this.issues.add(name, sentence);
      if (field.refers !== undefined && typeof value === 'number' && !this.#exists(field.refers.to, value)) {
        this.issues.add(name, `Expected the id of a record of ${field.refers.to}, got ${value}.`);
      }
    }
    if (of.kind !== 'collection') return;
    // A duplicate is reported for a field that the client has to change: one that was sent, with another value.
    const isNew = (name: string) => sent[name] !== undefined && !isDeepStrictEqual(record[name], before?.[name]);
    for (const { fields, caseless, description } of of.unique) {
      const names = fields.map((name) => (caseless === true ? `${name}~` : name));
      const [field] = fields;
      if (field === undefined || (record[field] ?? null) === null) continue;
      // Of a field that was refused, the record has another value than the one that was sent.
      if (fields.some((name) => this.issues.has(name))) continue;
      if (before !== undefined && names.every((one) => fieldValue(record, one) === fieldValue(before, one))) continue;
      this.#watched?.reads.search(of.path, names[0] ?? '', fieldValue(record, names[0] ?? ''));
      if (
        this.#overlay(of)
          .like(record, names)
          .some((other) => other.id !== record['id'])
      )
        this.issues.add(fields.find(isNew) ?? field, description);
    }
  }

  #exists(path: string, id: number): boolean {
    this.#watched?.reads.record(path, id);
    const overlay = this.#overlays.get(path);
    return overlay === undefined ? this.#tables.has(path, id) : overlay.get(id) !== undefined;
  }

  #nextId(of: Kept): number {
    const overlay = this.#overlay(of);
    this.#raise(overlay, overlay.lastId + 1);
    return overlay.lastId;
  }

  #raise(overlay: Overlay, lastId: number): void {
    const earlier = overlay.lastId;
    overlay.lastId = lastId;
    this.#journal.push({
      takeBack: () => {
        overlay.lastId = earlier;
      },
    });
  }

  #put<F extends Fields>(of: Kept<F>, id: number, record: RecordOf<F> | undefined): void {
    const change = { resource: of, id, before: this.#current(of, id), after: record };
    this.#journal.push({ takeBack: this.#overlay(of).put(id, record), change });
  }

  #current<F extends Fields>(of: Kept<F>, id: number): RecordOf<F> | undefined {
    this.#watched?.reads.record(of.path, id);
    const overlay = this.#peek(of);
    return overlay === undefined ? this.#tables.table(of).get(id) : overlay.get(id);
  }

  #peek<F extends Fields>(of: Kept<F>): Overlay<F> | undefined {
    const overlay = this.#overlays.get(of.path);
    return overlay !== undefined && isOverlayOf(overlay, of) ? overlay : undefined;
  }

  #overlay<F extends Fields>(of: Kept<F>): Overlay<F> {
    const existing = this.#peek(of);
    if (existing !== undefined) return existing;
    const overlay = new Overlay(this.#tables.table(of));
    this.#overlays.set(of.path, overlay);
    return overlay;
  }
}

/** The changed records of one table. */
class Overlay<F extends Fields = Fields> {
  readonly table: Table<F>;
  lastId: number;
  readonly #changed = new Map<number, RecordOf<F> | undefined>();

  constructor(table: Table<F>) {
    this.table = table;
    this.lastId = table.lastId;
  }

  get(id: number): RecordOf<F> | undefined {
    return this.#changed.has(id) ? this.#changed.get(id) : this.table.get(id);
  }

  all(): readonly RecordOf<F>[] {
    if (this.#changed.size === 0) return this.table.all();
    const records = [...this.table.all()];
    const indexOf = (record: RecordOf<F>) => placeOf(records, record, (a, b) => this.table.compare(a, b));
    for (const [id, record] of this.#changed) {
      const before = this.table.get(id);
      if (before !== undefined) records.splice(indexOf(before), 1);
      if (record !== undefined) records.splice(indexOf(record), 0, record);
    }
    return records;
  }

  groups(): ReadonlyMap<number, readonly RecordOf<F>[]> {
    if (this.#changed.size === 0) return this.table.groups();
    const groups = new Map(this.table.groups());
    for (const number of new Set(Array.from(this.#changed.keys(), groupNumber)))
      regroup(groups, number, (id) => this.get(id));
    return groups;
  }

  having(name: string, value: unknown): readonly RecordOf<F>[] {
    const found: RecordOf<F>[] = [];
    for (const record of this.#changed.values())
      if (record !== undefined && searchedValues(this.table.resource, record, name).includes(value)) found.push(record);
    for (const id of this.table.ids(name, value)) {
      const record = this.#changed.has(id) ? undefined : this.table.get(id);
      if (record !== undefined) found.push(record);
    }
    return found;
  }

  /** The records with the same values in all these fields. Only the records with the rarest value are searched. */
  like(record: Readonly<Record<string, unknown>>, names: readonly string[]): readonly RecordOf<F>[] {
    const count = (name: string) => this.table.ids(name, fieldValue(record, name)).size;
    const [rarest] = names.toSorted((a, b) => count(a) - count(b));
    if (rarest === undefined) return [];
    return this.having(rarest, fieldValue(record, rarest)).filter((other) =>
      names.every((name) => fieldValue(other, name) === fieldValue(record, name)),
    );
  }

  /** Sets a record, or removes it if undefined, over the table; returns a function that reverts this. */
  put(id: number, record: RecordOf<F> | undefined): () => void {
    const had = this.#changed.has(id);
    const earlier = this.#changed.get(id);
    this.#changed.set(id, record);
    return () => {
      if (had) this.#changed.set(id, earlier);
      else this.#changed.delete(id);
    };
  }

  changes(): readonly RecordChange[] {
    return [...this.#changed]
      .map(([id, after]) => ({ resource: this.table.resource, id, before: this.table.get(id), after }))
      .filter(({ before, after }) => before !== after);
  }
}

function isOverlayOf<F extends Fields>(overlay: Overlay, of: Kept<F>): overlay is Overlay<F> {
  return overlay.table.resource.fields === of.fields;
}

function isSameStep(a: Step, b: Step): boolean {
  return a.kind === b.kind && isDeepStrictEqual(a.of, b.of);
}
