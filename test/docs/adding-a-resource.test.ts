import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the blocks of docs/adding-a-resource.md compile in the project, and their test passes', (t) => {
  const page = readFileSync(join(root, 'docs/adding-a-resource.md'), 'utf8');
  const blocks = [...page.matchAll(/```ts file=(\S+)\n(.*?)```/gs)].map(([, file = '', code = '']) => ({ file, code }));
  assert.equal(blocks.length, 4);

  const copy = mkdtempSync(join(tmpdir(), 'holdfast-docs-'));
  t.after(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  const configuration = readFileSync(join(root, 'tsconfig.json'), 'utf8');
  writeFileSync(join(copy, 'tsconfig.json'), configuration.replace(/"include": .*/, `"include": ${JSON.stringify(blocks.map(({ file }) => file))}`));
  for (const { file, code } of blocks) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    writeFileSync(join(copy, file), code);
  }

  const compiled = spawnSync(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '-p', copy], { encoding: 'utf8' });
  assert.equal(compiled.status, 0, compiled.stdout);
  const tested = spawnSync(process.execPath, ['--test', join(copy, 'test/units/tftp/tftpd-defaults.test.ts')], { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '' } });
  assert.equal(tested.status, 0, tested.stdout);
});
