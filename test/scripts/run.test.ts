import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readOutput, runAll, runBatch, runJob } from '../../scripts/test/run.ts';
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

test('what has not ended when the time of the run is over has failed, and what waits does not start', async (t) => {
  const slow = fileOf(t, `test('a', () => new Promise((done) => setTimeout(done, 20_000)));`);
  const outcomes = await runAll([slow, { ...slow, name: 'two' }], 1, () => {}, performance.now() + 500);
  assert.match(outcomes[0]?.failure ?? '', /It had not ended after \d s, when the time of the run was over/);
  assert.match(outcomes[1]?.failure ?? '', /The time of the run was over before/);
  assert.deepEqual(
    outcomes.map(({ unfinished }) => unfinished),
    [true, true],
  );
});

test('a file of which a statement had failed when the time was over is not merely unfinished', async (t) => {
  const slow = fileOf(
    t,
    `test('a', () => { throw new Error('no such pool'); }); test('b', () => new Promise((done) => setTimeout(done, 20_000)));`,
  );
  const outcome = await runJob(slow, performance.now() + 1500);
  assert.equal(outcome.unfinished, false);
  assert.match(outcome.failure ?? '', /no such pool/);
});

test('a job does not begin after its latest time', async (t) => {
  const job = fileOf(t, `test('a', () => {});`);
  assert.equal((await runJob({ ...job, latest: performance.now() - 1 })).unfinished, true);
  assert.equal((await runJob({ ...job, latest: performance.now() + 10_000 })).failure, undefined);
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

test('a job that others need runs once more when it has failed, and is marked when it then passes', async (t) => {
  const made = join(scratchFolder(t), 'made');
  const plain = { tier: 'prepare', environment: {}, load: 1, seconds: 1, limit: 10, isTest: false } as const;
  const jobs: readonly Job[] = [
    // It succeeds from the second time on.
    { ...plain, name: 'image', command: ['sh', '-c', `[ -e ${made} ] || { touch ${made}; exit 1; }`], needs: [] },
    { ...plain, name: 'machine', command: ['true'], needs: ['image'] },
  ];
  const reported: (string | undefined)[] = [];
  const outcomes = await runAll(jobs, 2, ({ failure }) => void reported.push(failure));
  assert.deepEqual(
    outcomes.map(({ job, failure, second }) => [job.name, failure, second]),
    [
      ['image', undefined, true],
      ['machine', undefined, undefined],
    ],
  );
  assert.deepEqual(reported, ['It ended with 1.', undefined, undefined]);
});

const batchFile = fileURLToPath(new URL('../../scripts/test/batch.ts', import.meta.url));

/** What became of the files of a batch, in their order: the failure, and the names of the statements. */
async function batchOf(t: TestContext, texts: readonly string[]) {
  const parts = texts.map((text) => {
    const job = fileOf(t, text);
    return { ...job, name: job.command[3] ?? '' };
  });
  const [first] = parts;
  assert.ok(first !== undefined);
  const [node, kind, destination] = first.command;
  const command = [node, kind ?? '', destination ?? '', batchFile, ...parts.map(({ name }) => name)] as const;
  const outcomes = await runBatch({ ...first, command, name: 'batch', parts }, parts);
  return outcomes.map(({ failure, statements }) => ({ failure, names: statements.map(({ name }) => name).join() }));
}

const hooks = (value: number) =>
  `import { after, before } from 'node:test'; let seen; before(() => { seen = globalThis.value; globalThis.value = ${value}; });
   after(() => { globalThis.value = undefined; });
   test('${value}', () => { if (seen !== undefined || globalThis.value !== ${value}) throw new Error('hooks of another file'); });`;

test('each file of a batch has its own statements, and hooks of its own', async (t) => {
  assert.deepEqual(
    await batchOf(t, [hooks(1), `await 0; describe('all', () => { test('a', () => {}); });`, hooks(2)]),
    [
      { failure: undefined, names: '1' },
      { failure: undefined, names: 'a' },
      { failure: undefined, names: '2' },
    ],
  );
});

test('a file of a batch fails alone', async (t) => {
  const [fails, passes, empty, missing] = await batchOf(t, [
    `test('a', () => {}); test('b', () => { throw new Error('no such pool'); });`,
    `test('c', () => {});`,
    `console.log('nothing');`,
    `import './missing.mjs';`,
  ]);
  assert.match(fails?.failure ?? '', /✖ b\n.*no such pool/s);
  assert.deepEqual(passes, { failure: undefined, names: 'c' });
  assert.match(empty?.failure ?? '', /The file ran no test/);
  assert.match(missing?.failure ?? '', /Cannot find module/);
});

test('a batch knows the suites of a test, and an error outside of all tests fails each file of it', async (t) => {
  const outcomes = await batchOf(t, [
    `import { before } from 'node:test';
     let seen; describe('all', () => { before(() => { seen = 1; }); test('a', () => { if (seen !== 1) throw new Error('no suite'); }); });`,
    `const pause = () => new Promise((done) => setTimeout(done, 50));
     test('b', async () => { setTimeout(() => { throw new Error('too late'); }, 1); await pause(); });`,
    `const pause = () => new Promise((done) => setTimeout(done, 50));
     test('c', async () => { void pause().then(() => { throw new Error('not awaited'); }); await pause(); await pause(); });`,
    `test('d', () => { throw new Error('no such pool'); });`,
  ]);
  for (const { failure, names } of outcomes) {
    assert.match(failure ?? '', /too late\n.*one\.test\.mjs.*not awaited\n.*one\.test\.mjs/s);
    assert.match(names, /^[abcd],/);
  }
  assert.doesNotMatch(outcomes[0]?.failure ?? '', /no suite/);
});

test('a batch that ends early fails the files that it did not get to', async (t) => {
  const outcomes = await batchOf(t, [
    `test('a', () => {});`,
    `test('b', () => process.exit(3));`,
    `test('c', () => {});`,
  ]);
  for (const { failure } of outcomes) assert.match(failure ?? '', /It ended with 3/);
});

test('lines that are not reports stay in the output', () => {
  assert.deepEqual(readOutput('before\u001e{"name":1\nafter\u001e'), {
    statements: [],
    rest: 'before{"name":1\nafter',
  });
});
