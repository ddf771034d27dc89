import { isDeepStrictEqual } from 'node:util';
import type { Host } from '../../host/ports/index.ts';
import { messageOf } from '../../lib/text.ts';
import type { Changes } from '../change/changes.ts';
import type { Confirmation } from '../change/confirmation.ts';
import { atStart } from '../change/request.ts';
import type { ConfigurationStore } from '../configuration/configuration-store.ts';
import type { LayeredDraft } from '../configuration/draft.ts';
import type { StoredConfiguration } from '../configuration/stored-configuration.ts';
import { Fault } from '../declare/errors.ts';
import type { EventBus } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import type { Operations } from '../declare/resource.ts';
import type { Subsystem } from '../declare/subsystem.ts';
import { type FactKeeper, promptTopics, slowTopics, type Topic, topics } from '../facts/facts.ts';
import type { SnapshotPart } from '../facts/snapshot-index.ts';
import { type UnfinishedPlan, unfinishedPlans } from '../plan/journal.ts';
import type { Originals } from '../plan/originals.ts';
import { recover } from '../plan/recovery.ts';
import type { StepKind } from '../plan/steps.ts';
import type { Following } from './following.ts';
import type { Jobs } from './jobs.ts';
import type { Reconciler } from './reconciler.ts';
import type { Renewal } from './renewal.ts';
import type { Schedules } from './schedules.ts';
import { endsWithin, type Startup } from './startup.ts';
import { lookForLocal, unmanagedSubsystem } from './takeover.ts';

interface BeginningParts {
  readonly configuration: StoredConfiguration;
  readonly store: ConfigurationStore;
  readonly host: Host;
  readonly keeper: FactKeeper;
  readonly subsystems: readonly Subsystem[];
  readonly stepKinds: readonly StepKind[];
  readonly reconciler: Reconciler;
  readonly originals: Originals;
  readonly changes: Changes;
  readonly confirmation: Confirmation;
  readonly following: Following;
  readonly schedules: Schedules;
  readonly startup: Startup;
  readonly events: EventBus;
  readonly jobs: Jobs;
  readonly log: Log;
  readonly now: () => number;
  readonly renew: Renewal;
  readonly operations: () => Operations;
  /** Milliseconds that the start waits for resources such as pools before it continues without them. */
  readonly patience: number;
  /** The snapshots that an earlier run knew. */
  readonly recalled: () => readonly SnapshotPart[];
  /** Called when the machine is as the configuration says, as far as that is possible. */
  readonly settled: () => void;
}

/** Milliseconds after which a pool that is still being imported counts as missing. */
const longestImport = 600_000;

/** Milliseconds from the end of the start until slow facts are read. */
const slowLooksAfter = 5000;

/** The start of the engine: from the stored records to a machine that matches them and is watched. */
export class Beginning {
  readonly #parts: BeginningParts;
  readonly #stopWatching: (() => void)[] = [];

  constructor(parts: BeginningParts) {
    this.#parts = parts;
  }

  /** Opens the tables, so that records can be read: each when one of its records is first needed. */
  load(): void {
    const { configuration, confirmation, store } = this.#parts;
    configuration.load();
    confirmation.takeBackAtStart(store.provisional(configuration.resources));
  }

  /**
   * Reads the state of the machine and applies the configuration. Resolves when changes are possible; slow pools may
   * follow later.
   */
  async begin(): Promise<void> {
    const { configuration, changes, following, keeper, originals, patience, reconciler, settled, startup } =
      this.#parts;
    const { jobs, store } = this.#parts;
    await startup.pieces('reading the configuration', configuration.loading());
    keeper.recall(this.#parts.recalled());
    await startup.each('reading', promptTopics, topicTitle, (topic) => keeper.renew(topic));
    await this.#spareAccounts();
    await originals.load();
    const { isFresh } = configuration;
    await startup.during('creating default records', () => this.#seed(isFresh || originals.isReleased));
    // Services on volumes are configured once the volumes are mounted. A slow pool does not delay the others: its
    // services are configured after it was imported.
    const resources = this.#beginResources();
    const inTime = await endsWithin(patience, resources);
    // Plans that were cut short may concern what lies on a volume that comes later.
    const cutShort = unfinishedPlans(store, configuration.resources);
    let rest: () => Promise<void> = async () => {};
    const unclean = new Set<string>();
    const finish = async () => {
      rest = await this.#recover(cutShort, unclean);
    };
    const jobsEnd = () => jobs.recovered((request) => store.revisionOf(request) !== undefined, unclean);
    if (inTime) await startup.during('finishing what was cut short', finish);
    else
      void resources
        .then(() => changes.maintain('finish what was cut short', finish))
        .then(() => rest())
        .finally(jobsEnd);
    startup.enter('configuring');
    for (const topic of topics) await following.followAll(topic);
    await startup.during('saving original files', () => reconciler.secureOriginals(isFresh));
    await this.#apply(isFresh);
    if (inTime) {
      await rest();
      jobsEnd();
    }
    store.settle();
    this.#watch();
    if (inTime) {
      startup.enter('done');
      settled();
    } else {
      startup.enter('finishing');
      void resources.then(() => startup.enter('done'));
      // What lies on a pool that is still being imported is no problem yet.
      void endsWithin(longestImport, resources).then(settled, settled);
    }
  }

  end(): void {
    for (const stop of this.#stopWatching) stop();
  }

  /** Applies the configuration to the machine, and from then on follows what changes there. */
  async #apply(isFresh: boolean): Promise<void> {
    const { changes, following, keeper, reconciler, startup } = this.#parts;
    const before = keeper.facts;
    const touched = new Set<Topic>();
    // In the queue, because jobs that import pools may write records at the same time.
    await changes.operate('apply the configuration', () => reconciler.begin(startup, touched, { isFresh }), atStart);
    following.begin();
    if (touched.size > 0) await startup.each('reading again', [...touched], topicTitle, (topic) => keeper.renew(topic));
    const after = keeper.facts;
    // Facts that changed while the subsystems were being configured were too late for some of them.
    for (const topic of promptTopics)
      if (before[topic] !== after[topic] && !touched.has(topic)) following.changed(topic);
    reconciler.follow('services');
  }

  #watch(): void {
    const { host, keeper, renew, schedules } = this.#parts;
    schedules.begin();
    this.#stopWatching.push(host.zfs.watch((events) => void keeper.heed(events).catch(() => {})));
    this.#stopWatching.push(host.services.watch((names) => void keeper.heedServices(names).catch(() => {})));
    this.#stopWatching.push(host.network.watch(() => void keeper.renew('network').catch(() => {})));
    // Slow facts, which nothing waits for, are read after the start no longer needs the processor.
    const verification = new AbortController();
    const timer = setTimeout(() => {
      for (const topic of slowTopics) void renew(new Set([topic]));
      keeper.verifySnapshots(verification.signal).catch(() => {});
    }, slowLooksAfter);
    timer.unref();
    this.#stopWatching.push(() => clearTimeout(timer));
    this.#stopWatching.push(() => verification.abort());
  }

  /** Runs `atStart` of the resources. A failure does not prevent the others from starting. */
  async #beginResources(): Promise<void> {
    const { configuration, log, operations, startup } = this.#parts;
    await Promise.all(
      configuration.resources.map(async (resource) => {
        if (resource.kind !== 'collection') return;
        try {
          await resource.atStart?.(operations(), startup);
        } catch (error) {
          log.error({ error: messageOf(error) }, `start: ${resource.title} failed`);
        }
      }),
    );
  }

  /**
   * A fresh configuration contains no accounts. If Holdfast created accounts on this machine earlier, removing them
   * would orphan their files, so they become accounts of the system.
   */
  async #spareAccounts(): Promise<void> {
    const { configuration, host, keeper, log } = this.#parts;
    if (configuration.revisions(1).length > 0) return;
    const { users, groups } = await host.accounts.owned();
    if (users.length === 0 && groups.length === 0) return;
    await host.accounts.disown();
    await keeper.renew('accounts');
    log.warn(
      { users: users.map(({ name }) => name), groups: groups.map(({ name }) => name) },
      'accounts: kept accounts of an earlier configuration as system accounts',
    );
  }

  /** Creates the default records of a fresh system. A resource that has ever had a record is skipped. */
  async #seed(looksForLocal: boolean): Promise<void> {
    const { configuration, host, keeper, log, store } = this.#parts;
    const { facts } = keeper;
    const { tables } = configuration;
    const draft = configuration.draft(facts);
    const fresh = configuration.emptyDraft(facts);
    for (const resource of configuration.resources) {
      const isNew = tables.table(resource).lastId === 0;
      const isNoted = resource.ofMachine || store.loadFresh(resource).length > 0;
      if (!isNew && isNoted) continue;
      const first =
        resource.kind === 'collection'
          ? resource.seed(facts)
          : [{ ...resource.seed(facts), ...(await resource.adopt?.(host)) }];
      for (const values of first) {
        const planted = isNew ? draft.plant(resource, values) : undefined;
        if (isNoted) continue;
        if (planted === undefined) fresh.plant(resource, values);
        else fresh.plantSame(resource, planted);
      }
    }
    if (looksForLocal) await this.#markUnmanaged(draft);
    const changes = draft.changes();
    try {
      if (changes.length === 0) return store.noteFresh(fresh.changes());
      const created = { changes, fresh: fresh.changes() };
      const revision = { at: this.#time(), ...atStart, title: 'create default records', ...created };
      store.commit([revision], changes, draft.sequences());
    } catch (error) {
      // A new version on a full disk: the next start stores the default records.
      if (!(error instanceof Fault)) throw error;
      log.error({ error: error.message }, 'store: default records of new resources could not be stored');
    }
    tables.apply(changes, draft.sequences());
  }

  /**
   * Marks subsystems that were configured by hand as unmanaged. Stored with the default records, so that it persists.
   */
  async #markUnmanaged(draft: LayeredDraft): Promise<void> {
    const { configuration, host, log, subsystems } = this.#parts;
    if (!configuration.resources.some(({ path }) => path === unmanagedSubsystem.path)) return;
    for (const found of await lookForLocal(subsystems, host, { view: draft, facts: draft.facts })) {
      log.warn(
        { ...found, takeOver: `POST /api/holdfast/v1/found/${found.subsystem}/take` },
        'found on this machine: configured by hand, left unmanaged',
      );
      const known = draft.find(unmanagedSubsystem, 'subsystem', found.subsystem);
      if (known === undefined) draft.plant(unmanagedSubsystem, found);
    }
  }

  /**
   * Finishes or takes back what the daemon was ended in the middle of. The returned function takes back the steps that
   * need the configured machine. Adds the requests to `unclean` of which something is left.
   */
  async #recover(plans: readonly UnfinishedPlan[], unclean: Set<string>): Promise<() => Promise<void>> {
    if (plans.length === 0) return async () => {};
    const { configuration, events, host, log, operations, renew, stepKinds: kinds, store } = this.#parts;
    const { tables } = configuration;
    const rest = await recover(plans, {
      host,
      kinds,
      events,
      log,
      keep: ({ id, title, actor, request, changes: planned, sequences }) => {
        // A record that was changed since, while a slow pool was waited for, stays as it is.
        const changes = planned.filter(({ resource, id: record, before }) =>
          isDeepStrictEqual(tables.table(resource).get(record), before),
        );
        store.commit(
          [{ at: this.#time(), actor, request, title, changes, isPart: true }],
          changes,
          sequences,
          undefined,
          { ends: [id], begins: [] },
        );
        tables.apply(changes, sequences);
      },
      drop({ id, request }, isClean) {
        if (!isClean) unclean.add(request);
        store.endPlan(id);
      },
    });
    await renew(new Set(topics));
    return async () => {
      await rest({ host, operations: operations() });
      await renew(new Set(topics));
    };
  }

  #time(): string {
    return new Date(this.#parts.now()).toISOString();
  }
}

/** The readable name of a topic: `boot environments`. */
function topicTitle(topic: Topic): string {
  return topic.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
