import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cache, memo } from '../../src/lib/memo.ts';

test('a result is computed once for a key, and again when another argument changes', () => {
  let count = 0;
  const shown = memo((key: { readonly name: string }, suffix: string) => {
    count += 1;
    return key.name + suffix;
  });
  const key = { name: 'a' };
  assert.deepEqual([shown(key, '1'), shown(key, '1'), count], ['a1', 'a1', 1]);
  assert.deepEqual([shown(key, '2'), shown({ name: 'a' }, '2'), count], ['a2', 'a2', 3]);
});

test('a result that is undefined is computed once too', () => {
  let count = 0;
  const nothing = memo((_key: object) => {
    count += 1;
  });
  const key = {};
  nothing(key);
  nothing(key);
  assert.equal(count, 1);
});

test('of a context only the dependencies count', () => {
  const shown = cache((key: { readonly name: string }, { suffix }: { readonly suffix: string }) => key.name + suffix);
  const key = { name: 'a' };
  assert.equal(shown(key, { suffix: '1' }, ['x']), 'a1');
  assert.equal(shown(key, { suffix: '2' }, ['x']), 'a1');
  assert.equal(shown(key, { suffix: '2' }, ['y']), 'a2');
  assert.equal(shown(key, { suffix: '3' }, ['y', 'z']), 'a3');
});

test('dependencies that several keys share are compared for each key', () => {
  const shown = memo((key: { readonly name: string }, suffix: string) => key.name + suffix);
  const [a, b] = [{ name: 'a' }, { name: 'b' }];
  const asked = [shown(a, '1'), shown(b, '1'), shown(b, '2'), shown(a, '1'), shown(a, '2'), shown(b, '1')];
  assert.deepEqual(asked, ['a1', 'b1', 'b2', 'a1', 'a2', 'b1']);
});
