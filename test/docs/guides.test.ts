import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { blocksOf, follow, isAnswer, Shell } from '../support/guide.ts';

const guides = new URL('../../docs/guides/', import.meta.url);

test('every guide is listed in the README, runs on the test machine, and has blocks that the test can parse', async () => {
  const contents = await readFile(new URL('README.md', guides), 'utf8');
  const machineTest = await readFile(new URL('../lab/guides.test.ts', import.meta.url), 'utf8');
  const pages = (await readdir(guides)).filter((name) => name !== 'README.md');
  assert.ok(pages.length >= 3);
  for (const page of pages) {
    assert.ok(contents.includes(`](${page})`), `the contents page lacks ${page}`);
    assert.ok(machineTest.includes(`'${page.replace('.md', '')}'`), `no test runs ${page}`);
    assert.ok(blocksOf(await readFile(new URL(page, guides), 'utf8')).length > 5, page);
  }
});

test('links between pages have existing targets', async () => {
  for (const page of await readdir(guides)) {
    const text = await readFile(new URL(page, guides), 'utf8');
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)/g))
      await assert.doesNotReject(readFile(new URL(link, guides)), `${page}: ${link}`);
  }
});

test('an answer equals the one shown, except for placeholders', () => {
  for (const [shown, printed] of [
    ['', ''],
    ['{"id":1}', '{"id":1}\n'],
    ['{"id":<number>}', '{"id":23}'],
    ['a <date> b', 'a Sat Nov 21 b'],
    ['one\n…\nlast', 'one\ntwo\nthree\nlast\n'],
    ['one\n…\nlast', 'one\nlast'],
    ['{…"name":"x",…}', '{"id":1,"name":"x","y":[]}'],
    ['$^.*[a]', '$^.*[a]'],
  ] as const)
    assert.ok(isAnswer(shown, printed), `${shown} | ${printed}`);
  for (const [shown, printed] of [
    ['', 'something'],
    ['something', ''],
    ['{"id":1}', '{"id":2}'],
    ['{"id":<number>}', '{"id":}'],
    ['one', 'one\ntwo'],
    ['two', 'one\ntwo'],
    ['a <date> b', 'a \n b'],
    ['{…"name":"x"}', '{\n"name":"x"}'],
    ['a.c', 'abc'],
  ] as const)
    assert.ok(!isAnswer(shown, printed), `${shown} | ${printed}`);
});

test('a page is refused when a block fails, when one that should fail does not, and when it prints something else', async () => {
  const page = (words: string, command: string, answer: string) =>
    `\`\`\`sh${words}\n${command}\n\`\`\`\n\`\`\`console\n${answer}\n\`\`\`\n`;
  const read = async (text: string) => {
    await using shell = new Shell({ cwd: tmpdir() });
    await follow(blocksOf(text), { shell, values: { NAME: "it's mine" } });
  };
  await read(
    `${page(' values', 'NAME=yours', '')}${page('', 'echo "$NAME"; cat', "it's mine")}${page(' refused', 'echo no; false', 'no')}${page('', 'echo "$NAME"', "it's mine")}`,
  );
  await assert.rejects(read(page('', 'false; echo on', 'on')), /line 2 ended with 1/);
  await assert.rejects(read(page('', 'false | cat', '')), /line 2 ended with 1/);
  await assert.rejects(read(page('', 'echo "$NOBODY"', '')), /ended with 127|ended with 1/);
  await assert.rejects(read(page(' refused', 'true', '')), /line 2 ended with 0/);
  await assert.rejects(read(page('', 'echo one; echo two >&2', 'one')), /does not print what the page shows/);
  await assert.rejects(read(page(' values', 'OTHER=1', '')), /OTHER has no value/);
  await assert.rejects(read(page(' hypervisor', 'true', '')), /no such machine/);
  await assert.rejects(read('```console\nx\n```\n'), /answers nothing/);
  await assert.rejects(read(page(' sometimes', 'true', '')), /expected one of .*, got sometimes/);
});
