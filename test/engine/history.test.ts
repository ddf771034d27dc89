import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type HistoryRow, merged, rolledUp, type Tally, tallyOf, tiers } from '../../src/engine/declare/history.ts';

const samples = fc.array(
  fc.record({
    at: fc.integer({ min: 0, max: 400 * 86_400_000 }),
    name: fc.constantFrom('a', 'b', 'c'),
    // Whole numbers, whose sums are exact in any order.
    value: fc.integer({ min: -1_000_000, max: 1_000_000 }),
  }),
  { maxLength: 200 },
);

const rowOf = ({ at, name, value }: { at: number; name: string; value: number }): HistoryRow => ({
  at,
  tallies: new Map([[name, tallyOf(value)]]),
});

function total(rows: readonly HistoryRow[], name: string): Tally | undefined {
  return rows
    .flatMap(({ tallies }) => tallies.get(name) ?? [])
    .reduce<Tally | undefined>((sum, tally) => merged(sum, tally), undefined);
}

test('counts, sums and extremes are the same in spans of any length, also in spans of spans', () => {
  fc.assert(
    fc.property(samples, (all) => {
      let rows: readonly HistoryRow[] = all.map(rowOf);
      const before = ['a', 'b', 'c'].map((name) => total(rows, name));
      for (const { step } of tiers) {
        const direct = rolledUp(all.map(rowOf), step);
        rows = rolledUp(rows, step);
        assert.deepEqual(
          ['a', 'b', 'c'].map((name) => total(rows, name)),
          before,
        );
        assert.deepEqual(
          rows.map(({ at }) => at),
          direct.map(({ at }) => at),
        );
      }
    }),
  );
});

test('spans begin at multiples of their length, in order, each once', () => {
  fc.assert(
    fc.property(samples, fc.integer({ min: 1, max: 10_000_000 }), (all, step) => {
      const times = rolledUp(all.map(rowOf), step).map(({ at }) => at);
      assert.ok(times.every((at) => at % step === 0));
      assert.deepEqual(
        times,
        [...new Set(times)].toSorted((a, b) => a - b),
      );
    }),
  );
});
