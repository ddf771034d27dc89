import { messageOf } from '../../lib/text.ts';
import type { Provisional } from '../configuration/configuration-store.ts';
import type { LayeredDraft, Mark } from '../configuration/draft.ts';
import type { StoredConfiguration } from '../configuration/stored-configuration.ts';
import type { RecordChange } from '../configuration/tables.ts';
import { unavailable } from '../declare/errors.ts';
import type { Configuration, Draft } from '../declare/resource.ts';
import type { Rule } from '../declare/rule.ts';
import type { Facts } from '../facts/facts.ts';
import { type Actions, converge, verify } from '../plan/converge.ts';
import type { OpenPlan } from '../plan/journal.ts';
import { own } from '../plan/steps.ts';
import { ChangeQueue, type Waiting } from './change-queue.ts';
import { byDaemon, type Change, type RequestContext } from './request.ts';
import { Transaction, type TransactionParts } from './transaction.ts';

interface ChangesParts extends TransactionParts {
  readonly configuration: StoredConfiguration;
  readonly facts: () => Facts;
  readonly rules: readonly Rule[];
  /** Adds the problems of changed records that no rule names. */
  readonly check: (draft: LayeredDraft, changed: readonly RecordChange[]) => void;
  /** Why changes cannot be stored now. */
  readonly obstacle: () => string | undefined;
}

/** Submits changes to the queue, and carries them out in groups. */
export class Changes {
  readonly #parts: ChangesParts;
  readonly #queue = new ChangeQueue<Change>((group) => this.#carryOutGroup(group));

  constructor(parts: ChangesParts) {
    this.#parts = parts;
  }

  /** Submits one change to the queue. Resolves when it is applied to the machine and stored. */
  submit(change: Omit<Change, 'changes'>): Promise<void> {
    return this.#queue.enter({ ...change, changes: [] });
  }

  /** Like `submit`, with the result of `make`. */
  async change<T>(title: string, context: RequestContext, make: (draft: Draft) => T, settles?: OpenPlan): Promise<T> {
    const result: { value?: { readonly it: T } } = {};
    await this.submit({
      title,
      context,
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
    const { configuration } = this.#parts;
    const change: Change = {
      title,
      context,
      changes: [],
      make: (draft) => {
        change.backup = draft.configuration(configuration.exchangeable);
        draft.exchange(wanted(change.backup, configuration.fresh));
      },
    };
    await this.#queue.enter(change);
  }

  /** Reverts a change that was not confirmed. */
  takeBack(title: string, context: RequestContext, { changes }: Provisional): Promise<void> {
    return this.submit({ title, context, provisional: 'none', make: (draft) => draft.revert(changes) });
  }

  /** Runs an operation of the daemon itself while no change is applied, and logs its failure. */
  async maintain(title: string, operation: () => Promise<void>): Promise<void> {
    try {
      await this.operate(title, operation);
    } catch (error) {
      this.#parts.log.error({ error: messageOf(error) }, `failed: ${title}`);
    }
  }

  /** Like `maintain`, but rejects with the error. */
  operate(title: string, operation: () => Promise<void>, context = byDaemon): Promise<void> {
    return this.submit({ title, context, make: (draft) => draft.plan.last(own(title, operation)) });
  }

  /** A dry run: the operations that a change would perform on the machine. */
  async plan(make: (draft: LayeredDraft) => void): Promise<Actions> {
    const { configuration, facts, subsystems, host } = this.#parts;
    const draft = configuration.draft(facts());
    const mark = draft.mark();
    make(draft);
    this.#judge(draft, mark);
    const actions: string[] = draft.firstSteps.map((step) => step.title);
    for (const { state, desired } of subsystems.affected(draft)) {
      await verify(host, desired, state.applied);
      actions.push(...(await converge(host, desired, state.applied, { pretend: true })).actions);
    }
    return [...actions, ...draft.lastSteps.map((step) => step.title), ...draft.tasks.map((task) => task.title)];
  }

  /** Resolves when no change waits or is applied. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** Combines the changes of the group in one draft and carries it out; if that fails, carries them out one by one. */
  async #carryOutGroup(group: readonly Waiting<Change>[]): Promise<readonly Waiting<Change>[]> {
    const { configuration, facts, subsystems } = this.#parts;
    const draft = configuration.draft(facts());
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
      const changes = accepted.map(({ item }) => item);
      const concerned = subsystems.concerned(draft);
      const affected = subsystems.affected(draft, concerned);
      await new Transaction(this.#parts, { changes, draft, concerned, affected }).run();
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
    for (const rule of this.#parts.rules) {
      const changed = changes.filter(({ resource }) => rule.reads.some(({ path }) => path === resource.path));
      if (changed.length > 0) rule.check(draft, changed);
    }
    this.#parts.check(draft, changes);
    draft.issues.throwIfAny();
  }

  /**
   * Refuses changes of clients on a full disk, so that the remaining space is left for the daemon, such as for sent
   * alerts.
   */
  #mustBeAbleToKeep({ connection }: RequestContext): void {
    const obstacle = connection === undefined ? undefined : this.#parts.obstacle();
    if (obstacle !== undefined) throw unavailable(obstacle);
  }

  /** Records which records the change affects, and whether it must be confirmed. */
  #guard(item: Change, draft: LayeredDraft, mark: Mark): void {
    item.changes = draft.changesSince(mark);
    if (item.provisional === 'none') return;
    item.provisional = this.#parts.confirmation.demand(
      item.title,
      item.context,
      item.changes,
      draft,
      draft.firstSteps[mark.first] ?? draft.lastSteps[mark.last],
    );
  }
}
