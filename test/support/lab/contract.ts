import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Machine } from './machine.ts';

const project = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * The files that the test machine needs to run the contract: the tests as one file, the helper beside it, and a Node.
 */
async function packed(folder: string): Promise<string> {
  await build({
    entryPoints: {
      contract: join(project, 'test/host/contract/linux.ts'),
      helper: join(project, 'src/host/linux/helper.ts'),
    },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    logLevel: 'warning',
  });
  await cp(process.execPath, join(folder, 'node'), { dereference: true });
  return folder;
}

/**
 * Runs a program in the machine and returns its output with its status as the last line. If the machine stops
 * answering, returns the output so far.
 */
async function followed(machine: Machine, program: string): Promise<string> {
  await machine.run(`(${program}; echo "# status $?") >/run/output 2>&1 </dev/null &`);
  let output = '';
  for (const end = Date.now() + 900_000; Date.now() < end && !/^# status \d+$/m.test(output); ) {
    await wait(1000);
    output = await machine.tryRun('cat /run/output', { seconds: 20 }).then(
      (answer) => answer.output,
      () => output,
    );
  }
  return output;
}

/** Tests that the Linux host fulfils one part of the contract of the ports, in a machine of its own. */
export function contractHolds(part: 'storage' | 'services'): void {
  test(`the Linux host keeps the contract of every port: ${part}`, { timeout: 1_000_000 }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-contract-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await using machine = await Machine.start({ disks: 8, payload: await packed(folder) });
    const output = await followed(
      machine,
      `HOLDFAST_CONTRACT=${part} /opt/payload/node --test-reporter=tap --enable-source-maps /opt/payload/contract.mjs`,
    );
    const count = (word: string) => Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(output)?.[1] ?? -1);
    const failures = output.split('\n').filter((line) => /^\s*not ok /.test(line));
    assert.ok(count('fail') === 0 && /^# status 0$/m.test(output), `${failures.join('\n')}\n\n${output}`);
    assert.ok(count('pass') > 25, `only ${count('pass')} tests ran`);
    t.diagnostic(`${count('pass')} tests ran in the machine`);
  });
}
