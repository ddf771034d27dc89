import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cronLine, nextRun, type Schedule, scheduleProblem, timeIn } from '../../../src/engine/declare/schedule.ts';

function schedule(line: string): Schedule {
  const [minute = '', hour = '', daymonth = '', month = '', dayweek = ''] = line.split(' ');
  return { minute, hour, daymonth, month, dayweek };
}

/** The next runs after a time, in the local time of the zone. */
function runs(line: string, zone: string, after: string, count = 3): readonly string[] {
  const found: string[] = [];
  let at = Date.parse(after);
  while (found.length < count) {
    const next = nextRun(schedule(line), at, zone);
    if (next === undefined) break;
    found.push(timeIn(zone, next));
    at = next;
  }
  return found;
}

const berlin = 'Europe/Berlin';

test('leading zeros, lists, ranges, steps and names are interpreted like in cron', () => {
  assert.deepEqual(runs('00 03 * * *', 'UTC', '2026-01-01T03:00:00Z', 1), ['2026-01-02T03:00:00+00:00']);
  assert.deepEqual(runs('5/25 0 * * *', 'UTC', '2026-01-01T00:00:00Z'), [
    '2026-01-01T00:05:00+00:00',
    '2026-01-01T00:30:00+00:00',
    '2026-01-01T00:55:00+00:00',
  ]);
  assert.deepEqual(runs('0 0 * * 7', 'UTC', '2026-01-01T00:00:00Z', 1), ['2026-01-04T00:00:00+00:00']);
  assert.deepEqual(runs('0 0 1 feb,mar *', 'UTC', '2026-01-01T00:00:00Z', 2), [
    '2026-02-01T00:00:00+00:00',
    '2026-03-01T00:00:00+00:00',
  ]);
  assert.equal(cronLine({ minute: '0, 30', hour: '1', daymonth: '*', month: '*', dayweek: '*' }), '0,30 1 * * *');
});

test('a day must match one of the two day fields, or both if one of them begins with a star', () => {
  assert.deepEqual(runs('0 0 13 * fri', 'UTC', '2026-11-01T00:00:00Z'), [
    '2026-11-06T00:00:00+00:00',
    '2026-11-13T00:00:00+00:00',
    '2026-11-20T00:00:00+00:00',
  ]);
  assert.deepEqual(runs('0 0 */2 * mon', 'UTC', '2026-11-01T00:00:00Z', 2), [
    '2026-11-09T00:00:00+00:00',
    '2026-11-23T00:00:00+00:00',
  ]);
});

test('when clocks are set forward, a run at a time that does not exist follows immediately', () => {
  assert.deepEqual(runs('30 2 * * *', berlin, '2026-03-28T12:00:00Z', 2), [
    '2026-03-29T03:00:00+02:00',
    '2026-03-30T02:30:00+02:00',
  ]);
  assert.deepEqual(runs('*/30 * * * *', berlin, '2026-03-29T00:30:00Z', 2), [
    '2026-03-29T03:00:00+02:00',
    '2026-03-29T03:30:00+02:00',
  ]);
});

test('when clocks are set back, a run at a fixed time happens once and an hourly run twice', () => {
  assert.deepEqual(runs('30 2 * * *', berlin, '2026-10-24T12:00:00Z', 2), [
    '2026-10-25T02:30:00+02:00',
    '2026-10-26T02:30:00+01:00',
  ]);
  assert.deepEqual(runs('0,30 2 * * *', berlin, '2026-10-24T12:00:00Z'), [
    '2026-10-25T02:00:00+02:00',
    '2026-10-25T02:30:00+02:00',
    '2026-10-26T02:00:00+01:00',
  ]);
  assert.deepEqual(runs('30 * * * *', berlin, '2026-10-24T23:45:00Z'), [
    '2026-10-25T02:30:00+02:00',
    '2026-10-25T02:30:00+01:00',
    '2026-10-25T03:30:00+01:00',
  ]);
});

test('zones with an offset of half an hour, and with daylight saving of half an hour, are supported', () => {
  assert.deepEqual(runs('0 0 * * *', 'Asia/Kolkata', '2026-01-01T00:00:00Z', 1), ['2026-01-02T00:00:00+05:30']);
  assert.deepEqual(runs('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00:00Z', 2), [
    '2026-10-04T02:30:00+11:00',
    '2026-10-05T02:15:00+11:00',
  ]);
});

test('a day that never occurs is refused, and a rare one is accepted', () => {
  assert.equal(scheduleProblem(schedule('0 0 31 2 *')), 'This schedule never occurs: no such day exists.');
  assert.equal(scheduleProblem(schedule('0 0 29 2 *')), undefined);
  assert.equal(scheduleProblem(schedule('0 0 31 2 mon')), undefined);
});

test('the next run is later, matches the schedule, and no earlier minute matches', () => {
  const list = (from: number, to: number) =>
    fc.uniqueArray(fc.integer({ min: from, max: to }), { minLength: 1, maxLength: 4 });
  const zones = fc.constantFrom('UTC', berlin, 'America/New_York', 'Asia/Kolkata');
  fc.assert(
    fc.property(
      list(0, 59),
      list(0, 23),
      zones,
      fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2027, 0) }),
      (minutes, hours, zone, after) => {
        const when: Schedule = { minute: minutes.join(), hour: hours.join(), daymonth: '*', month: '*', dayweek: '*' };
        const next = nextRun(when, after, zone);
        assert.ok(next !== undefined && next > after && next - after <= 25 * 3_600_000);
        // Days on which clocks are changed have separate rules, tested above.
        const offsets = new Set(
          [after - 86_400_000, after, next, next + 86_400_000].map((at) => timeIn(zone, at).slice(19)),
        );
        if (offsets.size > 1) return;
        const named = (at: number) => {
          const [, hour, minute] = /T(\d\d):(\d\d)/.exec(timeIn(zone, at)) ?? [];
          return hours.includes(Number(hour)) && minutes.includes(Number(minute));
        };
        assert.ok(named(next));
        for (let at = after - (after % 60_000) + 60_000; at < next; at += 60_000) assert.ok(!named(at));
      },
    ),
    { numRuns: 60 },
  );
});
