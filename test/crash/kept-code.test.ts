import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
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

async function appears<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 20_000; Date.now() < end; await pause(50)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error('the daemon did not keep its functions within 20 s');
}

test('a start keeps its functions compiled, and the next one uses them unless they are damaged or of another version', async () => {
  await using folder = await stateFolder();
  const [state, cache] = [join(folder.path, 'state'), join(folder.path, 'cache')];
  await mkdir(cache, { mode: 0o700 });
  const file = await during(state, cache, () => appears(async () => (await keptIn(cache)).at(0)));
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
    const written = await during(state, cache, async ({ api }) => {
      await api.expect(200, 'GET', 'services/cifs/');
      return appears(async () => {
        const content = await readFile(file);
        return content.equals(damaged) ? undefined : content;
      });
    });
    assert.ok(written.length > whole.length / 2);
  }
});

test('the functions of some earlier versions stay, and a cache that cannot be written does not disturb the daemon', async () => {
  await using folder = await stateFolder();
  const [state, cache] = [join(folder.path, 'state'), join(folder.path, 'cache')];
  await mkdir(cache, { mode: 0o700 });
  const file = await during(state, cache, () => appears(async () => (await keptIn(cache)).at(0)));
  const earlier = [1, 2, 3, 4].map((number) => `${file.slice(0, -5)}${number}.kept`);
  for (const name of earlier) await writeFile(name, 'of another version');
  await writeFile(file, '');
  await during(state, cache, () => appears(async () => ((await keptIn(cache)).length === 3 ? true : undefined)));
  assert.ok((await keptIn(cache)).includes(file));

  const without = join(folder.path, 'no-folder');
  await writeFile(without, 'a file');
  await during(state, without, async ({ api }) => {
    await pause(1500);
    await api.expect(200, 'GET', 'services/cifs/');
  });
});
