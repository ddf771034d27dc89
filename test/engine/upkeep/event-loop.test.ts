import assert from 'node:assert/strict';
import { test } from 'node:test';
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

test('an idle daemon is woken twice a second, also where each look costs a millisecond, and looks often again when it works', async () => {
  let [looks, used] = [0, 0];
  const clocks = {
    elapsed: () => performance.now(),
    used() {
      looks += 1;
      used += 1;
      return used;
    },
  };
  const loop = new EventLoop({ now: Date.now, log: { debug() {}, info() {}, warn() {}, error() {} }, clocks });
  const looksWithin = async (milliseconds: number) => {
    const before = looks;
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    return looks - before;
  };
  loop.begin();
  await looksWithin(2000);
  const idle = await looksWithin(1000);
  used += 60;
  await looksWithin(600);
  const working = await looksWithin(400);
  loop.end();
  assert.ok(idle <= 3, `${idle} looks in a second at rest`);
  assert.ok(working > 5, `${working} looks in 0.4 s at work`);
});
