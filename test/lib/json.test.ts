import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { measureJson, sortedJson, sortedJsonPieces } from '../../src/lib/json.ts';

const unlimited = { values: Number.POSITIVE_INFINITY, depth: Number.POSITIVE_INFINITY };
const measure = (text: string, most = unlimited) => measureJson(Buffer.from(text), most);

/** The same by parsing: an empty object or list counts as two values. */
function counted(value: unknown): { values: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, depth: 0 };
  const members = Object.values(value).map(counted);
  return {
    values:
      1 +
      Math.max(
        1,
        members.reduce((sum, { values }) => sum + values, 0),
      ),
    depth: 1 + Math.max(0, ...members.map(({ depth }) => depth)),
  };
}

test('the scan of a JSON text counts the values and levels that a parser builds', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      assert.deepEqual(measure(text), counted(JSON.parse(text)));
    }),
  );
});

test('the pieces of a value are together its text with sorted keys, with any number of levels', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat({ max: 4 }), (value, levels) => {
      assert.equal([...sortedJsonPieces({ value, left: undefined }, levels)].join(''), sortedJson({ value }));
    }),
  );
});

test('brackets, commas and escaped quotation marks inside strings do not count', () => {
  assert.deepEqual(measure(String.raw`{"a[{,": "\\", "b\"[[": "]},\\\""}`), { values: 3, depth: 1 });
});

test('the scan stops right above a limit', () => {
  assert.deepEqual(measure('[1,2,3,4,5,6]', { values: 3, depth: 9 }), { values: 4, depth: 1 });
  assert.deepEqual(measure('['.repeat(1000), { values: 5000, depth: 32 }), { values: 34, depth: 33 });
});

test('the scan reads every text to its end or to a limit', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[],:"\\ 1a') }), (text) => {
      const { values, depth } = measure(text);
      assert.ok(values >= 1 && depth >= 0 && depth < values);
    }),
  );
});
