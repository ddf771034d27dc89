import { isDeepStrictEqual } from 'node:util';
import { type Host, HostError } from '../../host/ports/index.ts';
import type { ServiceState } from '../../host/ports/services.ts';
import { messageOf } from '../../lib/text.ts';
import { claimsOfRepair } from '../change/claims.ts';
import type { Affected, SubsystemState, SubsystemStates } from '../change/subsystem-states.ts';
import type { LayeredDraft } from '../configuration/draft.ts';
import { Fault, missing } from '../declare/errors.ts';
import type { EventBus } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import type { Problem } from '../declare/problem.ts';
import type { View, World } from '../declare/resource.ts';
import type { Claim } from '../declare/step.ts';
import { type Desired, type DesiredFile, inOrder, type Subsystem } from '../declare/subsystem.ts';
import type { Topic } from '../facts/facts.ts';
import {
  allDifferences,
  type ConvergeOptions,
  converge,
  convergedTopics,
  layServiceFiles,
} from '../plan/converge/converge.ts';
import { ServiceLook } from '../plan/converge/service-look.ts';
import type { EditedFiles } from '../plan/edited-files.ts';
import type { Originals } from '../plan/originals.ts';
import type { DriftPolicy } from './drift-policy.ts';
import { EndedServices } from './ended-services.ts';
import type { Startup } from './startup.ts';
import { mustBeManaged } from './takeover.ts';

export interface SubsystemReport {
  readonly subsystem: string;
  /** False for a subsystem that was configured by hand and has not been taken over; it is not inspected. */
  readonly managed: boolean;
  readonly degraded: string | null;
  readonly policy: DriftPolicy;
  /** When it was last healed since the start, what was done, and where replaced files are kept. */
  readonly healed: Healing | null;
  /** The actions that would apply the configuration. */
  readonly drift: readonly string[];
  /** What is wrong with what it serves. */
  readonly problems: readonly string[];
}

export interface Healing {
  readonly at: string;
  readonly actions: readonly string[];
  readonly kept: readonly string[];
}

interface ReconcilerParts {
  readonly subsystems: readonly Subsystem[];
  readonly host: Host;
  readonly log: Log;
  readonly events: EventBus;
  readonly world: () => World;
  readonly originals: Originals;
  readonly edited: EditedFiles;
  readonly policyOf: (view: View, subsystem: string) => DriftPolicy;
  readonly isManaged: (subsystem: Subsystem, view: View) => boolean;
  /**
   * Whether a start applies the subsystems that follow the pool of a pair while it applies the others: clients wait, and
   * a service that starts mostly waits too.
   */
  readonly sideBySide: boolean;
  readonly now: () => number;
  /** Reads these facts from the machine. */
  readonly renew: (topics: ReadonlySet<Topic>) => Promise<void>;
  /** Runs the operation in the queue, so that no change works on what it claims, and logs a failure. */
  readonly inQueue: (title: string, operation: () => Promise<void>, claims: readonly Claim[]) => Promise<void>;
}

/** What is known of a subsystem without looking at the machine. */
export interface SubsystemCondition {
  readonly subsystem: string;
  readonly isDegraded: boolean;
  readonly isDrifted: boolean;
}

interface RepairOptions extends ConvergeOptions {
  /** Receives the topics of the facts that change. */
  readonly touched?: Set<Topic>;
  /** Receives where replaced files are kept, if they were changed outside of Holdfast. */
  readonly kept?: string[];
  /** Whether what differs was written by Holdfast itself, so that nothing has to be kept. */
  readonly isOwn?: boolean;
}

/** Milliseconds until a degraded subsystem is retried, with exponential backoff. */
const retryAfter = (attempt: number) => Math.min(1000 * 2 ** attempt, 300_000);

/** Applies the stored configuration to the machine, subsystem by subsystem, also after changes outside of Holdfast. */
export class Reconciler implements SubsystemStates {
  readonly #host: Host;
  readonly #log: Log;
  readonly #events: EventBus;
  readonly #world: () => World;
  readonly #inQueue: ReconcilerParts['inQueue'];
  readonly #originals: Originals;
  readonly #isManaged: ReconcilerParts['isManaged'];
  readonly #sideBySide: boolean;
  readonly #edited: EditedFiles;
  readonly #policyOf: ReconcilerParts['policyOf'];
  readonly #now: () => number;
  readonly #renew: ReconcilerParts['renew'];
  /** By the name of the subsystem. */
  readonly #healed = new Map<string, Healing>();
  readonly #states: readonly SubsystemState[];
  readonly #ended: EndedServices;
  /** Subsystems that differed from the configuration at the last inspection. */
  #drifted: readonly string[] = [];
  #closing = false;

  constructor({ subsystems, host, log, events, world, inQueue, originals, isManaged, ...rest }: ReconcilerParts) {
    this.#host = host;
    this.#log = log;
    this.#events = events;
    this.#world = world;
    this.#inQueue = inQueue;
    this.#originals = originals;
    this.#isManaged = isManaged;
    this.#sideBySide = rest.sideBySide;
    this.#edited = rest.edited;
    this.#policyOf = rest.policyOf;
    this.#now = rest.now;
    this.#renew = rest.renew;
    this.#ended = new EndedServices({
      host,
      events,
      facts: () => world().facts,
      now: rest.now,
      policyOf: (subsystem) => rest.policyOf(world().view, subsystem),
      inQueue: (title, subsystem, operation) => inQueue(title, operation, [{ subsystem }]),
      startAgain: (subsystem, service) => this.#startAgain(subsystem, service),
    });
    this.#states = inOrder(subsystems).map((subsystem) => ({
      subsystem,
      applied: undefined,
      failed: undefined,
      degraded: undefined,
      attempts: 0,
      retry: undefined,
    }));
  }

  /**
   * Applies the whole configuration at start. Adds the topics of changed facts to `touched`. At the first start of a fresh
   * system, replaced files are kept as originals.
   */
  async begin(startup: Startup, touched: Set<Topic>, { isFresh }: { readonly isFresh: boolean }): Promise<void> {
    const laid = await startup.during('writing unit files', () => this.#layServiceFiles());
    // The facts are current, unless unit files were written since.
    const { services, network } = this.#world().facts;
    const look = this.#serviceLook(laid.size === 0 ? services : undefined);
    const progress = () => startup.progress();
    const of = this.#states.length;
    const apply = (state: SubsystemState, index: number) =>
      startup.during(
        `configuring ${state.subsystem.name}`,
        () => this.#repair(state, 'at start', { laid, look, network, progress, touched, isOwn: isFresh }),
        { number: index + 1, of },
      );
    const begun = new Map<string, Promise<void>>();
    for (const [index, state] of this.#states.entries()) {
      const { after = [], followsPool, name } = state.subsystem;
      const applied = Promise.all(after.map((earlier) => begun.get(earlier))).then(() => apply(state, index));
      begun.set(name, applied);
      // Its failure is seen below.
      applied.catch(() => {});
      if (!this.#sideBySide || followsPool !== true) await applied;
    }
    await Promise.all(begun.values());
  }

  /**
   * Saves the original files before the first file is written. On a machine that is not `isFresh`, an earlier version
   * has written files without saving originals. If this fails, every subsystem that would replace a file fails and is
   * retried.
   */
  async secureOriginals(isFresh: boolean): Promise<void> {
    const { view, facts } = this.#world();
    const rendered = this.#managed().map(({ subsystem }) => subsystem.render(view, facts));
    const files = rendered.flatMap((desired) => desired.files ?? []);
    const owns = rendered.flatMap((desired) => desired.owns ?? []);
    const services = this.#managed().flatMap(({ subsystem }) => (subsystem.services ?? []).map((name) => ({ name })));
    try {
      if (isFresh || this.#originals.isThere) await this.#originals.secure({ files, owns, services });
      else await this.#originals.assumeOwn({ files, owns, services });
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      this.#log.error({ error: messageOf(error) }, 'originals: saving files failed');
    }
  }

  close(): void {
    this.#closing = true;
    this.#ended.close();
    for (const { retry } of this.#states) clearTimeout(retry);
  }

  /** What is wrong with the subsystems and with what they serve. */
  get problems(): readonly Problem[] {
    const { view, facts } = this.#world();
    return this.#states.flatMap(({ subsystem, degraded }) => {
      const { name } = subsystem;
      if (!this.#isManaged(subsystem, view)) return [unmanaged(name)];
      return [
        ...(degraded === undefined ? [] : [failedSubsystem(name, degraded)]),
        ...(this.#drifted.includes(name) ? [drift(name)] : []),
        ...this.#ended.problems(name),
        ...(subsystem.problems?.(view, facts) ?? []),
      ];
    });
  }

  /** Each managed subsystem: whether its configuration could not be applied, and whether it differed when last inspected. */
  get conditions(): readonly SubsystemCondition[] {
    const { view } = this.#world();
    return this.#states
      .filter(({ subsystem }) => this.#isManaged(subsystem, view))
      .map(({ subsystem: { name }, degraded }) => ({
        subsystem: name,
        isDegraded: degraded !== undefined,
        isDrifted: this.#drifted.includes(name),
      }));
  }

  /** Whether a subsystem differed from the configuration at the last inspection and still may. */
  get isDrifted(): boolean {
    return this.#drifted.length > 0;
  }

  /** Finds the subsystems that differ from the configuration, and does with each what its policy says. */
  async inspect(): Promise<void> {
    const reports = await this.report();
    const suspected = reports.filter(({ drift, policy }) => drift.length > 0 && policy !== 'ignore');
    const drifted: string[] = [];
    for (const { subsystem: name } of suspected) if (await this.#inspectAgain(this.#stateOf(name))) drifted.push(name);
    this.#drifted = drifted;
  }

  /** Where the machine differs from the configuration. Reads the machine itself, not the facts. */
  async report(): Promise<readonly SubsystemReport[]> {
    const { view, facts } = this.#world();
    const reports: SubsystemReport[] = [];
    const look = this.#serviceLook();
    for (const { subsystem, degraded = null } of this.#states) {
      const { name } = subsystem;
      const common = { subsystem: name, policy: this.#policyOf(view, name), healed: this.#healed.get(name) ?? null };
      if (!this.#isManaged(subsystem, view)) {
        reports.push({ ...common, managed: false, degraded: null, drift: [], problems: [] });
        continue;
      }
      const desired = subsystem.render(view, facts);
      const steps = await allDifferences(this.#host, desired, undefined, { look });
      const problems = (subsystem.problems?.(view, facts) ?? []).map(({ message }) => message);
      reports.push({ ...common, managed: true, degraded, drift: steps.map(({ title }) => title), problems });
    }
    const same = new Set(reports.filter(({ drift }) => drift.length === 0).map(({ subsystem }) => subsystem));
    this.#drifted = this.#drifted.filter((name) => !same.has(name));
    return reports;
  }

  /**
   * Inspects a subsystem while no change applies it, because what a change is about to apply differs too. If it still
   * differs, it is healed if its policy says so. Resolves with whether it differs then.
   */
  async #inspectAgain(state: SubsystemState): Promise<boolean> {
    const { subsystem } = state;
    const { name } = subsystem;
    const differs = async () => {
      const { view, facts } = this.#world();
      if (!this.#isManaged(subsystem, view)) return false;
      return (await allDifferences(this.#host, subsystem.render(view, facts), undefined)).length > 0;
    };
    let isDrifted = false;
    const inspect = async () => {
      isDrifted = await differs();
      const policy = this.#policyOf(this.#world().view, name);
      if (!isDrifted || policy !== 'heal' || state.degraded !== undefined) return;
      await this.#heal(state, 'after a change outside of Holdfast');
      isDrifted = await differs();
    };
    const { view, facts } = this.#world();
    await this.#inQueue(`inspect ${name} again`, inspect, claimsOfRepair(name, subsystem.render(view, facts)));
    return isDrifted && this.#policyOf(this.#world().view, name) !== 'ignore';
  }

  /** The managed subsystems that read the changed records, and those that the change takes over. */
  concerned(draft: LayeredDraft, changes = draft.changes()): readonly SubsystemState[] {
    const changed = new Set(changes.map(({ resource }) => resource.path));
    const { view } = this.#world();
    return this.#states.filter(
      ({ subsystem }) =>
        this.#isManaged(subsystem, draft) &&
        (subsystem.reads.some(({ path }) => changed.has(path)) || !this.#isManaged(subsystem, view)),
    );
  }

  affected(draft: LayeredDraft, concerned = this.concerned(draft)): readonly Affected[] {
    return concerned
      .map((state) => ({ state, desired: state.subsystem.render(draft, draft.facts) }))
      .filter(({ state: { applied, failed }, desired }) => !isDeepStrictEqual(applied ?? failed, desired));
  }

  /**
   * Heals a subsystem for a client, which gets the error if that fails. Services that have ended by themselves are
   * started too.
   */
  healing(name: string): { readonly claims: readonly Claim[]; readonly perform: () => Promise<Healing> } {
    const state = this.#stateOf(name);
    const { view, facts } = this.#world();
    mustBeManaged(view, [name]);
    return {
      claims: claimsOfRepair(name, state.subsystem.render(view, facts)),
      perform: () => this.#heal(state, 'on request', { startsEnded: true }),
    };
  }

  /** Applies the stored configuration of a subsystem, whatever the machine is now. */
  async #heal(state: SubsystemState, when: string, options: ConvergeOptions = {}): Promise<Healing> {
    const { name } = state.subsystem;
    const touched = new Set<Topic>();
    const kept: string[] = [];
    state.applied = undefined;
    try {
      const actions = await this.#apply(state, when, { ...options, touched, kept });
      const healing = Object.freeze({ at: new Date(this.#now()).toISOString(), actions, kept });
      if (actions.length > 0) {
        this.#healed.set(name, healing);
        this.#events.emit('drift.healed', { subsystem: name, actions, kept });
      }
      this.#drifted = this.#drifted.filter((one) => one !== name);
      return healing;
    } finally {
      await this.#renew(touched);
    }
  }

  /** Applies the stored configuration again after a failed change, the last subsystem first. */
  async takeBack(begun: readonly SubsystemState[]): Promise<void> {
    for (const state of begun.toReversed()) {
      state.applied = undefined;
      await this.#repair(state, 'after a failed change', { isOwn: true, leavesEnded: true });
    }
  }

  recovered(state: SubsystemState): void {
    clearTimeout(state.retry);
    state.attempts = 0;
    state.failed = undefined;
    if (state.degraded === undefined) return;
    state.degraded = undefined;
    this.#log.info({ subsystem: state.subsystem.name }, `subsystem ${state.subsystem.name}: recovered`);
    this.#events.emit('subsystem.recovered', { subsystem: state.subsystem.name });
  }

  /** Applies the subsystems that depend on changed facts. */
  follow(topic: Topic): void {
    const { view, facts } = this.#world();
    for (const state of this.#states) {
      if (!this.#isManaged(state.subsystem, view)) continue;
      if (topic === 'services' && state.applied !== undefined) this.#ended.look(state.subsystem.name, state.applied);
      if (!(state.subsystem.uses ?? []).includes(topic)) continue;
      const desired = state.subsystem.render(view, facts);
      if (state.applied !== undefined && isDeepStrictEqual(state.applied, desired)) continue;
      void this.#inQueue(
        `apply ${state.subsystem.name} after a change of the machine`,
        () => this.#repairAndLook(state, `after a change of ${topic}`),
        claimsOfRepair(state.subsystem.name, desired),
      );
    }
  }

  /** Applies the stored configuration of one subsystem. A failure is logged, marks it as degraded and is retried. */
  async #repair(state: SubsystemState, when: string, options: RepairOptions = {}): Promise<void> {
    const { subsystem } = state;
    const { view, facts } = this.#world();
    try {
      if (!this.#isManaged(subsystem, view)) return await this.#leaveAlone(state, subsystem.render(view, facts));
      await this.#apply(state, when, options);
    } catch (error) {
      if (!(error instanceof HostError) && !(error instanceof Fault)) throw error;
    }
  }

  /**
   * Applies one subsystem like `#repair`, and reads the facts that it changed, such as services that run now. Not after a
   * failure: facts that were read apply a degraded subsystem once more.
   */
  async #repairAndLook(state: SubsystemState, when: string): Promise<void> {
    const touched = new Set<Topic>();
    await this.#repair(state, when, { touched });
    if (state.degraded === undefined) await this.#renew(touched);
  }

  /** Applies the stored configuration of a managed subsystem. Returns what was done. */
  async #apply(state: SubsystemState, when: string, options: RepairOptions = {}): Promise<readonly string[]> {
    const { subsystem } = state;
    const { touched = new Set<Topic>(), kept = [], isOwn = false, ...known } = options;
    const { view, facts } = this.#world();
    let desired: Desired | undefined;
    const replacing = async (path: string, applied: DesiredFile | undefined) => {
      const copy = isOwn ? undefined : await this.#edited.keep(path, applied);
      if (copy !== undefined) kept.push(copy);
    };
    try {
      desired = subsystem.render(view, facts);
      const how = { ...known, originals: this.#originals, replacing };
      const outcome = await converge(this.#host, desired, state.applied, how);
      const { actions } = outcome;
      for (const topic of outcome.touched) touched.add(topic);
      state.applied = desired;
      if (actions.length > 0)
        this.#log.info(
          { subsystem: subsystem.name, actions, ...(kept.length > 0 && { kept }) },
          `subsystem ${subsystem.name}: applied ${when}`,
        );
      this.recovered(state);
      return actions;
    } catch (error) {
      if (!(error instanceof HostError) && !(error instanceof Fault)) throw error;
      // The machine may have been changed before the error.
      for (const topic of convergedTopics) touched.add(topic);
      state.applied = undefined;
      state.failed = desired;
      state.degraded = messageOf(error);
      state.attempts += 1;
      this.#log.error(
        { subsystem: subsystem.name, error: messageOf(error) },
        `subsystem ${subsystem.name}: apply failed ${when}`,
      );
      this.#events.emit('subsystem.degraded', { subsystem: subsystem.name, reason: messageOf(error) });
      this.#tryAgain(state);
      throw error;
    }
  }

  /** Leaves an unmanaged subsystem as it is. Restores files that a failed or interrupted take-over replaced. */
  async #leaveAlone(state: SubsystemState, desired: Desired): Promise<void> {
    state.applied = undefined;
    if (this.#originals.holdsFor(desired)) {
      await this.#originals.giveBack(desired);
      this.#log.warn(
        { subsystem: state.subsystem.name },
        `subsystem ${state.subsystem.name}: take-over failed, restored the original files`,
      );
    }
    this.recovered(state);
  }

  async #startAgain(subsystem: string, service: string): Promise<boolean> {
    const state = this.#stateOf(subsystem);
    const { view, facts } = this.#world();
    const claims = claimsOfRepair(subsystem, state.subsystem.render(view, facts));
    const repair = () => {
      state.applied = undefined;
      return this.#repair(state, `after ${service} ended`);
    };
    await this.#inQueue(`start ${service} again`, repair, claims);
    await this.#renew(new Set(['services']));
    return state.degraded === undefined;
  }

  #stateOf(name: string): SubsystemState {
    const state = this.#states.find(({ subsystem }) => subsystem.name === name);
    if (state === undefined) throw missing(`Expected the name of a subsystem, got ${name}.`);
    return state;
  }

  #managed(): readonly SubsystemState[] {
    const { view } = this.#world();
    return this.#states.filter(({ subsystem }) => this.#isManaged(subsystem, view));
  }

  /** Retries in the queue, so that no change applies the subsystem at the same time. */
  #tryAgain(state: SubsystemState): void {
    if (this.#closing) return;
    clearTimeout(state.retry);
    const again = () => {
      const { view, facts } = this.#world();
      const claims = claimsOfRepair(state.subsystem.name, state.subsystem.render(view, facts));
      return this.#inQueue(`repair ${state.subsystem.name}`, () => this.#repairAndLook(state, 'on retry'), claims);
    };
    state.retry = setTimeout(() => void again(), retryAfter(state.attempts));
    state.retry.unref();
  }

  /**
   * Writes the unit files of all subsystems. For a file that fails here, its subsystem reports the error and retries.
   */
  async #layServiceFiles(): Promise<ReadonlySet<string>> {
    const { view, facts } = this.#world();
    try {
      const written = await layServiceFiles(
        this.#host,
        this.#managed().map(({ subsystem }) => subsystem.render(view, facts)),
        (title, error) => this.#log.error({ error: messageOf(error) }, `service manager: could not ${title}`),
      );
      if (written.length > 0) this.#log.info({ written }, 'service manager: wrote unit files');
      return new Set(written);
    } catch (error) {
      if (!(error instanceof HostError) && !(error instanceof Fault)) throw error;
      this.#log.error({ error: messageOf(error) }, 'service manager: writing unit files failed');
      return new Set();
    }
  }

  #serviceLook(known?: ReadonlyMap<string, ServiceState>): ServiceLook {
    return new ServiceLook(
      this.#host,
      this.#states.flatMap(({ subsystem }) => subsystem.services ?? []),
      known,
    );
  }
}

const failedSubsystem = (name: string, reason: string): Problem => ({
  kind: 'subsystem',
  about: `subsystem/${name}`,
  severity: 'critical',
  message: `Subsystem ${name}: apply failed: ${reason}`,
});

const drift = (name: string): Problem => ({
  kind: 'drift',
  about: `subsystem/${name}`,
  severity: 'warning',
  message: `Subsystem ${name} was changed outside of Holdfast. GET /api/holdfast/v1/drift lists the differences.`,
  remedy: { method: 'POST', path: `/api/holdfast/v1/drift/${name}/heal` },
});

const unmanaged = (name: string): Problem => ({
  kind: 'unmanaged',
  about: `subsystem/${name}`,
  severity: 'info',
  message: `Subsystem ${name} was configured by hand, and Holdfast does not manage it. GET /api/holdfast/v1/found shows what was found.`,
  remedy: { method: 'POST', path: `/api/holdfast/v1/found/${name}/take` },
});
