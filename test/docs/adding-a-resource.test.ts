import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the code blocks of docs/adding-a-resource.md equal the files that they name', () => {
  const page = readFileSync(join(root, 'docs/adding-a-resource.md'), 'utf8');
  const blocks = [...page.matchAll(/```ts file=(\S+)\n(.*?)```/gs)].map(([, file = '', code = '']) => ({ file, code }));
  assert.equal(blocks.length, 5);
  for (const { file, code } of blocks) assert.equal(code, readFileSync(join(root, file), 'utf8'), file);
});

test('docs/adding-a-resource.md names every file that mentions the service', () => {
  const page = readFileSync(join(root, 'docs/adding-a-resource.md'), 'utf8');
  const [, listed = ''] = /```console\n\$ grep -rlwi 'tftp\\w\*' src\n(.*?)```/s.exec(page) ?? [];
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) =>
    /\btftp\w*/i.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.deepEqual(listed.trim().split('\n'), files.toSorted());
});
