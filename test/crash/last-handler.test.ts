import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const handler = fileURLToPath(new URL('../../src/cli/last-handler.ts', import.meta.url));

test('an uncaught error, thrown or rejected, is logged and the process continues', async () => {
  const script = `
    import { serveThroughErrors } from ${JSON.stringify(handler)};
    const error = ({ err, origin }, message) => console.log(err.message, origin, message);
    serveThroughErrors({ debug() {}, info() {}, warn() {}, error });
    setTimeout(() => { throw new Error('thrown by a timer'); }, 1);
    setTimeout(() => void Promise.reject(new Error('rejected')), 20);
    setTimeout(() => console.log('alive'), 60);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module-typescript', '-e', script]);
  assert.deepEqual(stdout.trim().split('\n'), [
    'thrown by a timer uncaughtException unexpected error: the daemon keeps serving',
    'rejected unhandledRejection unexpected error: the daemon keeps serving',
    'alive',
  ]);
});

const script = (name: string) => JSON.stringify(fileURLToPath(new URL(`../../src/cli/${name}.ts`, import.meta.url)));

/** Runs a script with the log of the daemon, and returns how it ended. */
function ended(lines: string): Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }> {
  const begin = `
    import { openLog } from ${script('daemon-log')};
    import { takeSignals } from ${script('signals')};
    const output = openLog('info');`;
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--input-type=module-typescript', '-e', `${begin}\n${lines}`],
      (_error, stdout, stderr) => resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr }),
    );
  });
}

test('a start that ends without a reason of its own says so, and its log is written', async () => {
  for (const [lines, status] of [
    ['await new Promise(() => {});', 13],
    ['process.exit(0);', 0],
    ['throw new Error("a defect");', 1],
  ] as const) {
    const { code, stdout, stderr } = await ended(`output.log.info('the start'); ${lines}`);
    assert.equal(code, status);
    assert.match(stderr, new RegExp(`^holdfast: the daemon ended unexpectedly with status ${status}\\.$`, 'm'));
    assert.match(stdout, /"msg":"the start"/);
  }
});

test('a start that gives a reason adds nothing to it', async () => {
  const { code, stderr } = await ended(`output.explain('no database'); process.exit(1);`);
  assert.deepEqual({ code, stderr }, { code: 1, stderr: 'holdfast: no database\n' });
});

test('a signal during the start ends it with a line in the log, and a reload waits for the end of the start', async () => {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const { code, stdout, stderr } = await ended(`
      takeSignals(output, { reloads: true });
      setInterval(() => {}, 1000);
      process.kill(process.pid, '${signal}');`);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    assert.match(stdout, new RegExp(`"signal":"${signal}","msg":"stopping during the start"`));
  }
  const { stdout } = await ended(`
    const signals = takeSignals(output, { reloads: true });
    process.kill(process.pid, 'SIGHUP');
    setTimeout(() => {
      output.log.info('started');
      signals.started({ stop: async () => {}, reload: async () => { output.log.info('reloaded'); output.end(0); } });
    }, 50);`);
  assert.deepEqual(
    [...stdout.matchAll(/"msg":"(\w+)"/g)].map(([, message]) => message),
    ['started', 'reloading', 'reloaded'],
  );
});

test('the last lines of the log are all written, in their order', async () => {
  const texts = Array.from({ length: 20 }, (_, index) => `line${index}`);
  for (let turn = 0; turn < 5; turn += 1) {
    const { code, stdout } = await ended(`
      setTimeout(() => {
        for (const text of ${JSON.stringify(texts)}) output.log.info(text);
        output.end(3);
      }, 20);`);
    assert.equal(code, 3);
    assert.deepEqual(
      [...stdout.matchAll(/"msg":"(\w+)"/g)].map(([, message]) => message),
      texts,
    );
  }
});

test('a log whose reader is gone does not keep the daemon from ending', async () => {
  const { stdout } = await promisify(execFile)('bash', [
    '-c',
    `set -o pipefail; "$0" --input-type=module-typescript -e "$1" | true; echo "status \${PIPESTATUS[0]}"`,
    process.execPath,
    `import { openLog } from ${script('daemon-log')};
     const output = openLog('info');
     setTimeout(() => { output.log.info('a line for a closed pipe'); output.end(4); }, 200);`,
  ]);
  assert.equal(stdout, 'status 4\n');
});
