import type { Host } from '../../host/ports/index.ts';
import { messageOf } from '../../lib/text.ts';
import type { EventBus } from '../declare/events.ts';
import type { Log } from '../declare/log.ts';
import type { Texts } from '../declare/step.ts';
import type { UnfinishedPlan } from './journal.ts';
import type { EnsureKind, Restoring, StepKind } from './steps.ts';

interface RecoveryParts {
  readonly host: Host;
  readonly kinds: readonly StepKind[];
  readonly events: EventBus;
  readonly log: Log;
  /** Keeps the records of a plan that was finished, and removes its entry. */
  readonly keep: (plan: UnfinishedPlan) => void;
  /** Removes the entry of a plan that was taken back, `isClean` if nothing of it is left. */
  readonly drop: (plan: UnfinishedPlan, isClean: boolean) => void;
}

/** Takes back the steps that need the configured machine. */
type Rest = (engine: Restoring) => Promise<void>;

/** A step in the journal, with its kind. */
interface KnownStep {
  readonly kind: StepKind;
  readonly of: Texts;
  readonly begun: boolean;
  readonly was: boolean | undefined;
  readonly before: string;
}

/** A step that is taken back once the machine is configured. */
interface LaterStep {
  readonly kind: EnsureKind;
  readonly of: Texts;
  readonly before: string;
}

/**
 * Finishes or takes back the plans that the daemon was ended in the middle of, so that machine and records are as before
 * the request or as after it. A plan goes on when a step was begun that cannot be taken back now; any other is taken
 * back. For example, a volume is removed with `destroy`, the power fails after `zpool destroy`, and the record of the
 * volume is still there: the act was begun and is done, so the record is removed. Had the power failed before the pool
 * was destroyed, the act is performed now: the request asked for it, and a part may be gone already.
 *
 * This runs before the machine is configured, so that what was half made is not taken for a part of it. A few steps are
 * taken back by what the configuration provides, as a jail is started by its unit: the returned function does that.
 *
 * A step that cannot be finished leaves the plan to be taken back, and a step that cannot be taken back is reported, for a
 * person to look at. The entry goes all the same: a later start could not tell what is left from what was created since.
 */
export async function recover(plans: readonly UnfinishedPlan[], parts: RecoveryParts): Promise<Rest> {
  const { log, keep, drop } = parts;
  const settled = new Set<number>();
  const rests: Rest[] = [];
  for (const plan of plans) {
    const { id, title, request } = plan;
    const steps = plan.steps.flatMap(({ kind: name, ...rest }): readonly KnownStep[] => {
      const kind = parts.kinds.find((one) => one.kind === name);
      return kind === undefined ? [] : [{ ...rest, kind }];
    });
    if (settled.has(id)) drop(plan, true);
    else if (await finish(steps, parts)) {
      keep(plan);
      // The work that this plan was a part of ended with it.
      for (const other of plan.settles) settled.add(other);
      log.warn({ request }, `finished after the daemon had ended in the middle of it: ${title}`);
    } else {
      const { later, isClean } = await takeBack(steps, parts);
      log.warn({ request }, `taken back, the daemon had ended in the middle of it: ${title}`);
      if (later.length === 0) drop(plan, isClean);
      else
        rests.push(async (engine) => {
          let isRestored = isClean;
          for (const { kind, of, before } of later) {
            const restore = async () => {
              if (await kind.isBegun(parts.host, of, before)) await kind.restore?.(engine, of, before);
            };
            if (!(await attempt(kind, parts, restore))) isRestored = false;
          }
          drop(plan, isRestored);
        });
    }
  }
  return async (engine) => {
    for (const rest of rests) await rest(engine);
  };
}

async function finish(steps: readonly KnownStep[], parts: RecoveryParts): Promise<boolean> {
  try {
    if (!(await goesOn(steps, parts.host))) return false;
    for (const { kind, of } of steps) {
      if (kind.nature === 'act') {
        if (!(await kind.isDone(parts.host, of))) await kind.perform(parts.host, of);
      } else if (!(await kind.is(parts.host, of))) await kind.goOn(parts.host, of);
    }
    return true;
  } catch (error) {
    report(parts, 'could not be finished', error);
    return false;
  }
}

async function goesOn(steps: readonly KnownStep[], host: Host): Promise<boolean> {
  for (const { kind, of, begun, was } of steps) {
    if (!begun) continue;
    if (kind.nature === 'act' || kind.afterCrash === 'go on') return true;
    if (kind.afterCrash === 'keep' && was === false && (await kind.is(host, of))) return true;
  }
  return false;
}

/** Returns the steps that need the configured machine, and whether all others were taken back. */
async function takeBack(steps: readonly KnownStep[], parts: RecoveryParts) {
  const later: LaterStep[] = [];
  let isClean = true;
  for (const { kind, of, begun, was, before } of steps.toReversed()) {
    // What was there before the step is not the step's own.
    if (kind.nature !== 'ensure' || !begun || was === true) continue;
    if (kind.restore !== undefined) later.push({ kind, of, before });
    else if (kind.afterCrash === 'take back') {
      const unmake = async () => {
        if (await kind.isBegun(parts.host, of, before)) await kind.unmake(parts.host, of, before);
      };
      if (!(await attempt(kind, parts, unmake))) isClean = false;
    }
  }
  return { later, isClean };
}

async function attempt({ kind }: EnsureKind, parts: RecoveryParts, deed: () => Promise<void>): Promise<boolean> {
  try {
    await deed();
    return true;
  } catch (error) {
    report(parts, `could not be taken back: ${kind}`, error);
    return false;
  }
}

function report({ events, log }: RecoveryParts, title: string, error: unknown): void {
  events.emit('undo.failed', { title, reason: messageOf(error) });
  log.error({ error: messageOf(error) }, `a plan of before the start ${title}`);
}
