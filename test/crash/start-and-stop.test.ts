import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { drift, runDaemon, startDaemon, stateFolder } from './daemon.ts';

test('a daemon that receives SIGTERM answers its running requests and exits with 0', async () => {
  await using state = await stateFolder();
  const first = await startDaemon(state.path);
  await first.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  const asked = Array.from({ length: 60 }, (_, n) =>
    first.api.post('sharing/cifs/', { cifs_path: `/mnt/tank/${n}`, cifs_name: `share${n}` }).then(
      ({ status }) => ({ n, status }),
      () => ({ n, status: 0 }),
    ),
  );
  await Promise.any(asked.map(async (answer) => assert.equal((await answer).status, 201)));
  const before = performance.now();
  const ending = await first.end('SIGTERM');
  assert.ok(performance.now() - before < 10_000, 'it took ten seconds to stop');
  assert.deepEqual(ending, { code: 0, signal: null, stderr: '' });
  const answers = await Promise.all(asked);
  for (const { n, status } of answers) assert.ok([201, 503, 0].includes(status), `share ${n} was answered ${status}`);

  const second = await startDaemon(state.path);
  const names = (await second.api.list('sharing/cifs/?limit=0')).map((share) => String(share['cifs_name']));
  const promised = answers.filter(({ status }) => status === 201).map(({ n }) => `share${n}`);
  assert.deepEqual(names.toSorted(), promised.toSorted());
  assert.deepEqual(await drift(second.api), []);
  assert.equal((await second.end('SIGTERM')).code, 0);
});

test('an idle daemon that receives SIGTERM exits with 0, although a client keeps its connection open', async () => {
  await using state = await stateFolder();
  const daemon = await startDaemon(state.path);
  assert.equal((await daemon.api.get('/readyz')).status, 200);
  const before = performance.now();
  assert.equal((await daemon.end('SIGTERM')).code, 0);
  assert.ok(performance.now() - before < 3000, 'it took three seconds to stop');
});

test('a daemon that receives SIGTERM exits, although a client listens to its events', async () => {
  await using state = await stateFolder();
  const daemon = await startDaemon(state.path);
  const listening = daemon.api.get('/api/holdfast/v1/events');
  await daemon.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  const before = performance.now();
  assert.equal((await daemon.end('SIGTERM')).code, 0);
  assert.ok(performance.now() - before < 3000, 'it took three seconds to stop');
  assert.match((await listening).text, /event: record\.changed/);
});

test('a second daemon with the same state exits with 1 and one line, and the first continues', async () => {
  await using state = await stateFolder();
  const daemon = await startDaemon(state.path);
  const { code, stderr } = await runDaemon(state.path);
  assert.equal(code, 1);
  assert.match(stderr, /^holdfast: Another Holdfast process uses .*holdfast\.sqlite\. .*\n$/);
  assert.equal((await daemon.api.get('/readyz')).status, 200);
  await daemon.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  assert.equal((await daemon.end('SIGTERM')).code, 0);
});

const damages: readonly { readonly title: string; damage(file: string): Promise<void> }[] = [
  { title: 'is not a database', damage: (file) => writeFile(file, 'This was once a database.\n'.repeat(200)) },
  {
    title: 'is truncated',
    damage: async (file) => truncate(file, Math.floor((await readFile(file)).length / 2 / 4096) * 4096),
  },
  {
    title: 'has a page of zeros',
    async damage(file) {
      const bytes = await readFile(file);
      bytes.fill(0, 4096, 8192);
      await writeFile(file, bytes);
    },
  },
  { title: 'is empty', damage: (file) => truncate(file, 0) },
];

for (const { title, damage } of damages) {
  test(`a database that ${title} is reported in one line with exit code 1, and not modified`, async () => {
    await using state = await stateFolder();
    const daemon = await startDaemon(state.path);
    await daemon.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
    await daemon.end('SIGTERM');
    const file = join(state.path, 'holdfast.sqlite');
    await damage(file);
    const before = await digest(file);
    const { code, stderr } = await runDaemon(state.path);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^holdfast: .*holdfast\.sqlite .*\n$/);
    assert.equal(await digest(file), before);
  });
}

async function digest(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}
