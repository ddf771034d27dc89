import type { Host } from '../../host/ports/index.ts';
import { messageOf } from '../../lib/text.ts';
import type { ConfigurationStore, ReplacedFile } from '../configuration/configuration-store.ts';
import type { LayeredDraft } from '../configuration/draft.ts';
import type { Tables } from '../configuration/tables.ts';
import { asFault } from '../declare/errors.ts';
import type { AnyEvent, EventBus, Events } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import type { Sequel, Task } from '../declare/resource.ts';
import type { JobRun, Step } from '../declare/step.ts';
import type { DesiredFile } from '../declare/subsystem.ts';
import { type Facts, inDoubt, type Touched } from '../facts/facts.ts';
import { differences } from '../plan/converge/converge.ts';
import type { EditedFiles } from '../plan/edited-files.ts';
import { OpenPlan } from '../plan/journal.ts';
import type { Originals } from '../plan/originals.ts';
import type { Done, StepRunner } from '../plan/runner.ts';
import { taskOf } from '../plan/sequel.ts';
import { verify } from '../plan/verify.ts';
import type { Confirmation } from './confirmation.ts';
import { byDaemon, type Change, type RequestContext } from './request.ts';
import type { Affected, SubsystemState, SubsystemStates } from './subsystem-states.ts';

export interface TransactionParts {
  readonly host: Host;
  readonly store: ConfigurationStore;
  readonly tables: Tables;
  readonly subsystems: SubsystemStates;
  readonly steps: StepRunner;
  readonly originals: Originals;
  readonly edited: EditedFiles;
  readonly confirmation: Confirmation;
  readonly events: EventBus;
  readonly log: Log;
  readonly now: () => number;
  readonly facts: () => Facts;
  /** Reads facts again. Never rejects. */
  readonly renew: (touched: ReadonlySet<Touched>) => Promise<void>;
  /** Starts a job that continues after the change. */
  readonly start: (task: Task, context: RequestContext, plan?: OpenPlan) => void;
}

/** Changes that are carried out together. */
export interface Plan {
  readonly changes: readonly Change[];
  readonly draft: LayeredDraft;
  readonly affected: readonly Affected[];
}

/**
 * Carries out one plan: verify, apply, keep. If something fails, everything that was done is taken back, so that
 * configuration and machine are as they were.
 */
export class Transaction {
  readonly #parts: TransactionParts;
  readonly #plan: Plan;
  readonly #journal: OpenPlan;
  readonly #sequels: readonly { readonly sequel: Sequel; readonly plan: OpenPlan }[];
  readonly #begun: SubsystemState[] = [];
  readonly #done: Done[] = [];
  readonly #touched = new Set<Touched>();
  readonly #replaced: ReplacedFile[] = [];
  /** The job of a change that is carried out without others. */
  readonly #jobs: readonly JobRun[];
  #announced: readonly AnyEvent[] = [];

  constructor(parts: TransactionParts, plan: Plan) {
    this.#parts = parts;
    this.#plan = plan;
    const { changes, draft } = plan;
    const { title = '', context } = changes[0] ?? {};
    const { actor = '', request = '' } = context ?? {};
    this.#journal = new OpenPlan(
      parts.store,
      { title, actor, request },
      [...draft.firstSteps, ...draft.lastSteps],
      () => ({
        changes: draft.changes(),
        sequences: draft.sequences(),
        settles: changes.flatMap(({ settles }) => settles?.ids ?? []),
      }),
    );
    this.#jobs = changes.length === 1 && context?.job !== undefined ? [context.job] : [];
    for (const job of this.#jobs) job.expect([...draft.firstSteps, ...draft.lastSteps]);
    this.#sequels = draft.sequels.map((sequel) => ({
      sequel,
      plan: OpenPlan.following(parts.store, { title: sequel.title, actor, request }, sequel.steps),
    }));
  }

  async run(): Promise<void> {
    const { draft, affected } = this.#plan;
    try {
      await this.#verify(affected);
      await this.#take(draft.firstSteps);
      await this.#learn();
      await this.#converge(affected);
      await this.#take(draft.lastSteps);
      this.#keep();
    } catch (error) {
      await this.#takeBack(error);
      throw asFault(error);
    }
    this.#announce();
    await this.#parts.renew(this.#touched);
  }

  async #verify(affected: readonly Affected[]): Promise<void> {
    for (const { state, desired } of affected) await verify(this.#parts.host, desired, state.applied);
  }

  /** Completes records by what only the machine knows now, such as the GUID of a pool that a step has created. */
  async #learn(): Promise<void> {
    const { facts, renew } = this.#parts;
    const { changes, draft } = this.#plan;
    const [only] = changes;
    if (only === undefined || changes.length > 1 || !draft.mustLearn) return;
    await renew(this.#touched);
    draft.learn(facts());
    only.changes = draft.changes();
  }

  async #take(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      for (const subject of step.touches) this.#touched.add(subject);
      const ends = this.#jobs.map((job) => job.begin(step));
      try {
        await this.#parts.steps.take(step, this.#done, this.#journal);
        for (const end of ends) end('done');
      } catch (error) {
        for (const end of ends) end('failed');
        throw error;
      }
    }
  }

  async #converge(affected: readonly Affected[]): Promise<void> {
    const { edited, host, originals } = this.#parts;
    const replacing = async (path: string, applied: DesiredFile | undefined) => {
      // Where it is not known what was applied, the original has just been kept.
      if (applied !== undefined) await edited.keep(path, applied);
    };
    for (const { state, desired } of affected) {
      this.#begun.push(state);
      this.#replaced.push(...(await originals.secure(desired, state.applied)));
      for await (const step of differences(host, desired, state.applied, { replacing })) await this.#take([step]);
      state.applied = desired;
    }
  }

  /** Stores records, revisions and the end of the journal's entry in one commit, and makes the records visible. */
  #keep(): void {
    const { events, store, tables, now } = this.#parts;
    const { changes, draft } = this.#plan;
    const at = new Date(now()).toISOString();
    const hasAct = draft.lastSteps.some(({ nature }) => nature === 'act');
    const revisions = changes
      .filter((change) => change.changes.length > 0)
      .map(({ title, context, changes: records, backup, settles }, index) => ({
        at,
        ...context,
        title,
        changes: records,
        ...(backup && { backup }),
        // Of changes that are carried out together, the first names them.
        ...(index === 0 && { replaced: this.#replaced }),
        isPart: hasAct || settles !== undefined,
      }));
    const ended = [this.#journal, ...changes.flatMap(({ settles }) => settles ?? [])].flatMap(({ ids }) => ids);
    const begins = this.#sequels.map(({ plan }) => plan.body);
    this.#announced = events.prepare(changes.flatMap(changedIn));
    const ids = store.commit(
      revisions,
      draft.changes(),
      draft.sequences(),
      changes[0]?.provisional,
      { ends: ended, begins },
      this.#announced,
    );
    for (const [index, { plan }] of this.#sequels.entries()) plan.stored(ids[index]);
    tables.apply(draft.changes(), draft.sequences());
  }

  async #takeBack(error: unknown): Promise<void> {
    const { subsystems, steps, log, renew } = this.#parts;
    const { changes } = this.#plan;
    await subsystems.takeBack(this.#begun);
    const isClean = await steps.takeBack(this.#done);
    if (!isClean) for (const job of this.#jobs) job.leavesSomething();
    this.#journal.end();
    log.warn(
      { error: messageOf(error), requests: changes.map(({ context }) => context.request) },
      `change failed: ${changes.map(({ title }) => title).join('; ')}`,
    );
    await renew(inDoubt(this.#touched));
  }

  #announce(): void {
    const { log, events, confirmation, subsystems, start } = this.#parts;
    const { changes, affected, draft } = this.#plan;
    for (const { title, context, changes: records } of changes) {
      // What the daemon does by itself without changing a record reports its own outcome.
      const level = context === byDaemon && records.length === 0 ? 'debug' : 'info';
      log[level]({ ...context, records: records.map(({ resource, id }) => `${resource.path}/${id}`) }, title);
    }
    events.publish(this.#announced);
    for (const { settles } of changes) settles?.settled();
    confirmation.waitFor(changes[0]?.provisional);
    for (const { state } of affected) subsystems.recovered(state);
    const context = changes[0]?.context ?? byDaemon;
    for (const task of draft.tasks) start(task, context);
    for (const { sequel, plan } of this.#sequels) start(taskOf(sequel), context, plan);
  }
}

/** What a change did to each record, for its events. */
function changedIn({ changes, context: { request } }: Change): readonly Events['record.changed'][] {
  return changes.map(({ resource, id, before, after }) => ({
    ...{ resource: resource.path, id, request },
    what: before === undefined ? 'created' : after === undefined ? 'removed' : 'updated',
  }));
}
