import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  lifetimeOf,
  type SnapshotTimes,
  snapshotFormat,
  snapshotName,
  timetableOf,
} from '../../../src/areas/storage/snapshot-times.ts';
import { nextRun, timeIn } from '../../../src/engine/declare/schedule.ts';

const plain: SnapshotTimes = {
  task_begin: '09:00:00',
  task_end: '18:00:00',
  task_interval: 60,
  task_repeat_unit: 'weekly',
  task_byweekday: '1,2,3,4,5',
};

/** The next times of a task after `after`, as local time. */
function moments(
  times: Partial<SnapshotTimes>,
  after: string,
  count: number,
  zone = 'Europe/Berlin',
): readonly string[] {
  const timetable = timetableOf({ ...plain, ...times });
  const found: string[] = [];
  for (let at = Date.parse(after); found.length < count; ) {
    at = nextRun(timetable, at, zone) ?? Number.NaN;
    if (Number.isNaN(at)) break;
    found.push(timeIn(zone, at).slice(0, 16));
  }
  return found;
}

test('snapshots run from begin to end, both included, on the selected days of the week', () => {
  // A Friday evening in winter.
  assert.deepEqual(moments({}, '2026-01-09T16:00:00Z', 3), [
    '2026-01-09T18:00',
    '2026-01-12T09:00',
    '2026-01-12T10:00',
  ]);
  assert.deepEqual(moments({ task_repeat_unit: 'daily' }, '2026-01-09T17:00:00Z', 2), [
    '2026-01-10T09:00',
    '2026-01-10T10:00',
  ]);
});

test('intervals are counted from the begin time, and no snapshot is later than the end time', () => {
  assert.deepEqual(
    moments({ task_begin: '09:50:00', task_end: '10:40:00', task_interval: 15 }, '2026-01-12T00:00:00Z', 5),
    ['2026-01-12T09:50', '2026-01-12T10:05', '2026-01-12T10:20', '2026-01-12T10:35', '2026-01-13T09:50'],
  );
  assert.deepEqual(moments({ task_begin: '08:15:00', task_interval: 240 }, '2026-01-12T00:00:00Z', 4), [
    '2026-01-12T08:15',
    '2026-01-12T12:15',
    '2026-01-12T16:15',
    '2026-01-13T08:15',
  ]);
});

test('an end before the begin is on the next day, and an equal end means all day', () => {
  const night = {
    task_begin: '22:00:00',
    task_end: '02:00:00',
    task_interval: 120,
    task_repeat_unit: 'daily',
  } as const;
  assert.deepEqual(moments(night, '2026-01-12T20:00:00Z', 4), [
    '2026-01-12T22:00',
    '2026-01-13T00:00',
    '2026-01-13T02:00',
    '2026-01-13T22:00',
  ]);
  assert.deepEqual(moments({ ...night, task_end: '22:00:00', task_interval: 720 }, '2026-01-12T20:00:00Z', 3), [
    '2026-01-12T22:00',
    '2026-01-13T10:00',
    '2026-01-13T22:00',
  ]);
});

test('a day runs once a day, and n weeks run on the first selected day of every n-th week, independent of the start time', () => {
  assert.deepEqual(moments({ task_interval: 1440 }, '2026-01-08T12:00:00Z', 2), [
    '2026-01-09T09:00',
    '2026-01-12T09:00',
  ]);
  assert.deepEqual(moments({ task_interval: 10_080, task_byweekday: '3,6' }, '2026-01-08T12:00:00Z', 2), [
    '2026-01-14T09:00',
    '2026-01-21T09:00',
  ]);
  const fortnights = moments({ task_interval: 20_160 }, '2026-01-01T00:00:00Z', 3);
  assert.deepEqual(fortnights, ['2026-01-05T09:00', '2026-01-19T09:00', '2026-02-02T09:00']);
  assert.deepEqual(moments({ task_interval: 20_160 }, '2026-01-06T00:00:00Z', 2), fortnights.slice(1));
  assert.equal(moments({ task_interval: 40_320 }, '2026-01-01T00:00:00Z', 2).length, 2);
});

test('daylight saving changes neither repeat snapshots in the repeated hour nor lose those of the skipped hour', () => {
  const night = { task_begin: '00:30:00', task_end: '03:30:00', task_repeat_unit: 'daily' } as const;
  assert.deepEqual(moments(night, '2026-10-24T22:00:00Z', 4), [
    '2026-10-25T00:30',
    '2026-10-25T01:30',
    '2026-10-25T02:30',
    '2026-10-25T03:30',
  ]);
  assert.deepEqual(moments(night, '2026-03-28T23:00:00Z', 4), [
    '2026-03-29T00:30',
    '2026-03-29T01:30',
    '2026-03-29T03:00',
    '2026-03-29T03:30',
  ]);
});

test('a snapshot name contains local time and retention', () => {
  const retention = { task_ret_count: 2, task_ret_unit: 'week' } as const;
  assert.equal(snapshotName(retention, Date.parse('2026-01-12T08:05:00Z'), 'Europe/Berlin'), 'auto-20260112.0905-2w');
  assert.equal(snapshotFormat(retention), 'auto-%Y%m%d.%H%M-2w');
  assert.equal(lifetimeOf('auto-20260112.0905-2w'), 14 * 86_400);
  assert.equal(lifetimeOf('auto-20260112.0905-3m'), 90 * 86_400);
  assert.equal(lifetimeOf('auto-20260112.0905-0w'), undefined);
  for (const other of [
    'monday',
    'auto-20260112.0905',
    'auto-20260112.0905-2x',
    'my-auto-20260112.0905-2w',
    'auto-20260112.0905-2w.bak',
  ])
    assert.equal(lifetimeOf(other), undefined, other);
});
