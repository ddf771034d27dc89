import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { plainLine } from '../../src/cli/plain-lines.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

test('a start for people prints its address, the password once, where the state is, and how to stop it', async () => {
  const state = await mkdtemp(join(tmpdir(), 'holdfast-plain-'));
  await using _removed = { [Symbol.asyncDispose]: () => rm(state, { recursive: true, force: true }) };
  const argv = [main, 'serve', '--log-format', 'text', '--listen', '127.0.0.1:0', '--state', state];
  const { HOLDFAST_ROOT_PASSWORD: _, ...env } = process.env;
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let shown = '';
  const reading = new Promise<void>((resolve) => {
    const read = (part: unknown) => {
      shown += String(part);
      if (shown.includes('Stop ')) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
  });
  await Promise.race([reading, once(child, 'exit')]);
  child.kill('SIGTERM');
  if (child.exitCode === null) await once(child, 'exit');
  const [first, password, folder, host, commands, stop, ...more] = shown.trimEnd().split('\n');
  assert.match(first ?? '', /^Holdfast \S+ serves on http:\/\/127\.0\.0\.1:\d+\/$/, shown);
  assert.match(password ?? '', /^ {2}Password {3}\S{12,} {2}\(of root; it is shown only once\)$/);
  assert.equal(folder, `  State      ${state}`);
  assert.match(host ?? '', /^ {2}Host {7}a simulated machine/);
  assert.ok(commands?.endsWith(`with HOLDFAST_STATE=${state}`), commands);
  assert.match(stop ?? '', /^ {2}Stop {7}Ctrl-C/);
  assert.deepEqual(more, []);
  assert.equal(child.exitCode, 0);
});

test('a line of the log for people is a sentence with its details', () => {
  const line = JSON.stringify({
    level: 40,
    time: '2026-01-31T06:00:00.000Z',
    pool: 'tank',
    err: { message: 'no disk' },
    msg: 'pool degraded',
  });
  assert.equal(plainLine(line), 'warning: pool degraded (pool=tank, error="no disk")\n');
});
