import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { isObject } from '../../src/lib/json.ts';
import type { Api } from '../support/api.ts';
import { holdfast } from '../support/programs.ts';
import { type Daemon, drift, environmentIn, runDaemon, startDaemon, stateFolder } from './daemon.ts';

/** Runs `holdfast recover` on a state folder. */
function recover(
  state: string,
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [holdfast, 'recover', ...words, '--host', 'virtual', '--state', state],
      { env: environmentIn(state) },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const mary = {
  bsdusr_username: 'mary',
  bsdusr_full_name: 'Mary',
  bsdusr_password: 'plain as day',
  bsdusr_creategroup: true,
};

/** A machine with a pool, an account, a share, and a secret that is only in the configuration. */
async function furnish({ api }: Daemon): Promise<void> {
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await api.expect(201, 'POST', 'account/users/', mary);
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/drop', cifs_name: 'drop' });
  await api.expect(200, 'PUT', 'services/snmp/', { snmp_v3_username: 'watcher', snmp_v3_password: 'known to few' });
}

/** The accounts that Holdfast created on the virtual machine, and the shares that Samba serves there. */
async function onMachine(state: string) {
  const names = async (file: string) => {
    const text = await readFile(join(state, 'virtual', file), 'utf8').catch(() => '{}');
    const { users } = JSON.parse(text);
    return Array.isArray(users) ? users.filter(isObject).map(({ name }) => String(name)) : [];
  };
  const smb = await readFile(join(state, 'virtual', 'root', 'etc', 'samba', 'holdfast', 'shares-0.conf'), 'utf8').catch(
    () => '',
  );
  return {
    accounts: [...(await names('accounts.json')), ...(await names('accounts-disowned.json'))],
    serves: smb.includes('[drop]'),
  };
}

const everything = async (api: Api) => {
  const answers: Record<string, string> = {};
  for (const path of [
    'account/users',
    'account/groups',
    'sharing/cifs',
    'storage/volume',
    'services/snmp',
    'services/ssh',
    'tasks/cronjob',
  ])
    answers[path] = (await api.get(`${path}/?limit=0`)).text;
  return answers;
};

const files = ['holdfast.sqlite', 'holdfast.sqlite-wal', 'secret.key', 'revision.json'] as const;

for (const file of files) {
  for (const moment of ['idle', 'busy'] as const) {
    test(`the loss of ${file} while the daemon is ${moment} never removes anything from the machine`, async () => {
      await using state = await stateFolder();
      const first = await startDaemon(state.path);
      await furnish(first);
      if (moment === 'idle') {
        // The write-ahead log is written back to the database after a pause.
        const end = Date.now() + 20_000;
        while (readFileSync(join(state.path, 'holdfast.sqlite-wal')).length > 0) {
          assert.ok(Date.now() < end, 'the write-ahead log was not written back');
          await pause(50);
        }
      }
      const before = await everything(first.api);
      await first.end('SIGKILL');
      const machine = await onMachine(state.path);
      assert.ok(machine.accounts.includes('mary') && machine.serves);
      const inLog = readFileSync(join(state.path, 'holdfast.sqlite-wal')).length;
      await rm(join(state.path, file));
      // The loss of a log that was written back loses nothing; the mark is written again.
      const harmless = file === 'revision.json' || (file === 'holdfast.sqlite-wal' && inLog === 0);
      if (harmless) {
        const second = await startDaemon(state.path);
        assert.deepEqual(await everything(second.api), before);
        assert.deepEqual(await drift(second.api), []);
        await second.end('SIGKILL');
      } else {
        for (let n = 0; n < 2; n += 1) {
          const { code, stderr } = await runDaemon(state.path);
          assert.equal(code, 1);
          assert.match(stderr, /^holdfast: .*holdfast recover\.\n$/);
        }
      }
      assert.deepEqual(await onMachine(state.path), machine);
    });
  }
}

test('a configured machine without its state folder is not treated as new, and "recover new" removes no account', async () => {
  await using state = await stateFolder();
  const first = await startDaemon(state.path);
  await furnish(first);
  await first.end('SIGTERM');
  for (const file of [...files, 'recovery.key', 'reserve']) await rm(join(state.path, file), { force: true });
  const { code, stderr } = await runDaemon(state.path);
  assert.equal(code, 1);
  assert.match(stderr, /configured shows that this machine was configured from/);
  const described = await recover(state.path, 'new');
  assert.equal(described.code, 0);
  assert.match(described.stdout, /Nothing was changed/);
  assert.equal((await runDaemon(state.path)).code, 1);
  assert.equal((await recover(state.path, 'new', '--yes')).code, 0);
  const second = await startDaemon(state.path);
  assert.deepEqual(await second.api.list('sharing/cifs/'), []);
  assert.ok((await onMachine(state.path)).accounts.includes('mary'));
  await second.end('SIGTERM');
  const third = await startDaemon(state.path);
  assert.ok((await onMachine(state.path)).accounts.includes('mary'), 'nor does the start after that');
  await third.end('SIGTERM');
});

test('a database that lost the end of an answered change is refused, even if the change has no revision', async () => {
  await using state = await stateFolder();
  const daemon = await startDaemon(state.path);
  await furnish(daemon);
  await daemon.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'answered' });
  await daemon.end('SIGKILL');
  // What the database would be if the log had been cut before the end of the change.
  const database = new Database(join(state.path, 'holdfast.sqlite'));
  database.exec("INSERT INTO plans SELECT seq, '{}' FROM sqlite_sequence WHERE name = 'plans'");
  database.close();
  assert.match((await runDaemon(state.path)).stderr, /lacks the end of change \d+, which was stored in it/);
  assert.match((await recover(state.path)).stdout, /holdfast recover accept/);
});

test('"recover accept" continues with the existing database', async () => {
  await using state = await stateFolder();
  const first = await startDaemon(state.path);
  await first.end('SIGTERM');
  const old = await readFile(join(state.path, 'holdfast.sqlite'));
  const second = await startDaemon(state.path);
  await furnish(second);
  await second.end('SIGTERM');
  await writeFile(join(state.path, 'holdfast.sqlite'), old);
  assert.match((await runDaemon(state.path)).stderr, /ends with revision \d+, but revision \d+ was stored in it/);
  assert.match((await recover(state.path)).stdout, /holdfast recover accept/);
  assert.match((await recover(state.path, 'accept')).stdout, /Nothing was changed/);
  assert.equal((await runDaemon(state.path)).code, 1);
  assert.equal((await recover(state.path, 'accept', '--yes')).code, 0);
  const third = await startDaemon(state.path);
  assert.deepEqual(await third.api.list('sharing/cifs/'), []);
  await third.end('SIGTERM');
});

test('"recover restore" restores the configuration and its secrets from a pool after the loss of the state folder', async () => {
  await using state = await stateFolder();
  const first = await startDaemon(state.path);
  await furnish(first);
  const before = await everything(first.api);
  const [newest] = await first.api.list('/api/holdfast/v1/revisions?limit=1');
  const onPool = join(state.path, 'virtual', 'root', 'mnt', 'tank', '.holdfast');
  const backup = join(onPool, `configuration-${String(newest?.['number']).padStart(8, '0')}.json`);
  const end = Date.now() + 20_000;
  while (!existsSync(backup)) {
    assert.ok(Date.now() < end, 'no backup came to the pool');
    await pause(50);
  }
  assert.ok(!readFileSync(backup, 'utf8').includes('known to few'), 'secrets are sealed');
  await first.end('SIGKILL');
  for (const file of [...files, 'recovery.key', 'reserve']) await rm(join(state.path, file), { force: true });
  assert.match(
    (await recover(state.path)).stdout,
    new RegExp(`${newest?.['number']}\\.json {2}revision ${newest?.['number']}`),
  );
  assert.match((await recover(state.path, 'restore')).stdout, /Nothing was changed/);
  assert.equal((await runDaemon(state.path)).code, 1);
  const restored = await recover(state.path, 'restore', '--yes');
  assert.equal(restored.code, 0, restored.stderr);
  const second = await startDaemon(state.path);
  assert.deepEqual(await everything(second.api), before);
  assert.deepEqual(await drift(second.api), []);
  assert.ok((await onMachine(state.path)).accounts.includes('mary'));
  await second.end('SIGTERM');
});

test('only the ten newest backups are kept on a pool', async () => {
  await using state = await stateFolder();
  const onPool = join(state.path, 'virtual', 'root', 'mnt', 'tank', '.holdfast');
  for (let n = 0; n < 13; n += 1) {
    const daemon = await startDaemon(state.path);
    if (n === 0) await furnish(daemon);
    await daemon.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
    // Stopping it writes the pending backup.
    await daemon.end('SIGTERM');
  }
  const kept = globSync(join(onPool, 'configuration-*.json')).toSorted();
  assert.equal(kept.length, 10);
  const newest: unknown = JSON.parse(readFileSync(kept.at(-1) ?? '', 'utf8'));
  assert.ok(isObject(newest) && isObject(newest['configuration']) && isObject(newest['configuration']['resources']));
  const jobs = newest['configuration']['resources']['tasks/cronjob'];
  assert.equal(Array.isArray(jobs) ? jobs.length : 0, 13);
});

test('a daemon that is killed at any time during its first start can start again', async () => {
  for (const milliseconds of [150, 250, 350, 450, 600]) {
    await using state = await stateFolder();
    const killed = startDaemon(state.path).then((daemon) => daemon.end('SIGKILL'));
    void killed.catch(() => {});
    await Promise.race([killed, pause(milliseconds)]);
    await killed.catch(() => {});
    const second = await startDaemon(state.path);
    assert.equal((await second.api.get('/readyz')).status, 200);
    await second.end('SIGKILL');
  }
});

const damages: readonly { readonly title: string; damage(file: string): Promise<unknown> }[] = [
  { title: 'garbage', damage: (file) => writeFile(file, 'garbage\n'.repeat(20)) },
  { title: 'half of the file', damage: async (file) => truncate(file, Math.floor((await stat(file)).size / 2)) },
  { title: 'a folder', damage: (file) => rm(file).then(() => mkdir(file)) },
];

test('any file of the state folder may be damaged: the daemon starts, or reports why not in one line', async (t) => {
  await using state = await stateFolder();
  const first = await startDaemon(state.path);
  await furnish(first);
  await first.end('SIGKILL');
  const all = globSync('**', { cwd: state.path, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(state.path, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith('virtual/root/'));
  for (const file of [...files.filter((one) => one !== 'holdfast.sqlite-wal'), 'reserve', 'virtual/zfs.json'])
    assert.ok(all.includes(file), `${file} is not among ${all.join(', ')}`);
  const cases = all.flatMap((file) => damages.map((one) => ({ file, ...one })));
  const damaged = async ({ file, title, damage }: (typeof cases)[number]) => {
    await using copy = await stateFolder();
    await cp(state.path, copy.path, { recursive: true, filter: (source) => !source.endsWith('.socket') });
    await damage(join(copy.path, file));
    const daemon = await startDaemon(copy.path).catch((error: unknown) => String(error));
    const outcome = typeof daemon === 'string' ? daemon : await daemon.end('SIGTERM').then(({ stderr }) => stderr);
    const isFine =
      outcome === '' || /^Error: the daemon ended with 1 before it served: holdfast: [^\n]+\n$/.test(outcome);
    return isFine ? [] : [`${title} in place of ${file}: ${outcome}`];
  };
  const found: string[] = [];
  const next = async (): Promise<void> => {
    for (let one = cases.pop(); one !== undefined; one = cases.pop()) found.push(...(await damaged(one)));
  };
  await Promise.all([next(), next()]);
  t.diagnostic(`${all.length} files, ${all.length * damages.length} damages`);
  assert.deepEqual(found, []);
});

test('a state folder that cannot be created is reported in one line', async () => {
  for (const place of ['/proc/nope', '/proc/nope/deeper', '/dev/null/state', '/etc/passwd']) {
    const { code, stderr } = await runDaemon(place);
    assert.equal(code, 1);
    assert.match(stderr, /^holdfast: [^\n]*\n$/);
  }
});

test('files of the daemon are readable only by its own account, with any umask', async () => {
  await using state = await stateFolder();
  await chmod(state.path, 0o700);
  const umask = process.umask(0o000);
  try {
    await (await startDaemon(state.path)).end('SIGTERM');
  } finally {
    process.umask(umask);
  }
  const { stdout } = await new Promise<{ stdout: string }>((resolve) =>
    execFile('find', [state.path, '-maxdepth', '1', '-type', 'f', '-perm', '/077'], (_error, text) =>
      resolve({ stdout: text }),
    ),
  );
  assert.equal(stdout, '');
});
