import type { JobRun } from '../engine/declare/step.ts';
import { type JobBody, JobFailure, type Jobs } from '../engine/upkeep/jobs.ts';
import type { JsonObject } from '../lib/json.ts';
import { type Answer, json } from './answer.ts';

/** How long a client waits for the end of its request. */
export interface Preference {
  readonly milliseconds: number;
  /** As `Preference-Applied` names it. */
  readonly applied: string;
}

/** Milliseconds in which a request without a wait is answered at once, such as a refusal by the rules. */
const grace = 200;

/** The longest wait, in seconds: proxies end idle connections. */
const longestWait = 300;

/**
 * Reads `Prefer` (RFC 7240): `wait=10` waits 10 seconds, `respond-async` alone waits a moment. Preferences that are not
 * understood are ignored, as the RFC demands.
 */
export function preferenceIn(header: string | readonly string[] | undefined): Preference | undefined {
  if (header === undefined) return undefined;
  const wishes = String(header)
    .split(',')
    .map((wish) => wish.trim().toLowerCase());
  const seconds = wishes.map((wish) => /^wait\s*=\s*"?(\d{1,6})"?$/.exec(wish)?.[1]).find((found) => found);
  if (seconds !== undefined)
    return { milliseconds: 1000 * Math.min(Number(seconds), longestWait), applied: `wait=${seconds}` };
  return wishes.includes('respond-async') ? { milliseconds: grace, applied: 'respond-async' } : undefined;
}

/** A request that can become a job. */
export interface Deferrable extends Pick<JobBody, 'title' | 'subject'> {
  readonly request: string;
  readonly owner: string;
  /** Carries the request out. Every error is an answer. */
  perform(job: JobRun): Promise<Answer>;
  /** Called with the answer of a request that has become a job. */
  ended(answer: Answer): void;
}

/**
 * Carries out a request as its client prefers: the answer if it comes in time, otherwise 202 with the address of the job
 * that goes on.
 */
export async function inTime(
  jobs: Jobs,
  { perform, ended, ...about }: Deferrable,
  { milliseconds, applied }: Preference,
  root: string,
): Promise<Answer> {
  const made: { answer?: Answer } = {};
  const { done, becomeJob } = jobs.defer({
    ...about,
    async run(job) {
      const answer = await perform(job);
      made.answer = answer;
      const result = { status: answer.status, location: answer.headers?.['location'] ?? null };
      if (answer.status >= 400) throw new JobFailure(`It was answered ${answer.status}: ${answer.body ?? ''}`, result);
      return result;
    },
    answer: () => made.answer && partsOf(made.answer),
  });
  // A client that did not want to wait was answered all the same.
  const isAsync = applied === 'respond-async';
  const header = { 'preference-applied': applied };
  const timer = Promise.withResolvers<void>();
  const timeout = setTimeout(timer.resolve, milliseconds);
  await Promise.race([done, timer.promise]);
  clearTimeout(timeout);
  const { answer } = made;
  if (answer !== undefined) return isAsync ? answer : { ...answer, headers: { ...answer.headers, ...header } };
  const id = becomeJob();
  void done.then(() => made.answer && ended(made.answer));
  return json(202, { job: id }, { ...header, location: `${root}/jobs/${id}` });
}

function partsOf({ status, headers = {}, body }: Answer): JsonObject {
  return { status, headers: { ...headers }, body: body ?? null };
}
