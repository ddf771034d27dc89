import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HelperRunner } from '../../../src/host/linux/runner.ts';
import { beginEarlyWatch } from '../../../src/host/linux/zfs/early-watch.ts';
import { finallyOf, scratchFolder } from '../../support/hosts.ts';

/** The watch by a program that opens the pipe as the real one does, and then does what the script says. */
function watchBy(t: TestContext, script: string) {
  const runner = new HelperRunner();
  finallyOf(t, () => runner.close());
  const folder = scratchFolder(t);
  const argv: string[] = [];
  const { promise: watched, resolve } = Promise.withResolvers<void>();
  const watch = beginEarlyWatch(
    {
      follow(real, listener) {
        argv.push(...real);
        return runner.follow(['sh', '-c', `mkfifo "$0"; exec 3<>"$0"; echo watched; ${script}`, real.at(-1) ?? ''], {
          ...listener,
          line: (line) => {
            if (line === 'watched') resolve();
            listener.line(line);
          },
        });
      },
    },
    '123',
    folder,
  );
  return { watch, watched, argv, folder };
}

test('the pool is imported when it is asked for, and the import is not interrupted', async (t) => {
  const { watch, watched, argv, folder } = watchBy(t, 'read order <&3; sleep 0.2; echo imported');
  assert.deepEqual([argv[0], argv.at(-2), argv.at(-1)], ['python3', '123', join(folder, 'import-123')]);
  await watched;
  const imported = watch.imports();
  // The order is given in a later turn.
  setTimeout(() => watch.end(), 100);
  assert.equal(await imported, true);
});

test('where the program cannot import it, it says so', async (t) => {
  const { watch, watched } = watchBy(t, 'read order <&3; exit 1');
  await watched;
  assert.equal(await watch.imports(), false);
});

test('nothing is imported where the program has ended, has not begun, or is ended', async (t) => {
  const failed = watchBy(t, 'exit 1');
  await failed.watched;
  assert.equal(await failed.watch.imports(), false);
  const ended = watchBy(t, 'read order <&3; echo imported');
  ended.watch.end();
  assert.equal(await ended.watch.imports(), false);
});
