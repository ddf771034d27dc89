/** What `holdfast doctor` finds by itself, with and without a daemon: each check is seen failing by a real fault. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { catalogue, management } from '../../src/areas/index.ts';
import { runClient } from '../../src/cli/client/main.ts';
import { localSocket } from '../../src/cli/local-socket.ts';
import { type Options, readSettings } from '../../src/cli/settings.ts';
import { vocabularyOf } from '../../src/engine/declare/vocabulary.ts';
import { isObject } from '../../src/lib/json.ts';
import { smallDisk } from '../support/small-disk.ts';
import { startDaemon, stateFolder } from './daemon.ts';

const vocabulary = vocabularyOf(catalogue, management);
const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
assert.ok(isObject(manifest));
const version = String(manifest['version']);

/** The findings of the doctor for the daemon of this state, as lines. */
async function findings(state: string, options: Options = {}, own = version): Promise<readonly string[]> {
  let out = '';
  const settings = () => readSettings({ state, listen: '127.0.0.1:0', ...options }, {}, false);
  const exit = await runClient(['doctor', '-o', 'json'], {
    vocabulary: async () => vocabulary,
    terminal: {
      ...{ columns: undefined, asks: false, environment: { XDG_CONFIG_HOME: state } },
      out: (text) => {
        out += text;
      },
      err: () => {},
      question: async () => '',
      input: () => '',
    },
    socket: () => localSocket(settings()),
    settings,
    version: () => own,
  });
  const examined: unknown = JSON.parse(out);
  assert.ok(Array.isArray(examined));
  const lines = examined.filter(isObject).flatMap(({ check, findings: list }) =>
    (Array.isArray(list) ? list : []).map((one) => {
      assert.ok(isObject(one));
      return `${String(check)}: ${String(one['message'])} [${String(one['command'])}]`;
    }),
  );
  assert.equal(exit, lines.length === 0 ? 0 : 1);
  return lines;
}

test('the daemon is well, is another version, does not answer, and does not run', async () => {
  await using state = await stateFolder();
  assert.match((await findings(state.path)).join('\n'), /^daemon: The daemon does not run\. \[holdfast serve\]$/);
  const daemon = await startDaemon(state.path);
  try {
    assert.deepEqual(await findings(state.path), []);
    assert.deepEqual(await findings(state.path, {}, '9.9.9'), [
      `version: The daemon that runs has the version ${version}, this command 9.9.9. [systemctl restart holdfast]`,
    ]);
    process.kill(daemon.pid, 'SIGSTOP');
    assert.match(
      (await findings(state.path)).join('\n'),
      /^daemon: The daemon runs, but does not answer within 5 seconds\. \[.*holdfast serve\]$/,
    );
    process.kill(daemon.pid, 'SIGCONT');
    assert.deepEqual(await findings(state.path), []);
  } finally {
    await daemon.end('SIGKILL');
  }
});

test('the state folder is open to others, and the database is damaged', async () => {
  await using state = await stateFolder();
  const daemon = await startDaemon(state.path);
  await daemon.end('SIGTERM');
  const database = join(state.path, 'holdfast.sqlite');
  chmodSync(state.path, 0o755);
  chmodSync(database, 0o644);
  const [folder, file, ...others] = await findings(state.path);
  assert.match(folder ?? '', /^rights: Other accounts can enter .* got 755\. \[chmod 700 /);
  assert.match(file ?? '', /^rights: Other accounts can read .*holdfast\.sqlite: .* got 644\. \[chmod 600 /);
  assert.equal(others.length, 1, others.join('\n'));
  chmodSync(state.path, 0o700);
  chmodSync(database, 0o600);
  truncateSync(database, 4096);
  writeFileSync(database, 'no database', { flag: 'r+' });
  assert.match((await findings(state.path))[0] ?? '', /^state: .*is damaged: .* \[holdfast recover\]$/);
  rmSync(database);
  assert.match((await findings(state.path))[0] ?? '', /^state: .*is missing, but .* \[holdfast recover\]$/);
});

test('another program has the port, the address is not of this machine, and a setting is invalid', async () => {
  await using state = await stateFolder();
  const other = createServer();
  await using _closed = { [Symbol.asyncDispose]: async () => void other.close() };
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const address = other.address();
  assert.ok(isObject(address));
  const listen = `127.0.0.1:${String(address['port'])}`;
  assert.match(
    (await findings(state.path, { listen }))[0] ?? '',
    /^port: Another program listens on 127\.0\.0\.1:\d+, .* \[ss -ltnp 'sport = :\d+'\]$/,
  );
  assert.match((await findings(state.path, { listen: '192.0.2.1:8080' }))[0] ?? '', /^port: The daemon cannot listen/);
  const [invalid, ...others] = await findings(state.path, { listen: 'everywhere' });
  assert.match(invalid ?? '', /^settings: Expected --listen as ADDR:PORT/);
  assert.deepEqual(others, []);
});

test('the disk is full: the command and the daemon find it', async () => {
  await using state = await stateFolder();
  await using disk = await smallDisk(state.path, 64);
  const daemon = await startDaemon(state.path, disk.within);
  try {
    assert.deepEqual(await findings(disk.path), []);
    await disk.fill();
    const end = Date.now() + 20_000;
    let found = await findings(disk.path);
    while (!found.some((line) => line.startsWith('space:')) && Date.now() < end) {
      await pause(200);
      found = await findings(disk.path);
    }
    assert.match(found.find((line) => line.startsWith('disk:')) ?? '', /is full: .* \[df -h /);
    assert.match(found.find((line) => line.startsWith('space:')) ?? '', /^space: /);
    await disk.empty();
  } finally {
    await daemon.end('SIGKILL');
  }
});

test('backups: one that was removed is missed', async () => {
  await using state = await stateFolder();
  const first = await startDaemon(state.path);
  await first.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await first.end('SIGTERM');
  // Backups are missed only some time after the change.
  const later = await startDaemon(state.path, [], ['--clock-offset', '3600']);
  try {
    const folder = join(state.path, 'virtual/root/mnt/tank/.holdfast');
    while (!existsSync(folder)) await pause(100);
    const backups = async () => (await findings(state.path)).filter((line) => line.startsWith('backups:'));
    while ((await backups()).length > 0) await pause(100);
    rmSync(folder, { recursive: true });
    assert.match((await backups())[0] ?? '', /^backups: The pool tank has no backup of the configuration; /);
  } finally {
    await later.end('SIGKILL');
  }
});
