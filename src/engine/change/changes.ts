import { Distribution } from '../../lib/distribution.ts';
import { messageOf } from '../../lib/text.ts';
import type { Provisional } from '../configuration/configuration-store.ts';
import type { LayeredDraft, Mark } from '../configuration/draft.ts';
import type { Reads } from '../configuration/reads.ts';
import type { StoredConfiguration } from '../configuration/stored-configuration.ts';
import type { RecordChange } from '../configuration/tables.ts';
import { type Access, Forbidden } from '../declare/access.ts';
import { unavailable } from '../declare/errors.ts';
import type { Configuration, Draft } from '../declare/resource.ts';
import type { Rule } from '../declare/rule.ts';
import type { Claim } from '../declare/step.ts';
import type { Facts } from '../facts/facts.ts';
import type { OpenPlan } from '../plan/journal.ts';
import type { Rehearsal } from '../plan/planner.ts';
import { own } from '../plan/steps.ts';
import * as queue from './change-queue.ts';
import { type Claims, claimsOf, keepOrder, mustWait } from './claims.ts';
import { ChangeRehearsal } from './rehearsal.ts';
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

type Waiting = queue.Waiting<Change, Claims>;
type Group = queue.Group<Change, Claims>;

/** Small enough that the changes can be tried one by one if the group fails. */
const mostTogether = 128;

/** Submits changes to the queue, and carries them out in groups. */
export class Changes {
  readonly #parts: ChangesParts;
  readonly #queue = new queue.ChangeQueue<Change, Claims>({
    form: (waiting, running) => this.#form(waiting, running),
    mustWait,
  });

  /** What keeps the changes that are being drafted from being stored, once it was asked. */
  #obstacle: { readonly it: string | undefined } | undefined;

  /** How long changes took from their request until they were stored or refused. */
  readonly times = new Distribution([0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300]);

  constructor(parts: ChangesParts) {
    this.#parts = parts;
  }

  /** Submits one change to the queue. Resolves when it is applied to the machine and stored. */
  submit(change: Omit<Change, 'changes'>): Promise<void> {
    const begun = performance.now();
    const done = this.#queue.enter({ ...change, changes: [] });
    const count = () => this.times.add((performance.now() - begun) / 1000);
    done.then(count, count);
    return done;
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

  /**
   * Runs an operation of the daemon itself while no change works on what it claims, and logs its failure. Without
   * `claims`, no change runs meanwhile.
   */
  async maintain(title: string, operation: () => Promise<void>, claims?: readonly Claim[]): Promise<void> {
    try {
      await this.operate(title, operation, byDaemon, claims);
    } catch (error) {
      this.#parts.log.error({ error: messageOf(error) }, `failed: ${title}`);
    }
  }

  /** Like `maintain`, but rejects with the error. */
  operate(title: string, operation: () => Promise<void>, context = byDaemon, claims?: readonly Claim[]): Promise<void> {
    return this.submit({ title, context, make: (draft) => draft.plan.last(own(title, operation, claims)) });
  }

  /** Begins a dry run for a principal, which plans changes and performs none. */
  rehearse({ access }: RequestContext, looks = true): Rehearsal {
    const { configuration, facts, subsystems, host } = this.#parts;
    const draft = configuration.draft(facts());
    const judge = (it: LayeredDraft, mark: Mark) => {
      this.#judge(it, mark);
      this.#confine(access, it, mark);
    };
    return new ChangeRehearsal({ host, subsystems, draft, looks, judge });
  }

  /** Resolves when no change waits or is applied. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** Combines waiting changes in one draft, except those that have to wait for others. */
  #form(
    waiting: readonly Waiting[],
    running: readonly Claims[],
  ): { readonly group: Group | undefined; readonly rest: readonly Waiting[] } {
    const { configuration, facts } = this.#parts;
    const draft = configuration.draft(facts());
    const accepted: Waiting[] = [];
    const rest: Waiting[] = [];
    const earlier: Claims[] = [];
    const begin = draft.mark();
    let isComplete = false;
    this.#obstacle = undefined;
    for (const one of waiting) {
      isComplete ||= accepted.length === mostTogether;
      if (isComplete || one.held !== undefined) {
        rest.push(one);
        if (one.held !== undefined) earlier.push(one.held);
        continue;
      }
      const mark = draft.mark();
      const isWatched = running.length + earlier.length > 0;
      const reads = isWatched ? draft.watch() : undefined;
      const refusal = this.#draft(one.item, draft, mark);
      if (reads !== undefined) {
        const mustStay = (it: Claims) =>
          running.some((other) => mustWait(it, other)) || earlier.some((other) => keepOrder(it, other));
        const own = this.#claims(one.item, draft, mark, reads, refusal !== undefined);
        // Subsystems are slow to render, so that is left out where the records are reason enough to wait.
        const claims =
          refusal !== undefined || mustStay(own) ? own : this.#renderedClaims(one.item, draft, mark, reads);
        if (mustStay(claims)) {
          one.held = claims;
          earlier.push(claims);
          rest.push(one);
          draft.rewind(mark);
          continue;
        }
      }
      if (refusal !== undefined) {
        draft.rewind(mark);
        // A change before it in the group, which may yet fail, can be the cause.
        if (accepted.length === 0) one.settle(refusal.error);
        else rest.push(one);
        continue;
      }
      // A change that cannot be reverted runs alone: the failure of another change in its group would require a revert.
      const isAlone =
        one.isAlone === true ||
        one.item.isAlone === true ||
        draft.lastSteps.length > mark.last ||
        one.item.provisional !== undefined;
      isComplete = isAlone;
      if (isAlone && accepted.length > 0) {
        draft.rewind(mark);
        rest.push(one);
      } else accepted.push(one);
    }
    draft.unwatch();
    if (accepted.length === 0) return { group: undefined, rest };
    try {
      return { group: this.#group(accepted, draft, begin), rest };
    } catch (error) {
      return { group: undefined, rest: [...failed(accepted, error), ...rest] };
    }
  }

  /** Adds the change to the draft. Returns what refuses it. */
  #draft(item: Change, draft: LayeredDraft, mark: Mark): { readonly error: unknown } | undefined {
    try {
      item.context.job?.signal.throwIfAborted();
      item.make(draft);
      this.#judge(draft, mark);
      this.#confine(item.context.access, draft, mark);
      this.#guard(item, draft, mark);
      if (item.changes.length > 0) this.#mustBeAbleToKeep(item.context);
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  #group(items: readonly Waiting[], draft: LayeredDraft, begin: Mark): Group {
    const changes = items.map(({ item }) => item);
    const drafted = this.#drafted(draft, begin);
    const { affected } = drafted;
    const transaction = new Transaction(this.#parts, { changes, draft, affected });
    return {
      items,
      claims: claimsOf({ ...drafted, isWhole: items.some(({ item }) => isWhole(item)) }),
      run: async () => {
        try {
          await transaction.run();
        } catch (error) {
          return failed(items, error);
        }
        for (const { settle } of items) settle();
        return [];
      },
    };
  }

  /** What the changes since the mark are made of. */
  #drafted(draft: LayeredDraft, mark: Mark) {
    const { subsystems } = this.#parts;
    const changes = draft.changesSince(mark);
    const concerned = subsystems.concerned(draft, changes);
    const affected = subsystems.affected(draft, concerned);
    return { changes, concerned, affected, steps: draft.stepsSince(mark) };
  }

  /** The claims of one change without those of its subsystems. The cause of a refusal lies in what was read. */
  #claims(item: Change, draft: LayeredDraft, mark: Mark, reads: Reads, isRefused: boolean): Claims {
    const [changes, steps] = isRefused ? [[], []] : [draft.changesSince(mark), draft.stepsSince(mark)];
    return claimsOf({ changes, steps, concerned: [], affected: [], isWhole: isWhole(item), reads });
  }

  #renderedClaims(item: Change, draft: LayeredDraft, mark: Mark, reads: Reads): Claims {
    const rendering = draft.watch();
    return claimsOf({ ...this.#drafted(draft, mark), isWhole: isWhole(item), reads, rendering });
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

  /** Refuses a change whose effect its principal has no right to. */
  #confine(access: Access | undefined, draft: LayeredDraft, mark: Mark): void {
    if (access === undefined) return;
    const effect = {
      ...{ changes: draft.changesSince(mark), steps: draft.stepsSince(mark) },
      ...{ view: draft, facts: draft.facts },
    };
    const problem = access.confine?.(effect) ?? access.exposure(effect);
    if (problem !== undefined) throw new Forbidden(problem);
  }

  /**
   * Refuses changes of clients on a full disk, so that the remaining space is left for the daemon, such as for sent
   * alerts. Changes that are drafted together look at the disk once.
   */
  #mustBeAbleToKeep({ connection }: RequestContext): void {
    if (connection === undefined) return;
    this.#obstacle ??= { it: this.#parts.obstacle() };
    if (this.#obstacle.it !== undefined) throw unavailable(this.#obstacle.it);
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

/** Whether a change replaces or reverts records whatever they are, or may have to be reverted. */
function isWhole({ provisional, backup }: Change): boolean {
  return provisional !== undefined || backup !== undefined;
}

/** The items of a group that failed, to be tried one by one; an item that was tried alone is settled. */
function failed(items: readonly Waiting[], error: unknown): readonly Waiting[] {
  if (items.length > 1) return items.map((one) => Object.assign(one, { isAlone: true }));
  for (const { settle } of items) settle(error);
  return [];
}
