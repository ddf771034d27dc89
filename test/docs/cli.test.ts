import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { catalogue, management } from '../../src/areas/index.ts';
import { checks } from '../../src/areas/management/doctor-checks.ts';
import { completionScripts } from '../../src/cli/client/completion.ts';
import { commandReference, manualPages } from '../../src/cli/client/manual.ts';
import { vocabularyOf } from '../../src/engine/declare/vocabulary.ts';

const vocabulary = vocabularyOf(catalogue, management);

test('docs/cli.md is current; node scripts/command-reference.ts writes it', () => {
  const document = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
  // The formatter aligns the tables.
  const plain = (text: string) => text.replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---').trim();
  assert.equal(plain(document.slice(document.indexOf('## Options'))), plain(commandReference(vocabulary, checks)));
});

test('the manual pages have every resource and field', () => {
  const pages = manualPages(vocabulary, '1.0');
  const page = pages.get('holdfast.7') ?? '';
  for (const { name, fields } of vocabulary.resources) {
    assert.ok(page.includes(`\n.SH ${name.replaceAll('-', '\\-')}\n`), name);
    for (const field of fields) assert.ok(page.includes(`\n.I ${field.name}\n`), `${name}.${field.name}`);
  }
  // A line that begins with a dot must be a macro.
  for (const text of pages.values())
    for (const line of text.split('\n')) if (line.startsWith('.')) assert.match(line, /^\.(?:TH|SH|TP|B|I)\b/);
});

test('the script of completion is valid where the shell is there', () => {
  execFileSync('bash', ['-n'], { input: completionScripts.bash });
  for (const shell of ['zsh', 'fish'] as const) {
    const { error, status, stderr } = spawnSync(shell, ['-n'], { input: completionScripts[shell], encoding: 'utf8' });
    if (error === undefined) assert.equal(status, 0, stderr);
  }
});
