/**
 * Runs test files in one process, one after the other: `node batch.ts FILE…`. Most of the time of a small file would
 * otherwise go into loading the sources. Each file is a suite with its path as its name.
 *
 * Node's test runner follows every promise of the process until it is collected, to find out which test an uncaught error
 * belongs to: a quarter of the processor time of files that send requests. Which file and which suite a test belongs to is
 * known when all files are loaded, so from then on the runner no longer follows. An uncaught error is then reported as a
 * failure of its own, with its stack, and fails all files of the process.
 */
import { type AsyncHook, createHook } from 'node:async_hooks';
import { resolve } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { mark, outside, type Statement } from './reporter.ts';

const prototype: AsyncHook = Object.getPrototypeOf(createHook({}));
const { enable } = prototype;
/** The hook of the runner, which enables it at the first suite. */
let following: AsyncHook | undefined;
prototype.enable = function (this: AsyncHook) {
  following ??= this;
  prototype.enable = enable;
  return enable.call(this);
};

// The runner was ended. An error of the output would otherwise be reported to the output, and so on.
process.stdout.on('error', () => process.exit(1));
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => {
    const failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const statement: Statement = { name: outside, passed: false, skipped: false, seconds: 0, failure };
    process.stdout.write(`${mark}${JSON.stringify(statement)}\n`);
  });

const files = process.argv.slice(2);
let loading = files.length;
for (const file of files)
  describe(file, async () => {
    try {
      await import(pathToFileURL(resolve(file)).href);
    } finally {
      loading -= 1;
      if (loading === 0) following?.disable();
    }
  });
