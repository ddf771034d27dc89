import type { Host } from '../host/ports/index.ts';
import { messageOf } from '../lib/text.ts';
import { Changes } from './change/changes.ts';
import type { Access } from './change/confirm.ts';
import { Confirmation } from './change/confirmation.ts';
import { atStart, byDaemon } from './change/request.ts';
import type { ConfigurationStore } from './configuration/configuration-store.ts';
import { pathsNamed, pathsOfRecord } from './configuration/occupants.ts';
import { StoredConfiguration } from './configuration/stored-configuration.ts';
import { EventBus } from './declare/events.ts';
import type { Log } from './declare/log.ts';
import type { Problem } from './declare/problem.ts';
import type { Resource, World } from './declare/resource.ts';
import type { Rule } from './declare/rule.ts';
import { machineZone } from './declare/schedule.ts';
import { inOrder, type Subsystem } from './declare/subsystem.ts';
import { FactKeeper, type Topic } from './facts/facts.ts';
import type { SnapshotPart } from './facts/snapshot-index.ts';
import { leavePool } from './pair/departure.ts';
import type { Passwords } from './passwords.ts';
import { EditedFiles } from './plan/edited-files.ts';
import { Originals } from './plan/originals.ts';
import { StepRunner } from './plan/runner.ts';
import type { StepKind } from './plan/steps.ts';
import { Beginning } from './upkeep/beginning.ts';
import { driftPolicy, policiesOf } from './upkeep/drift-policy.ts';
import { Following } from './upkeep/following.ts';
import { Jobs } from './upkeep/jobs.ts';
import { Problems, problemsOfResources } from './upkeep/problems.ts';
import { Reconciler } from './upkeep/reconciler.ts';
import { renewal } from './upkeep/renewal.ts';
import { Schedules } from './upkeep/schedules.ts';
import { Startup } from './upkeep/startup.ts';
import { StoreCondition } from './upkeep/store-condition.ts';
import { managedBy, refuseUnmanaged } from './upkeep/takeover.ts';
import { Workshop } from './upkeep/work.ts';

export interface EngineParts {
  readonly resources: readonly Resource[];
  readonly subsystems: readonly Subsystem[];
  readonly rules?: readonly Rule[];
  /** The kinds of steps that a start can find in the journal. */
  readonly stepKinds?: readonly StepKind[];
  /** Each computes the current problems of another part of the program. */
  readonly problems?: readonly (() => readonly Problem[])[];
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
  /** Whether a start is a take-over, for which clients wait: see the reconciler. */
  readonly sideBySide?: boolean;
  /** What is known of snapshots from one run to the next; without it, a start lists all of them. */
  readonly knownSnapshots?: SnapshotMemory;
}

/** Keeps the snapshots that a run knew for the next. */
export interface SnapshotMemory {
  read(): readonly SnapshotPart[];
  write(parts: readonly SnapshotPart[]): void;
}

/** Builds the parts of the engine. Parts that need one another in both directions get functions that are called later. */
export function wire({ accesses = [], rules = [], stepKinds = [], zone = machineZone, ...parts }: EngineParts) {
  const { problems: furtherProblems = [] } = parts;
  const { host, log, now, passwords, patience = 10_000, resources, store, subsystems } = parts;
  const serviceNames = [...new Set(subsystems.flatMap(({ services = [] }) => services))];
  const isManaged = managedBy(resources);
  const startup = new Startup({
    ...(parts.progressed && { progressed: parts.progressed }),
    isAwaited: () => passwords.isChecking,
  });
  const events = new EventBus(now, store);
  const jobs = new Jobs(store, events, now, (error) =>
    log.error({ error: messageOf(error) }, 'job: could not be stored, will be stored when the disk is writable'),
  );
  const configuration = new StoredConfiguration(resources, store);
  const { tables } = configuration;
  const saw = (topic: Topic) => {
    startup.saw(topic);
    problems.soon();
    following.changed(topic);
  };
  // At a first start, the machine is looked at before the default records exist.
  const isSeeded = () =>
    configuration.resources.every((one) => one.kind !== 'singleton' || tables.table(one).get(1) !== undefined);
  const paths = () => (isSeeded() ? pathsNamed(tables) : []);
  const atRest = () => changes.idle();
  const keeper = new FactKeeper(host, { serviceNames, paths, now, changed: saw, atRest });
  const facts = () => keeper.facts;
  const world = (): World => ({ view: tables, facts: keeper.facts });
  const renew = renewal(keeper, log);
  const originals = new Originals({ host, log, now });
  const edited = new EditedFiles({ host, log, now });
  const steps = new StepRunner({ host, events, log });
  const condition = new StoreCondition({
    ...{ store, log },
    simulatedUsage: () => host.faults?.valueOf('system-usage'),
  });
  const common = {
    host,
    store,
    log,
    events,
    now,
    configuration,
    tables,
    facts,
    world,
    renew,
    originals,
    edited,
    steps,
    jobs,
  };

  const reconciler = new Reconciler({
    ...common,
    subsystems,
    isManaged,
    sideBySide: parts.sideBySide === true,
    policyOf: policiesOf(resources),
    inQueue: (title, operation, claims) => changes.maintain(title, operation, claims),
  });
  const confirmation = new Confirmation({
    ...common,
    accesses,
    draft: () => configuration.draft(keeper.facts),
    takeBack: (title, context, it) => changes.takeBack(title, context, it),
  });
  const changes: Changes = new Changes({
    ...common,
    confirmation,
    rules,
    subsystems: reconciler,
    check: (draft, changed) => refuseUnmanaged(subsystems, isManaged, tables, draft, changed),
    obstacle: () => condition.obstacle,
    start: (task, context, plan) => work.background(task, context, plan),
  });
  const problems: Problems = new Problems({
    ...common,
    sources: [
      () => problemsOfResources(resources, { ...world(), now: now() }),
      () => reconciler.problems,
      () => jobs.problems,
      () => condition.problems,
      ...furtherProblems,
    ],
  });
  events.listen((event) => {
    if (!event.name.startsWith('problem.')) problems.soon();
    if (event.name !== 'record.changed') return;
    if (event.payload.resource === driftPolicy.path) reconciler.follow('services');
    const paths = pathsOfRecord(resources, tables, event.payload);
    if (paths.length > 0) keeper.glanceAt(paths);
  });
  const work: Workshop = new Workshop({
    ...common,
    changes,
    passwords,
    ended: (topic) => void following.followAll(topic),
  });
  const following: Following = new Following({ ...common, changes, reconciler, isBusy: () => work.isBusy });
  const schedules = new Schedules({ ...common, zone, runs: jobs, start: (task) => work.background(task, byDaemon) });
  const beginning = new Beginning({
    ...common,
    ...{ keeper, subsystems, stepKinds, reconciler, changes, confirmation, following, schedules, startup, patience },
    operations: () => work.operations(atStart),
    recalled: () => parts.knownSnapshots?.read() ?? [],
    settled: () => problems.begin(),
  });
  const ofPool = () => inOrder(subsystems).filter((one) => one.followsPool === true && isManaged(one, tables));
  return {
    ...{ beginning, changes, condition, configuration, confirmation, events, following, jobs, keeper, problems },
    ...{ reconciler, schedules, startup, work, world },
    ofPool,
    leavePool: () => leavePool({ ...common, subsystems: ofPool(), facts: keeper.facts }),
    async leaveLostPool(served: readonly string[]) {
      // What is not looked at is as on a fresh machine: nothing of the pool is rendered.
      await keeper.renew('network');
      const leaving = inOrder(subsystems).filter(({ name }) => served.includes(name));
      await leavePool({ ...common, subsystems: leaving, facts: keeper.facts });
    },
  };
}
