import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Api } from '../support/api.ts';
import { blocksOf, follow, Shell } from '../support/guide.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Starts as README says, with nothing there yet, and answers what it said once it serves, or until it ended. */
async function firstStart(
  home: string,
  listen: string,
): Promise<{ readonly daemon: ChildProcess; readonly ended: Promise<unknown>; readonly said: string }> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: home, HOLDFAST_LISTEN: listen };
  const daemon = spawn(join(root, 'bin/start'), { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(daemon, 'close');
  let said = '';
  const serves = new Promise<void>((resolve) => {
    for (const stream of [daemon.stdout, daemon.stderr]) {
      stream.setEncoding('utf8').on('data', (part) => {
        said += String(part);
        // The password comes on another stream, whose end is not ordered with this one's.
        if (said.includes('"serving on ') && said.includes('\n  State: ')) resolve();
      });
    }
  });
  await Promise.race([serves, ended]);
  return { daemon, ended, said };
}

const urlIn = (said: string) => /"serving on (http:\S+?)\/"/.exec(said)?.[1] ?? assert.fail(said);
const passwordIn = (said: string) => /It is shown only once:\n\n {6}(\S+)\n/.exec(said)?.[1] ?? assert.fail(said);

/** A home that is empty. */
async function freshHome() {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-readme-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test('README: the first start shows a password, and the requests are answered as it says', async () => {
  const page = await readFile(join(root, 'README.md'), 'utf8');
  const [, section = ''] = /^## Try it$(.*?)^## /ms.exec(page) ?? assert.fail('README has no part "Try it"');
  const [start, ...requests] = blocksOf(section);
  assert.equal(start?.text, 'bin/start');
  await using home = await freshHome();
  // Any free port, so that another Holdfast may run beside the test.
  const { daemon, ended, said } = await firstStart(home.path, '127.0.0.1:0');
  try {
    await using shell = new Shell({ cwd: home.path });
    await follow(requests, { shell, values: { HOLDFAST: `${urlIn(said)}/api/v1.0`, PASSWORD: passwordIn(said) } });
  } finally {
    daemon.kill('SIGTERM');
    await ended;
  }
});

test('a first start that finds its port taken makes no password, and the next one shows it', async () => {
  await using home = await freshHome();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const taken = other.address();
  if (taken === null || typeof taken === 'string') throw new Error('no port');
  const first = await firstStart(home.path, `127.0.0.1:${taken.port}`);
  await first.ended;
  other.close();
  assert.equal(first.daemon.exitCode, 1);
  assert.match(first.said, /^holdfast: cannot listen on 127\.0\.0\.1:\d+: /m);
  assert.doesNotMatch(first.said, /It is shown only once/);
  const { daemon, ended, said } = await firstStart(home.path, '127.0.0.1:0');
  try {
    const api = new Api(urlIn(said), { user: 'root', password: passwordIn(said) });
    assert.equal((await api.get('storage/volume/')).status, 200);
  } finally {
    daemon.kill('SIGTERM');
    await ended;
  }
});

test('README: the settings that it lists are those that --help tells', async () => {
  const page = await readFile(join(root, 'README.md'), 'utf8');
  const [, table = ''] = /^## Settings$(.*?)^## /ms.exec(page) ?? assert.fail('README has no part "Settings"');
  const { stdout: help } = await promisify(execFile)(process.execPath, [join(root, 'src/main.ts'), '--help']);
  const names = (text: string) =>
    [...new Set(text.match(/--[a-z]+(-[a-z]+)*|HOLDFAST_[A-Z_]+/g))]
      .filter((name) => !['--help', '--version'].includes(name))
      .toSorted();
  assert.deepEqual(names(table), names(help));
});
