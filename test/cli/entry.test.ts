import assert from 'node:assert/strict';
import { execFile, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isObject } from '../../src/lib/json.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What a file loads at once: its imports, and theirs, without those that are loaded on demand. */
function loadedBy(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  if (!file.startsWith('src/')) return found;
  const text = readFileSync(join(root, file), 'utf8');
  for (const [, path = ''] of text.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)'/gm))
    loadedBy(path.startsWith('.') ? relative(root, join(root, dirname(file), path)) : path, found);
  return found;
}

test('the entry of the program loads four files and no package', () => {
  assert.deepEqual(
    [...loadedBy('src/main.ts')].filter((path) => !path.startsWith('node:')),
    ['src/main.ts', 'src/cli/load-daemon.ts', 'src/cli/node-version.ts', 'src/cli/version.ts'],
  );
});

test('an older Node gets as far as the message about its version: the entry of the bundle imports what each Node has', () => {
  const files = [...loadedBy('src/main.ts'), 'src/cli/kept-code.ts'].filter((path) => path.startsWith('src/'));
  const imported = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^import (?!type )([^;]*?) from '(node:[^']+)'/gm)].map(
      ([, names, module]) => `${names} from ${module}`,
    ),
  );
  // Node 18 has all of these. A name that it lacks would end it with an error that does not say what is wrong.
  assert.deepEqual([...new Set(imported)].sort(), [
    'modules from node:module',
    '{ Script } from node:vm',
    '{ dirname, join } from node:path',
    '{ fileURLToPath } from node:url',
    '{ readFileSync } from node:fs',
  ]);
});

test('a command of the server loads the server only when it needs it', () => {
  const loaded = [...loadedBy('src/cli/run.ts')];
  assert.deepEqual(
    loaded.filter((path) => /^src\/(?:app|areas|host|store|subsystems)|^(?:better-sqlite3|pino)/.test(path)),
    [],
  );
});

test('the command line for people loads nothing of the server but its settings', () => {
  const loaded = [...loadedBy('src/cli/client/start.ts')];
  const ofServer = /^src\/(?:app|areas|engine|host|http|store|subsystems)|^[a-z]/;
  assert.deepEqual(loaded.filter((path) => ofServer.test(path) && !/^(?:src\/(?:cli|lib)|node:)/.test(path)).sort(), [
    'src/engine/passwords.ts',
    'src/engine/sha-crypt.ts',
    'src/engine/upkeep/event-loop.ts',
    'src/http/origin.ts',
  ]);
});

test('--version answers the version of the package', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'src/main.ts'), '--version']);
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.ok(isObject(manifest));
  assert.equal(stdout, `${String(manifest['version'])}\n`);
});

/** Runs a command whose output goes to `stdout`; null for a reader that ends before it has read anything. */
async function ended(argv: readonly string[], stdout: number | null) {
  const stdio: StdioOptions = ['ignore', stdout ?? 'pipe', 'pipe'];
  const child = spawn(process.execPath, [join(root, 'src/main.ts'), ...argv], { stdio });
  child.stdout?.destroy();
  let err = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const [status]: unknown[] = await once(child, 'close');
  return { status, err };
}

const printing = [
  ['--version'],
  ['serve', '--help'],
  ['recover', '--help'],
  ['help'],
  ['explain'],
  ['completion', 'fish'],
];

test('a command whose reader ends first ends without a word', async () => {
  for (const argv of printing)
    assert.deepEqual(await ended(argv, null), { status: 0, err: '' }, `holdfast ${argv.join(' ')} | true`);
});

test('output that cannot be written is a failure that says why', async () => {
  const full = openSync('/dev/full', 'w');
  try {
    for (const argv of [['serve', '--help'], ['explain']]) {
      const { status, err } = await ended(argv, full);
      assert.equal(status, 1);
      assert.match(err, /^holdfast: The output could not be written: .*ENOSPC.*\n$/);
    }
  } finally {
    closeSync(full);
  }
});
