import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventBus } from '../../src/engine/events.ts';
import { type JobShelf, Jobs } from '../../src/engine/jobs.ts';
import { virtualHost } from '../support/hosts.ts';

/** Keeps jobs in memory and counts how often they are read. */
class CountingShelf implements JobShelf {
  readonly bodies: { readonly id: number; readonly subject: string; body: string }[] = [];
  reads = 0;

  addJob(subject: string, body: string): number {
    return this.bodies.push({ id: this.bodies.length + 1, subject, body });
  }

  putJob(id: number, body: string): void {
    const job = this.bodies[id - 1];
    if (job !== undefined) job.body = body;
  }

  jobs(limit: number): readonly { readonly id: number; readonly body: string }[] {
    this.reads += 1;
    return this.bodies.toReversed().slice(0, limit);
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

test('how each task ended last is known without reading outputs again, also after a restart', async (t) => {
  const shelf = new CountingShelf();
  const host = await virtualHost(t);
  const jobs = new Jobs(shelf, new EventBus(Date.now), Date.now);
  const atFirst = shelf.reads;
  await jobs.start(task('tasks/rsync/1', true), host).done;
  await jobs.start(task('tasks/rsync/2', true), host).done;
  await jobs.start(task('tasks/rsync/1', false), host).done;
  const ended = [
    { id: 3, title: 'run tasks/rsync/1', subject: 'tasks/rsync/1', state: 'finished', error: null },
    { id: 2, title: 'run tasks/rsync/2', subject: 'tasks/rsync/2', state: 'failed', error: 'no such host' },
  ];
  assert.deepEqual(jobs.lastEnded, ended);
  assert.equal(shelf.reads, atFirst);
  assert.deepEqual(new Jobs(shelf, new EventBus(Date.now), Date.now).lastEnded, ended);
});

test('a job that ended more than two hundred jobs ago is no longer among the last', async (t) => {
  const jobs = new Jobs(new CountingShelf(), new EventBus(Date.now), Date.now);
  const host = await virtualHost(t);
  await jobs.start(task('tasks/rsync/1', true), host).done;
  for (let n = 0; n < 199; n += 1) await jobs.start(task('tasks/rsync/2', false), host).done;
  assert.deepEqual(
    jobs.lastEnded.map(({ id }) => id),
    [200, 1],
  );
  await jobs.start(task('tasks/rsync/2', false), host).done;
  assert.deepEqual(
    jobs.lastEnded.map(({ id }) => id),
    [201],
  );
});
