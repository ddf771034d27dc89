import { isDeepStrictEqual } from 'node:util';
import type { LayeredDraft } from '../configuration/draft.ts';
import { refused } from '../declare/errors.ts';
import type { Draft, Task } from '../declare/resource.ts';
import type { Outlook, Step } from '../declare/step.ts';

/** What the requests of a transaction do, in their order, as a dry run has found it. */
export interface Batch {
  readonly parts: readonly Part[];
  /** What the jobs of the requests would lock. */
  readonly locks: readonly string[];
}

/** A change of records with the steps that it adds, a step or a job of a request. */
export type Part =
  | {
      readonly make: (draft: Draft) => unknown;
      readonly result: unknown;
      readonly first: readonly Step[];
      readonly last: readonly Step[];
    }
  | { readonly step: Step; readonly isLast: boolean }
  | { readonly task: Task }
  | { readonly exchange: string }
  | 'end of request';

/** Another change came between the dry run of the requests and their change. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/**
 * Adds all of it to one draft. A step that is planned counts as done for what comes after it, as in the dry run: a share
 * can be made of a dataset that the same transaction creates. The ids that were assigned in the dry run may be parts of
 * later requests, so that it is done again if they are different now.
 */
export function replay({ parts }: Batch, draft: LayeredDraft): void {
  let outlook: Outlook = { facts: draft.facts, media: new Map() };
  for (const part of parts) {
    if (part === 'end of request' || 'exchange' in part) continue;
    if ('task' in part) draft.tasks.push(part.task);
    else if ('step' in part) {
      if (part.isLast) draft.plan.last(part.step);
      else draft.plan.first(part.step);
      outlook = part.step.foresee(outlook);
    } else {
      const mark = draft.mark();
      const result = part.make(draft);
      draft.issues.throwIfAny();
      if (!isDeepStrictEqual(result, part.result)) throw new Overtaken();
      for (const step of draft.stepsSince(mark)) outlook = step.foresee(outlook);
    }
    draft.expect(outlook.facts);
  }
}

/**
 * Refuses what could not be taken back as a whole. Of two requests with steps that cannot be taken back, the first would
 * stay when the second fails. After such a step, a start that finds the plan cut short goes on instead of taking back, so
 * nothing of another request may follow.
 */
export function refuseTooMany(parts: readonly Part[]): void {
  const order = orderOf(parts);
  const all = [...order.first, ...order.last];
  const open = all.find(({ step }) => step.decides);
  if (open !== undefined)
    throw refused(
      `The request ${open.request} cannot be part of a transaction: what follows depends on what its step finds (${open.step.title}).`,
    );
  // The owner of a folder may stay, for example: to set it again is harmless, and a start that goes on does that.
  const last = all.filter(({ step }) => !step.mayStay);
  const final = last.findIndex(({ step }) => !step.returns);
  const other = last.slice(final + 1).find((one) => final >= 0 && one.request !== last[final]?.request);
  if (other !== undefined)
    throw refused(
      `The step of the request ${last[final]?.request} (${last[final]?.step.title}) cannot be taken back if that of the request ${other.request} (${other.step.title}) fails. Only one request of a transaction may have such steps, and it must be the last one that has steps.`,
    );
}

/** The steps before and after the subsystems are applied. */
export function orderOf(parts: readonly Part[]) {
  const first: Placed[] = [];
  const last: Placed[] = [];
  let request = 0;
  for (const part of parts) {
    if (part === 'end of request') request += 1;
    else if ('exchange' in part)
      throw refused(`The request ${request} replaces the whole configuration, which cannot be part of a transaction.`);
    else if ('task' in part) continue;
    else if ('step' in part) (part.isLast ? last : first).push({ step: part.step, request });
    else {
      first.push(...part.first.map((step) => ({ step, request })));
      last.push(...part.last.map((step) => ({ step, request })));
    }
  }
  return { first, last };
}

/** A step, and the index of its request. */
interface Placed {
  readonly step: Step;
  readonly request: number;
}
