import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyLines, publicKeysProblem } from '../../../src/areas/account/public-keys.ts';

const key = 'AAAAC3NzaC1lZDI1NTE5AAAAIIGYVv5yF59dVE+s9VyzlqKp6/JHUXR6r3/JdkF+rdsO';

test('blanks and blank lines are squeezed and wrapped keys are joined', () => {
  const pasted = `  ssh-ed25519   ${key.slice(0, 20)}\r\n${key.slice(20)} mary@desk \n\n# home\nfrom="10.0.0.1"  ssh-ed25519 ${key}`;
  const kept = `ssh-ed25519 ${key} mary@desk\n# home\nfrom="10.0.0.1" ssh-ed25519 ${key}\n`;
  assert.equal(keyLines(pasted), kept);
  assert.equal(keyLines(kept), kept);
  assert.equal(keyLines(' \n'), '');
  assert.equal(publicKeysProblem(pasted), undefined);
});

test('options may hold quoted blanks', () => {
  assert.equal(publicKeysProblem(`command="echo \\"a b\\"",no-pty ssh-ed25519 ${key} c d`), undefined);
});

test('what is no public key is named', () => {
  for (const text of [
    'hello',
    `ssh-ed25519 ${key.slice(0, 10)}!`,
    // The kind says other than the key itself.
    `ssh-rsa ${key}`,
    'ssh-ed25519',
    '-----BEGIN OPENSSH PRIVATE KEY-----',
    `ssh-dss ${key}`,
  ]) {
    assert.match(publicKeysProblem(text) ?? '', /is no public key/, text);
  }
});
