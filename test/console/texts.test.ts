/** The texts of the console are in its catalogue. */
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { looseTexts } from '../support/console-texts.ts';

const source = fileURLToPath(new URL('../../src/console', import.meta.url));

test('no text that people read stands outside the catalogue', () => {
  // Requests and commands are what programs read.
  assert.deepEqual(looseTexts(source, /^texts\/|^parts\/asking\.ts$|^base\/client\.ts$/), []);
});

test('no text is told from another by a number at the end of its name', () => {
  const named = globSync('texts/**/*.ts', { cwd: source }).flatMap((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(/^export const (\w+)/gm)].map(
      ([, name]) => `${file} ${name}`,
    ),
  );
  assert.ok(named.length > 500);
  assert.deepEqual(
    named.filter((one) => /\d$/.test(one)),
    [],
  );
});

test('text is found in elements, attributes and expressions, and what programs read is not', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  try {
    writeFileSync(join(folder, 'tsconfig.json'), '{ "compilerOptions": { "jsx": "preserve" }, "include": ["."] }');
    writeFileSync(
      join(folder, 'page.tsx'),
      `export const Page = ({ is, name }: { is: boolean; name: string }) => (
        <p class="soft wrap" title="A title" aria-controls="the panel">
          Some text {is ? 'yes' : name} {notify(\`Made \${name}.\`)} {is && 'gone'}
          <a href={link('storage', 'new pool')} onClick={() => notify('It is done.')}>{t.text}</a>
        </p>
      );
      const same = (key: string) => key === 'Enter' || useLive('what there is', [])['The key'];`,
    );
    assert.deepEqual(looseTexts(folder, /none/), [
      ...['page.tsx: A title', 'page.tsx: Some text', 'page.tsx: yes', 'page.tsx: Made ….', 'page.tsx: gone'],
      'page.tsx: It is done.',
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
