import type { RequestContext } from '../../engine/change/request.ts';
import type { Act } from '../../engine/declare/access.ts';
import { conflict, missing } from '../../engine/declare/errors.ts';
import { integer, optional, text } from '../../engine/declare/fields.ts';
import type { Job } from '../../engine/declare/job.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import {
  anyObject,
  choiceOf,
  flagOf,
  integerOf,
  listOf,
  objectOf,
  orNull,
  stringOf,
  timeOf,
} from '../../engine/declare/schema.ts';
import { own } from '../../engine/plan/steps.ts';
import { isObject } from '../../lib/json.ts';

const step = objectOf('JobStep', {
  title: stringOf('What it does.'),
  state: choiceOf(['waiting', 'running', 'done', 'failed'], 'How far it is.'),
  started: orNull(timeOf('When it began.')),
  ended: orNull(timeOf('When it ended.')),
});

const job = objectOf('Job', {
  id: integerOf('Number of the job.'),
  title: stringOf('What it does.'),
  subject: stringOf('What it belongs to, such as the record tasks/rsync/1.'),
  request: stringOf('X-Request-Id of the request that started it; empty for a job of the daemon itself.'),
  state: choiceOf(
    ['running', 'finished', 'failed', 'aborted', 'interrupted'],
    'Whether it is running, or how it ended; interrupted if the daemon ended before it.',
  ),
  started: timeOf('When it began.'),
  ended: orNull(timeOf('When it ended; null while it is running.')),
  steps: listOf(step, 'Its steps, as far as they are known.'),
  percent: orNull(integerOf('How much of it is done; null if that is not known.')),
  estimated_end: orNull(timeOf('When it is expected to end, by its progress or by its last run; null if unknown.')),
  progress: stringOf('The last progress message.'),
  stalled_since: orNull(timeOf('Since when nothing was heard of it; null unless that is for more than 15 minutes.')),
  cannot_abort: orNull(stringOf('Why it cannot be aborted now; null if it can.')),
  result: orNull(anyObject('Its result, such as the output of a program, or status and location of an answer.')),
  error: orNull(stringOf('Why it failed.')),
  safe_to_retry: orNull(flagOf('Whether the same can be asked for again; null while it runs and if it has finished.')),
});

const params = { id: integer({ description: 'Number of the job.', min: 1 }) };

export const jobs = section('jobs', 'Work that can take longer than the request that started it, with its result.', [
  operation({
    method: 'GET',
    path: 'jobs',
    name: 'listJobs',
    title: 'Lists jobs, the newest first: all for who may read jobs, otherwise those of the own requests.',
    query: {
      subject: optional(text({ description: 'Only the jobs of this subject, such as tasks/rsync/1.' })),
    },
    answer: listOf(job),
    list: { key: ['id'], order: ['-id'], isOrdered: true, limit: 20 },
    example: { query: { limit: '5' } },
    isOpen: true,
    run: (call) => newestFirst(call, call.query.subject),
  }),
  operation({
    method: 'GET',
    path: 'jobs/{id}',
    name: 'getJob',
    title: 'Reads a job.',
    params,
    answer: job,
    isOpen: true,
    run: (call) => shown(found(call, readJobs), call),
  }),
  operation({
    method: 'GET',
    path: 'jobs/{id}/output',
    name: 'getJobOutput',
    title: 'Lists what a job has reported after a number, the oldest first, and waits if there is nothing yet.',
    params,
    query: {
      after: integer({ description: 'Number of the last line that is known.', min: 0, initial: 0 }),
      limit: integer({ description: 'Maximum number of lines.', min: 1, max: 1000, initial: 100 }),
      wait: integer({ description: 'Seconds to wait for a line or the end of the job.', min: 0, max: 60, initial: 0 }),
    },
    answer: objectOf('JobOutput', {
      lines: listOf(
        objectOf('JobLine', {
          number: integerOf('Number of the line, which is that of its event.'),
          at: timeOf('When it was reported.'),
          text: stringOf('The line.'),
        }),
        'The lines.',
      ),
      last: integerOf('What to send as after in the next request.'),
      ended: flagOf('Whether the job has ended, so that no further lines will come.'),
    }),
    isOpen: true,
    async run(call) {
      const { engine, params: sent, query } = call;
      const { id } = found(call, readJobs);
      const until = performance.now() + query.wait * 1000;
      for (;;) {
        const ended = engine.jobs.active(id) === undefined;
        const events = engine.events.progressAfter(sent.id, query.after, query.limit);
        const left = until - performance.now();
        if (events.length > 0 || ended || left <= 0 || engine.events.hasEnded)
          return {
            lines: events.map(({ number, at, payload }) => ({ number, at, text: String(payload['sentence']) })),
            last: events.at(-1)?.number ?? query.after,
            ended: ended && events.length < query.limit,
          };
        await engine.events.next(left);
      }
    },
  }),
  operation({
    method: 'GET',
    path: 'jobs/{id}/answer',
    name: 'getJobAnswer',
    title: 'Reads the answer to the own request that became this job, for 24 hours after its end.',
    params,
    answer: objectOf('JobAnswer', {
      status: integerOf('Status of the answer.'),
      headers: anyObject('Its headers.'),
      body: { description: 'Its body, as JSON if it is JSON; null without one.' },
    }),
    isOpen: true,
    run(call) {
      const one = found(call, readJobs);
      if (one.owner === '' || one.owner !== call.context.principal)
        throw missing(`The job ${one.id} is not the rest of a request of yours.`);
      const kept = call.engine.jobs.answerOf(one);
      if (!isObject(kept))
        throw missing(
          one.state === 'running'
            ? `The job ${one.id} has not ended. Read its state with GET /api/holdfast/v1/jobs/${one.id}.`
            : `The answer of the job ${one.id} is not kept. Read what it was about, or send the request again.`,
        );
      const { status, headers, body } = kept;
      return { status, headers, body: typeof body === 'string' ? parsed(body) : null };
    },
  }),
  operation({
    method: 'POST',
    path: 'jobs/{id}/abort',
    name: 'abortJob',
    alone: 'It is about a job and not about the configuration.',
    title: 'Aborts a running job. What it did is taken back. If it cannot be aborted now, the answer says why.',
    params,
    status: 204,
    answer: 'nothing',
    isOpen: true,
    async run(call) {
      const { engine, operations } = call;
      const { id, title } = found(call, abortJobs);
      if (engine.jobs.active(id) === undefined) throw missing(`There is no running job ${id}.`);
      const why = engine.jobs.cannotAbort(id);
      if (why !== undefined) throw conflict(`The job ${id} cannot be aborted now. ${why}`);
      await operations.perform(own(`abort the job ${id}: ${title}`, async () => void engine.jobs.abort(id)));
    },
  }),
]);

const about = { resource: 'holdfast/jobs', declared: 'holdfast/jobs', record: undefined, before: undefined };
const readJobs: Act = Object.freeze({ ...about, verb: 'read', reads: true, fields: undefined });
const abortJobs: Act = Object.freeze({ ...about, verb: 'abortJob', reads: false, fields: {} });

type Call = Pick<OperationCall, 'engine' | 'context'>;

/** Jobs of other principals are only for who may read or abort jobs. */
function isOpenTo({ owner }: Job, context: RequestContext, act: Act): boolean {
  return (owner !== '' && owner === context.principal) || may(context, act);
}

const may = ({ access }: RequestContext, act: Act): boolean => access?.problem(act) === undefined;

function found(
  { engine, context, params: { id } }: Call & { readonly params: { readonly id: number } },
  act: Act,
): Job {
  const one = engine.jobs.get(id);
  if (one === undefined || !isOpenTo(one, context, act)) throw missing(`There is no job ${id}.`);
  return one;
}

function shown({ owner: _, safeToRetry, ...one }: Job, { engine }: Call) {
  const isRunning = one.state === 'running';
  return {
    ...one,
    estimated_end: isRunning ? timeIn(engine.jobs.estimate(one)) : null,
    stalled_since: timeIn(engine.jobs.stalledSince(one.id)),
    cannot_abort: engine.jobs.cannotAbort(one.id) ?? null,
    safe_to_retry: safeToRetry,
  };
}

const timeIn = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());

function parsed(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    return value;
  } catch {
    return body;
  }
}

/** The jobs that the principal may read, of which most requests want only the newest. */
function* newestFirst(call: Call, subject: string | undefined) {
  const { jobs: all } = call.engine;
  const visible = (some: readonly Job[]) =>
    some.filter((one) => isOpenTo(one, call.context, readJobs)).map((one) => shown(one, call));
  const newest = all.list(firstRead, subject);
  yield* visible(newest);
  const oldest = newest.at(-1);
  if (newest.length < firstRead || oldest === undefined) return;
  yield* visible(all.list(mostJobs, subject).filter(({ id }) => id < oldest.id));
}

const firstRead = 100;
/** More than are kept. */
const mostJobs = 10_000;
