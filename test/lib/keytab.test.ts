import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keytabOf, readKeytab } from '../../src/lib/keytab.ts';
import { keytabBytes } from '../support/keytabs.ts';

test('a keytab is read as principals and key versions', () => {
  const first = keytabBytes('nfs', 3);
  const second = keytabBytes('host', 300).subarray(2);
  // A removed key leaves a hole of its size.
  const hole = Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xfb]), Buffer.alloc(5)]);
  assert.deepEqual(readKeytab(Buffer.concat([first, hole, second])), [
    { principal: 'nfs/nas.example.com@EXAMPLE.COM', version: 3 },
    { principal: 'host/nas.example.com@EXAMPLE.COM', version: 300 },
  ]);
  assert.deepEqual(readKeytab(Buffer.from([5, 2])), []);
});

test('a keytab is cut down to the keys of one principal', () => {
  const hole = Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xfb]), Buffer.alloc(5)]);
  const both = Buffer.concat([keytabBytes('nfs', 3), hole, keytabBytes('host', 4).subarray(2)]);
  assert.deepEqual(keytabOf(both, 'host/nas.example.com@EXAMPLE.COM'), keytabBytes('host', 4));
  assert.deepEqual(readKeytab(keytabOf(both, 'cifs/nas.example.com@EXAMPLE.COM')), []);
});

test('other bytes and truncated keytabs are rejected', () => {
  const whole = keytabBytes('nfs');
  for (let length = 3; length < whole.length; length += 1)
    assert.ok((readKeytab(whole.subarray(0, length)) ?? []).length === 0, String(length));
  assert.equal(readKeytab(Buffer.from('no keytab')), undefined);
  assert.equal(readKeytab(Buffer.concat([Buffer.from([5, 1]), whole.subarray(2)])), undefined);
});
