import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyLines, publicKeysProblem } from '../../../src/areas/account/public-keys.ts';

const key = 'AAAAC3NzaC1lZDI1NTE5AAAAIIGYVv5yF59dVE+s9VyzlqKp6/JHUXR6r3/JdkF+rdsO';

test('repeated spaces and empty lines are removed and wrapped keys are joined', () => {
  const pasted = `  ssh-ed25519   ${key.slice(0, 20)}\r\n${key.slice(20)} mary@desk \n\n# home\nfrom="10.0.0.1"  ssh-ed25519 ${key}`;
  const kept = `ssh-ed25519 ${key} mary@desk\n# home\nfrom="10.0.0.1" ssh-ed25519 ${key}\n`;
  assert.equal(keyLines(pasted), kept);
  assert.equal(keyLines(kept), kept);
  assert.equal(keyLines(' \n'), '');
  assert.equal(publicKeysProblem(pasted), undefined);
});

test('options may contain quoted spaces', () => {
  assert.equal(publicKeysProblem(`command="echo \\"a b\\"",no-pty ssh-ed25519 ${key} c d`), undefined);
});

test('a text that is not a public key is refused', () => {
  for (const text of [
    'hello',
    `ssh-ed25519 ${key.slice(0, 10)}!`,
    // The type before the key differs from the type in the key.
    `ssh-rsa ${key}`,
    'ssh-ed25519',
    '-----BEGIN OPENSSH PRIVATE KEY-----',
    `ssh-dss ${key}`,
  ]) {
    assert.match(publicKeysProblem(text) ?? '', /^Expected an SSH public key/, text);
  }
});
