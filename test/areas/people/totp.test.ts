import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { base32, codeOf, fromBase32, matchingPeriod, otpauthUrl, periodOf } from '../../../src/areas/people/totp.ts';

const secret = Buffer.from('12345678901234567890');

test('codes are those of RFC 4226, appendix D, and RFC 6238, appendix B', () => {
  assert.deepEqual(
    Array.from({ length: 10 }, (_, number) => codeOf(secret, number)),
    ['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489'],
  );
  for (const [seconds, code] of [
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ] as const)
    assert.equal(codeOf(secret, periodOf(seconds * 1000), 8), code);
});

test('a code is accepted in its period and those beside it, and not twice', () => {
  const now = 1_234_567_890_000;
  const current = periodOf(now);
  for (const distance of [-2, -1, 0, 1, 2]) {
    const found = matchingPeriod(secret, codeOf(secret, current + distance), now, 0);
    assert.equal(found, Math.abs(distance) <= 1 ? current + distance : undefined, String(distance));
    assert.equal(matchingPeriod(secret, codeOf(secret, current + distance), now, current + distance), undefined);
  }
  for (const code of ['', '12345', '1234567', 'abcdef', '0x1234'])
    assert.equal(matchingPeriod(secret, code, now, 0), undefined);
});

test('base32 is that of RFC 4648, and is read back', () => {
  for (const [text, expected] of [
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ] as const)
    assert.equal(base32(Buffer.from(text)), expected);
  fc.assert(fc.property(fc.uint8Array(), (bytes) => fromBase32(base32(Buffer.from(bytes))).equals(Buffer.from(bytes))));
});

test('the address for authenticator programs is a URL with the secret', () => {
  const url = new URL(otpauthUrl('anna b', 'nas.local', 'MZXW6YTB'));
  assert.deepEqual(
    [url.protocol, url.hostname, decodeURIComponent(url.pathname), url.searchParams.get('secret')],
    ['otpauth:', 'totp', '/nas.local:anna b', 'MZXW6YTB'],
  );
});
