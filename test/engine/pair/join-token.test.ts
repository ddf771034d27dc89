import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keysOf, newJoinSecret, readJoinToken, writeJoinToken } from '../../../src/engine/pair/join-token.ts';

const token = {
  url: 'https://192.0.2.11',
  fingerprint: Array(32).fill('AB').join(':'),
  guid: '1234567890123456789',
  secret: newJoinSecret(),
};

test('a token names the machine, its certificate and the pair', () => {
  assert.deepEqual(readJoinToken(writeJoinToken(token)), token);
  const plain = { ...token, url: 'http://nas1.example.org:8080', fingerprint: undefined };
  assert.deepEqual(readJoinToken(writeJoinToken(plain)), plain);
});

test('a text that is no whole token is none', () => {
  const text = writeJoinToken(token);
  for (const one of ['', 'hfpair1_', text.slice(0, -1), text.slice(0, -20), text.slice(4), `x${text}`])
    assert.equal(readJoinToken(one), undefined, one);
  // With https, the certificate to expect is never missing.
  assert.equal(readJoinToken(writeJoinToken({ ...token, fingerprint: undefined })), undefined);
  assert.equal(readJoinToken(writeJoinToken({ ...token, guid: 'none' })), undefined);
});

test('the key of the answer does not follow from the credential, and both are of one pair', () => {
  const { credential, key } = keysOf(token);
  assert.deepEqual(keysOf(token), { credential, key });
  assert.notEqual(Buffer.from(credential, 'base64url').toString('hex'), key.toString('hex'));
  const other = keysOf({ ...token, guid: '1' });
  assert.notEqual(other.credential, credential);
  assert.notDeepEqual(other.key, key);
});
