import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { newKeyFiles } from '../../../src/areas/services/openssh.ts';

test('OpenSSH reads the generated keys and derives the same public key', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-keys-'));
  t.after(() => rmSync(folder, { recursive: true }));
  // Numbers of the second kind differ in length, so several are tried.
  for (const [index, kind] of (['ed25519', ...Array<'ecdsa'>(20).fill('ecdsa')] as const).entries()) {
    const { key, pub } = newKeyFiles(kind, 'root@nas');
    const path = join(folder, String(index));
    writeFileSync(path, key);
    chmodSync(path, 0o600);
    const { status, stdout, stderr } = spawnSync('ssh-keygen', ['-y', '-P', '', '-f', path], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.equal(stdout, pub);
  }
});
