/** Commands that wait: lists that are watched, events that are followed, and what a shell does not wait for. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Daemon, environmentIn, startDaemon, stateFolder } from '../crash/daemon.ts';
import { holdfast } from '../support/programs.ts';

let state: Awaited<ReturnType<typeof stateFolder>>;
let daemon: Daemon;

before(async () => {
  state = await stateFolder();
  daemon = await startDaemon(state.path);
});

after(async () => {
  await daemon?.end('SIGKILL');
  await state?.[Symbol.asyncDispose]();
});

interface Running {
  readonly child: ChildProcess;
  /** Resolves when the output matches. */
  shows(pattern: RegExp): Promise<void>;
  readonly ended: Promise<number | null>;
  out(): string;
}

function begin(...argv: readonly string[]): Running {
  const child = spawn(process.execPath, [holdfast, ...argv], {
    env: { ...environmentIn(state.path), HOLDFAST_STATE: state.path, XDG_CACHE_HOME: state.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: unknown) => {
      out += String(part);
    });
  const ended = once(child, 'close').then(([code]) => (typeof code === 'number' ? code : null));
  return {
    child,
    ended,
    out: () => out,
    async shows(pattern) {
      const end = Date.now() + 20_000;
      while (!pattern.test(out)) {
        assert.ok(Date.now() < end && child.exitCode === null, `${argv.join(' ')} shows: ${out}`);
        await pause(20);
      }
    },
  };
}

const create = (name: string) => daemon.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: name });

test('a watched list is shown again when it has changed, and Ctrl-C ends it with 130', async () => {
  await create('family');
  const watch = begin('list', 'group', '--where', 'builtin=no', '-c', 'name', '--watch');
  await watch.shows(/^NAME\nfamily\n$/);
  await create('team');
  await watch.shows(/^NAME\nfamily\nNAME\nfamily\nteam\n$/);
  // What does not change the list shows nothing.
  await daemon.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  await pause(1000);
  assert.match(watch.out(), /^NAME\nfamily\nNAME\nfamily\nteam\n$/);
  watch.child.kill('SIGINT');
  assert.equal(await watch.ended, 130);
  assert.match(watch.out(), /The appliance goes on with what it has begun: holdfast jobs\n$/);
});

test('events are shown as they happen, of one kind and resource', async () => {
  const events = begin('events', '--kind', 'record', '--resource', 'group', '--limit', '1');
  // It has to follow before something happens.
  await pause(3000);
  await daemon.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'false' });
  await create('others');
  await events.shows(/record\.changed {2}.*resource=account\/groups what=created/);
  assert.equal(await events.ended, 0);
  assert.equal(events.out().split('\n').length, 2, events.out());
});

test('a shell gets names at once or not at all, and another command says that nothing answers', async () => {
  const names = begin('__complete', 'show', 'group', 'fam');
  assert.equal(await names.ended, 0);
  assert.equal(names.out(), 'family\n');
  process.kill(daemon.pid, 'SIGSTOP');
  try {
    const known = begin('__complete', 'show', 'group', 'fam');
    assert.equal(await known.ended, 0);
    assert.equal(known.out(), 'family\n', 'the last answer is kept for seconds');
    const began = Date.now();
    const unknown = begin('__complete', 'show', 'user', 'ro');
    assert.equal(await unknown.ended, 0);
    assert.equal(unknown.out(), '');

    assert.ok(Date.now() - began < 10_000, 'a completion does not wait for the daemon');
  } finally {
    process.kill(daemon.pid, 'SIGCONT');
  }
  await daemon.end('SIGTERM');
  const list = begin('list', 'group');
  assert.equal(await list.ended, 6);
  assert.match(list.out(), /The daemon does not (?:run on this machine|answer)/);
});
