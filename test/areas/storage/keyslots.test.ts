import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keysOpenedBy, newKey, newSlots, wrappedByPassphrase } from '../../../src/areas/storage/keyslots.ts';

test('an attempt at a passphrase costs 128 MiB on Linux and less on the virtual host, with the same format', async () => {
  const key = newKey();
  for (const [host, log] of [
    ['linux', 17],
    ['virtual', 12],
  ] as const) {
    const slot = await wrappedByPassphrase(key, 'open sesame', host);
    assert.deepEqual(slot.cost, { log, r: 8, p: 1 });
    assert.deepEqual(await keysOpenedBy({ kind: 'passphrase', text: 'open sesame' }, newSlots(slot)), [key]);
    assert.deepEqual(await keysOpenedBy({ kind: 'passphrase', text: 'open says me' }, newSlots(slot)), []);
  }
});
