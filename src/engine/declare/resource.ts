import type { Host } from '../../host/ports/index.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Rows } from '../../lib/rows.ts';
import type { Facts, Topic } from '../facts/facts.ts';
import type { PasswordHashes } from '../passwords.ts';
import type { IssueList, Issues } from './errors.ts';
import type { Field, Fields } from './fields.ts';
import type { Job } from './job.ts';
import type { RecordChange } from './kept.ts';
import type { Location } from './location.ts';
import type { CurrentProblem, Problem } from './problem.ts';
import type { Timetable } from './schedule.ts';
import type { StartProgress } from './start-progress.ts';
import type { Running, Step } from './step.ts';

// Records ------------------------------------------------------------------------------------------------------------

type KeysUsed<F extends Fields, U> = {
  [K in keyof F]: F[K] extends Field<unknown, infer V> ? (V extends U ? K : never) : never;
}[keyof F];
type ValueOf<T> = T extends Field<infer V> ? V : never;

/** The stored part of a record: every field except those that are only sent or only answered. */
export type RecordOf<F extends Fields> = { readonly id: number } & {
  readonly [K in KeysUsed<F, 'plain' | 'readOnly' | 'hidden'>]: ValueOf<F[K]>;
};

/** The fields that a client may send. All are optional, because an update may send only some. */
export type SentOf<F extends Fields> = { readonly [K in KeysUsed<F, 'plain' | 'inputOnly'>]?: ValueOf<F[K]> };

/** The fields whose values are read from the state of the machine. */
export type LiveOf<F extends Fields> = { readonly [K in KeysUsed<F, 'live'>]: ValueOf<F[K]> };

/** The complete response of a resource whose records are owned by the host. */
export type AnswerOf<F extends Fields> = { readonly [K in KeysUsed<F, 'plain' | 'readOnly' | 'live'>]: ValueOf<F[K]> };

// What a resource can read and do ------------------------------------------------------------------------------------

/** The configuration at one moment. */
export interface View {
  /** Every record, in the collection's natural order. */
  all<F extends Fields>(of: Collection<F>): readonly RecordOf<F>[];
  /**
   * Every record, in groups of consecutive ids. A group without changes stays the same object, so a renderer can cache
   * its output for each group. The number of a group is its first id divided by `idsPerGroup`.
   */
  groups<F extends Fields>(of: Collection<F>): ReadonlyMap<number, readonly RecordOf<F>[]>;
  get<F extends Fields>(of: Collection<F>, id: number): RecordOf<F> | undefined;
  /** The first record whose field has this value. */
  find<F extends Fields>(of: Collection<F>, name: keyof F & string, value: unknown): RecordOf<F> | undefined;
  /**
   * Every record whose field has this value, in no particular order. The cost depends on the matches, not on the size.
   */
  having<F extends Fields>(of: Collection<F>, name: keyof F & string, value: unknown): readonly RecordOf<F>[];
  /** Every record that has this key by `keys` of the collection, in no particular order. The cost depends on the matches. */
  keyed<F extends Fields>(of: Collection<F>, key: string): readonly RecordOf<F>[];
  only<F extends Fields>(of: Singleton<F>): RecordOf<F>;
  /** The records that name something in this place: shares, tasks, homes and so on. */
  occupants(of: Location): readonly Occupant[];
}

/** A record that names something on a volume. */
export interface Occupant {
  readonly resource: Collection | Singleton;
  readonly record: RecordOf<Fields>;
  /** What it names in the place that was searched. */
  readonly locations: readonly Location[];
}

export interface World {
  readonly view: View;
  readonly facts: Facts;
}

/** What problems depend on. */
export interface Situation extends World {
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A change of the configuration that is not applied yet. Reads return the configuration as it would be after it. */
export interface Draft extends View {
  readonly facts: Facts;
  /** Problems found so far. With at least one, the change is refused before the machine is touched. */
  readonly issues: IssueList;
  /** Adds the problems that were found while the request was read. */
  note(issues: Issues): void;
  /** Steps on the machine in addition to what the subsystems render. */
  readonly plan: Plan;
  /** Adds a record: defaults, overridden by `fill`, overridden by the sent values, then completed by the resource. */
  create<F extends Fields>(of: Collection<F>, sent: SentOf<F>, fill?: Partial<RecordOf<F>>): RecordOf<F>;
  update<F extends Fields>(
    of: Collection<F> | Singleton<F>,
    id: number,
    sent: SentOf<F>,
    fill?: Partial<RecordOf<F>>,
  ): RecordOf<F>;
  /** `sent` is the body of the DELETE request; undefined when the record is removed together with another. */
  remove<F extends Fields>(of: Collection<F>, id: number, sent?: Readonly<Record<string, unknown>>): void;
  /** The record of any stored resource. */
  record(of: Collection | Singleton, id: number): RecordOf<Fields> | undefined;
  /** Writes these records as they are, with their ids. They are checked, and they say everything that changes. */
  give(changes: readonly RecordChange[]): void;
  /** Like `give`, without the steps of hooks: for records whose removal left the machine as their subsystems have it. */
  putBack(changes: readonly RecordChange[]): void;
  /** Calls `make`, and returns what that does. */
  noting(make: () => void): Noted;
}

/** What a part of a change does. */
export interface Noted {
  readonly changes: readonly RecordChange[];
  readonly steps: readonly Step[];
  /** Whether a job starts after the change. */
  readonly isLater: boolean;
}

export interface Plan {
  /** Runs before the subsystems converge: for checks, and for what can be taken back. */
  first(step: Step): void;
  /** Runs after the subsystems have converged: for what cannot be taken back, or not easily. An act is the last. */
  last(step: Step): void;
  /** Starts a job after the change is stored, such as a clean-up. A failure of the job does not affect the change. */
  afterwards(sequel: Sequel): void;
}

/** Acts that follow a change. The journal has them from the moment at which the change is stored. */
export interface Sequel {
  readonly title: string;
  /** The record that the job belongs to. */
  readonly subject: string;
  readonly steps: readonly Step[];
}

/** The arguments of a resource's hooks for a record that is created or changed. */
export interface Saving<F extends Fields> extends World {
  readonly draft: Draft;
  readonly record: RecordOf<F>;
  readonly before: RecordOf<F> | undefined;
  readonly sent: SentOf<F>;
}

export interface Checking<F extends Fields> extends Saving<F> {
  readonly issues: IssueList<keyof F & string>;
}

export interface Removing<F extends Fields> extends World {
  readonly draft: Draft;
  readonly record: RecordOf<F>;
  /** The body of the DELETE if the resource reads it; undefined for a record that is removed together with another. */
  readonly sent: Readonly<Record<string, unknown>> | undefined;
}

/** What long-running requests can do. Only `change` occupies the queue. */
export interface Operations {
  readonly world: World;
  /** The account or key that makes the changes, as revisions show it. */
  readonly actor: string;
  /** Milliseconds since 1970. */
  now(): number;
  hashPassword(password: string): Promise<PasswordHashes>;
  /** Whether the password matches this hash. */
  verifyPassword(password: string, against: string): Promise<boolean>;
  /** Submits one change to the queue: it is checked, applied to the machine and stored. */
  change<T>(title: string, make: (draft: Draft) => T): Promise<T>;
  /** Like `change`, for one that is all that the request does. It may have to be confirmed, and is reverted otherwise. */
  onlyChange<T>(title: string, make: (draft: Draft) => T): Promise<T>;
  /**
   * Runs a job and waits for it. `locks` name what it touches; jobs that share a lock run one after the other. When
   * `run` throws, its steps are undone in reverse order.
   */
  work<T>(title: string, locks: readonly string[], run: (work: Work) => Promise<T>): Promise<T>;
  /**
   * Starts a job that continues after the response. Refused if the task is `alone` and its previous run has not ended.
   */
  background(task: Task): void;
  /** Asks the host and changes nothing. A dry run asks too. */
  ask<T>(title: string, question: (host: Host) => Promise<T>): Promise<T>;
  /** Performs one step that changes no records. Returns what the machine answers, undefined in a dry run. */
  perform<R>(step: Step<R>): Promise<R | undefined>;
  /**
   * Replaces the whole configuration, as one change. `wanted` receives the current configuration and that of a fresh
   * system and returns the new one. The replaced configuration is stored as a backup.
   */
  exchange(title: string, wanted: (current: Configuration, fresh: Configuration) => Configuration): Promise<void>;
  /**
   * Carries out several requests as one change. `run` passes each of them to `attempt`, and throws if one is refused. It
   * can be called again when other changes came in between.
   */
  together<T>(title: string, run: (attempt: Attempt) => Promise<T>): Promise<T>;
}

/** Writes down what one request does, which sees what those before it did. If it throws, it leaves nothing. */
export type Attempt = <R>(request: (operations: Operations) => Promise<R>) => Promise<R>;

/** Every stored record, except those of resources that are `ofMachine`. */
export type Configuration = ReadonlyMap<Collection | Singleton, readonly RecordOf<Fields>[]>;

export interface Work extends Running {
  /** Performs a step. Returns what the machine answers, undefined in a dry run. */
  step<R>(step: Step<R>): Promise<R | undefined>;
  /** Performs several steps that are known beforehand. After a crash the next start finds all of them. */
  steps(steps: readonly Step[]): Promise<void>;
  /** Asks the host and changes nothing. A dry run asks too. */
  ask<T>(title: string, question: (host: Host) => Promise<T>): Promise<T>;
  change<T>(make: (draft: Draft) => T): Promise<T>;
}

/** Work that goes on after the request or the schedule that started it, as a job. */
export interface Task {
  readonly title: string;
  /** The record that the job belongs to, such as `tasks/cronjob/1`. */
  readonly subject: string;
  /** Whether it must not be started while another job of the same subject is running. */
  readonly alone?: boolean;
  /** As for `Operations.work`. */
  readonly locks?: readonly string[];
  /**
   * Performs the steps and returns the result of the job. When it throws, the steps are undone in reverse order; a step
   * that may fail without the others is caught here.
   */
  run(work: Work): Promise<JsonObject>;
}

// Kinds of resources -------------------------------------------------------------------------------------------------

export type Verb = 'list' | 'read' | 'create' | 'update' | 'remove' | 'clear';

/** Where the documented responses differ from the shared conventions. Each use has a comment with the reference. */
export interface Quirks {
  /** Status of a validation failure: some paths answer 400 (gaps 1.9). */
  readonly invalid?: 400 | 409;
  readonly created?: number;
  readonly updated?: number;
  /** The body of a DELETE is read and passed to `onRemove`, which interprets it. A body that is not JSON is refused. */
  readonly readsRemoval?: true;
  /** The member of the response that contains the error message: `{"error": …}` for snapshots (gaps 1.9). */
  readonly fault?: 'error';
  /** Whether a 404 contains a message, as for datasets (gaps 1.9). */
  readonly missing?: 'told';
  /** Names under which problems are reported where they differ from the names of the fields (gaps 1.9). */
  readonly issueNames?: Readonly<Record<string, string>>;
  /** In the profile `clients`, removing a record that is already removed succeeds (clients-need B5). */
  readonly removedTwice?: true;
}

interface Common<F extends Fields, Target> {
  readonly actions: readonly Action<Fields, unknown, Target>[];
  readonly path: string;
  /** What people call it: on the command line, and in files. Resources of the API have one. */
  readonly shortName?: string;
  /**
   * The field by whose value people name a record, or a text with fields such as `{dataset}@{name}`. By default the
   * alias, the field that is unique, or the one that lists are ordered by.
   */
  readonly nameField?: string;
  /** The fields that a table shows; by default those that a form shows at once. */
  readonly columns?: readonly string[];
  /** What people may also call records, and their names. */
  readonly otherNames?: Readonly<Record<string, string>>;
  /** Name of one record, as in `No CIFS share has the id 7.` */
  readonly title: string;
  readonly description: string;
  readonly fields: F;
  readonly verbs: readonly Verb[];
  readonly quirks: Quirks;
  /** Topics of facts that its responses contain. */
  readonly shows: readonly Topic[];
}

export interface Collection<F extends Fields = Fields> extends Common<F, RecordOf<F>> {
  readonly kind: 'collection';
  /** Fields that lists are ordered by (gaps 1.10), then by id. A leading `-` reverses the order of a field. */
  readonly order: readonly string[];
  readonly unique: readonly Unique[];
  /** A field whose value can be used in paths instead of the id. */
  readonly alias: string | undefined;
  /** Fields that a list can be filtered by (gaps 1.10). */
  readonly filters: readonly string[];
  /** The records of a fresh system, in the order of their ids. */
  seed(facts: Facts): readonly Partial<RecordOf<F>>[];
  complete?(saving: Saving<F>): Partial<RecordOf<F>>;
  check?(checking: Checking<F>): void;
  onSave?(saving: Saving<F>): void;
  onRemove?(removing: Removing<F>): void;
  /** Returns the live fields, and stored fields for which the machine has the current value. */
  present?(record: RecordOf<F>, world: World, runs: Runs): LiveOf<F> & Partial<RecordOf<F>>;
  /** A consequence of a change that a client may not expect, for the header `X-Holdfast-Note`: a sentence in ASCII. */
  note?(record: RecordOf<F>, view: View): string | undefined;
  /** What is wrong with the records: an expired certificate, or a folder that is missing. */
  problems?(records: readonly RecordOf<F>[], situation: Situation): readonly Problem[];
  /** Whether its records describe this particular machine, so that restoring a configuration does not change them. */
  readonly ofMachine: boolean;
  /** Whether each machine of a pair has records of its own, such as its interfaces; all others are those of the pair. */
  readonly ofNode: boolean;
  /** Runs when the daemon starts, before the configuration is applied to the machine. */
  atStart?(operations: Operations, progress: StartProgress): Promise<void>;
  /** Values that only the machine knows, once the steps of the change have been performed. */
  learns?(record: RecordOf<F>, facts: Facts): Partial<RecordOf<F>>;
  /** Synchronizes the records with the host whenever the facts of one of the topics were read again. */
  readonly follows?: { readonly topics: readonly Topic[]; keep(draft: Draft): void };
  /**
   * Slow work on the sent values that must not occupy the queue, such as hashing or requests to another machine.
   * Returns values for fields that a client cannot send. `before` is the current record of an update.
   */
  beforehand?(sent: SentOf<F>, operations: Operations, before: RecordOf<F> | undefined): Promise<Partial<RecordOf<F>>>;
  /** When the records are due, for the scheduler and for the list of upcoming runs. */
  readonly scheduled?: Scheduled<F> | readonly Scheduled<F>[];
  /** Places on volumes that follow from more than the value of one field, such as the dataset of a jail. */
  locate?(record: RecordOf<F>, view: View): readonly Location[];
  /** What records are found by besides the values of fields. For example, NFS shares are found by each of their clients. */
  keys?(record: RecordOf<F>): readonly string[];
  /** Whether removing a volume removes the records on it: always, or if the request has `cascade`. Otherwise they stay. */
  readonly removedWithVolume?: 'always' | 'cascade';
  /** Whether the bin keeps what is removed, if a request asks for that: removing it only takes it from the configuration. */
  readonly binned?: true;
  /** Who uses the record now, as far as the machine knows, such as the initiators of an extent. */
  usedBy?(record: RecordOf<F>, view: View, host: Host): Promise<readonly string[]>;
}

/** How records are scheduled. */
export interface Scheduled<F extends Fields> {
  /** When the record is due; with several schedules, whenever one of them is. Undefined if it is disabled. */
  when(record: RecordOf<F>): Timetable | undefined;
  /**
   * What the daemon runs then; undefined if there is nothing to do this time. Without this function another program,
   * such as cron, runs the task, and the daemon only reports when it is due.
   */
  task?(record: RecordOf<F>, due: Due): Task | undefined;
  /** Whether it is housekeeping that the list of upcoming runs leaves out. */
  readonly quiet?: boolean;
}

/** The time at which a record is due, and the world at that time. */
export interface Due extends World {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The machine's time zone. */
  readonly zone: string;
  readonly runs: Runs;
}

/** Results of the background jobs of records. */
export interface Runs {
  /** The newest job of this subject, running or ended. */
  last(subject: string): Job | undefined;
}

export interface Unique<Name extends string = string> {
  /** No two records may have the same values in all of these fields. A problem is reported for the first one. */
  readonly fields: readonly Name[];
  /** Whether texts are compared without letter case. */
  readonly caseless?: boolean;
  readonly description: string;
}

export interface Singleton<F extends Fields = Fields> extends Common<F, RecordOf<F>> {
  readonly kind: 'singleton';
  /** As for a collection: restoring a configuration does not change it. */
  readonly ofMachine: boolean;
  /** As for a collection: each machine of a pair has one of its own. */
  readonly ofNode: boolean;
  /** Values of a fresh system that depend on the machine. */
  seed(facts: Facts): Partial<RecordOf<F>>;
  /** Values that the machine already has in its files, such as keys; created where they are missing. Called once. */
  adopt?(host: Host): Promise<Partial<RecordOf<F>>>;
  complete?(saving: Saving<F>): Partial<RecordOf<F>>;
  check?(checking: Checking<F>): void;
  onSave?(saving: Saving<F>): void;
  present?(record: RecordOf<F>, world: World): LiveOf<F>;
  /** As for a collection: a consequence that a client may not expect. */
  note?(record: RecordOf<F>, view: View): string | undefined;
  /** What is wrong with the settings, such as a value that has no effect. */
  problems?(record: RecordOf<F>, situation: Situation): readonly Problem[];
  /** As for a collection: slow work that must not occupy the queue. */
  beforehand?(sent: SentOf<F>, operations: Operations, before: RecordOf<F>): Promise<Partial<RecordOf<F>>>;
  /**
   * Performs an update as part of a larger operation that succeeds or is reverted as a whole, such as joining a domain.
   */
  around?(updating: Updating<F>): Promise<void>;
  /** As for a collection: places on volumes. */
  locate?(record: RecordOf<F>, view: View): readonly Location[];
}

/** An update of settings. `make` changes the record itself; `fill` sets fields that a client cannot send. */
export interface Updating<F extends Fields> {
  readonly title: string;
  readonly sent: SentOf<F>;
  readonly before: RecordOf<F>;
  readonly operations: Operations;
  make(draft: Draft, fill?: Partial<RecordOf<F>>): void;
}

/** The context in which a hosted resource looks up its records: the parameters of the path, and the world. */
export interface Scope extends World {
  readonly params: Readonly<Record<string, string>>;
  /** The compatibility mode, the only one that changes responses (clients-need, last section). */
  readonly profile: Profile;
  /** What is wrong with the appliance, the most urgent first. */
  readonly problems: readonly CurrentProblem[];
  /** Version of Holdfast. */
  readonly version: string;
}

export type Profile = 'document' | 'clients';

export interface Hosted<F extends Fields = Fields, Item = unknown, R extends Fields = Fields> extends Common<F, Item> {
  readonly kind: 'hosted';
  /** The path parameter that names a record; with `slashes` its value may contain slashes. */
  readonly key: { readonly name: string; readonly slashes: boolean };
  readonly filters: readonly string[];
  /** Fields of the body of a DELETE, if it has one. */
  readonly removal: R | undefined;
  /** What is wrong with what it stands for on the machine. */
  problems?(situation: Situation): readonly Problem[];
  list(scope: Scope): Rows<Item>;
  find(scope: Scope, key: string): Item | undefined;
  /** Finds the record for a DELETE, if that can remove records that `find` does not return. */
  findToRemove?(scope: Scope, key: string): Item | undefined;
  present(item: Item, scope: Scope): AnswerOf<F>;
  /** Returns the key of the new record. */
  create?(sent: SentOf<F>, scope: Scope, operations: Operations): Promise<string>;
  update?(item: Item, sent: SentOf<F>, scope: Scope, operations: Operations): Promise<Item>;
  remove?(item: Item, sent: SentOf<R>, scope: Scope, operations: Operations): Promise<void>;
  /** Moves it to the bin, in place of `remove`. */
  putAway?(item: Item, sent: SentOf<R>, scope: Scope, operations: Operations): Promise<void>;
}

export type Resource = Collection | Singleton | Hosted;

/** A named operation on a record, or on the resource itself. */
export interface Action<F extends Fields = Fields, I = unknown, Target = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /**
   * The path segment after the path of the record or resource, such as `run` or `scrub`. Empty for that path itself.
   */
  readonly segment: string;
  /** The verb of the command line, where it is not the segment; empty if another command does the same. */
  readonly verb?: string;
  readonly on: 'record' | 'resource';
  readonly title: string;
  readonly status: number;
  /** The body is an object of `fields`, a list of `items`, or ignored. */
  readonly fields: F | undefined;
  readonly items: Field<I> | undefined;
  /** Whether the body is a single value of `items` instead of a list, or empty. */
  readonly bare: boolean;
  /** JSON Schema of the response, or `text` for a plain message. */
  readonly answers: JsonObject | 'text' | 'nothing';
  readonly invalid: 400 | 409;
  /** Names under which problems are reported where they differ from the names of the fields. */
  readonly issueNames: Quirks['issueNames'];
  /** The member of the response that contains the error message, if it is not `error_message`. */
  readonly fault: Quirks['fault'];
  perform(call: ActionCall<F, I, Target>): Promise<unknown> | unknown;
}

export interface ActionCall<F extends Fields = Fields, I = unknown, Target = unknown> {
  /** The record or host object that the path names. Undefined for an action on the resource itself. */
  readonly target: Target;
  readonly sent: SentOf<F>;
  readonly items: readonly I[];
  readonly scope: Scope;
  readonly operations: Operations;
}

/** The response of an action whose status varies. */
export class ActionAnswer {
  readonly status: number;
  readonly value: unknown;

  constructor(status: number, value: unknown) {
    this.status = status;
    this.value = value;
  }
}

// Constructors --------------------------------------------------------------------------------------------------------

type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

type CollectionSpec<F extends Fields> = Optional<
  Omit<Collection<F>, 'kind' | 'path' | 'actions' | 'unique' | 'alias' | 'filters'>,
  'verbs' | 'quirks' | 'shows' | 'order' | 'seed' | 'ofMachine' | 'ofNode'
> & {
  readonly unique?: readonly Unique<keyof F & string>[];
  readonly alias?: keyof F & string;
  /** A field that refers to another record can also be named with the suffix `__id`. */
  readonly filters?: readonly ((keyof F & string) | `${keyof F & string}__id`)[];
};

/** Defines a list of records that are owned by the configuration. */
export function collection<F extends Fields>(
  path: string,
  spec: CollectionSpec<F>,
  actions: readonly Action<Fields, unknown, RecordOf<F>>[] = [],
): Collection<F> {
  return Object.freeze({
    verbs: ['list', 'read', 'create', 'update', 'remove', 'clear'] as const,
    actions,
    quirks: {},
    shows: [],
    order: [],
    unique: [],
    alias: undefined,
    filters: [],
    ofMachine: false,
    ofNode: false,
    seed: () => [],
    ...spec,
    kind: 'collection' as const,
    path,
  });
}

type SingletonSpec<F extends Fields> = Optional<
  Omit<Singleton<F>, 'kind' | 'path' | 'actions' | 'verbs'>,
  'quirks' | 'shows' | 'seed' | 'ofMachine' | 'ofNode'
>;

/** Defines one record of settings; its id is 1. */
export function singleton<F extends Fields>(
  path: string,
  spec: SingletonSpec<F>,
  actions: readonly Action<Fields, unknown, RecordOf<F>>[] = [],
): Singleton<F> {
  return Object.freeze({
    actions,
    quirks: {},
    shows: [],
    ofMachine: false,
    ofNode: false,
    seed: () => ({}),
    ...spec,
    kind: 'singleton' as const,
    path,
    verbs: ['read', 'update'] as const,
  });
}

type HostedSpec<F extends Fields, Item, R extends Fields> = Optional<
  Omit<Hosted<F, Item, R>, 'kind' | 'path' | 'actions' | 'verbs'>,
  'quirks' | 'shows' | 'filters' | 'removal'
>;

/** Defines records that are owned by the host. It supports the verbs for which it has a function. */
export function hosted<F extends Fields, Item, R extends Fields>(
  path: string,
  spec: HostedSpec<F, Item, R>,
  actions: readonly Action<Fields, unknown, Item>[] = [],
): Hosted<F, Item, R> {
  const verbs: Verb[] = ['list', 'read'];
  if (spec.create) verbs.push('create');
  if (spec.update) verbs.push('update');
  if (spec.remove) verbs.push('remove');
  return Object.freeze({
    actions,
    quirks: {},
    shows: [],
    filters: [],
    removal: undefined,
    ...spec,
    verbs,
    kind: 'hosted' as const,
    path,
  });
}

type ActionSpec<F extends Fields, I, Target> = Optional<
  Action<F, I, Target>,
  'fields' | 'items' | 'bare' | 'answers' | 'invalid' | 'issueNames' | 'fault' | 'method' | 'status' | 'on'
>;

/** Defines an action: by default `POST`, answered 202 with a message (Part A, shared convention 7). */
export function action<F extends Fields, I, Target>(spec: ActionSpec<F, I, Target>): Action<F, I, Target> {
  return Object.freeze({
    method: 'POST' as const,
    on: 'record' as const,
    status: 202,
    fields: undefined,
    items: undefined,
    bare: false,
    answers: 'text' as const,
    invalid: 400 as const,
    issueNames: undefined,
    fault: undefined,
    ...spec,
  });
}
