import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completed, hashedPassword, isPassword } from '../../src/engine/sha-crypt.ts';

/** As crypt(3) of Debian makes them. */
const hashes = [
  [
    'Hello world!',
    '$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1',
  ],
  ['', '$6$saltstring$kyGrqt6gmjAdtFLPrflEFifSYLCWWq1pyx95SvqinLDy2UHmj0sTF0MSLMwxPFZc3tu5kQckI8fks0zOPda3n1'],
  [
    'pässwörd',
    '$6$rounds=1234$saltstring$UGaWKt4l2WjMBjItEQj3vp8SBh2yopna/E.3ZYBcJv1M.l8.ouxsmgKh4YY94K5LZQleOCDVdExY/nivobid4.',
  ],
  [
    'x'.repeat(64),
    '$6$saltstring$SSoAqlzjEXraQ.dDguxosFViX0Mfw4O.kEQXNqWn2FWfLIsQUWxK3xUguKKWh/yPYlb6YCK5MTl1eAQTuZtVf.',
  ],
] as const;

test('a password has the hash that crypt(3) makes of it, and no other', () => {
  for (const [password, hash] of hashes) {
    assert.equal(completed(isPassword(password, hash)), true, password);
    assert.equal(completed(isPassword(`${password} `, hash)), false, password);
    assert.equal(completed(isPassword(password, hash.replace(/.$/, '/'))), false, password);
  }
});

test('a new hash has a salt of 16 characters, is different each time, and fits its password', () => {
  const [one, other] = [completed(hashedPassword('the same')), completed(hashedPassword('the same'))];
  for (const hash of [one, other]) {
    assert.match(hash, /^\$6\$[./0-9A-Za-z]{16}\$[./0-9A-Za-z]{86}$/);
    assert.equal(completed(isPassword('the same', hash)), true);
  }
  assert.notEqual(one, other);
});

test('nothing else is a hash', () => {
  for (const text of ['', '*', '$5$salt$abc', '$6$', '$6$salt$short', '!$6$saltstring$x'])
    assert.equal(completed(isPassword('x', text)), false, text);
});

test('the work has many pauses', () => {
  assert.ok([...hashedPassword('x')].length >= 19);
});
