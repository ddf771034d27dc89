import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOwnPair, readPair } from '../../../src/engine/pair/pair.ts';

const nodes = { alpha: 'https://192.0.2.11', beta: 'http://nas2.example.org:8080' };
const links = { alpha: ['192.0.2.11', '10.9.0.1'], beta: ['192.0.2.12', '10.9.0.2'] };
const pair = { pool: 'tank', guid: '1234567890123456789', nodes, links };

test('a pair has a pool and the addresses of two machines', () => {
  assert.deepEqual(readPair({ ...pair, more: true }), pair);
  assert.deepEqual(readPair({ ...pair, links: undefined })?.links, {});
  for (const wrong of [
    undefined,
    [],
    { ...pair, pool: '../etc' },
    { ...pair, pool: '' },
    { ...pair, guid: 12 },
    { ...pair, guid: '0x12' },
    { ...pair, nodes: {} },
    { ...pair, nodes: { alpha: nodes.alpha } },
    { ...pair, nodes: { ...nodes, gamma: 'http://192.0.2.13' } },
    { ...pair, nodes: { ...nodes, beta: 'ftp://192.0.2.12' } },
    { ...pair, nodes: { ...nodes, beta: 'http://192.0.2.12/path' } },
    { ...pair, nodes: { ...nodes, beta: 'http://user:secret@192.0.2.12' } },
    { ...pair, nodes: { alpha: nodes.alpha, 'be/ta': nodes.beta } },
    { ...pair, links: { alpha: links.alpha } },
    { ...pair, links: { ...links, beta: ['192.0.2.12'] } },
    { ...pair, links: { alpha: [], beta: [] } },
    { ...pair, links: { ...links, beta: ['nas2', '10.9.0.2'] } },
  ])
    assert.equal(readPair(wrong), undefined, JSON.stringify(wrong));
});

test('a machine is one of the two', () => {
  assert.deepEqual(readOwnPair({ ...pair, self: 'beta' }), { ...pair, self: 'beta' });
  for (const self of ['gamma', '', undefined, 'toString'])
    assert.equal(readOwnPair({ ...pair, self }), undefined, String(self));
});
