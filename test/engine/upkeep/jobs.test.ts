import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventBus } from '../../../src/engine/declare/events.ts';
import { type JobStore, Jobs } from '../../../src/engine/upkeep/jobs.ts';

/** Keeps jobs in memory and counts how often they are read. */
class CountingShelf implements JobStore {
  readonly bodies: { readonly id: number; readonly subject: string; body: string }[] = [];
  reads = 0;

  addJob(subject: string, body: string): number {
    return this.bodies.push({ id: this.bodies.length + 1, subject, body });
  }

  putJob(id: number, subject: string, body: string): void {
    const job = this.bodies.find((one) => one.id === id);
    if (job === undefined) this.bodies.push({ id, subject, body });
    else job.body = body;
  }

  putJobAnswer(): void {}

  jobAnswer(): unknown {
    return undefined;
  }

  jobs(limit: number): readonly { readonly id: number; readonly body: string }[] {
    this.reads += 1;
    return this.bodies.toSorted((a, b) => b.id - a.id).slice(0, limit);
  }
}

const task = (subject: string, fails: boolean) => ({
  title: `run ${subject}`,
  subject,
  run: async () => {
    if (fails) throw new Error('no such host');
    return { output: 'x'.repeat(64 * 1024) };
  },
});

test('the last result of each task is known without reading outputs again, also after a restart', async () => {
  const store = new CountingShelf();
  const now = () => Date.UTC(2026, 0, 1);
  const jobs = new Jobs(store, new EventBus(now), now);
  const atFirst = store.reads;
  await jobs.start(task('tasks/rsync/1', true)).done;
  await jobs.start(task('tasks/rsync/2', true)).done;
  await jobs.start(task('tasks/rsync/1', false)).done;
  const ended = '2026-01-01T00:00:00.000Z';
  const last = [
    { id: 3, title: 'run tasks/rsync/1', subject: 'tasks/rsync/1', state: 'finished', error: null, ended },
    { id: 2, title: 'run tasks/rsync/2', subject: 'tasks/rsync/2', state: 'failed', error: 'no such host', ended },
  ];
  assert.deepEqual(jobs.lastEnded, last);
  assert.deepEqual(
    jobs.problems.map(({ about, since }) => [about, since]),
    [['tasks/rsync/2', now()]],
  );
  assert.equal(store.reads, atFirst);
  assert.deepEqual(new Jobs(store, new EventBus(now), now).lastEnded, last);
});

test('a job that ended more than two hundred jobs ago is no longer among the last', async () => {
  const jobs = new Jobs(new CountingShelf(), new EventBus(Date.now), Date.now);
  await jobs.start(task('tasks/rsync/1', true)).done;
  for (let n = 0; n < 199; n += 1) await jobs.start(task('tasks/rsync/2', false)).done;
  assert.deepEqual(
    jobs.lastEnded.map(({ id }) => id),
    [200, 1],
  );
  await jobs.start(task('tasks/rsync/2', false)).done;
  assert.deepEqual(
    jobs.lastEnded.map(({ id }) => id),
    [201],
  );
});

test('a job that cannot be stored runs, is listed with its own number, and is stored later', async () => {
  const store = new CountingShelf();
  let isFull = false;
  const full = () => {
    if (isFull) throw new Error('database or disk is full');
  };
  const failing: JobStore = {
    addJob(subject, body) {
      full();
      return store.addJob(subject, body);
    },
    putJob(id, subject, body) {
      full();
      store.putJob(id, subject, body);
    },
    putJobAnswer() {},
    jobAnswer: () => undefined,
    jobs: (limit, subject) =>
      store.jobs(limit).filter((one) => subject === undefined || JSON.parse(one.body).subject === subject),
  };
  const reported: unknown[] = [];
  const jobs = new Jobs(failing, new EventBus(Date.now), Date.now, (error) => reported.push(error));
  const states = () => jobs.list(10).map(({ id, subject, state }) => `${id} ${subject} ${state}`);
  await jobs.start(task('tasks/rsync/1', false)).done;
  const begunBefore = jobs.start(task('tasks/rsync/2', true));
  isFull = true;
  await begunBefore.done;
  const { id, done } = jobs.start(task('tasks/rsync/1', false));
  assert.equal(jobs.get(id)?.state, 'running');
  await done;
  const expected = ['3 tasks/rsync/1 finished', '2 tasks/rsync/2 failed', '1 tasks/rsync/1 finished'];
  assert.deepEqual(states(), expected);
  assert.equal(jobs.last('tasks/rsync/1')?.id, 3);
  assert.ok(reported.length >= 2);
  isFull = false;
  await jobs.start(task('tasks/rsync/3', false)).done;
  assert.deepEqual(states(), ['4 tasks/rsync/3 finished', ...expected]);
  const later = new Jobs(failing, new EventBus(Date.now), Date.now);
  assert.deepEqual(
    later.list(10).map((job) => `${job.id} ${job.subject} ${job.state}`),
    ['4 tasks/rsync/3 finished', ...expected],
  );
});
