import type { ZfsSubject } from '../host/ports/zfs.ts';
import type { RequestContext } from './change/request.ts';
import type { RetryStore } from './configuration/configuration-store.ts';
import { isKeptResource } from './configuration/stored-configuration.ts';
import type { Kept } from './configuration/tables.ts';
import type { Fields } from './declare/fields.ts';
import type { Log } from './declare/log.ts';
import type { Runs } from './declare/resource.ts';
import type { Topic, Touched } from './facts/facts.ts';
import { type EngineParts, wire } from './wiring.ts';

export { type EngineParts, isKeptResource, type Log, type RequestContext };

/** The engine as the rest of the program sees it. */
export interface Engine extends ReturnType<typeof openEngine> {}

/**
 * Opens the store, so that records can be read; `begin` performs the rest of the start. `wiring.ts` connects the parts,
 * which do all the work.
 */
export function openEngine(parts: EngineParts) {
  const { beginning, changes, condition, configuration, confirmation, keeper, ...rest } = wire(parts);
  const {
    events,
    following,
    jobs,
    leaveLostPool,
    leavePool,
    ofPool,
    problems,
    reconciler,
    schedules,
    startup,
    work,
    world,
  } = rest;
  beginning.load();
  return {
    resources: parts.resources,
    version: parts.version ?? 'unknown',
    events,
    jobs,
    /** The progress of the start. */
    startup,
    /** Milliseconds since 1970. */
    now: parts.now,

    /** Resolves when changes are possible; slow pools may follow later. */
    begin: () => beginning.begin(),
    /** Completes running changes and jobs, then releases all resources. */
    async close(): Promise<void> {
      for (const part of [following, schedules, beginning]) part.end();
      for (const part of [reconciler, confirmation, problems]) part.close();
      await changes.idle();
      await jobs.close();
      await changes.idle();
      parts.knownSnapshots?.write(keeper.facts.storage.snapshots.parts);
      events.end();
    },
    /** After `close`: ends what uses the pool of a pair, before this machine gives the pool up. */
    leavePool,
    /** The names of the subsystems that `leavePool` would end. */
    ofPool: () => ofPool().map(({ name }) => name),
    /**
     * Instead of `begin`, on a machine that lost the pool without a release: the same for subsystems that it served. Their
     * services start with the machine, as they were configured, and its cron jobs run.
     */
    leaveLostPool,

    get world() {
      return world();
    },
    /** The world for a reader. Topics whose facts are old are read again in the background. */
    glance(shown: readonly Topic[]) {
      for (const topic of shown) keeper.glance(topic);
      return world();
    },
    /** Reads everything in the storage in the background, or only these pools and datasets if that was read lately. */
    glanceAtStorage: (subjects: readonly ZfsSubject[]) => keeper.glanceAtStorage(subjects),
    /** Reads these facts from the machine now. */
    renew: (...which: readonly Touched[]) => keeper.renew(...which),
    /** Reads what may have been changed outside of Holdfast, and resolves when the subsystems follow it. */
    async reload(): Promise<void> {
      await keeper.renew('storage', 'disks', 'services');
      await changes.idle();
    },
    table: <F extends Fields>(of: Kept<F>) => configuration.tables.table(of),
    runs: jobs satisfies Runs,

    /** What a request can do that takes longer or does more than changing records. */
    operations: (context: RequestContext) => work.operations(context),
    /** Submits one change to the queue. Resolves when it is applied to the machine and stored. */
    change: changes.change.bind(changes),
    /** Replaces the whole configuration in one change. The replaced configuration is stored as a backup. */
    exchange: changes.exchange.bind(changes),
    /** Begins the dry run of a request, which plans what the request would do and does nothing. */
    dryRun: (context: RequestContext) => work.dryRun(context, { looks: true }),
    /** Runs the operation while no change and no job works on this pool, so that the pool stays as it is. */
    whileAtRest: (pool: string, title: string, operation: () => Promise<void>) =>
      jobs.locked([`pool:${pool}`], () => changes.maintain(title, operation, ['storage'])),
    /** The change that currently waits to be confirmed. */
    get provisional() {
      return confirmation.waiting;
    },
    /** An authenticated request arrived, which may confirm a change. */
    heard: confirmation.heard.bind(confirmation),

    /** All records that a backup contains. */
    get configuration() {
      return configuration.current;
    },
    /** All stored records, including those of resources that are `ofMachine`. */
    get wholeConfiguration() {
      return configuration.whole;
    },
    /** The configuration of the fresh system. */
    get freshConfiguration() {
      return configuration.fresh;
    },
    /** The automatic backups, the newest first. */
    backups: () => configuration.backups(),
    backup: (number: number) => configuration.backup(number),
    revisions: (limit: number, before?: number) => configuration.revisions(limit, before),
    revision: (number: number) => configuration.revision(number),
    revisionOf: (request: string) => parts.store.revisionOf(request),
    revisionsAfter: (number: number) => configuration.revisionsAfter(number),
    /** The answers to requests with an `Idempotency-Key`. */
    retries: parts.store satisfies RetryStore,
    /** Identifies the content of a stored record; the same after a restart. */
    digestOf: (record: object) => configuration.digestOf(record),

    /** The next run of each scheduled record; the earliest first. */
    schedules: () => schedules.reports(),
    /** Starts the tasks that are due. The engine also does this every minute. */
    lookAtClock: () => schedules.look(),
    /** Where the machine differs from the configuration. Reads the machine itself, not the facts. */
    report: () => reconciler.report(),
    /** What applies the configuration of one subsystem to the machine again, as a step of a change. */
    healing: (subsystem: string) => reconciler.healing(subsystem),
    /** Whether a subsystem differed from the configuration at the last inspection. */
    get isDrifted() {
      return reconciler.isDrifted;
    },
    /** Does with subsystems that differ from the configuration what their policy says, and reports problems. */
    async inspect(): Promise<void> {
      await reconciler.inspect();
      problems.look();
    },
    /** What is wrong with the appliance, the most urgent first. */
    get problems() {
      return problems.list;
    },
    /** What is known of the appliance without looking at the machine and without computing much. */
    get condition() {
      return {
        /** When each part of the facts was read last. */
        seen: keeper.seen,
        /** The problems of the last look. */
        problems: problems.known,
        subsystems: reconciler.conditions,
        changes: changes.times,
      };
    },
    /** A message why changes cannot be stored now; undefined if they can. */
    get obstacle() {
      return condition.obstacle;
    },
  };
}
