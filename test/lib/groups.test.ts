import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesBetween, differing, groupsThatDiffer } from '../../src/lib/groups.ts';

test('the differences of two lists are found at any position', () => {
  assert.deepEqual(changesBetween([1, 2, 3], [1, 2, 3]), { gone: [], come: [] });
  assert.deepEqual(changesBetween([], [1]), { gone: [], come: [1] });
  assert.deepEqual(changesBetween([1, 2, 3], [1, 4, 3]), { gone: [2], come: [4] });
  assert.deepEqual(changesBetween([1, 2, 3], [0, 1, 3, 5]), { gone: [2], come: [0, 5] });
});

test('identical groups are not compared', () => {
  const same = [1, 2];
  const [before, after] = [
    new Map([
      [0, same],
      [1, [3]],
      [2, [9]],
    ]),
    new Map([
      [0, same],
      [1, [3, 4]],
      [3, [5]],
    ]),
  ];
  assert.deepEqual(groupsThatDiffer(before, after), [1, 2, 3]);
  assert.deepEqual(differing(before, after), [4, 9, 5]);
});
