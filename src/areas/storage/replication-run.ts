import type { Work } from '../../engine/declare/resource.ts';
import { JobFailure } from '../../engine/upkeep/jobs.ts';
import type { Compressor, Remote, Replication } from '../../host/ports/replication.ts';
import type { JsonObject } from '../../lib/json.ts';
import { showSize } from '../../lib/size.ts';
import { messageOf } from '../../lib/text.ts';
import { type Plan, type Step, stepsOf, targetOf } from './replication-plan.ts';
import { abandonTransfer, destroyRemote, endReceivers, markSent, sendSnapshot } from './replication-steps.ts';

/** Milliseconds without progress after which a transfer is aborted. */
const stall = 300_000;

export interface Run {
  readonly work: Work;
  readonly remote: Remote;
  readonly plan: Plan;
  readonly compressor: Compressor;
  /** Bytes per second; 0 means no limit. */
  readonly limit: number;
  /** Name of the ZFS bookmark of the last sent snapshot: the next stream can start there when the snapshot is gone. */
  readonly mark: string;
  /** Copied to the result: the hash of what this run replicates, and the last snapshot that an earlier run sent. */
  readonly before: { readonly seen: string; readonly last: string };
}

/**
 * Replicates to the other machine, step by step. A failure carries the result so far. Datasets that are stuck do not
 * stop the others; the run reports them at the end.
 */
export async function replicate(run: Run): Promise<JsonObject> {
  const { work, remote, plan } = run;
  const look = <T>(where: string, at: (replication: Replication) => Promise<T>) =>
    work.ask(`list the snapshots on ${where}`, ({ replication }) => at(replication));
  const near = () => look('this machine', (replication) => replication.near(plan.source, plan));
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
    work.progress(`Listing the snapshots on ${remote.hostname}`);
    const targets = (await near()).map(({ name }) => targetOf(plan, name));
    await work.step(endReceivers({ dataset: plan.source, remote, targets }));
    for (;;) {
      if (work.signal.aborted) throw new Error('The replication was aborted before all snapshots were sent.');
      const far = () => look(remote.hostname, (replication) => replication.far(remote, root));
      const steps = stepsOf(plan, await near(), await far());
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
  const { work, remote, compressor, limit } = run;
  if (step.kind === 'stuck') return;
  if (step.kind === 'destroy') {
    work.progress(`Destroying ${step.snapshots.length} snapshots of ${step.dataset} on ${remote.hostname}`);
    await work.step(destroyRemote({ dataset: step.dataset, remote, snapshots: step.snapshots }));
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
    work.progress(`${verb} ${name}, ${arrived}${share}`);
  };
  work.progress(`${verb} ${name}`);
  const what = step.kind === 'send' ? { snapshot: name, base: step.base } : { token: step.token };
  const { target } = step;
  try {
    const over = step.kind === 'send' && step.over;
    const transfer = { remote, what, target, over, compressor, limit, stall, progress };
    await work.step(sendSnapshot({ dataset: name, transfer }));
  } catch (error) {
    if (work.signal.aborted) throw error;
    const message = messageOf(error);
    if (step.kind === 'resume' && cannotResume(message)) {
      await work.step(abandonTransfer({ dataset: target, remote }));
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
  await work.step(markSent({ snapshot: name, mark: run.mark }));
}

/** Whether the snapshot or the base of a resume token no longer exists, so that the rest can never be sent. */
function cannotResume(message: string): boolean {
  return (
    /cannot resume send|no longer exists|does not exist|token is corrupt|is not the same snapshot|not an earlier snapshot/.test(
      message,
    ) && !/ssh:|timed out/i.test(message)
  );
}
