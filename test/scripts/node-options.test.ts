import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { nodeOptions, root } from '../../scripts/bundle.ts';

test('bin/start runs the daemon with the options of the package', () => {
  assert.ok(readFileSync(`${root}bin/start`, 'utf8').includes(`exec node ${nodeOptions.join(' ')} "$bundle"`));
});
