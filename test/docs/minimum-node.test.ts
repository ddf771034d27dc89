import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isSupportedNode } from '../../src/cli/node-version.ts';
import { isObject } from '../../src/lib/json.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFile(join(root, path), 'utf8');

/** Milliseconds after which a process is killed that does not end by itself. */
const timeout = 120_000;

/** What `node` prints with these arguments. */
async function runNode(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await promisify(execFile)('node', argv, { cwd: root, env, timeout });
  return stdout;
}

/** The version that bin/node-path declares, from which bin/test installs it. */
async function declaredMinimum(): Promise<string> {
  const [, version] = /^minimum_node=(\d+\.\d+\.\d+)$/m.exec(await read('bin/node-path')) ?? [];
  return version ?? assert.fail('bin/node-path declares no minimum_node');
}

/** The `engines.node` of a value that was read from a package.json or a package-lock.json. */
function nodeEngine(manifest: unknown): unknown {
  const engines = isObject(manifest) ? manifest['engines'] : undefined;
  return isObject(engines) ? engines['node'] : undefined;
}

/** The environment of a process whose first Node in PATH is the oldest supported one. */
async function minimumEnvironment(home: string): Promise<NodeJS.ProcessEnv> {
  const folder = join(root, '.runtime/minimum/node_modules/.bin');
  const version = await declaredMinimum();
  assert.ok(existsSync(join(folder, 'node')), `Node ${version} is not in .runtime/minimum: bin/test installs it.`);
  const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}`, HOME: home, XDG_CONFIG_HOME: home };
  const installed = await runNode(['--version'], env);
  assert.equal(installed, `v${version}\n`, `.runtime/minimum has another Node; bin/test replaces it.`);
  return env;
}

async function emptyFolder() {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-minimum-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Starts `src/main.ts serve`, and has its address once it serves. Disposing of it kills it if it still runs. */
async function startServer(env: NodeJS.ProcessEnv, state: string) {
  const argv = ['src/main.ts', 'serve', '--listen', '127.0.0.1:0', '--state', state];
  const child = spawn('node', argv, { cwd: root, env, timeout, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let output = '';
  const serves = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (part) => {
        output += String(part);
        if (output.includes('"serving on ')) resolve();
      });
    }
  });
  await Promise.race([serves, ended]);
  return {
    url: /"serving on (http:\S+?)\/"/.exec(output)?.[1],
    output: () => output,
    async end() {
      child.kill('SIGTERM');
      await ended;
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

test('every place that names the oldest supported Node names the same one', async () => {
  const minimum = await declaredMinimum();
  const [major = 0, minor = 0] = minimum.split('.').map(Number);
  const short = `${major}.${minor}`;
  assert.equal(minimum, `${short}.0`, 'bin/node-path');
  assert.equal(nodeEngine(JSON.parse(await read('package.json'))), `>=${short}`, 'package.json');
  const lock: unknown = JSON.parse(await read('package-lock.json'));
  const packages = isObject(lock) ? lock['packages'] : undefined;
  assert.equal(nodeEngine(isObject(packages) ? packages[''] : undefined), `>=${short}`, 'package-lock.json');
  for (const file of ['README.md', 'src/main.ts', 'CONTRIBUTING.md']) {
    const named = [...(await read(file)).matchAll(/\bNode\b[^.`]*?\b(\d+\.\d+)\b/g)].map(([, version]) => version);
    assert.deepEqual([...new Set(named)], [short], file);
  }
  const supported = [`${major}.${minor - 1}.9`, minimum, '24.0.0'].map(isSupportedNode);
  assert.deepEqual(supported, [false, true, true], 'src/cli/node-version.ts');
});

test('each npm script that runs TypeScript chooses a Node that can', async () => {
  const manifest: unknown = JSON.parse(await read('package.json'));
  const scripts = isObject(manifest) && isObject(manifest['scripts']) ? Object.values(manifest['scripts']) : [];
  const typed = scripts.map(String).filter((script) => /\.ts\b/.test(script));
  assert.notDeepEqual(typed, []);
  for (const script of typed) assert.match(script, /^bin\/script /);
});

test('where no Node is new enough and none can be installed, a script says which it needs', async () => {
  await using folder = await emptyFolder();
  await cp(join(root, 'bin'), join(folder.path, 'bin'), { recursive: true });
  // Only the tools of the shell script; neither node nor npm.
  const tools = join(folder.path, 'tools');
  await mkdir(tools);
  for (const tool of ['bash', 'dirname']) await symlink(`/bin/${tool}`, join(tools, tool));
  const failure = await promisify(execFile)(join(folder.path, 'bin/script'), ['scripts/package.ts'], {
    env: { PATH: tools },
    timeout,
  }).then(
    () => assert.fail('the script ran'),
    (error: unknown) => String(error),
  );
  assert.match(failure, /Node 22\.18 or later is required; install it, or npm and run this again/);
});

test('with the oldest supported Node, the test command lists its files', async () => {
  await using home = await emptyFolder();
  const env = await minimumEnvironment(home.path);
  const list = await runNode(['scripts/test.ts', '--list'], env);
  assert.ok(list.includes('test/docs/minimum-node.test.ts'), list);
});

test('with the oldest supported Node, the daemon shows its options', async () => {
  await using home = await emptyFolder();
  const env = await minimumEnvironment(home.path);
  assert.match(await runNode(['src/main.ts', '--help'], env), /^ +--listen /m);
});

test('with the oldest supported Node, the daemon serves, requires a password, and ends when asked', async () => {
  await using home = await emptyFolder();
  const env = await minimumEnvironment(home.path);
  await using server = await startServer(env, join(home.path, 'state'));
  const { url } = server;
  if (url === undefined) assert.fail(`the daemon ended before it served: ${server.output()}`);
  const answer = await fetch(`${url}/api/v1.0/system/version/`);
  await answer.arrayBuffer();
  assert.equal(answer.status, 401, server.output());
  assert.equal(await server.end(), 0, server.output());
});
