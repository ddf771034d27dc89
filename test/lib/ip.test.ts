import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { contains, networkOf, overlap, parseIp, parseNetwork, showIp, showNetwork } from '../../src/lib/ip.ts';

test('addresses are parsed exactly when Node parses them, and formatted canonically', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ unit: fc.constantFrom('0', '1', 'f', ':', '.', '255') })),
      (text) => (parseIp(text)?.family ?? 0) === isIP(text),
    ),
  );
  fc.assert(
    fc.property(
      fc.ipV6(),
      (text) =>
        showIp(parseIp(text) ?? { family: 4, value: 0n }) === new URL(`http://[${text}]/`).hostname.slice(1, -1),
    ),
  );
  fc.assert(fc.property(fc.ipV4(), (text) => showIp(parseIp(text) ?? { family: 6, value: 0n }) === text));
});

test('networks overlap when one contains the other', () => {
  const network = (text: string) => parseNetwork(text) ?? assert.fail(text);
  assert.ok(overlap(network('10.0.0.0/8'), network('10.1.0.0/16')));
  assert.ok(overlap(network('10.1.0.0/16'), network('10.0.0.0/8')));
  assert.ok(!overlap(network('10.1.0.0/16'), network('10.2.0.0/16')));
  assert.ok(!overlap(network('::/0'), network('0.0.0.0/0')));
  assert.ok(contains(network('0.0.0.0/0'), network('192.0.2.1/32')));
  assert.equal(showNetwork(networkOf(network('2001:db8:1:2::3/33'))), '2001:db8::/33');
  for (const wrong of ['192.0.2.1', '192.0.2.1/33', '::/129', '1.2.3/8', '/8', 'x/8'])
    assert.equal(parseNetwork(wrong), undefined, wrong);
});
