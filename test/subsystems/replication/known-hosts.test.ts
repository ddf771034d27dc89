import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownHosts } from '../../../src/subsystems/replication/known-hosts.ts';

const ed25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0';
const ecdsa = 'ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTY=';

test('each task has an alias for its host keys, whatever names they came with', () => {
  const scanned = `# backup:22 SSH-2.0-OpenSSH_10.0\n[backup]:2222 ${ed25519}\nbackup ${ecdsa} root@backup\n`;
  assert.equal(
    knownHosts([
      { id: 3, repl_remote_hostkey: scanned },
      { id: 4, repl_remote_hostkey: ed25519 },
    ]),
    `# Written by Holdfast.
replication-3 ${ed25519}
replication-3 ${ecdsa}
replication-4 ${ed25519}
`,
  );
});
