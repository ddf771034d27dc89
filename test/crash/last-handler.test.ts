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
