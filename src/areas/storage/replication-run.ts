import { JobFailure } from '../../engine/upkeep/jobs.ts';
import type { Compressor, Remote, Replication } from '../../host/ports/replication.ts';
import type { JsonObject } from '../../lib/json.ts';
import { showSize } from '../../lib/size.ts';
import { messageOf } from '../../lib/text.ts';
import { type Plan, type Step, stepsOf, targetOf } from './replication-plan.ts';

/** Milliseconds without a byte after which a transfer is given up. */
const stall = 300_000;

export interface Run {
  readonly host: Replication;
  readonly remote: Remote;
  readonly plan: Plan;
  readonly compressor: Compressor;
  /** Bytes in a second, or 0. */
  readonly limit: number;
  /** The name under which the last snapshot that arrived is remembered, so that what follows it can be sent when it is gone. */
  readonly mark: string;
  /** What the job leaves of what it was about, and the last snapshot that had arrived before. */
  readonly before: { readonly seen: string; readonly last: string };
  readonly signal: AbortSignal;
  progress(sentence: string): void;
}

/**
 * Brings the other machine to what is here, step by step. A failure says how far it came; datasets that are stuck are
 * told in the end, and keep the others from nothing.
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
    run.progress(`Asking ${remote.hostname} what it has`);
    const targets = (await host.near(plan.source, plan)).map(({ name }) => targetOf(plan, name));
    await host.release(remote, targets);
    for (;;) {
      if (signal.aborted) throw new Error('It was ended before all was sent.');
      const near = await host.near(plan.source, plan);
      const steps = stepsOf(plan, near, await host.far(remote, root));
      for (const step of steps) if (step.kind === 'stuck') stuck.set(step.dataset, step.reason);
      const next = steps.find(({ kind }) => kind !== 'stuck');
      if (next === undefined) break;
      const repeated = JSON.stringify(next);
      if (repeated === before)
        throw new Error(`${next.dataset} did not become another by what was done: ${next.kind}.`);
      before = repeated;
      await take(next, run, { sent, destroyed });
    }
  } catch (error) {
    // Programs write several lines; the status is one.
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
  const verb = step.kind === 'send' ? 'Sending' : 'Going on sending';
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
    const said = messageOf(error);
    if (step.kind === 'resume' && isBeyondResuming(said)) {
      await host.abandon(remote, target);
      return;
    }
    throw new Error(
      `${name} was not sent to its end${arrived === '' ? '' : `, ${arrived} went out`}; what arrived is kept, and the next run goes on from there. ${said}`,
      {
        cause: error,
      },
    );
  }
  if (step.snapshot === undefined) return;
  done.sent.push(name);
  await host.mark(name, run.mark);
}

/** A token whose snapshot or base is gone here, so that its rest can never be sent. */
function isBeyondResuming(said: string): boolean {
  return (
    /cannot resume send|no longer exists|does not exist|token is corrupt|is not the same snapshot|not an earlier snapshot/.test(
      said,
    ) && !/ssh:|timed out/i.test(said)
  );
}
