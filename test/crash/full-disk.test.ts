import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Api } from '../support/api.ts';
import { type SmallDisk, smallDisk } from '../support/small-disk.ts';
import { type Daemon, drift, startDaemon, stateFolder } from './daemon.ts';

const cronJob = { cron_user: 'root', cron_command: 'true' };

const obstacles = async (api: Api) =>
  (await api.list('system/alert/'))
    .map(({ message }) => String(message))
    .filter((message) => message.includes('can be read, but not changed'));

/** Checks that everything except changes works, and that a refusal contains the reason and what to do. */
async function assertReadOnly({ api }: Daemon, reason: RegExp): Promise<void> {
  const refused = await api.post('tasks/cronjob/', cronJob);
  assert.equal(refused.status, 503, refused.text);
  assert.match(refused.text, reason);
  assert.equal(refused.headers.get('retry-after'), '60');
  const ready = await api.get('/readyz');
  assert.equal(ready.status, 503);
  assert.match(ready.text, reason);
  assert.equal((await api.get('/healthz')).status, 200);
  assert.equal((await api.list('tasks/cronjob/')).length, 1);
  assert.equal((await obstacles(api)).length, 1);
}

async function assertBackToNormal({ api }: Daemon): Promise<void> {
  const end = Date.now() + 20_000;
  while ((await api.get('/readyz')).status !== 200 && Date.now() < end) await pause(100);
  assert.equal((await api.get('/readyz')).text, '{"status":"ready"}');
  assert.deepEqual(await obstacles(api), []);
  const made = await api.expect(201, 'POST', 'tasks/cronjob/', cronJob);
  await api.expect(204, 'DELETE', `tasks/cronjob/${made['id']}/`);
  assert.deepEqual(await drift(api), []);
}

async function onSmallDisk(deed: (disk: SmallDisk, start: () => Promise<Daemon>) => Promise<void>): Promise<void> {
  await using state = await stateFolder();
  await using disk = await smallDisk(state.path, 24);
  const daemons: Daemon[] = [];
  try {
    await deed(disk, async () => {
      const daemon = await startDaemon(state.path, disk.within);
      daemons.push(daemon);
      return daemon;
    });
  } finally {
    for (const daemon of daemons) await daemon.end('SIGKILL');
  }
}

/** Fills the disk after the write-ahead log was written back to the database, which frees the space of the log. */
async function fillForGood(disk: SmallDisk): Promise<void> {
  const end = Date.now() + 20_000;
  while (statSync(join(disk.path, 'holdfast.sqlite-wal')).size > 0) {
    assert.ok(Date.now() < end, 'the write-ahead log was not written back');
    await pause(50);
  }
  await disk.fill();
}

test('on a full disk the daemon serves, restarts, reads and refuses changes with the reason until there is space again', async () => {
  await onSmallDisk(async (disk, start) => {
    const first = await start();
    await first.api.expect(201, 'POST', 'tasks/cronjob/', cronJob);
    await fillForGood(disk);
    await assertReadOnly(first, /is full: 0 B of 24\.0 MiB are free\. Free at least 6\.0 MiB\./);
    await first.end('SIGKILL');
    const second = await start();
    await assertReadOnly(second, /is full: 0 B of 24\.0 MiB are free\. Free at least 6\.0 MiB\./);
    assert.equal((await second.end('SIGTERM')).code, 0);
    const third = await start();
    await assertReadOnly(third, /is full/);
    await disk.empty();
    await assertBackToNormal(third);
  });
});

/** A task that ends immediately, and its listed jobs. */
async function rsyncTask(api: Api) {
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  const task = {
    rsync_path: '/mnt/tank',
    rsync_remotehost: 'there.example',
    rsync_remotemodule: 'm',
    rsync_mode: 'module',
    rsync_user: 'root',
    rsync_enabled: false,
  };
  await api.expect(201, 'POST', 'tasks/rsync/', task);
  return {
    /** Runs the task, and returns all its jobs after they have ended. */
    async run(count: number) {
      await api.expect(202, 'POST', 'tasks/rsync/1/run/');
      const end = Date.now() + 20_000;
      for (;;) {
        const found = await jobsOf(api);
        if (found.length === count && found.every(({ ended }) => ended)) return found;
        assert.ok(Date.now() < end, JSON.stringify(found));
        await pause(50);
      }
    },
  };
}

async function jobsOf(api: Api) {
  return (await api.list('/api/holdfast/v1/jobs?subject=tasks/rsync/1')).map(({ id, state }) => ({
    id,
    ended: state !== 'running',
  }));
}

test('a job runs on a full disk, is listed, and is stored when there is space', async () => {
  await onSmallDisk(async (disk, start) => {
    const first = await start();
    await first.api.expect(201, 'POST', 'tasks/cronjob/', cronJob);
    const task = await rsyncTask(first.api);
    await task.run(1);
    await disk.fill();
    for (const count of [2, 3]) await task.run(count);
    // Fills the space of the removed reserve too.
    await disk.fill();
    for (const count of [4, 5]) await task.run(count);
    const listed = await jobsOf(first.api);
    await disk.empty();
    await assertBackToNormal(first);
    const after = await task.run(6);
    assert.deepEqual(after.slice(1), listed);
    await first.end('SIGKILL');
    const second = await start();
    assert.deepEqual(await jobsOf(second.api), after);
  });
});

test('the reserve is removed for writes of the daemon itself, and created again when there is space', async () => {
  await onSmallDisk(async (disk, start) => {
    const reserve = join(disk.path, 'reserve');
    const first = await start();
    await first.api.expect(201, 'POST', 'tasks/cronjob/', cronJob);
    const task = await rsyncTask(first.api);
    await disk.fill();
    assert.ok(existsSync(reserve));
    let listed: Awaited<ReturnType<typeof jobsOf>> = [];
    for (let count = 1; existsSync(reserve); count += 1) {
      assert.ok(count < 100, 'a hundred jobs took no room');
      listed = await task.run(count);
    }
    await assertReadOnly(first, /is full/);
    await first.end('SIGKILL');
    const second = await start();
    assert.deepEqual(await jobsOf(second.api), listed);
    await assertReadOnly(second, /is full/);
    await disk.empty();
    await assertBackToNormal(second);
    assert.ok(existsSync(reserve));
  });
});

test('on a read-only file system the daemon serves and restarts, and stores changes once it is writable', async () => {
  await onSmallDisk(async (disk, start) => {
    const first = await start();
    await first.api.expect(201, 'POST', 'tasks/cronjob/', cronJob);
    await first.end('SIGKILL');
    await disk.remount('ro');
    const second = await start();
    await assertReadOnly(second, /is read-only\. Mount it read-write\./);
    await disk.remount('rw');
    await assertBackToNormal(second);
    await second.api.expect(201, 'POST', 'tasks/cronjob/', cronJob);
    await second.end('SIGKILL');
    const third = await start();
    assert.equal((await third.api.list('tasks/cronjob/')).length, 2);
  });
});
