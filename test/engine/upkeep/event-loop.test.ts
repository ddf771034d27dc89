import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { EventLoop } from '../../../src/engine/upkeep/event-loop.ts';
import { standingClock } from '../../support/hosts.ts';

function watched() {
  const clock = standingClock();
  let [elapsed, used] = [0, 0];
  const loop = new EventLoop({
    now: clock.now,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    clocks: { elapsed: () => elapsed, used: () => used },
  });
  return {
    loop,
    /** The timer is due after 20 ms and fires later; meanwhile the daemon computed for some time. */
    pass(late: number, computed: number) {
      elapsed += 20 + late;
      used += computed;
      clock.advance(20 + late);
      loop.look();
    },
    wait: clock.advance,
  };
}

test('the daemon stalls when it computes for more than 50 ms, not when another process has the processor', () => {
  const { loop, pass } = watched();
  pass(0, 20);
  pass(50, 70);
  pass(400, 30);
  pass(120, 130);
  pass(80, 90);
  const { stalls, longest, recent } = loop.report;
  assert.deepEqual([stalls, longest, recent.map(({ milliseconds }) => milliseconds)], [2, 120, [80, 120]]);
});

test('five stalls within ten minutes are a problem, until the time has passed', () => {
  const { loop, pass, wait } = watched();
  for (let count = 0; count < 4; count += 1) pass(60, 60);
  assert.equal(loop.problems.length, 0);
  pass(90, 90);
  assert.equal(loop.problems.length, 1);
  assert.match(String(loop.problems[0]?.message), /computed 5 times in the last ten minutes .* up to 90 ms/);
  wait(10 * 60_000);
  assert.equal(loop.problems.length, 0);
  assert.equal(loop.report.stalls, 5);
});

test('a real computation of this process is noticed', async () => {
  const loop = new EventLoop({ now: Date.now, log: { debug() {}, info() {}, warn() {}, error() {} } });
  loop.begin();
  const pause = () => new Promise((resolve) => setTimeout(resolve, 60));
  await pause();
  const { stalls } = loop.report;
  // Other threads of this process compute too, where Node can tell them apart.
  const used = () =>
    (typeof process.threadCpuUsage === 'function' ? process.threadCpuUsage() : process.cpuUsage()).user;
  for (const end = used() + 150_000; used() < end; );
  await pause();
  loop.end();
  assert.ok(loop.report.stalls > stalls, JSON.stringify(loop.report));
  // The histogram is Node's, and its timer may come too late for this delay.
  assert.ok(loop.report.delay.max > 0, JSON.stringify(loop.report));
});

/** A daemon whose looks are counted, with clocks that the test moves. */
function counted(t: TestContext, options: { readonly rest?: number } = {}) {
  let [looks, used, late] = [0, 0, 0];
  const clocks = {
    elapsed: () => performance.now() + late,
    used() {
      looks += 1;
      used += 1;
      return used;
    },
  };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const loop = new EventLoop({ now: Date.now, log, clocks, ...options });
  t.after(() => loop.end());
  return {
    loop,
    compute(milliseconds: number) {
      used += milliseconds;
      late += milliseconds;
    },
    async looksWithin(milliseconds: number) {
      const before = looks;
      await pause(milliseconds);
      return looks - before;
    },
  };
}

test('an idle daemon is hardly woken, also where each look costs a millisecond, and looks often again when it works', async (t) => {
  const { loop, compute, looksWithin } = counted(t, { rest: 500 });
  loop.begin();
  await looksWithin(2000);
  const idle = await looksWithin(1000);
  compute(60);
  await looksWithin(600);
  const working = await looksWithin(400);
  assert.ok(idle <= 3, `${idle} looks in a second at rest`);
  assert.ok(working > 5, `${working} looks in 0.4 s at work`);
  const { loop: usual, looksWithin: usualWithin } = counted(t);
  usual.begin();
  await usualWithin(2000);
  const looks = await usualWithin(2000);
  assert.ok(looks <= 1, `${looks} looks in two seconds at rest`);
});

test('the first stall after a rest is noticed once if a request causes it, and a short request does not end the rest', async (t) => {
  const { loop, compute, looksWithin } = counted(t);
  loop.begin();
  await looksWithin(2000);
  const request = async (milliseconds: number) => {
    loop.heed();
    loop.heed();
    compute(milliseconds);
    await new Promise(setImmediate);
  };
  await request(1);
  const idle = await looksWithin(400);
  assert.ok(idle <= 2, `${idle} looks after a short request`);
  assert.equal(loop.report.stalls, 0);
  await request(130);
  const working = await looksWithin(400);
  assert.ok(working > 5, `${working} looks after a long request`);
  assert.deepEqual([loop.report.stalls, Math.round(loop.report.longest / 10)], [1, 13]);
});

test('a job ends the rest', async (t) => {
  const { loop, looksWithin } = counted(t);
  loop.begin();
  await looksWithin(2000);
  loop.work();
  const working = await looksWithin(400);
  assert.ok(working > 5, `${working} looks in 0.4 s of a job`);
  assert.equal(loop.report.stalls, 0);
});

test('nothing is looked at before the begin and after the end', async (t) => {
  const { loop, looksWithin } = counted(t);
  loop.heed();
  loop.work();
  assert.equal(await looksWithin(100), 0);
  loop.begin();
  loop.end();
  loop.heed();
  loop.work();
  assert.equal(await looksWithin(100), 0);
});
