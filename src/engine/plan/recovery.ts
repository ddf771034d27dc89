import type { Host } from '../../host/ports/index.ts';
import { messageOf } from '../../lib/text.ts';
import type { EventBus } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import type { UnfinishedPlan } from './journal.ts';
import type { ActKind, EnsureKind, StepKind } from './steps.ts';

interface RecoveryParts {
  readonly host: Host;
  readonly kinds: readonly StepKind[];
  readonly events: EventBus;
  readonly log: Log;
  /** Keeps the records of a plan that was finished, and removes its entry. */
  readonly keep: (plan: UnfinishedPlan) => void;
  /** Removes the entry of a plan that was taken back. */
  readonly drop: (plan: UnfinishedPlan) => void;
}

/**
 * Finishes or takes back the plans that the daemon was ended in the middle of, so that machine and records are as before
 * the request or as after it. A plan goes on when one of its acts, which cannot be taken back, was begun; any other is
 * taken back. For example, a volume is removed with `destroy`, the power fails after `zpool destroy`, and the record of
 * the volume is still there: the act was begun and is done, so the record is removed. Had the power failed before the
 * pool was destroyed, the act is performed now: the request asked for it, and a part may be gone already.
 *
 * A step that cannot be finished leaves the plan to be taken back, and a step that cannot be taken back is reported, for a
 * person to look at. The entry goes all the same: a later start could not tell what is left from what was created since.
 */
export async function recover(plans: readonly UnfinishedPlan[], parts: RecoveryParts): Promise<void> {
  for (const plan of plans) {
    const { title, request } = plan;
    if (await finish(plan, parts)) {
      parts.keep(plan);
      parts.log.warn({ request }, `finished after the daemon had ended in the middle of it: ${title}`);
    } else {
      await takeBack(plan, parts);
      parts.drop(plan);
      parts.log.warn({ request }, `taken back, the daemon had ended in the middle of it: ${title}`);
    }
  }
}

async function finish({ steps }: UnfinishedPlan, parts: RecoveryParts): Promise<boolean> {
  const acts = steps.flatMap(({ kind, of, begun }) => {
    const found = actNamed(kind, parts.kinds);
    return found === undefined ? [] : [{ found, of, begun }];
  });
  if (!acts.some(({ begun }) => begun)) return false;
  try {
    for (const { found, of } of acts) {
      if (!(await found.isDone(parts.host, of))) await found.perform(parts.host, of);
    }
    return true;
  } catch (error) {
    report(parts, 'could not be finished', error);
    return false;
  }
}

async function takeBack({ steps }: UnfinishedPlan, parts: RecoveryParts): Promise<void> {
  for (const { kind, of, begun, was } of steps.toReversed()) {
    const found = ensureNamed(kind, parts.kinds);
    // What was there before the step is not the step's own.
    if (found === undefined || !begun || was !== false) continue;
    try {
      if (await found.is(parts.host, of)) await found.unmake(parts.host, of);
    } catch (error) {
      report(parts, `could not be taken back: ${kind}`, error);
    }
  }
}

function report({ events, log }: RecoveryParts, title: string, error: unknown): void {
  events.emit('undo.failed', { title, reason: messageOf(error) });
  log.error({ error: messageOf(error) }, `a plan of before the start ${title}`);
}

function actNamed(name: string, kinds: readonly StepKind[]): ActKind | undefined {
  return kinds.find((kind): kind is ActKind => kind.nature === 'act' && kind.kind === name);
}

function ensureNamed(name: string, kinds: readonly StepKind[]): EnsureKind | undefined {
  return kinds.find((kind): kind is EnsureKind => kind.nature === 'ensure' && kind.kind === name);
}
