import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { nodeEnvironment, nodeOptions, root } from '../../scripts/bundle.ts';

test('bin/start runs the daemon with the options of the package', () => {
  assert.ok(readFileSync(`${root}bin/start`, 'utf8').includes(`exec node ${nodeOptions.join(' ')} "$bundle"`));
});

test('bin/start and the unit of systemd give it the same environment', () => {
  const script = readFileSync(`${root}bin/start`, 'utf8').split('\n');
  const unit = readFileSync(`${root}packaging/holdfast.service`, 'utf8').split('\n');
  for (const [name, value] of Object.entries(nodeEnvironment)) {
    assert.ok(script.includes(`export ${name}=${value}`), name);
    assert.ok(unit.includes(`Environment=${name}=${value}`), name);
  }
});
