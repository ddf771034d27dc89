import type { Host } from '../../host/ports/index.ts';
import { messageOf } from '../../lib/text.ts';
import type { ConfigurationStore } from '../configuration/configuration-store.ts';
import type { LayeredDraft } from '../configuration/draft.ts';
import type { Tables } from '../configuration/tables.ts';
import { asFault } from '../declare/errors.ts';
import type { EventBus } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import type { Task } from '../declare/resource.ts';
import type { Step } from '../declare/step.ts';
import type { Touched } from '../facts/facts.ts';
import { differences } from '../plan/converge/converge.ts';
import { OpenPlan } from '../plan/journal.ts';
import type { Originals } from '../plan/originals.ts';
import type { Done, StepRunner } from '../plan/runner.ts';
import { verify } from '../plan/verify.ts';
import type { Confirmation } from './confirmation.ts';
import type { Change } from './request.ts';
import type { Affected, SubsystemState, SubsystemStates } from './subsystem-states.ts';

export interface TransactionParts {
  readonly host: Host;
  readonly store: ConfigurationStore;
  readonly tables: Tables;
  readonly subsystems: SubsystemStates;
  readonly steps: StepRunner;
  readonly originals: Originals;
  readonly confirmation: Confirmation;
  readonly events: EventBus;
  readonly log: Log;
  readonly now: () => number;
  /** Reads facts again. Never rejects. */
  readonly renew: (touched: ReadonlySet<Touched>) => Promise<void>;
  /** Starts a job that continues after the change. */
  readonly start: (task: Task) => void;
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
  readonly #begun: SubsystemState[] = [];
  readonly #done: Done[] = [];
  readonly #touched = new Set<Touched>();

  constructor(parts: TransactionParts, plan: Plan) {
    this.#parts = parts;
    this.#plan = plan;
    const { changes, draft } = plan;
    const { title = '', context } = changes[0] ?? {};
    const { actor = '', request = '' } = context ?? {};
    this.#journal = new OpenPlan(parts.store, { title, actor, request }, [...draft.firstSteps, ...draft.lastSteps], {
      changes: draft.changes(),
      sequences: draft.sequences(),
      settles: changes.flatMap(({ settles }) => settles?.ids ?? []),
    });
  }

  async run(): Promise<void> {
    const { draft, affected } = this.#plan;
    try {
      await this.#verify(affected);
      await this.#take(draft.firstSteps);
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

  async #take(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      for (const subject of step.touches) this.#touched.add(subject);
      await this.#parts.steps.take(step, this.#done, this.#journal);
    }
  }

  async #converge(affected: readonly Affected[]): Promise<void> {
    const { host, originals } = this.#parts;
    for (const { state, desired } of affected) {
      this.#begun.push(state);
      await originals.secure(desired, state.applied);
      for await (const step of differences(host, desired, state.applied)) await this.#take([step]);
      state.applied = desired;
    }
  }

  /** Stores records, revisions and the end of the journal's entry in one commit, and makes the records visible. */
  #keep(): void {
    const { store, tables, now } = this.#parts;
    const { changes, draft } = this.#plan;
    const at = new Date(now()).toISOString();
    const revisions = changes
      .filter((change) => change.changes.length > 0)
      .map(({ title, context, changes: records, backup }) => ({
        at,
        ...context,
        title,
        changes: records,
        ...(backup && { backup }),
      }));
    const ended = [this.#journal, ...changes.flatMap(({ settles }) => settles ?? [])].flatMap(({ ids }) => ids);
    store.commit(revisions, draft.changes(), draft.sequences(), changes[0]?.provisional, ended);
    tables.apply(draft.changes(), draft.sequences());
  }

  async #takeBack(error: unknown): Promise<void> {
    const { subsystems, steps, log, renew } = this.#parts;
    const { changes } = this.#plan;
    await subsystems.takeBack(this.#begun);
    await steps.takeBack(this.#done);
    this.#journal.end();
    log.warn(
      { error: messageOf(error), requests: changes.map(({ context }) => context.request) },
      `change failed: ${changes.map(({ title }) => title).join('; ')}`,
    );
    await renew(this.#touched);
  }

  #announce(): void {
    const { log, events, confirmation, subsystems, start } = this.#parts;
    const { changes, affected, draft } = this.#plan;
    for (const { title, context, changes: records } of changes) {
      log.info({ ...context, records: records.map(({ resource, id }) => `${resource.path}/${id}`) }, title);
      for (const { resource, id, before, after } of records) {
        const what = before === undefined ? 'created' : after === undefined ? 'removed' : 'updated';
        events.emit('record.changed', { resource: resource.path, id, what, request: context.request });
      }
    }
    for (const { settles } of changes) settles?.settled();
    confirmation.waitFor(changes[0]?.provisional);
    for (const { state } of affected) subsystems.recovered(state);
    for (const task of draft.tasks) {
      log.debug({}, `step: ${task.title}`);
      start(task);
    }
  }
}
