import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { createClient, HoldfastError, type Job } from '../../clients/typescript/src/index.ts';
import { clientTypes, typesFile } from '../../scripts/client-types.ts';
import { type Appliance, appliance, rootPassword } from '../support/appliance.ts';
import { type GatedHost, withGates } from '../support/gates.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'clients/typescript');
const credentials = { user: 'root', password: rootPassword };
let box: Appliance;
let gates: GatedHost;

before(async () => {
  box = await appliance({
    around: (host) => {
      gates = withGates(host);
      return gates.host;
    },
  });
});

after(() => box?.[Symbol.asyncDispose]());

test('the types are those of the description', async () => {
  const isCurrent = (await readFile(typesFile, 'utf8')) === (await clientTypes());
  assert.ok(isCurrent, 'clients/typescript/src/schema.ts is old: run bin/script scripts/client-types.ts');
});

test('the example of the README compiles strictly and prints what it is about', async () => {
  const [, example = ''] = /```ts\n(.*?)```/s.exec(await readFile(join(folder, 'README.md'), 'utf8')) ?? [];
  await mkdir(join(root, 'dist'), { recursive: true });
  const work = await mkdtemp(join(root, 'dist/client-'));
  try {
    const program = example.replace('https://nas.example.com', box.api.url).replace("'secret'", `'${rootPassword}'`);
    await writeFile(join(work, 'use.ts'), program);
    const paths = { 'holdfast-client': [join(folder, 'src/index.ts')] };
    const compilerOptions = { paths, types: ['node'], noEmit: true };
    const settings = { extends: join(root, 'tsconfig.json'), compilerOptions, files: ['use.ts'], include: [] };
    await writeFile(join(work, 'tsconfig.json'), JSON.stringify(settings));
    const tsc = join(root, 'node_modules/typescript/lib/tsc.js');
    const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', work], { encoding: 'utf8' });
    assert.equal(status, 0, stdout);
    const outfile = join(work, 'use.mjs');
    const alias = { 'holdfast-client': join(folder, 'src/index.ts') };
    await build({
      entryPoints: [join(work, 'use.ts')],
      outfile,
      bundle: true,
      format: 'esm',
      alias,
      logLevel: 'error',
    });
    const lines: string[] = [];
    const { log } = console;
    console.log = (...words: unknown[]) => void lines.push(words.join(' '));
    try {
      await import(pathToFileURL(outfile).href);
    } finally {
      console.log = log;
    }
    assert.deepEqual(lines, ['made the pool tank', 'record.changed created', 'record.changed updated']);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
});

test('a change whose answer is lost is sent again under its key, and made once', async () => {
  let lost = 0;
  const nas = createClient({
    ...{ url: box.api.url, credentials },
    async fetch(input, init) {
      const answer = await fetch(input, init);
      if (lost === 2) return answer;
      lost += 1;
      throw new TypeError('the connection was lost');
    },
  });
  const body = { cron_user: 'root', cron_command: 'true', cron_description: 'lost' };
  const made = await nas.post('/api/v1.0/tasks/cronjob/', { body });
  assert.equal(made.cron_description, 'lost');
  const all = await box.api.list('tasks/cronjob/?limit=0');
  assert.equal(all.filter(({ cron_description }) => cron_description === 'lost').length, 1);
  assert.equal(lost, 2);
});

test('a change that becomes a job is awaited with its progress, and ends as it would have without', async () => {
  const nas = createClient({ url: box.api.url, credentials, wait: 0 });
  const layout = [{ vdevtype: 'stripe' as const, disks: ['ada1'] }];
  for (const isRefused of [false, true]) {
    const release = gates.hold((call) => call === 'zfs.createDataset' || call === 'zfs.createPool');
    const seen: Job[] = [];
    const progress = (job: Job) => {
      seen.push(job);
      if (!isRefused) release();
      else if (seen.length === 1) void box.machine.zfs.createDataset('slow/late', {}).then(release);
    };
    if (!isRefused) {
      const made = await nas.post('/api/v1.0/storage/volume/', { body: { volume_name: 'slow', layout }, progress });
      assert.equal(made.name, 'slow');
    } else {
      const path = { vol: 'slow' };
      const refused = nas.post('/api/v1.0/storage/volume/{vol}/datasets/', { path, body: { name: 'late' }, progress });
      await assert.rejects(refused, (error) => error instanceof HoldfastError && /already exists/.test(error.message));
      assert.equal((await box.machine.zfs.datasets({ names: ['slow/late'] })).length, 1, 'it is of another program');
    }
    assert.deepEqual([seen[0]?.state, seen.at(-1)?.state], ['running', isRefused ? 'failed' : 'finished']);
  }
});

test('events come once and in order over connections that are cut', async () => {
  let connections = 0;
  const nas = createClient({
    ...{ url: box.api.url, credentials },
    async fetch(input, init) {
      const answer = await fetch(input, init);
      if (!String(input).includes('/events?')) return answer;
      connections += 1;
      let left = connections * 300;
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(piece, controller) {
          controller.enqueue(piece.slice(0, left));
          left -= piece.length;
          if (left <= 0) controller.error(new TypeError('the connection was lost'));
        },
      });
      return new Response(answer.body?.pipeThrough(cut), answer);
    },
  });
  const numbers: number[] = [];
  const kept = await box.api.expect(200, 'GET', '/api/holdfast/v1/events/poll?after=0&limit=1000&kind=record');
  const expected = (Array.isArray(kept['events']) ? kept['events'] : [])
    .map(({ number }) => Number(number))
    .slice(0, 12);
  for await (const { number } of nas.events({ kind: 'record', after: 0 })) {
    numbers.push(number);
    if (numbers.length === expected.length) break;
  }
  assert.deepEqual(numbers, expected);
  assert.ok(connections > 1);
});

test('a session carries requests until it is ended', async () => {
  const nas = createClient({ url: box.api.url, credentials: 'session', retries: 0 });
  await assert.rejects(nas.get('/api/v1.0/tasks/cronjob/'), /401/);
  await nas.signIn('root', rootPassword);
  await nas.post('/api/v1.0/tasks/cronjob/', { body: { cron_user: 'root', cron_command: 'true' } });
  const listed = await nas.get('/api/v1.0/tasks/cronjob/', { query: { limit: 1 } });
  assert.equal(listed.length, 1);
  await nas.signOut();
  await assert.rejects(nas.get('/api/v1.0/tasks/cronjob/'), /401/);
});
