import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { tar, untar } from '../../src/lib/tar.ts';
import { scratchFolder } from '../support/hosts.ts';

test('a packed archive unpacks to the same files', () => {
  const entries = untar(tar(new Map(Object.entries({ a: 'one', 'b/c': 'x'.repeat(513), empty: '' })), 0));
  assert.deepEqual(
    entries?.map(({ name, kind, content }) => [name, kind, content.toString()]),
    [
      ['a', 'file', 'one'],
      ['b/c', 'file', 'x'.repeat(513)],
      ['empty', 'file', ''],
    ],
  );
});

test('archives of GNU tar are read, with links, long names and permissions', (t) => {
  const folder = scratchFolder(t);
  const long = `${'deep/'.repeat(30)}file`;
  mkdirSync(`${folder}/${long.slice(0, -5)}`, { recursive: true });
  writeFileSync(`${folder}/${long}`, 'found');
  chmodSync(`${folder}/${long}`, 0o750);
  symlinkSync('/etc/passwd', `${folder}/link`);
  execFileSync('mkfifo', [`${folder}/pipe`]);
  for (const format of ['gnu', 'ustar']) {
    const entries = untar(execFileSync('tar', ['--create', `--format=${format}`, '--directory', folder, '.'])) ?? [];
    const called = (name: string) => entries.find((entry) => entry.name === `./${name}`);
    assert.deepEqual(
      [called(long)?.content.toString(), called(long)?.mode, called('link')?.kind, called('link')?.target],
      ['found', 0o750, 'link', '/etc/passwd'],
      format,
    );
    assert.deepEqual([called('deep/')?.kind, called('pipe')?.kind], ['folder', 'other'], format);
  }
});

test('bytes that are not an archive are rejected', () => {
  assert.equal(untar(Buffer.from('')), undefined);
  assert.equal(untar(Buffer.alloc(2048, 'x')), undefined);
  assert.equal(untar(tar(new Map([['a', 'x'.repeat(5000)]]), 0).subarray(0, 2048)), undefined);
});

test('an entry with a negative size is rejected: the next entry would be the same again', () => {
  const archive = Buffer.concat([tar(new Map([['a', 'x']]), 0), tar(new Map([['b', 'y']]), 0)]);
  archive.write('-2000'.padEnd(12, '\0'), 2048 + 124, 'ascii');
  archive.copy(archive, 1024, 2048, 2048 + 512);
  assert.equal(untar(archive), undefined);
});
