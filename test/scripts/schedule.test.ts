import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Job, next } from '../../scripts/test/schedule.ts';

const job = (name: string, more: Partial<Job> = {}): Job => ({
  name,
  tier: 'code',
  command: ['true'],
  environment: {},
  needs: [],
  load: 1,
  seconds: 1,
  limit: 10,
  isTest: true,
  ...more,
});

test('the longest file begins first, after the jobs that it needs', () => {
  const image = job('image', { seconds: 10, isTest: false });
  const jobs = [job('short'), job('long', { seconds: 60 }), image, job('machine', { seconds: 80, needs: ['image'] })];
  assert.equal(next(jobs, [], new Set(), 2)?.name, 'image');
  assert.equal(next(jobs.slice(0, 2), [image], new Set(), 2)?.name, 'long');
});

test('a job of a lower rank begins before longer ones of a higher rank', () => {
  const jobs = [job('known to pass', { seconds: 90, rank: 2 }), job('machine', { seconds: 60, rank: 1 }), job('code')];
  assert.equal(next(jobs, [], new Set(), 2)?.name, 'code');
  assert.equal(next(jobs.slice(0, 2), [], new Set(), 2)?.name, 'machine');
  const browser = job('browser', { load: 2 });
  assert.equal(next([...jobs.slice(0, 2), browser], [job('other')], new Set(), 2.6), undefined, 'it keeps the room');
});

test('a job for which there is no room starts only when nothing else runs', () => {
  const big = job('big', { load: 4 });
  assert.equal(next([big], [job('other')], new Set(), 2), undefined);
  assert.equal(next([big], [], new Set(), 2), big);
});

const jobs = fc
  .array(
    fc.record({
      load: fc.integer({ min: 1, max: 3 }),
      seconds: fc.nat(100),
      needs: fc.array(fc.nat(20), { maxLength: 3 }),
    }),
    { maxLength: 20 },
  )
  .map((all) =>
    // A job needs only earlier ones, as in any plan without cycles.
    all.map(({ load, seconds, needs }, index) =>
      job(`job ${index}`, {
        load,
        seconds,
        needs: [...new Set(needs.filter((need) => need < index))].map((need) => `job ${need}`),
      }),
    ),
  );

test('whatever the jobs are, each runs once, after the jobs that it needs, and within the room', () => {
  fc.assert(
    fc.property(jobs, fc.integer({ min: 1, max: 4 }), fc.infiniteStream(fc.nat()), (all, room, choices) => {
      const waiting = [...all];
      const running: Job[] = [];
      const done = new Set<string>();
      while (waiting.length + running.length > 0) {
        for (
          let started = next(waiting, running, done, room);
          started !== undefined;
          started = next(waiting, running, done, room)
        ) {
          assert.ok(started.needs.every((need) => done.has(need)));
          waiting.splice(waiting.indexOf(started), 1);
          running.push(started);
          const load = running.reduce((sum, one) => sum + one.load, 0);
          assert.ok(load <= room || running.length === 1, `${load} of ${room}`);
        }
        assert.ok(running.length > 0, 'something runs as long as something waits');
        const [ended] = running.splice(Number(choices.next().value) % running.length, 1);
        if (ended !== undefined) done.add(ended.name);
      }
      assert.equal(done.size, all.length);
    }),
  );
});
