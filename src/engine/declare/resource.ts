import type { Host } from '../../host/ports/index.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { PasswordHashes } from '../passwords.ts';
import type { Facts, Topic, Touched } from '../upkeep/facts.ts';
import type { Job } from '../upkeep/jobs.ts';
import type { StartProgress } from '../upkeep/startup.ts';
import type { IssueList, Issues } from './errors.ts';
import type { Field, Fields } from './fields.ts';
import type { Timetable } from './schedule.ts';

// Records ------------------------------------------------------------------------------------------------------------

type KeysUsed<F extends Fields, U> = {
  [K in keyof F]: F[K] extends Field<unknown, infer V> ? (V extends U ? K : never) : never;
}[keyof F];
type ValueOf<T> = T extends Field<infer V> ? V : never;

/** What is kept of a record: every field but those that are only sent or only shown. */
export type RecordOf<F extends Fields> = { readonly id: number } & {
  readonly [K in KeysUsed<F, 'plain' | 'readOnly' | 'hidden'>]: ValueOf<F[K]>;
};

/** What a client may send, each of it optional: an update sends a part. */
export type SentOf<F extends Fields> = { readonly [K in KeysUsed<F, 'plain' | 'inputOnly'>]?: ValueOf<F[K]> };

/** The fields that are answered from the machine's state. */
export type LiveOf<F extends Fields> = { readonly [K in KeysUsed<F, 'live'>]: ValueOf<F[K]> };

/** The whole answer of a resource whose truth is the host's. */
export type AnswerOf<F extends Fields> = { readonly [K in KeysUsed<F, 'plain' | 'readOnly' | 'live'>]: ValueOf<F[K]> };

// What a resource sees and may do ------------------------------------------------------------------------------------

/** The configuration at one moment. */
export interface View {
  /** Every record, in the collection's natural order. */
  all<F extends Fields>(of: Collection<F>): readonly RecordOf<F>[];
  /**
   * Every record by its id, in groups of neighbours: what is rendered from a group can be kept, for a group in which
   * nothing changed is the same value. The number of a group is that of its first id over `idsPerGroup`.
   */
  groups<F extends Fields>(of: Collection<F>): ReadonlyMap<number, readonly RecordOf<F>[]>;
  get<F extends Fields>(of: Collection<F>, id: number): RecordOf<F> | undefined;
  /** The first record whose field has this value. */
  find<F extends Fields>(of: Collection<F>, name: keyof F & string, value: unknown): RecordOf<F> | undefined;
  /** Every record whose field has this value, in no order. It costs what is found, not what there is. */
  having<F extends Fields>(of: Collection<F>, name: keyof F & string, value: unknown): readonly RecordOf<F>[];
  only<F extends Fields>(of: Singleton<F>): RecordOf<F>;
}

export interface World {
  readonly view: View;
  readonly facts: Facts;
}

/** A change of the configuration that has not happened yet. Reading it shows the configuration as it would be. */
export interface Draft extends View {
  readonly facts: Facts;
  /** Problems found so far; with any, the change ends without touching the machine. */
  readonly issues: IssueList;
  /** Adds what was found wrong when the request was read. */
  note(issues: Issues): void;
  /** What has to be done to the machine besides what the subsystems render. */
  readonly plan: Plan;
  /** Adds a record: defaults, then `fill`, then what was sent, then the resource's own rules. */
  create<F extends Fields>(of: Collection<F>, sent: SentOf<F>, fill?: Partial<RecordOf<F>>): RecordOf<F>;
  update<F extends Fields>(
    of: Collection<F> | Singleton<F>,
    id: number,
    sent: SentOf<F>,
    fill?: Partial<RecordOf<F>>,
  ): RecordOf<F>;
  /** `sent` is the body of the request that asks for it; undefined when the record goes along with another. */
  remove<F extends Fields>(of: Collection<F>, id: number, sent?: Readonly<Record<string, unknown>>): void;
}

/** One thing done to the machine. The title is the log line, the progress text and the dry run's sentence. */
export interface Step {
  readonly title: string;
  perform(host: Host): Promise<void>;
  /** Takes it back. A step without one cannot be taken back and belongs last. */
  undo?(host: Host): Promise<void>;
  /**
   * Whether a `perform` that failed left something for `undo` to take away: the machine may have done it and its answer
   * was lost. Without it, a step that failed has done nothing.
   */
  left?(host: Host): Promise<boolean>;
  /** The facts that are different afterwards. */
  readonly touches?: readonly Touched[];
}

export interface Plan {
  /** Before the subsystems converge; must have a way back when it changes anything. */
  first(step: Step): void;
  /** After the subsystems converged: for what cannot be taken back, or not with ease. */
  last(step: Step): void;
  /** A job that begins once the change is kept: for clearing away what it has let go of. Its failure is the job's own. */
  afterwards(task: Task): void;
}

/** What a resource's hooks are told about a record that is being made or changed. */
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
  /** The body of the DELETE where the resource reads it, or undefined for a record that goes along with another. */
  readonly sent: Readonly<Record<string, unknown>> | undefined;
}

/** What requests that take their time may do. Nothing here holds the queue except `change`. */
export interface Operations {
  readonly world: World;
  /** Milliseconds since 1970. */
  now(): number;
  hashPassword(password: string): Promise<PasswordHashes>;
  /** Whether the password is the one that this hash was made of. */
  verifyPassword(password: string, against: string): Promise<boolean>;
  /** One change through the queue: checked, applied to the machine, kept. */
  change<T>(title: string, make: (draft: Draft) => T): Promise<T>;
  /**
   * A job that the caller waits for. `locks` name what it touches; jobs with a lock in common follow one another.
   * When `run` throws, the steps it took are undone in reverse order.
   */
  work<T>(title: string, locks: readonly string[], run: (work: Work) => Promise<T>): Promise<T>;
  /** A job that goes on after the answer. Refused when it runs alone and the one before it has not ended. */
  background(task: Task): void;
  /** One change of the host that needs no records. */
  perform(step: Step): Promise<void>;
  /**
   * Exchanges the whole configuration, as one change: for the one that the function answers when it is shown what there
   * is and what a fresh system has. What there was is kept as a backup.
   */
  exchange(title: string, wanted: (current: Configuration, fresh: Configuration) => Configuration): Promise<void>;
}

/** Every record that is kept, but of those that belong to the machine itself. */
export type Configuration = ReadonlyMap<Collection | Singleton, readonly RecordOf<Fields>[]>;

export interface Work {
  step(step: Step): Promise<void>;
  /** Tells whoever looks at the job how far it is. */
  progress(sentence: string): void;
  change<T>(make: (draft: Draft) => T): Promise<T>;
}

export interface Task {
  readonly title: string;
  /** What the job belongs to, as `tasks/cronjob/1`. */
  readonly subject: string;
  /** Whether it is not started while another job of the same subject runs. */
  readonly alone?: boolean;
  /** The facts that are different afterwards. */
  readonly touches?: readonly Touched[];
  /** Answers what the job leaves as its result. */
  run(context: {
    readonly host: Host;
    readonly signal: AbortSignal;
    progress(sentence: string): void;
  }): Promise<JsonObject>;
}

// Kinds of resources -------------------------------------------------------------------------------------------------

export type Verb = 'list' | 'read' | 'create' | 'update' | 'remove' | 'clear';

/** Where the document's answers differ from the shared conventions. Each use carries a comment that names the place. */
export interface Quirks {
  /** Status of a validation failure: hand-made paths answer 400 (gaps 1.9). */
  readonly invalid?: 400 | 409;
  readonly created?: number;
  readonly updated?: number;
  /** The body of a DELETE is read, and what counts in it is for `onRemove` to say: one that is no JSON is refused. */
  readonly readsRemoval?: true;
  /** The member that tells what was refused, failed or found missing: `{"error": …}` for snapshots (gaps 1.9). */
  readonly fault?: 'error';
  /** Whether a missing record's absence is told in a sentence, as it is of datasets (gaps 1.9). */
  readonly missing?: 'told';
  /** Names that issues have where they are not the fields' own (gaps 1.9). */
  readonly issueNames?: Readonly<Record<string, string>>;
}

interface Common<F extends Fields, Target> {
  readonly actions: readonly Action<Fields, unknown, Target>[];
  readonly path: string;
  /** What one of them is called, as in `no CIFS share has the id 7`. */
  readonly title: string;
  readonly description: string;
  readonly fields: F;
  readonly verbs: readonly Verb[];
  readonly quirks: Quirks;
  /** Topics whose facts its answers show. */
  readonly shows: readonly Topic[];
}

export interface Collection<F extends Fields = Fields> extends Common<F, RecordOf<F>> {
  readonly kind: 'collection';
  /** Fields of the natural list order (gaps 1.10); the id decides between equals. `-` puts the greater first. */
  readonly order: readonly string[];
  readonly unique: readonly Unique[];
  /** A field whose value names a record in paths as the id does. */
  readonly alias: string | undefined;
  /** Fields a list may be narrowed by (gaps 1.10). */
  readonly filters: readonly string[];
  /** The records of a fresh system, in the order of their ids. */
  seed(facts: Facts): readonly Partial<RecordOf<F>>[];
  complete?(saving: Saving<F>): Partial<RecordOf<F>>;
  check?(checking: Checking<F>): void;
  onSave?(saving: Saving<F>): void;
  onRemove?(removing: Removing<F>): void;
  /** The live fields, and kept ones that the machine knows better. */
  present?(record: RecordOf<F>, world: World, runs: Runs): LiveOf<F> & Partial<RecordOf<F>>;
  /** Whether its records say what this very machine has or is, so that they stay whatever configuration it is given. */
  readonly ofMachine: boolean;
  /** What has to be done when the daemon starts, before the machine is made true to the records. */
  atStart?(operations: Operations, progress: StartProgress): Promise<void>;
  /** Keeps the records in step with what the host has, whenever the facts of one of the topics were renewed. */
  readonly follows?: { readonly topics: readonly Topic[]; keep(draft: Draft): void };
  /**
   * Slow work on what was sent that must not hold the queue, such as hashing or asking another machine: answers values
   * for the service's fields. `before` is the record of an update.
   */
  beforehand?(sent: SentOf<F>, operations: Operations, before: RecordOf<F> | undefined): Promise<Partial<RecordOf<F>>>;
  /** The records' times, for the scheduler and for whoever asks what comes next. */
  readonly scheduled?: Scheduled<F> | readonly Scheduled<F>[];
}

/** Records that have a time. */
export interface Scheduled<F extends Fields> {
  /** When the record's work is done; of several schedules, whenever one of them says so. Undefined for one that rests. */
  when(record: RecordOf<F>): Timetable | undefined;
  /**
   * What the daemon does then; undefined when there is nothing to do this time. Without it another program of the
   * machine looks at the clock, as cron does.
   */
  task?(record: RecordOf<F>, due: Due): Task | undefined;
  /** Whether it is housekeeping that nobody asks for when they ask what comes next. */
  readonly quiet?: boolean;
}

/** A moment that a schedule named, and the world at that moment. */
export interface Due extends World {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The machine's time zone. */
  readonly zone: string;
  readonly runs: Runs;
}

/** How the background jobs of records went. */
export interface Runs {
  /** The newest job of this subject, running or ended. */
  last(subject: string): Job | undefined;
}

export interface Unique<Name extends string = string> {
  /** No two records may have the same values in all of these. The first is looked up by index and gets the issue. */
  readonly fields: readonly Name[];
  /** Texts that differ only in letter case count as the same. */
  readonly caseless?: boolean;
  readonly description: string;
}

export interface Singleton<F extends Fields = Fields> extends Common<F, RecordOf<F>> {
  readonly kind: 'singleton';
  /** As for a collection: it stays whatever configuration the machine is given. */
  readonly ofMachine: boolean;
  /** Values of a fresh system that depend on the machine. */
  seed(facts: Facts): Partial<RecordOf<F>>;
  /** Those that the machine has in its own files and that are made where it has none, such as keys. Asked once. */
  adopt?(host: Host): Promise<Partial<RecordOf<F>>>;
  complete?(saving: Saving<F>): Partial<RecordOf<F>>;
  check?(checking: Checking<F>): void;
  onSave?(saving: Saving<F>): void;
  present?(record: RecordOf<F>, world: World): LiveOf<F>;
  /** As for a collection: slow work that must not hold the queue. */
  beforehand?(sent: SentOf<F>, operations: Operations, before: RecordOf<F>): Promise<Partial<RecordOf<F>>>;
  /** Carries out an update that is one part of more, all of which is kept or taken back, such as joining a domain. */
  around?(updating: Updating<F>): Promise<void>;
}

/** An update of settings on its way: `make` is the change of the record itself, with values for the service's fields. */
export interface Updating<F extends Fields> {
  readonly title: string;
  readonly sent: SentOf<F>;
  readonly before: RecordOf<F>;
  readonly operations: Operations;
  make(draft: Draft, fill?: Partial<RecordOf<F>>): void;
}

/** Where a hosted resource's records are looked for: the names in the path, and the world. */
export interface Scope extends World {
  readonly params: Readonly<Record<string, string>>;
  /** The one mode of compatibility that changes answers (clients-need, last section). */
  readonly profile: Profile;
  readonly health: Health;
  /** Of Holdfast itself. */
  readonly version: string;
}

/** How the appliance itself is doing, besides what the facts tell. */
export interface Health {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly degraded: readonly { readonly subsystem: string; readonly reason: string }[];
  /** Subsystems that the machine was last seen to differ from, by other hands. */
  readonly drifted: readonly string[];
  /** Jobs of which the last run of their subject failed. */
  readonly failedJobs: readonly {
    readonly id: number;
    readonly title: string;
    readonly subject: string;
    readonly error: string | null;
  }[];
  /** Room where the configuration is kept, and on the other file systems of the machine itself, in bytes. */
  readonly fileSystems: readonly {
    readonly path: string;
    readonly holds: 'configuration' | 'system';
    readonly free: number;
    readonly total: number;
  }[];
  /** Why changes cannot be kept now. */
  readonly obstacle: string | undefined;
  /** Guesses at a password that opens the interface, if there are many: at which account's, how many, and the last one's address. */
  readonly loginAttack: { readonly account: string; readonly refused: number; readonly address: string } | undefined;
}

export type Profile = 'document' | 'clients';

export interface Hosted<F extends Fields = Fields, Item = unknown, R extends Fields = Fields> extends Common<F, Item> {
  readonly kind: 'hosted';
  /** How one of them is named in paths; `slashes` when the name may contain some. */
  readonly key: { readonly name: string; readonly slashes: boolean };
  readonly filters: readonly string[];
  /** Fields of a DELETE's body, where it has one. */
  readonly removal: R | undefined;
  list(scope: Scope): readonly Item[];
  find(scope: Scope, key: string): Item | undefined;
  /** What a DELETE finds, where that is more than what is shown. */
  findToRemove?(scope: Scope, key: string): Item | undefined;
  present(item: Item, scope: Scope): AnswerOf<F>;
  create?(sent: SentOf<F>, scope: Scope, operations: Operations): Promise<Item>;
  update?(item: Item, sent: SentOf<F>, scope: Scope, operations: Operations): Promise<Item>;
  remove?(item: Item, sent: SentOf<R>, scope: Scope, operations: Operations): Promise<void>;
}

export type Resource = Collection | Singleton | Hosted;

/** A named thing to do with a record, or with the resource itself. */
export interface Action<F extends Fields = Fields, I = unknown, Target = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path segment behind the record's, or behind the resource's own path: `run`, `scrub`. Empty for that path itself. */
  readonly segment: string;
  readonly on: 'record' | 'resource';
  readonly title: string;
  readonly status: number;
  /** The body: an object of fields, a list of one kind of value, or none that is looked at. */
  readonly fields: F | undefined;
  readonly items: Field<I> | undefined;
  /** Whether the body is one value of `items` by itself, or nothing. */
  readonly bare: boolean;
  /** JSON Schema of the answer, or `text` for a bare sentence. */
  readonly answers: JsonObject | 'text' | 'nothing';
  readonly invalid: 400 | 409;
  /** Names that issues have where they are not the fields' own. */
  readonly issueNames: Quirks['issueNames'];
  /** The member that tells what failed, where it is not `error_message`. */
  readonly fault: Quirks['fault'];
  perform(call: ActionCall<F, I, Target>): Promise<unknown> | unknown;
}

export interface ActionCall<F extends Fields = Fields, I = unknown, Target = unknown> {
  /** The record, or the host's thing, that the path names. An action on the resource itself has none. */
  readonly target: Target;
  readonly sent: SentOf<F>;
  readonly items: readonly I[];
  readonly scope: Scope;
  readonly operations: Operations;
}

/** What an action answers when its status is not always the same. */
export class ActionAnswer {
  readonly status: number;
  readonly value: unknown;

  constructor(status: number, value: unknown) {
    this.status = status;
    this.value = value;
  }
}

// Making them --------------------------------------------------------------------------------------------------------

type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

type CollectionSpec<F extends Fields> = Optional<
  Omit<Collection<F>, 'kind' | 'path' | 'actions' | 'unique' | 'alias' | 'filters'>,
  'verbs' | 'quirks' | 'shows' | 'order' | 'seed' | 'ofMachine'
> & {
  readonly unique?: readonly Unique<keyof F & string>[];
  readonly alias?: keyof F & string;
  /** A field that refers to another record may also be named with `__id` behind it. */
  readonly filters?: readonly ((keyof F & string) | `${keyof F & string}__id`)[];
};

/** A list of records that the configuration owns. */
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
    seed: () => [],
    ...spec,
    kind: 'collection' as const,
    path,
  });
}

type SingletonSpec<F extends Fields> = Optional<
  Omit<Singleton<F>, 'kind' | 'path' | 'actions' | 'verbs'>,
  'quirks' | 'shows' | 'seed' | 'ofMachine'
>;

/** One record of settings; its id is 1. */
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

/** Records whose truth is on the host. It offers the verbs that it has a function for. */
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

/** An action: `POST`, answered 202 with a sentence, unless told otherwise (Part A, shared convention 7). */
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
