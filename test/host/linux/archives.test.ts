import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fetchArchive } from '../../../src/host/linux/archives.ts';
import type { Runner } from '../../../src/host/linux/runner.ts';

/** curl that finds the archive and no checksum. */
function curlWithoutChecksum(): { readonly runner: Runner; readonly asked: string[] } {
  const asked: string[] = [];
  const runner: Runner = {
    async run(argv) {
      asked.push(argv.join(' '));
      return { status: argv.at(-1)?.endsWith('.sha256') ? 22 : 0, stdout: '', stderr: '' };
    },
    follow: () => () => {},
  };
  return { runner, asked };
}

const watch = { progress: () => {}, signal: new AbortController().signal };
const from = (url: string, runner: Runner) => fetchArchive(runner, { url, file: '/nowhere/archive', most: 1 }, watch);

test('an archive that is fetched without TLS requires a checksum; with TLS or from a file it is optional', async () => {
  for (const url of ['http://example.com/a.tar', 'ftp://example.com/a.tar', 'HTTP://example.com/a.tar'])
    await assert.rejects(from(url, curlWithoutChecksum().runner), /has no checksum: expected one in .*a\.tar\.sha256/);
  for (const url of ['https://example.com/a.tar', 'file:///srv/a.tar']) await from(url, curlWithoutChecksum().runner);
});

test('a redirect of an https address leads to https only', async () => {
  const { runner, asked } = curlWithoutChecksum();
  await from('https://example.com/a.tar', runner);
  assert.equal(asked.length, 2);
  for (const line of asked) assert.match(line, /--proto-redir =https /);
});
