import { missing } from '../../engine/declare/errors.ts';
import { integer, optional, text } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import {
  anyObject,
  choiceOf,
  integerOf,
  listOf,
  objectOf,
  orNull,
  stringOf,
  timeOf,
} from '../../engine/declare/schema.ts';

const job = objectOf('Job', {
  id: integerOf('Number of the job.'),
  title: stringOf('What it does.'),
  subject: stringOf('What it belongs to, such as the record tasks/rsync/1.'),
  state: choiceOf(
    ['running', 'finished', 'failed', 'aborted', 'interrupted'],
    'Whether it is running, or how it ended; interrupted if the daemon ended before it.',
  ),
  started: timeOf('When it began.'),
  ended: orNull(timeOf('When it ended; null while it is running.')),
  progress: stringOf('The last progress message.'),
  result: orNull(anyObject('Its result, such as the output of a program.')),
  error: orNull(stringOf('Why it failed.')),
});

const params = { id: integer({ description: 'Number of the job.', min: 1 }) };

export const jobs = section('jobs', 'Work that can take longer than the request that started it, with its result.', [
  operation({
    method: 'GET',
    path: 'jobs',
    name: 'listJobs',
    title: 'Lists jobs, the newest first.',
    query: {
      limit: integer({ description: 'Maximum number of jobs.', min: 1, max: 1000, initial: 20 }),
      subject: optional(text({ description: 'Only the jobs of this subject, such as tasks/rsync/1.' })),
    },
    answer: listOf(job),
    example: { query: { limit: '5' } },
    run: ({ engine, query }) => engine.jobs.list(query.limit, query.subject),
  }),
  operation({
    method: 'GET',
    path: 'jobs/{id}',
    name: 'getJob',
    title: 'Reads a job.',
    params,
    answer: job,
    run: ({ engine, params: { id } }) => engine.jobs.get(id) ?? gone(`job ${id}`),
  }),
  operation({
    method: 'POST',
    path: 'jobs/{id}/abort',
    name: 'abortJob',
    title: 'Aborts a running job.',
    params,
    status: 204,
    answer: 'nothing',
    run({ engine, params: { id } }) {
      if (!engine.jobs.abort(id)) gone(`running job ${id}`);
    },
  }),
]);

function gone(what: string): never {
  throw missing(`There is no ${what}.`);
}
