import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { forecastOf } from '../../../src/areas/history/forecast.ts';

const day = 86_400_000;
const now = Date.UTC(2026, 5, 1);
const daily = (days: number, used: (age: number) => number) =>
  Array.from({ length: days * 4 }, (_, index) => {
    const age = days - index / 4;
    return { at: now - age * day, value: used(age) };
  });

test('a pool that grows by a tenth each day is full when the rest is used', () => {
  const { perDay = 0, fullAt = 0 } = forecastOf(
    daily(20, (age) => 500 - 10 * age),
    { used: 500, size: 600, now },
  );
  assert.ok(Math.abs(perDay - 10) < 1e-9);
  assert.ok(Math.abs(fullAt - (now + 10 * day)) < 1000);
});

test('a file that came and went for two days does not change the pace', () => {
  const { perDay = 0 } = forecastOf(
    daily(28, (age) => 5000 - 10 * age + (age > 6 && age < 8 ? 3000 : 0)),
    { used: 5000, size: 6000, now },
  );
  assert.ok(Math.abs(perDay - 10) < 1, String(perDay));
});

test('with too little, or without growth, it is not known when the pool is full', () => {
  const space = { used: 500, size: 600, now };
  assert.deepEqual(forecastOf([], space), { perDay: undefined, days: 0, fullAt: undefined });
  assert.equal(
    forecastOf(
      daily(3, (age) => 500 - age),
      space,
    ).perDay,
    undefined,
  );
  assert.equal(
    forecastOf(
      daily(20, () => 500),
      space,
    ).fullAt,
    undefined,
  );
  assert.equal(
    forecastOf(
      daily(20, (age) => 500 + age),
      space,
    ).fullAt,
    undefined,
  );
  assert.equal(
    forecastOf(
      daily(20, (age) => 500 - age / 1000),
      space,
    ).fullAt,
    undefined,
  );
});

test('a pool that is full already is full now', () => {
  assert.equal(
    forecastOf(
      daily(20, (age) => 500 - age),
      { used: 700, size: 600, now },
    ).fullAt,
    now,
  );
});

test('a forecast is in the future, and days before and after the weeks that count change nothing', () => {
  const points = fc.array(fc.record({ at: fc.integer({ min: now - 90 * day, max: now + 90 * day }), value: fc.nat() }));
  fc.assert(
    fc.property(points, fc.nat(), fc.nat(), (all, used, size) => {
      const found = forecastOf(all, { used, size, now });
      assert.ok(found.fullAt === undefined || (found.fullAt >= now && Number.isFinite(found.fullAt)));
      const counting = all.filter(({ at }) => at > now - 28 * day && at <= now);
      assert.deepEqual(forecastOf(counting, { used, size, now }), found);
    }),
  );
});
