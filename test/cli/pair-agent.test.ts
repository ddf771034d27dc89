import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scratchFolder } from '../support/hosts.ts';

const agent = fileURLToPath(new URL('../../packaging/appliance', import.meta.url));

/** The agent beside a `holdfast` and a `systemctl` that note how they were called, and a kernel's list of pools. */
function machine(t: TestContext) {
  const folder = scratchFolder(t);
  const [bin, pools, log] = [join(folder, 'bin'), join(folder, 'pools'), join(folder, 'log')];
  for (const one of [bin, pools]) mkdirSync(one);
  writeFileSync(log, '');
  const program = (name: string, status: number) => {
    const path = join(bin, name);
    writeFileSync(path, `#!/bin/sh\necho "${name} $*" >>${log}\nexit ${status}\n`);
    chmodSync(path, 0o755);
  };
  program('holdfast', 0);
  program('systemctl', 1);
  const environment = { PATH: `${bin}:/bin:/usr/bin`, HOLDFAST_POOLS: pools };
  return {
    program,
    imports: () => mkdirSync(join(pools, 'tank')),
    exports: () => rmSync(join(pools, 'tank'), { recursive: true }),
    run: (action: string, env: object = { OCF_RESKEY_pool: 'tank' }) =>
      spawnSync('sh', [agent, action], { env: { ...environment, ...env }, encoding: 'utf8' }),
    calls: () => readFileSync(log, 'utf8').split('\n').filter(Boolean),
  };
}

test('start and stop of the agent take and release the pool, and fail as they do', (t) => {
  const { run, calls, program } = machine(t);
  assert.deepEqual([run('start').status, run('stop').status], [0, 0]);
  assert.deepEqual(calls(), ['holdfast ha take', 'holdfast ha release']);
  program('holdfast', 2);
  assert.deepEqual([run('start').status, run('stop').status], [1, 1]);
});

test('it monitors by the pools of the kernel, and notices a service that failed for good', (t) => {
  const { run, calls, program, imports, exports } = machine(t);
  assert.equal(run('monitor').status, 7);
  imports();
  assert.equal(run('monitor').status, 0);
  program('systemctl', 0);
  assert.equal(run('monitor').status, 1);
  exports();
  assert.equal(run('monitor').status, 7);
  assert.ok(!calls().some((call) => call.startsWith('holdfast')), 'it is a look only');
});

test('it describes itself, and refuses what it does not know', (t) => {
  const { run } = machine(t);
  const { status, stdout } = run('meta-data', {});
  assert.equal(status, 0);
  assert.match(stdout, /<resource-agent name="appliance"/);
  for (const action of ['start', 'stop', 'monitor']) assert.ok(stdout.includes(`<action name="${action}"`), action);
  assert.deepEqual([run('start', {}).status, run('promote').status], [6, 3]);
});
