import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '../../../src/engine/declare/resource.ts';
import { type Entry, Scheduler } from '../../../src/engine/upkeep/scheduler.ts';
import { standingClock } from '../../support/hosts.ts';

const minute = 60_000;

function watched(line: string, from: number) {
  const clock = standingClock(from);
  const started: string[] = [];
  const [minutes = '', hour = '', daymonth = '', month = '', dayweek = ''] = line.split(' ');
  const task: Task = { title: 'one', subject: 'tasks/rsync/1', run: async () => ({}) };
  let entries: readonly Entry[] = [
    {
      subject: task.subject,
      record: {},
      part: 0,
      when: { minute: minutes, hour, daymonth, month, dayweek },
      task: () => task,
    },
  ];
  const scheduler = new Scheduler({
    entries: () => entries,
    start: () => started.push(new Date(clock.now()).toISOString().slice(11, 16)),
    failed: (_subject, error) => assert.fail(String(error)),
    now: clock.now,
    zone: () => 'UTC',
  });
  return {
    started,
    /** Checks every minute, slightly late like real timers. */
    pass(minutesPassed: number) {
      for (let passed = 0; passed < minutesPassed; passed += 1) {
        clock.advance(minute);
        scheduler.look();
      }
    },
    jump(milliseconds: number) {
      clock.advance(milliseconds);
      scheduler.look();
    },
    remove() {
      entries = [];
    },
  };
}

test('a due task is started once, in its minute', () => {
  const clock = watched('*/20 * * * *', Date.UTC(2026, 0, 1, 0, 0, 0, 20));
  clock.pass(60);
  assert.deepEqual(clock.started, ['00:20', '00:40', '01:00']);
});

test('a late check still starts the due tasks', () => {
  const clock = watched('5 * * * *', Date.UTC(2026, 0, 1));
  clock.jump(7 * minute);
  assert.deepEqual(clock.started, ['00:07']);
  clock.pass(3);
  assert.equal(clock.started.length, 1);
});

test('when the clock is set forward by hours, the missed runs are not repeated', () => {
  const clock = watched('30 * * * *', Date.UTC(2026, 0, 1));
  clock.jump(5 * 60 * minute + 10 * minute);
  assert.deepEqual(clock.started, []);
  clock.pass(20);
  assert.deepEqual(clock.started, ['05:30']);
});

test('when the clock is set back, tasks that become due again are started again', () => {
  const clock = watched('30 * * * *', Date.UTC(2026, 0, 1, 6));
  clock.pass(31);
  clock.jump(-60 * minute);
  clock.pass(60);
  assert.deepEqual(clock.started, ['06:30', '06:30']);
});

test('a removed record is not started', () => {
  const clock = watched('*/5 * * * *', Date.UTC(2026, 0, 1));
  clock.pass(5);
  clock.remove();
  clock.pass(20);
  assert.deepEqual(clock.started, ['00:05']);
});

test('a task that cannot be started does not prevent the others from being started', () => {
  const clock = standingClock(Date.UTC(2026, 0, 1));
  const task: Task = { title: 'one', subject: 'tasks/rsync/1', run: async () => ({}) };
  const when = { minute: '*', hour: '*', daymonth: '*', month: '*', dayweek: '*' };
  const entry = (subject: string, make: () => Task) => ({ subject, record: {}, part: 0, when, task: make });
  const broken = entry('tasks/rsync/1', () => {
    throw new TypeError('a defect');
  });
  const entries = [broken, entry('tasks/rsync/2', () => task)];
  const started: string[] = [];
  const failed: string[] = [];
  const scheduler = new Scheduler({
    entries: () => entries,
    start: ({ title }) => started.push(title),
    failed: (subject, error) => failed.push(`${subject}: ${String(error)}`),
    now: clock.now,
    zone: () => 'UTC',
  });
  clock.advance(minute);
  scheduler.look();
  assert.deepEqual(started, ['one']);
  assert.deepEqual(failed, ['tasks/rsync/1: TypeError: a defect']);
});
