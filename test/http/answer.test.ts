import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonList } from '../../src/http/answer.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
const present = (n: number) => ({ name: `snapshot ${n}`, id: n });

test('a short list is serialized at once', () => {
  assert.equal(jsonList([1], present, {}).body, '[{"id":1,"name":"snapshot 1"}]');
  assert.equal(jsonList([], present, {}).body, '[]');
});

test('a long list is serialized in pieces, to the same JSON', async () => {
  for (const count of [1001, 1500, 2749]) {
    const { body, pieces = [] } = jsonList(numbers(count), present, {});
    assert.equal(body, undefined);
    const all: string[] = [];
    for await (const piece of pieces) all.push(piece);
    assert.ok(all.length > 2);
    assert.deepEqual(JSON.parse(all.join('')), numbers(count).map(present));
  }
});
