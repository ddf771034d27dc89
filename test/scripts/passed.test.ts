import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { passesOf } from '../../scripts/test/passed.ts';
import type { Job } from '../../scripts/test/schedule.ts';

const job = (name: string): Job => ({
  name,
  tier: 'machine',
  command: ['true'],
  environment: {},
  needs: [],
  load: 1,
  seconds: 1,
  limit: 10,
  isTest: true,
});
const one = job('test/lab/one.test.ts');
const two = job('test/lab/two.test.ts');

/** A project of three files, and a folder for its passes. */
function project(t: { after(end: () => void): void }) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-passed-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, 'project', path)), { recursive: true });
    writeFileSync(join(folder, 'project', path), text);
  };
  for (const path of ['src/main.ts', one.name, two.name]) write(path, 'first');
  spawnSync('git', ['init', '-q', join(folder, 'project')]);
  return {
    write,
    notes: join(folder, 'notes'),
    passes: () => passesOf(join(folder, 'project'), join(folder, 'notes')),
  };
}

test('a pass counts for the same file with the same inputs, in a later run', (t) => {
  const { passes } = project(t);
  assert.equal(passes().when(one), undefined);
  passes().note(one);
  assert.ok(passes().when(one) !== undefined);
  assert.equal(passes().when(two), undefined);
});

test('a pass no longer counts when the sources or the test change, and counts when only another test does', (t) => {
  const { write, passes } = project(t);
  passes().note(one);
  write(two.name, 'second');
  assert.ok(passes().when(one) !== undefined);
  write(one.name, 'second');
  assert.equal(passes().when(one), undefined);
  write(one.name, 'first');
  write('src/added.ts', '');
  assert.equal(passes().when(one), undefined);
});

test('a pass with sources that changed while the test ran does not count', (t) => {
  const { write, passes } = project(t);
  const begun = passes();
  assert.equal(begun.when(one), undefined);
  write('src/main.ts', 'second');
  begun.note(one);
  assert.equal(passes().when(one), undefined);
  write('src/main.ts', 'first');
  assert.equal(passes().when(one), undefined);
});

test('a pass counts for a day', async (t) => {
  const { passes, notes } = project(t);
  passes().note(one);
  const [name = ''] = await readdir(notes);
  const before = (hours: number) => new Date(Date.now() - hours * 3600 * 1000);
  utimesSync(join(notes, name), before(23), before(23));
  assert.ok(passes().when(one) !== undefined);
  utimesSync(join(notes, name), before(25), before(25));
  assert.equal(passes().when(one), undefined);
});
