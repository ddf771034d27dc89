import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nameAt, noNames, positionIn, withNames, withoutNames } from '../../src/lib/name-column.ts';

const names = fc.uniqueArray(fc.stringMatching(/^[-a-zA-Z0-9_.: ]{1,5}$/), { maxLength: 40 });

test('a column has the names that it was made of, in their order, without those that were taken out', () => {
  fc.assert(
    fc.property(names, fc.nat(), fc.infiniteStream(fc.boolean()), (all, cut, isGone) => {
      const half = all.length === 0 ? 0 : cut % all.length;
      const column = withNames(withNames(noNames, all.slice(0, half)), all.slice(half));
      const gone = all.flatMap((_, at) => (isGone.next().value === true ? [at] : []));
      const left = all.filter((_, at) => !gone.includes(at));
      for (const [made, expected] of [
        [column, all],
        [withoutNames(column, gone), left],
        [withoutNames(column, []), all],
      ] as const) {
        assert.equal(made.starts.length, expected.length);
        for (const [at, name] of expected.entries()) {
          assert.equal(nameAt(made, at), name);
          assert.equal(positionIn(made, name), at);
        }
      }
      for (const at of gone) assert.equal(positionIn(withoutNames(column, gone), all[at] ?? ''), undefined);
    }),
  );
});

test('what is no name is not found', () => {
  const column = withNames(noNames, ['a', 'b']);
  for (const name of ['', '\n', 'a\nb', 'c', 'ab']) assert.equal(positionIn(column, name), undefined);
});
