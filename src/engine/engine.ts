import { isDeepStrictEqual } from 'node:util';
import { type Host, HostError } from '../host/ports/index.ts';
import { messageOf } from '../lib/text.ts';
import { ChangeQueue, type Waiting } from './change/change-queue.ts';
import type { Access, ClientConnection, Provisional } from './change/confirm.ts';
import { Confirmation } from './change/confirmation.ts';
import type { Backup, ConfigurationStore, KeptRevision } from './configuration/configuration-store.ts';
import { LayeredDraft, type Mark, type References } from './configuration/draft.ts';
import { type Kept, type RecordChange, Tables } from './configuration/tables.ts';
import { Fault, failed, missing, refused, unavailable } from './declare/errors.ts';
import type { Fields } from './declare/fields.ts';
import type {
  Collection,
  Configuration,
  Draft,
  Due,
  Health,
  Operations,
  RecordOf,
  Resource,
  Runs,
  Step,
  Task,
  Work,
  World,
} from './declare/resource.ts';
import type { Rule } from './declare/rule.ts';
import { machineZone, nextRun, type Timetable, timeIn, timetableLine } from './declare/schedule.ts';
import type { Subsystem } from './declare/subsystem.ts';
import type { Passwords } from './passwords.ts';
import { type Actions, converge, verify } from './plan/converge.ts';
import { OpenPlan, type PlanRecords, type UnfinishedPlan, unfinishedPlans } from './plan/journal.ts';
import { Originals } from './plan/originals.ts';
import { recover } from './plan/recovery.ts';
import { StepRunner } from './plan/runner.ts';
import type { StepKind } from './plan/steps.ts';
import { EventBus } from './upkeep/events.ts';
import { FactKeeper, promptTopics, slowTopics, type Topic, type Touched, topicOf, topics } from './upkeep/facts.ts';
import { Jobs } from './upkeep/jobs.ts';
import { Reconciler, type SubsystemReport, type SubsystemState } from './upkeep/reconciler.ts';
import { Scheduler } from './upkeep/scheduler.ts';
import { endsWithin, Startup } from './upkeep/startup.ts';
import { lookForLocal, managedBy, refuseUnmanaged, unmanagedSubsystem } from './upkeep/takeover.ts';

/** The log of the daemon. `fields` never contains a secret. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface EngineParts {
  readonly resources: readonly Resource[];
  readonly subsystems: readonly Subsystem[];
  readonly rules?: readonly Rule[];
  /** The kinds of steps that a start can find in the journal. */
  readonly stepKinds?: readonly StepKind[];
  /** The parts of the machine that connections of clients depend on. */
  readonly accesses?: readonly Access[];
  readonly host: Host;
  readonly store: ConfigurationStore;
  readonly log: Log;
  readonly now: () => number;
  readonly passwords: Passwords;
  /** Version of Holdfast. */
  readonly version?: string;
  /** The time zone of the machine, in which schedules are interpreted. */
  readonly zone?: () => string;
  /** Called at each step of the start, with a description of the current step. */
  readonly progressed?: (what: string) => void;
  /**
   * Milliseconds that the start waits for resources such as pools before it continues without them; 10 s by default.
   */
  readonly patience?: number;
}

/** The origin of a change, for the log and the revisions. */
export interface RequestContext {
  readonly actor: string;
  readonly request: string;
  /** The connection of the request; undefined for changes by the daemon itself. */
  readonly connection?: ClientConnection;
  /** Seconds within which the change must be confirmed, or it is reverted; 0 keeps it without confirmation. */
  readonly confirmWithin?: number;
}

/** The change of one request in the queue. */
interface Change {
  readonly title: string;
  readonly context: RequestContext;
  readonly make: (draft: LayeredDraft) => void;
  /** The records that it changed, without those of other changes in the same group. */
  changes: readonly RecordChange[];
  /** The configuration before it, if it replaces the whole configuration. */
  backup?: Configuration;
  /** The plan of the work that it belongs to, which ends when it is kept. */
  readonly settles?: OpenPlan;
  /** Set if the change must be confirmed; `none` if it reverts a change that was not. */
  provisional?: Provisional | 'none' | undefined;
}

/** When a record is due next. */
export interface ScheduleReport {
  /** Path of the resource, such as `tasks/rsync`. */
  readonly resource: string;
  readonly id: number;
  /** In cron notation. */
  readonly schedule: string;
  readonly zone: string;
  /** Time of the next run in that zone; null if there is none. */
  readonly next: string | null;
}

/**
 * Applies changes of the configuration to the machine: draft, check, render, verify, apply, store. A change that fails
 * at any of these steps leaves configuration and machine as they were.
 */
export class Engine {
  readonly events: EventBus;
  readonly jobs: Jobs;
  readonly resources: readonly Resource[];
  readonly #host: Host;
  readonly #store: ConfigurationStore;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #passwords: Passwords;
  readonly #tables: Tables;
  readonly #facts: FactKeeper;
  readonly #references: References;
  readonly #reconciler: Reconciler;
  readonly #subsystems: readonly Subsystem[];
  readonly #originals: Originals;
  readonly #isManaged: ReturnType<typeof managedBy>;
  readonly #rules: readonly Rule[];
  readonly #queue = new ChangeQueue<Change>((group) => this.#carryOutGroup(group));
  readonly #stopWatching: (() => void)[] = [];
  readonly #zone: () => string;
  readonly version: string;
  /** The progress of the start. */
  readonly startup: Startup;
  readonly #patience: number;
  /** Subsystems that differed from the configuration at the last inspection. */
  #drifted: readonly string[] = [];
  readonly #confirmation: Confirmation;
  readonly #scheduler: Scheduler;
  readonly #steps: StepRunner;
  readonly #stepKinds: readonly StepKind[];
  #started = false;
  #jobsAtWork = 0;
  #obstructed: string | undefined;
  #closing = false;

  private constructor({
    resources,
    subsystems,
    rules = [],
    accesses = [],
    host,
    store,
    log,
    now,
    passwords,
    zone = machineZone,
    version = 'unknown',
    ...rest
  }: EngineParts) {
    this.version = version;
    this.startup = new Startup(rest.progressed);
    this.#patience = rest.patience ?? 10_000;
    this.resources = resources;
    this.#stepKinds = rest.stepKinds ?? [];
    this.#host = host;
    this.#store = store;
    this.#log = log;
    this.#now = now;
    this.#passwords = passwords;
    this.events = new EventBus(now);
    this.#steps = new StepRunner({ host, events: this.events, log });
    this.jobs = new Jobs(store, this.events, now, (error) =>
      log.error({ error: messageOf(error) }, 'job: could not be stored, will be stored when the disk is writable'),
    );
    this.#tables = new Tables(resources.filter(isKeptResource));
    this.#references = referencesIn(resources);
    this.#confirmation = new Confirmation({
      accesses,
      tables: this.#tables,
      facts: () => this.#facts.facts,
      draft: () => this.#draft(),
      store,
      log,
      events: this.events,
      now,
      takeBack: (title, context, it) =>
        this.#queue.enter({
          title,
          context,
          changes: [],
          provisional: 'none',
          make: (draft) => draft.revert(it.changes),
        }),
    });
    this.#subsystems = subsystems;
    this.#originals = new Originals({ host, log, now });
    this.#isManaged = managedBy(resources);
    this.#reconciler = new Reconciler({
      subsystems,
      host,
      log,
      events: this.events,
      world: () => this.world,
      originals: this.#originals,
      isManaged: this.#isManaged,
      inQueue: (title, operation) => this.#inQueue(title, operation),
    });
    this.#rules = rules;
    this.#zone = zone;
    this.#scheduler = new Scheduler({
      entries: () =>
        this.#scheduled().flatMap(({ task, ...entry }) =>
          task === undefined
            ? []
            : [{ ...entry, task: (at: number) => task({ at, zone: this.#zone(), runs: this.runs, ...this.world }) }],
        ),
      start: (task) => this.#startByClock(task),
      failed: (subject, error) => log.error({ subject, err: error }, 'schedule: due task could not be started'),
      now,
      zone,
    });
    this.#facts = new FactKeeper(host, {
      serviceNames: [...new Set(subsystems.flatMap((subsystem) => subsystem.services ?? []))],
      now,
      changed: (topic) => this.#factsChanged(topic),
    });
  }

  /** Reads the store and the state of the machine, and applies the configuration to the machine. */
  static async start(parts: EngineParts): Promise<Engine> {
    const engine = Engine.open(parts);
    await engine.begin();
    return engine;
  }

  /** Reads the store, so that records can be read. `begin` performs the rest of the start. */
  static open(parts: EngineParts): Engine {
    const engine = new Engine(parts);
    engine.#load();
    return engine;
  }

  get world(): World {
    return { view: this.#tables, facts: this.#facts.facts };
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#now();
  }

  /** Whether the configuration of at least one subsystem could not be applied to the machine. */
  get isDegraded(): boolean {
    return this.#reconciler.degraded.length > 0;
  }

  /** A message why changes cannot be stored now; undefined if they can. */
  get obstacle(): string | undefined {
    const obstacle = this.#store.obstacle();
    if ((obstacle === undefined) !== (this.#obstructed === undefined)) {
      if (obstacle === undefined) this.#log.info({}, 'store: writable again');
      else this.#log.error({ reason: obstacle }, 'store: not writable');
    }
    this.#obstructed = obstacle;
    return obstacle;
  }

  get runs(): Runs {
    return this.jobs;
  }

  /** Starts the tasks that are due. The engine also does this every minute. */
  lookAtClock(): void {
    this.#scheduler.look();
  }

  /** Returns an ongoing series of refused logins, if any. Set by the application. */
  loginAttack: () => Health['loginAttack'] = () => undefined;

  /** The health of the appliance. */
  get health(): Health {
    return {
      now: this.#now(),
      degraded: this.#reconciler.degraded,
      drifted: this.#drifted,
      // Clients that waited for a job have received its error. Scheduled and background jobs are reported here.
      failedJobs: this.jobs.lastEnded.filter(
        ({ state, subject }) => state === 'failed' && /^[a-z]+\/[a-z]+\/\d+$/.test(subject),
      ),
      fileSystems: this.#store.fileSystems(),
      obstacle: this.obstacle,
      loginAttack: this.loginAttack(),
    };
  }

  /** Determines which subsystems differ from the configuration, for `health`. */
  async inspect(): Promise<void> {
    this.#drifted = (await this.report()).filter(({ drift }) => drift.length > 0).map(({ subsystem }) => subsystem);
  }

  /** Reads these facts from the machine now. */
  renew(...which: readonly Touched[]): Promise<void> {
    return this.#facts.renew(...which);
  }

  /** The world for a reader. Topics whose facts are old are read again in the background. */
  glance(shown: readonly Topic[]): World {
    for (const topic of shown) this.#facts.glance(topic);
    return this.world;
  }

  table<F extends Fields>(of: Kept<F>) {
    return this.#tables.table(of);
  }

  operations(context: RequestContext): Operations {
    const engine = this;
    // Excluded: the records are only a part of the operation, and an automatic revert would revert only the records.
    const { confirmWithin: _, ...inWork } = context;
    return {
      get world() {
        return engine.world;
      },
      now: this.#now,
      hashPassword: (password) => this.#passwords.hash(password),
      verifyPassword: (password, against) => this.#passwords.verify(password, against),
      change: (title, make) => this.change(title, inWork, make),
      work: (title, locks, run) => this.#work(title, locks, inWork, run),
      background: (task) => this.#background(task),
      ask: (title, question) => this.#ask(title, question, context),
      perform: (step) => this.#perform(step, context),
      exchange: (title, wanted) => this.exchange(title, context, wanted),
    };
  }

  /** Submits one change to the queue. Resolves when it is applied to the machine and stored. */
  async change<T>(title: string, context: RequestContext, make: (draft: Draft) => T, settles?: OpenPlan): Promise<T> {
    const result: { value?: { readonly it: T } } = {};
    await this.#queue.enter({
      title,
      context,
      changes: [],
      ...(settles && { settles }),
      make: (draft) => {
        result.value = { it: make(draft) };
      },
    });
    if (result.value === undefined) throw new Error(`change queue: no result of the change ${title}`);
    return result.value.it;
  }

  /** Replaces the whole configuration in one change. The replaced configuration is stored as a backup. */
  async exchange(
    title: string,
    context: RequestContext,
    wanted: (current: Configuration, fresh: Configuration) => Configuration,
  ): Promise<void> {
    const change: Change = {
      title,
      context,
      changes: [],
      make: (draft) => {
        change.backup = draft.configuration(this.#exchangeable);
        draft.exchange(wanted(change.backup, this.freshConfiguration));
      },
    };
    await this.#queue.enter(change);
  }

  /** All records that a backup contains. */
  get configuration(): Configuration {
    return new Map(this.#exchangeable.map((resource) => [resource, [...this.#tables.table(resource).all()]]));
  }

  /** All stored records, including those of resources that are `ofMachine`. */
  get wholeConfiguration(): Configuration {
    return new Map(
      this.resources.filter(isKeptResource).map((resource) => [resource, [...this.#tables.table(resource).all()]]),
    );
  }

  /** The configuration of the fresh system. */
  get freshConfiguration(): Configuration {
    return new Map(this.#exchangeable.map((resource) => [resource, this.#store.loadFresh(resource)]));
  }

  /** The automatic backups, the newest first. */
  backups(): readonly Backup[] {
    return this.#store.backups();
  }

  backup(number: number): Configuration | undefined {
    return this.#store.backup(number, this.#exchangeable);
  }

  get #exchangeable(): readonly Kept[] {
    return this.resources.filter(isKeptResource).filter(({ ofMachine }) => !ofMachine);
  }

  /** A dry run: the operations that a change would perform on the machine. */
  async plan(make: (draft: LayeredDraft) => void): Promise<Actions> {
    const draft = this.#draft();
    const mark = draft.mark();
    make(draft);
    this.#judge(draft, mark);
    const actions: string[] = draft.firstSteps.map((step) => step.title);
    for (const { state, desired } of this.#reconciler.affected(draft)) {
      await verify(this.#host, desired, state.applied);
      actions.push(...(await converge(this.#host, desired, state.applied, { pretend: true })).actions);
    }
    return [...actions, ...draft.lastSteps.map((step) => step.title), ...draft.tasks.map((task) => task.title)];
  }

  /** Where the machine differs from the configuration. Reads the machine itself, not the facts. */
  report(): Promise<readonly SubsystemReport[]> {
    return this.#reconciler.report();
  }

  revisions(limit: number, before?: number): readonly KeptRevision[] {
    return this.#store.revisions(limit, before);
  }

  /** The next run of each scheduled record, also of those that other programs such as cron run; the earliest first. */
  schedules(): readonly ScheduleReport[] {
    const zone = this.#zone();
    const reports = this.#scheduled()
      .filter(({ quiet }) => !quiet)
      .map(({ resource, record, when }) => ({ resource, record, when, at: nextRun(when, this.#now(), zone) }));
    return reports
      .toSorted((a, b) => (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY))
      .map(({ resource, record, when, at }) => ({
        resource,
        id: record.id,
        schedule: timetableLine(when),
        zone,
        next: at === undefined ? null : timeIn(zone, at),
      }));
  }

  /** Completes running changes and jobs, then releases all resources. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#scheduler.end();
    for (const stop of this.#stopWatching) stop();
    this.#reconciler.close();
    this.#confirmation.close();
    await this.#queue.idle();
    await this.jobs.close();
    await this.#queue.idle();
  }

  // Start ------------------------------------------------------------------------------------------------------------

  #load(): void {
    this.#store.prune();
    for (const resource of this.resources.filter(isKeptResource)) {
      const { records, lastId } = this.#store.load(resource);
      this.#tables.table(resource).load(records, lastId);
    }
    this.#confirmation.takeBackAtStart(this.#store.provisional(this.resources.filter(isKeptResource)));
  }

  /**
   * Reads the state of the machine and applies the configuration. Resolves when changes are possible; slow pools may
   * follow later.
   */
  async begin(): Promise<void> {
    const { startup } = this;
    await startup.each('reading', promptTopics, topicTitle, (topic) => this.#facts.renew(topic));
    await this.#spareAccounts();
    await this.#originals.load();
    const isFresh = this.resources
      .filter(isKeptResource)
      .every((resource) => this.#tables.table(resource).lastId === 0);
    await startup.during('creating default records', () => this.#seed(isFresh || this.#originals.isReleased));
    // Services on volumes are configured once the volumes are mounted. A slow pool does not delay the others: its
    // services are configured after it was imported.
    const resources = this.#beginResources();
    const inTime = await endsWithin(this.#patience, resources);
    // Plans that were cut short may concern what lies on a volume that comes later.
    const cutShort = unfinishedPlans(this.#store, this.resources.filter(isKeptResource));
    if (inTime) await startup.during('finishing what was cut short', () => this.#recover(cutShort));
    else void resources.then(() => this.#inQueue('finish what was cut short', () => this.#recover(cutShort)));
    startup.enter('configuring');
    for (const topic of topics) await this.#followAll(topic);
    await startup.during('saving original files', () => this.#reconciler.secureOriginals(isFresh));
    const before = this.#facts.facts;
    const touched = new Set<Topic>();
    // In the queue, because jobs that import pools may write records at the same time.
    await this.#queue.enter({
      title: 'apply the configuration',
      context: { actor: 'holdfast', request: 'start' },
      changes: [],
      make: (draft) =>
        draft.plan.last({
          title: 'apply the configuration',
          perform: () => this.#reconciler.begin(startup, touched),
        }),
    });
    this.#started = true;
    if (touched.size > 0)
      await startup.each('reading again', [...touched], topicTitle, (topic) => this.#facts.renew(topic));
    const after = this.#facts.facts;
    // Facts that changed while the subsystems were being configured were too late for some of them.
    for (const topic of promptTopics)
      if (before[topic] !== after[topic] && !touched.has(topic)) this.#factsChanged(topic);
    this.#store.settle();
    this.#scheduler.begin();
    this.#stopWatching.push(this.#host.zfs.watch((events) => void this.#facts.heed(events).catch(() => {})));
    this.#stopWatching.push(this.#host.network.watch(() => void this.#facts.renew('network').catch(() => {})));
    this.#lookLater();
    if (inTime) startup.enter('done');
    else {
      startup.enter('finishing');
      void resources.then(() => startup.enter('done'));
    }
  }

  /** Reads the slow facts, which nothing waits for, after the start no longer needs the processor. */
  #lookLater(): void {
    const timer = setTimeout(() => {
      for (const topic of slowTopics) void this.#renewQuietly(new Set([topic]));
    }, slowLooksAfter);
    timer.unref();
    this.#stopWatching.push(() => clearTimeout(timer));
  }

  /** Runs `atStart` of the resources. A failure does not prevent the others from starting. */
  async #beginResources(): Promise<void> {
    await Promise.all(
      this.resources.filter(isKeptResource).map(async (resource) => {
        if (resource.kind !== 'collection') return;
        try {
          await resource.atStart?.(this.operations({ actor: 'holdfast', request: 'start' }), this.startup);
        } catch (error) {
          this.#log.error({ error: messageOf(error) }, `start: ${resource.title} failed`);
        }
      }),
    );
  }

  /**
   * A fresh configuration contains no accounts. If Holdfast created accounts on this machine earlier, removing them
   * would orphan their files, so they become accounts of the system.
   */
  async #spareAccounts(): Promise<void> {
    if (this.#store.revisions(1).length > 0) return;
    const { users, groups } = await this.#host.accounts.owned();
    if (users.length === 0 && groups.length === 0) return;
    await this.#host.accounts.disown();
    await this.#facts.renew('accounts');
    this.#log.warn(
      { users: users.map(({ name }) => name), groups: groups.map(({ name }) => name) },
      'accounts: kept accounts of an earlier configuration as system accounts',
    );
  }

  /** Creates the default records of a fresh system. A resource that has ever had a record is skipped. */
  async #seed(looksForLocal: boolean): Promise<void> {
    const context = { actor: 'holdfast', request: 'start' };
    const kept = this.resources.filter(isKeptResource);
    const draft = this.#draft();
    const fresh = new LayeredDraft(new Tables(kept), this.#facts.facts, this.#references);
    for (const resource of kept) {
      const isNew = this.#tables.table(resource).lastId === 0;
      const isNoted = resource.ofMachine || this.#store.loadFresh(resource).length > 0;
      if (!isNew && isNoted) continue;
      const first =
        resource.kind === 'collection'
          ? resource.seed(this.#facts.facts)
          : [{ ...resource.seed(this.#facts.facts), ...(await resource.adopt?.(this.#host)) }];
      for (const values of first) {
        if (!isNoted) fresh.plant(resource, values);
        if (isNew) draft.plant(resource, values);
      }
    }
    if (looksForLocal) await this.#markUnmanaged(draft);
    // Stored before the records: if the daemon is interrupted in between, the next start stores them again.
    const changes = draft.changes();
    try {
      this.#store.noteFresh(fresh.changes());
      if (changes.length === 0) return;
      this.#store.commit(
        [{ at: this.#time(), ...context, title: 'create default records', changes }],
        changes,
        draft.sequences(),
      );
    } catch (error) {
      // A new version on a full disk: the next start stores the default records.
      if (!(error instanceof Fault)) throw error;
      this.#log.error({ error: error.message }, 'store: default records of new resources could not be stored');
    }
    this.#tables.apply(changes, draft.sequences());
  }

  /**
   * Marks subsystems that were configured by hand as unmanaged. Stored with the default records, so that it persists.
   */
  async #markUnmanaged(draft: LayeredDraft): Promise<void> {
    if (!this.resources.some(({ path }) => path === unmanagedSubsystem.path)) return;
    for (const found of await lookForLocal(this.#subsystems, this.#host, { view: draft, facts: draft.facts })) {
      this.#log.warn(
        { ...found, takeOver: `POST /api/holdfast/v1/found/${found.subsystem}/take` },
        'found on this machine: configured by hand, left unmanaged',
      );
      const known = draft.find(unmanagedSubsystem, 'subsystem', found.subsystem);
      if (known === undefined) draft.plant(unmanagedSubsystem, found);
    }
  }

  /** Takes over a subsystem that was configured by hand. The files that this replaces are saved. */
  async takeOver(subsystem: string, context: RequestContext): Promise<void> {
    await this.change(`take over ${subsystem}`, context, (draft) => {
      const record = draft.find(unmanagedSubsystem, 'subsystem', subsystem);
      if (record === undefined)
        throw missing(`Expected an unmanaged subsystem, got ${subsystem}; GET /api/holdfast/v1/found lists them.`);
      draft.remove(unmanagedSubsystem, record.id);
    });
  }

  // Changes ----------------------------------------------------------------------------------------------------------

  /** Combines the changes of the group in one draft and carries it out; if that fails, carries them out one by one. */
  async #carryOutGroup(group: readonly Waiting<Change>[]): Promise<readonly Waiting<Change>[]> {
    const draft = this.#draft();
    const accepted: Waiting<Change>[] = [];
    let later: readonly Waiting<Change>[] = [];
    for (const [index, waiting] of group.entries()) {
      const mark = draft.mark();
      try {
        waiting.item.make(draft);
        this.#judge(draft, mark);
        this.#guard(waiting.item, draft, mark);
        if (waiting.item.changes.length > 0) this.#mustBeAbleToKeep(waiting.item.context);
      } catch (error) {
        draft.rewind(mark);
        waiting.settle(error);
        continue;
      }
      // A change that cannot be reverted runs alone: the failure of another change in its group would require a revert.
      const alone = draft.lastSteps.length > mark.last || waiting.item.provisional !== undefined;
      if (alone && accepted.length > 0) {
        draft.rewind(mark);
        later = group.slice(index);
        break;
      }
      accepted.push(waiting);
      if (alone) {
        later = group.slice(index + 1);
        break;
      }
    }
    if (accepted.length === 0) return later;
    try {
      await this.#carryOut(draft, accepted);
      for (const { settle } of accepted) settle();
    } catch (error) {
      if (accepted.length === 1) accepted[0]?.settle(error);
      else for (const waiting of accepted) await this.#carryOutGroup([waiting]);
    }
    return later;
  }

  /** Checks the rules for the changes since the mark, and throws if there are problems. */
  #judge(draft: LayeredDraft, mark: Mark): void {
    const changes = draft.changesSince(mark);
    for (const rule of this.#rules) {
      const changed = changes.filter(({ resource }) => rule.reads.some(({ path }) => path === resource.path));
      if (changed.length > 0) rule.check(draft, changed);
    }
    refuseUnmanaged(this.#subsystems, this.#isManaged, this.#tables, draft, changes);
    draft.issues.throwIfAny();
  }

  /**
   * Refuses changes of clients on a full disk, so that the remaining space is left for the daemon, such as for sent
   * alerts.
   */
  #mustBeAbleToKeep({ connection }: RequestContext): void {
    const obstacle = connection === undefined ? undefined : this.obstacle;
    if (obstacle !== undefined) throw unavailable(obstacle);
  }

  async #carryOut(draft: LayeredDraft, accepted: readonly Waiting<Change>[]): Promise<void> {
    const concerned = this.#reconciler.concerned(draft);
    const affected = this.#reconciler.affected(draft, concerned);
    const begun: SubsystemState[] = [];
    const done: Step[] = [];
    const touched = new Set<Touched>();
    const [first] = accepted;
    const plan = this.#openPlan(first?.item, [...draft.firstSteps, ...draft.lastSteps], {
      changes: draft.changes(),
      sequences: draft.sequences(),
    });
    try {
      for (const { state, desired } of affected) await verify(this.#host, desired, state.applied);
      for (const step of draft.firstSteps) {
        for (const subject of step.touches ?? []) touched.add(subject);
        await this.#steps.take(step, done, plan);
      }
      for (const { state, desired } of affected) {
        begun.push(state);
        const outcome = await converge(this.#host, desired, state.applied, { originals: this.#originals });
        for (const topic of outcome.touched) touched.add(topic);
        state.applied = desired;
      }
      for (const step of draft.lastSteps) {
        for (const subject of step.touches ?? []) touched.add(subject);
        await this.#steps.take(step, done, plan);
      }
      const at = this.#time();
      const revisions = accepted.map(({ item }) => ({
        at,
        ...item.context,
        title: item.title,
        changes: item.changes,
        ...(item.backup && { backup: item.backup }),
      }));
      this.#store.commit(
        revisions.filter(({ changes }) => changes.length > 0),
        draft.changes(),
        draft.sequences(),
        first?.item.provisional,
        [plan, ...accepted.flatMap(({ item }) => item.settles ?? [])].flatMap(({ ids }) => ids),
      );
    } catch (error) {
      // Apply the stored configuration again, and undo the steps in reverse order.
      await this.#reconciler.takeBack(begun);
      await this.#steps.takeBack(done);
      plan.end();
      this.#log.warn(
        { error: messageOf(error), requests: accepted.map(({ item }) => item.context.request) },
        `change failed: ${accepted.map(({ item }) => item.title).join('; ')}`,
      );
      await this.#renewQuietly(touched);
      throw asFault(error);
    }
    this.#tables.apply(draft.changes(), draft.sequences());
    for (const { item } of accepted) this.#announce(item);
    for (const { item } of accepted) item.settles?.settled();
    this.#confirmation.waitFor(first?.item.provisional);
    for (const { state } of affected) this.#reconciler.recovered(state);
    for (const state of concerned) this.#reconciler.heed(state);
    for (const task of draft.tasks) void this.jobs.start(task, this.#host);
    await this.#renewQuietly(touched);
  }

  #openPlan(
    of: { readonly title: string; readonly context: RequestContext } | undefined,
    steps: readonly Step[] = [],
    records?: PlanRecords,
  ): OpenPlan {
    const { actor = '', request = '' } = of?.context ?? {};
    return new OpenPlan(this.#store, { title: of?.title ?? '', actor, request }, steps, records);
  }

  /** Finishes or takes back what the daemon was ended in the middle of. */
  async #recover(plans: readonly UnfinishedPlan[]): Promise<void> {
    if (plans.length === 0) return;
    await recover(plans, {
      host: this.#host,
      kinds: this.#stepKinds,
      events: this.events,
      log: this.#log,
      keep: ({ id, title, actor, request, changes: planned, sequences }) => {
        // A record that was changed since, while a slow pool was waited for, stays as it is.
        const changes = planned.filter(({ resource, id: record, before }) =>
          isDeepStrictEqual(this.#tables.table(resource).get(record), before),
        );
        this.#store.commit([{ at: this.#time(), actor, request, title, changes }], changes, sequences, undefined, [id]);
        this.#tables.apply(changes, sequences);
      },
      drop: ({ id }) => this.#store.endPlan(id),
    });
    await this.#renewQuietly(new Set(['storage', 'disks']));
  }

  #announce({ title, context, changes }: Change): void {
    this.#log.info({ ...context, records: changes.map(({ resource, id }) => `${resource.path}/${id}`) }, title);
    for (const { resource, id, before, after } of changes) {
      const what = before === undefined ? 'created' : after === undefined ? 'removed' : 'updated';
      this.events.emit('record.changed', { resource: resource.path, id, what, request: context.request });
    }
  }

  /** The change that currently waits to be confirmed. */
  get provisional(): Provisional | undefined {
    return this.#confirmation.waiting;
  }

  /**
   * An authenticated request arrived on a connection that was opened or last answered at `since`. It may confirm a
   * change.
   */
  heard(connection: ClientConnection | undefined, since: number): void {
    this.#confirmation.heard(connection, since);
  }

  /** Records which records the change affects, and whether it must be confirmed. */
  #guard(item: Change, draft: LayeredDraft, mark: Mark): void {
    item.changes = draft.changesSince(mark);
    if (item.provisional === 'none') return;
    item.provisional = this.#confirmation.demand(
      item.title,
      item.context,
      item.changes,
      draft,
      draft.firstSteps[mark.first] ?? draft.lastSteps[mark.last],
    );
  }

  // Jobs -----------------------------------------------------------------------------------------

  async #work<T>(
    title: string,
    locks: readonly string[],
    context: RequestContext,
    run: (work: Work) => Promise<T>,
  ): Promise<T> {
    const result: { value?: { readonly it: T }; error?: unknown } = {};
    const task = {
      title,
      subject: locks[0] ?? '',
      run: ({ progress }: { progress(sentence: string): void }) =>
        this.jobs.locked(locks, async () => {
          const done: Step[] = [];
          const touched = new Set<Touched>();
          const plan = this.#openPlan({ title, context });
          this.#jobsAtWork += 1;
          try {
            result.value = {
              it: await run({
                step: async (step) => {
                  for (const subject of step.touches ?? []) touched.add(subject);
                  await this.#steps.take(step, done, plan);
                  await this.#renewQuietly(new Set(step.touches ?? []));
                },
                ask: (question, answer) => this.#ask(question, answer, context),
                progress,
                change: (make) => this.change(title, context, make, plan),
              }),
            };
            plan.end();
            return {};
          } catch (error) {
            result.error = error;
            await this.#steps.takeBack(done);
            plan.end();
            await this.#renewQuietly(touched);
            throw error;
          } finally {
            this.#jobsAtWork -= 1;
            for (const topic of new Set([...touched].map(topicOf))) void this.#followAll(topic);
          }
        }),
    };
    await this.jobs.start(task, this.#host).done;
    if (result.value === undefined) throw asFault(result.error ?? new Error(`the job ${title} ended without a result`));
    return result.value.it;
  }

  async #ask<T>(title: string, question: (host: Host) => Promise<T>, context: RequestContext): Promise<T> {
    try {
      return await question(this.#host);
    } catch (error) {
      this.#log.debug({ ...context, error: messageOf(error) }, `failed: ${title}`);
      throw asFault(error);
    }
  }

  async #perform(step: Step, context: RequestContext): Promise<void> {
    try {
      await step.perform(this.#host);
    } catch (error) {
      this.#log.warn({ ...context, error: messageOf(error) }, `step failed: ${step.title}`);
      await this.#renewQuietly(new Set(step.touches ?? []));
      throw asFault(error);
    }
    this.#log.info(context, step.title);
    await this.#renewQuietly(new Set(step.touches ?? []));
  }

  /** Reads the facts again before the response. A failure, after one retry, does not fail the change. */
  async #renewQuietly(touched: ReadonlySet<Touched>): Promise<void> {
    if (touched.size === 0) return;
    try {
      await this.#facts.renew(...touched).catch(() => this.#facts.renew(...touched));
    } catch (error) {
      this.#log.warn(
        { error: messageOf(error) },
        `facts: reading ${[...new Set([...touched].map(topicOf))].join(', ')} failed`,
      );
    }
  }

  // Scheduled tasks ----------------------------------------------------------------------------------------

  #scheduled(): readonly ScheduledRecord[] {
    return this.resources
      .filter(isKeptResource)
      .flatMap((resource) =>
        resource.kind === 'collection' ? scheduledIn(resource, this.#tables.table(resource).all()) : [],
      );
  }

  #background(task: Task): void {
    const earlier = task.alone === true ? this.jobs.running(task.subject) : undefined;
    if (earlier !== undefined) throw refused(`Already running as job ${earlier.id}: ${earlier.title}.`);
    void this.jobs.start({ ...task, run: (context) => this.#runAndLook(task, context) }, this.#host);
  }

  /** Reads the changed facts again before the job counts as ended. */
  async #runAndLook(task: Task, context: Parameters<Task['run']>[0]): ReturnType<Task['run']> {
    try {
      return await task.run(context);
    } finally {
      await this.#renewQuietly(new Set(task.touches));
    }
  }

  #startByClock(task: Task): void {
    try {
      this.#background(task);
      this.#log.info({ subject: task.subject }, task.title);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.#log.warn({ subject: task.subject, error: error.message }, `scheduled task skipped: ${task.title}`);
      this.events.emit('schedule.skipped', { subject: task.subject, reason: error.message });
    }
  }

  // Changes of the machine --------------------------------------------------------------------------------------------

  #factsChanged(topic: Topic): void {
    this.startup.saw(topic);
    if (this.#closing || !this.#started) return;
    this.#reconciler.heedAll(topic);
    // While a job is running, it writes the records of what it creates.
    if (this.#jobsAtWork === 0) void this.#followAll(topic);
    this.#reconciler.follow(topic);
  }

  async #followAll(topic: Topic): Promise<void> {
    for (const resource of this.resources.filter(isKeptResource)) {
      if (resource.kind === 'collection' && resource.follows?.topics.includes(topic)) await this.#follow(resource);
    }
  }

  /** Synchronizes the records of a resource that has `follows` with the host. */
  async #follow(resource: Kept): Promise<void> {
    const follows = resource.kind === 'collection' ? resource.follows : undefined;
    if (follows === undefined) return;
    const draft = this.#draft();
    follows.keep(draft);
    if (draft.changes().length === 0) return;
    try {
      await this.change(
        `synchronize ${resource.title} with the machine`,
        { actor: 'holdfast', request: '' },
        (inQueue) => follows.keep(inQueue),
      );
    } catch (error) {
      this.#log.error({ error: messageOf(error) }, `synchronizing ${resource.title} with the machine failed`);
    }
  }

  /** Runs the operation while no change is applied and no job works on this pool, so that the pool stays as it is. */
  whileAtRest(pool: string, title: string, operation: () => Promise<void>): Promise<void> {
    return this.jobs.locked([`pool:${pool}`], () => this.#inQueue(title, operation));
  }

  async #inQueue(title: string, operation: () => Promise<void>): Promise<void> {
    try {
      await this.change(title, { actor: 'holdfast', request: '' }, (draft) =>
        draft.plan.last({ title, perform: operation }),
      );
    } catch (error) {
      this.#log.error({ error: messageOf(error) }, `failed: ${title}`);
    }
  }

  /** A draft over the stored configuration. */
  #draft(): LayeredDraft {
    return new LayeredDraft(this.#tables, this.#facts.facts, this.#references);
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}

/** Milliseconds from the end of the start until slow facts are read. */
const slowLooksAfter = 5000;

/** The readable name of a topic: `boot environments`. */
function topicTitle(topic: Topic): string {
  return topic.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

interface ScheduledRecord {
  readonly subject: string;
  readonly resource: string;
  readonly record: { readonly id: number };
  readonly part: number;
  readonly when: Timetable;
  readonly quiet: boolean;
  readonly task: ((due: Due) => Task | undefined) | undefined;
}

function scheduledIn<F extends Fields>(
  { path, scheduled = [] }: Collection<F>,
  records: readonly RecordOf<F>[],
): readonly ScheduledRecord[] {
  return [scheduled].flat().flatMap((hook, part) => {
    const taskOf = hook.task?.bind(hook);
    return records.flatMap((record) => {
      const when = hook.when(record);
      if (when === undefined) return [];
      const subject = `${path}/${record.id}`;
      return [
        {
          subject,
          resource: path,
          record,
          part,
          when,
          quiet: hook.quiet ?? false,
          task: taskOf && ((due: Due) => taskOf(record, due)),
        },
      ];
    });
  });
}

export function isKeptResource(resource: Resource): resource is Kept {
  return resource.kind !== 'hosted';
}

function referencesIn(resources: readonly Resource[]): References {
  const references = new Map<string, { from: Kept; name: string; field: Fields[string] }[]>();
  for (const from of resources.filter(isKeptResource)) {
    for (const [name, field] of Object.entries(from.fields)) {
      if (field.refers === undefined) continue;
      const known = references.get(field.refers.to) ?? [];
      references.set(field.refers.to, [...known, { from, name, field }]);
    }
  }
  return references;
}

/** Errors of the host become faults with their message; unexpected errors are passed on unchanged. */
function asFault(error: unknown): unknown {
  return error instanceof HostError ? failed(error.message, error) : error;
}
