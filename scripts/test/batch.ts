/**
 * Runs several test files in one process, one after the other: `node batch.ts FILE…`. Most of the time of a small file
 * would otherwise go into loading the sources. Each file is a suite with its path as its name.
 */
import { resolve } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2))
  describe(file, async () => {
    await import(pathToFileURL(resolve(file)).href);
  });
