import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/readiness.ts';
import { type Daemon, startDaemon, stateFolder } from './daemon.ts';

/** The files of compiled functions in a folder that Node has for its own cache. */
async function keptIn(cache: string): Promise<readonly string[]> {
  const folders = await readdir(cache).catch(() => []);
  const names = await Promise.all(
    folders.map(async (folder) => (await readdir(join(cache, folder))).map((name) => join(cache, folder, name))),
  );
  return names.flat().filter((name) => name.endsWith('.kept'));
}

/** Starts the bundled daemon with a cache of its own, does something, and stops it. */
async function during<T>(state: string, cache: string, deed: (daemon: Daemon) => Promise<T>): Promise<T> {
  const daemon = await startDaemon(state, ['env', `NODE_COMPILE_CACHE=${cache}`]);
  try {
    return await deed(daemon);
  } finally {
    await daemon.end('SIGTERM');
  }
}

/** Starts the daemon until it has kept its functions, and returns their file. */
async function fileOfStart(state: string, cache: string): Promise<string> {
  await during(state, cache, () => until(async () => (await keptIn(cache)).length > 0));
  return (await keptIn(cache))[0] ?? assert.fail('no functions are kept');
}

test('a start keeps its functions compiled, and the next one uses them unless they are damaged or of another version', async () => {
  await using folder = await stateFolder();
  const [state, cache] = [join(folder.path, 'state'), join(folder.path, 'cache')];
  await mkdir(cache, { mode: 0o700 });
  const file = await fileOfStart(state, cache);
  const whole = await readFile(file);
  assert.equal((await stat(file)).mode & 0o777, 0o600);

  // A start whose functions V8 did not take would write them again.
  const before = await stat(file);
  await during(state, cache, async ({ api }) => {
    await api.expect(200, 'GET', 'services/cifs/');
    await pause(2000);
  });
  assert.equal((await stat(file)).ino, before.ino);
  assert.deepEqual(await readFile(file), whole);

  const flipped = Buffer.from(whole);
  flipped.writeUInt8(whole.readUInt8(1e6) ^ 0xff, 1e6);
  for (const damaged of [flipped, whole.subarray(0, 1e6), Buffer.alloc(0)]) {
    await writeFile(file, damaged);
    await during(state, cache, async ({ api }) => {
      await api.expect(200, 'GET', 'services/cifs/');
      await until(async () => !(await readFile(file)).equals(damaged));
    });
    assert.ok((await readFile(file)).length > whole.length / 2);
  }
});

test('the functions of some earlier versions stay, and a cache that cannot be written does not disturb the daemon', async () => {
  await using folder = await stateFolder();
  const [state, cache] = [join(folder.path, 'state'), join(folder.path, 'cache')];
  await mkdir(cache, { mode: 0o700 });
  const file = await fileOfStart(state, cache);
  const earlier = [1, 2, 3, 4].map((number) => `${file.slice(0, -5)}${number}.kept`);
  for (const name of earlier) await writeFile(name, 'of another version');
  await writeFile(file, '');
  await during(state, cache, () => until(async () => (await keptIn(cache)).length === 3));
  assert.ok((await keptIn(cache)).includes(file));

  const without = join(folder.path, 'no-folder');
  await writeFile(without, 'a file');
  await during(state, without, async ({ api }) => {
    await pause(1500);
    await api.expect(200, 'GET', 'services/cifs/');
  });
});
