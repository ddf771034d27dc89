import { JobFailure } from '../../engine/upkeep/jobs.ts';
import type { Compressor, Remote, Replication } from '../../host/ports/replication.ts';
import type { JsonObject } from '../../lib/json.ts';
import { showSize } from '../../lib/size.ts';
import { messageOf } from '../../lib/text.ts';
import { type Plan, type Step, stepsOf, targetOf } from './replication-plan.ts';

/** Milliseconds without progress after which a transfer is aborted. */
const stall = 300_000;

export interface Run {
  readonly host: Replication;
  readonly remote: Remote;
  readonly plan: Plan;
  readonly compressor: Compressor;
  /** Bytes per second; 0 means no limit. */
  readonly limit: number;
  /** Name of the ZFS bookmark of the last sent snapshot: the next stream can start there when the snapshot is gone. */
  readonly mark: string;
  /** Copied to the result: the hash of what this run replicates, and the last snapshot that an earlier run sent. */
  readonly before: { readonly seen: string; readonly last: string };
  readonly signal: AbortSignal;
  progress(sentence: string): void;
}

/**
 * Replicates to the other machine, step by step. A failure carries the result so far. Datasets that are stuck do not
 * stop the others; the run reports them at the end.
 */
export async function replicate(run: Run): Promise<JsonObject> {
  const { host, remote, plan, signal } = run;
  const sent: string[] = [];
  const destroyed: string[] = [];
  const stuck = new Map<string, string>();
  let before = '';
  const result = (): JsonObject => ({
    seen: run.before.seen,
    last: sent.at(-1) ?? run.before.last,
    sent: sent.slice(-1000),
    destroyed: destroyed.slice(-1000),
  });
  try {
    const root = targetOf(plan, plan.source);
    run.progress(`Listing the snapshots on ${remote.hostname}`);
    const targets = (await host.near(plan.source, plan)).map(({ name }) => targetOf(plan, name));
    await host.release(remote, targets);
    for (;;) {
      if (signal.aborted) throw new Error('The replication was aborted before all snapshots were sent.');
      const near = await host.near(plan.source, plan);
      const steps = stepsOf(plan, near, await host.far(remote, root));
      for (const step of steps) if (step.kind === 'stuck') stuck.set(step.dataset, step.reason);
      const next = steps.find(({ kind }) => kind !== 'stuck');
      if (next === undefined) break;
      const serialized = JSON.stringify(next);
      if (serialized === before)
        throw new Error(`The step ${next.kind} on ${next.dataset} succeeded but had no effect.`);
      before = serialized;
      await take(next, run, { sent, destroyed });
    }
  } catch (error) {
    // Programs print several lines; the status is a single line.
    throw new JobFailure(messageOf(error).replaceAll(/\s*\n\s*/g, ' '), result());
  }
  if (stuck.size > 0) throw new JobFailure([...stuck.values()].join(' '), result());
  return result();
}

async function take(
  step: Step,
  run: Run,
  done: { readonly sent: string[]; readonly destroyed: string[] },
): Promise<void> {
  const { host, remote, compressor, limit, signal } = run;
  if (step.kind === 'stuck') return;
  if (step.kind === 'destroy') {
    run.progress(`Destroying ${step.snapshots.length} snapshots of ${step.dataset} on ${remote.hostname}`);
    await host.destroy(remote, step.snapshots);
    done.destroyed.push(...step.snapshots);
    return;
  }
  const name = step.snapshot === undefined ? step.dataset : `${step.dataset}@${step.snapshot.name}`;
  const verb = step.kind === 'send' ? 'Sending' : 'Resuming';
  let arrived = '';
  const progress = (bytes: number, total: number | undefined) => {
    arrived = showSize(bytes);
    const share =
      total === undefined || total === 0
        ? ''
        : ` of ${showSize(total)} (${Math.min(100, Math.floor((100 * bytes) / total))}%)`;
    run.progress(`${verb} ${name}, ${arrived}${share}`);
  };
  run.progress(`${verb} ${name}`);
  const what = step.kind === 'send' ? { snapshot: name, base: step.base } : { token: step.token };
  const { target } = step;
  try {
    await host.send({
      remote,
      what,
      target,
      over: step.kind === 'send' && step.over,
      compressor,
      limit,
      stall,
      signal,
      progress,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    const message = messageOf(error);
    if (step.kind === 'resume' && cannotResume(message)) {
      await host.abandon(remote, target);
      return;
    }
    throw new Error(
      `Sending ${name} failed${arrived === '' ? '' : ` after ${arrived}`}. The other machine keeps what has arrived, and the next run resumes there. ${message}`,
      {
        cause: error,
      },
    );
  }
  if (step.snapshot === undefined) return;
  done.sent.push(name);
  await host.mark(name, run.mark);
}

/** Whether the snapshot or the base of a resume token no longer exists, so that the rest can never be sent. */
function cannotResume(message: string): boolean {
  return (
    /cannot resume send|no longer exists|does not exist|token is corrupt|is not the same snapshot|not an earlier snapshot/.test(
      message,
    ) && !/ssh:|timed out/i.test(message)
  );
}
