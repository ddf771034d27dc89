import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readOutput, runAll, runJob } from '../../scripts/test/run.ts';
import type { Job } from '../../scripts/test/schedule.ts';
import { scratchFolder } from '../support/hosts.ts';

const reporter = fileURLToPath(new URL('../../scripts/test/reporter.ts', import.meta.url));

/** A job that runs a test file with this text. */
function fileOf(t: TestContext, text: string, more: Partial<Job> = {}): Job {
  const path = join(scratchFolder(t), 'one.test.mjs');
  writeFileSync(path, `import { describe, test } from 'node:test';\n${text}`);
  const command = ['node', `--test-reporter=${reporter}`, '--test-reporter-destination=stdout', path] as const;
  return {
    name: 'one',
    tier: 'code',
    command,
    environment: {},
    needs: [],
    load: 1,
    seconds: 1,
    limit: 30,
    isTest: true,
    ...more,
  };
}

test('each test of a file is a statement, and its other output is not', async (t) => {
  const outcome = await runJob(
    fileOf(
      t,
      `describe('all', () => { test('a', () => { process.stdout.write('no end of line'); }); test('b', async (t) => { await t.test('c', () => {}); }); });`,
    ),
  );
  assert.equal(outcome.failure, undefined);
  assert.deepEqual(outcome.statements.map(({ name }) => name).toSorted(), ['a', 'b', 'c']);
});

test('a failure has the location and the error', async (t) => {
  const outcome = await runJob(
    fileOf(t, `test('a', () => {}); test('b', () => { throw new Error('no such pool'); });`),
  );
  assert.match(outcome.failure ?? '', /✖ b\n {2}.*one\.test\.mjs:2\nError: no such pool/s);
  assert.equal(outcome.statements.filter(({ passed }) => passed).length, 1);
});

for (const [what, text, failure] of [
  ['no test', 'console.log("nothing");', /The file ran no test/],
  ['a skipped test', `test.skip('a', () => {});`, /✖ a\n {2}The test was skipped/],
  ['an end before its tests ended', `test('a', () => process.exit(3));`, /It ended with 3/],
  [
    'an error outside of its tests',
    `console.error('what it printed'); throw new Error('no such module');`,
    /no such module/,
  ],
] as const) {
  test(`a file fails with ${what}`, async (t) => {
    assert.match((await runJob(fileOf(t, text))).failure ?? '', failure);
  });
}

test('a file that does not end is stopped', async (t) => {
  assert.match(
    (await runJob(fileOf(t, `test('a', () => new Promise(() => setInterval(() => {}, 1000)));`, { limit: 2 })))
      .failure ?? '',
    /It did not end within 2 s/,
  );
});

test('a job that needs a failed one is not started, and fails', async () => {
  const plain = { tier: 'prepare', environment: {}, load: 1, seconds: 1, limit: 10, isTest: false } as const;
  const jobs: readonly Job[] = [
    { ...plain, name: 'image', command: ['false'], needs: [] },
    { ...plain, name: 'layer', command: ['true'], needs: ['image'] },
    { ...plain, name: 'machine', command: ['true'], needs: ['layer'] },
    { ...plain, name: 'other', command: ['true'], needs: [] },
  ];
  const outcomes = await runAll(jobs, 2, () => {});
  assert.deepEqual(Object.fromEntries(outcomes.map(({ job, failure }) => [job.name, failure])), {
    image: 'It ended with 1.',
    layer: 'image, which it needs, failed',
    machine: 'layer, which it needs, failed',
    other: undefined,
  });
});

test('lines that are not reports stay in the output', () => {
  assert.deepEqual(readOutput('before\u001e{"name":1\nafter\u001e'), {
    statements: [],
    rest: 'before{"name":1\nafter',
  });
});
