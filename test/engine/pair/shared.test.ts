import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openShared, type Published, sealShared } from '../../../src/engine/pair/shared.ts';
import { PairWatch } from '../../../src/engine/pair/watch.ts';
import { Seal } from '../../../src/store/seal.ts';
import { paired } from '../../support/paired.ts';

/** Not the key of the appliance of a test, which publishes too. */
const seal = new Seal(Buffer.alloc(32, 9));
const published: Published = {
  ...{ number: 5, administrator: { name: 'root', hash: '$6$salt$digest' }, name: 'storage', address: '' },
  last: undefined,
  endpoints: [
    { address: '0.0.0.0', port: 80, redirectTo: 443 },
    { address: '0.0.0.0', port: 443, tls: { chain: 'chain', key: 'key' } },
  ],
};

test('what is published is read with the key of the pair alone, and has no secret in clear', () => {
  const sealed = sealShared(seal, published);
  assert.deepEqual(openShared(seal, sealed), published);
  assert.equal(sealed, sealShared(seal, published), 'the same gives the same, so that it is not published again');
  assert.doesNotMatch(sealed, /digest|root|chain/);
  assert.equal(openShared(new Seal(Buffer.alloc(32, 8)), sealed), undefined);
  for (const text of [
    '',
    'hf1:',
    sealed.replace(/.(?=.{20}$)/, (one) => (one === 'A' ? 'B' : 'A')),
    seal.closeFor('other', published),
    seal.closeFor('pair', 'text'),
  ])
    assert.equal(openShared(seal, text), undefined, text);
});

test('an endpoint whose certificate is not understood is not served without it', () => {
  const strange = { ...published, endpoints: [{ address: '0.0.0.0', port: 443, tls: { chain: 'chain' } }, 'text'] };
  assert.deepEqual(openShared(seal, seal.closeFor('pair', strange))?.endpoints, []);
});

test('what the machine with the pool publishes is newer than what is there, also if its clock is behind', async () => {
  const { beta, alpha } = await paired();
  const parts = {
    ...{ host: beta, pair: { pool: 'tank', guid: '1', nodes: {}, links: {}, self: 'beta' }, version: '1', seal },
    log: { debug() {}, info() {}, warn() {}, error() {} },
  };
  const about = { version: '1', hostId: '0000000a', missingDisks: [] };
  await alpha.machine.lease.publish({ ...about, shared: sealShared(seal, { ...published, number: 1000 }) });
  const waiting = new PairWatch({ ...parts, now: () => 1 });
  await waiting.look();
  assert.equal(waiting.shared?.number, 1000);
  const own = { ...published, name: 'renamed' };
  const serving = new PairWatch({ ...parts, now: () => 1, shares: () => own });
  await serving.look();
  assert.deepEqual([serving.shared?.number, serving.shared?.name], [1001, 'renamed']);
  await serving.look();
  assert.equal(serving.shared?.number, 1001, 'it did not change');
});
