import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { isObject } from '../../src/lib/json.ts';
import { appliance, rootPassword } from '../support/appliance.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** `bin/test` installs them there. */
const generators = join(root, '.runtime/generators/node_modules');

interface Generator {
  readonly name: string;
  /** The script of the package and its arguments, in a folder with `openapi.json`. */
  readonly argv: readonly string[];
  /** A user's program: `run` makes a cron job, reads and changes it, runs and removes it. */
  readonly program: string;
}

const tried: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    // Without the option, it makes every field with a default required, in requests too.
    argv: ['openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'schema.ts', '--default-non-nullable', 'false'],
    program: `import createClient from 'openapi-fetch';
import type { paths } from './schema';

export async function run(baseUrl: string, authorization: string) {
  const client = createClient<paths>({ baseUrl, headers: { authorization } });
  const made = await client.POST('/api/v1.0/tasks/cronjob/', { body: { cron_user: 'root', cron_command: 'echo hello' } });
  if (made.data === undefined) throw new Error('not made: ' + made.response.status);
  const { id, cron_command } = made.data;
  const params = { path: { key: String(id) } };
  const listed = await client.GET('/api/v1.0/tasks/cronjob/', { params: { query: { limit: 5 } } });
  const changed = await client.PUT('/api/v1.0/tasks/cronjob/{key}/', { params, body: { cron_enabled: false } });
  const started = await client.POST('/api/v1.0/tasks/cronjob/{key}/run/', { params, parseAs: 'text' });
  const gone = await client.DELETE('/api/v1.0/tasks/cronjob/{key}/', { params });
  const missing = await client.GET('/api/v1.0/tasks/cronjob/{key}/', { params });
  return {
    made: cron_command,
    count: listed.data?.length,
    changed: changed.data?.cron_enabled,
    run: started.response.status,
    gone: gone.response.status,
    missing: missing.response.status,
  };
}
`,
  },
  {
    name: '@hey-api/openapi-ts',
    argv: ['@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'client', '--no-log-file'],
    program: `import * as api from './client';
import { client } from './client/client.gen';

export async function run(baseUrl: string, authorization: string) {
  client.setConfig({ baseUrl, headers: { authorization } });
  const made = await api.createCronJob({ body: { cron_user: 'root', cron_command: 'echo hello' } });
  if (made.data === undefined) throw new Error('not made: ' + made.response?.status);
  const { id, cron_command } = made.data;
  const path = { key: String(id) };
  const listed = await api.listCronJobs({ query: { limit: 5 } });
  const changed = await api.updateCronJob({ path, body: { cron_enabled: false } });
  const started = await api.runCronJob({ path });
  const gone = await api.deleteCronJob({ path });
  const missing = await api.getCronJob({ path });
  return {
    made: cron_command,
    count: listed.data?.length,
    changed: changed.data?.cron_enabled,
    run: started.response?.status,
    gone: gone.response?.status,
    missing: missing.response?.status,
  };
}
`,
  },
  {
    name: 'orval',
    argv: ['orval/dist/bin/orval.mjs', '--config', 'orval.config.mjs'],
    program: `import * as api from './client';

export async function run(_baseUrl: string, authorization: string) {
  const options = { headers: { authorization } };
  const made = await api.createCronJob({ cron_user: 'root', cron_command: 'echo hello' }, {}, options);
  if (made.status !== 201) throw new Error('not made: ' + made.status);
  const { id, cron_command } = made.data;
  const listed = await api.listCronJobs({ limit: 5 }, options);
  const changed = await api.updateCronJob(String(id), { cron_enabled: false }, {}, options);
  const started = await api.runCronJob(String(id), options);
  const gone = await api.deleteCronJob(String(id), {}, options);
  const missing = await api.getCronJob(String(id), options);
  return {
    made: cron_command,
    count: listed.status === 200 ? listed.data.length : undefined,
    changed: changed.status === 200 ? changed.data.cron_enabled : undefined,
    run: started.status,
    gone: gone.status,
    missing: missing.status,
  };
}
`,
  },
];

for (const { name, argv, program } of tried)
  test(`a client that ${name} generates compiles strictly and does a job`, async () => {
    await using box = await appliance();
    await mkdir(join(root, 'dist'), { recursive: true });
    const folder = await mkdtemp(join(root, 'dist/client-'));
    try {
      const description = await box.api.get('/openapi.json');
      await writeFile(join(folder, 'openapi.json'), JSON.stringify(description.json));
      await writeFile(join(folder, 'use.ts'), program);
      await writeFile(join(folder, 'orval.config.mjs'), orvalConfig(box.api.url));
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(strict));
      const [script = '', ...words] = argv;
      inFolder(folder, [join(generators, script), ...words]);
      inFolder(folder, [join(root, 'node_modules/typescript/lib/tsc.js'), '-p', '.']);
      const outfile = join(folder, 'use.mjs');
      await build({
        entryPoints: [join(folder, 'use.ts')],
        outfile,
        bundle: true,
        format: 'esm',
        platform: 'node',
        nodePaths: [generators],
        logLevel: 'error',
      });
      const used: unknown = await import(pathToFileURL(outfile).href);
      assert.ok(isObject(used) && typeof used['run'] === 'function');
      const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
      const result: unknown = await used['run'](box.api.url, authorization);
      assert.deepEqual(result, { made: 'echo hello', count: 1, changed: false, run: 202, gone: 204, missing: 404 });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

function inFolder(cwd: string, argv: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd, encoding: 'utf8' });
  assert.equal(status, 0, `${argv[0]}: ${stdout}${stderr}`);
}

const orvalConfig = (baseUrl: string) => `export default {
  holdfast: { input: 'openapi.json', output: { target: 'client.ts', client: 'fetch', baseUrl: '${baseUrl}' } },
};
`;

const strict = {
  compilerOptions: {
    noEmit: true,
    strict: true,

    noUncheckedIndexedAccess: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable'],
    skipLibCheck: true,
    types: [],
    paths: { 'openapi-fetch': [join(generators, 'openapi-fetch')] },
  },
  files: ['use.ts'],
};
