import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { appliance, rootPassword } from '../support/appliance.ts';
import { blocksOf, follow, isAnswer, Shell } from '../support/guide.ts';
import { hashOf, oldArchive, oldDatabase, oldKey } from '../support/old-appliance.ts';

const rehearsal = 'rehearse-a-move.md';
const guides = new URL('../../docs/guides/', import.meta.url);

test('every guide is listed in the README, runs on the test machine, and has blocks that the test can parse', async () => {
  const contents = await readFile(new URL('README.md', guides), 'utf8');
  const machineTests = await Promise.all(
    ['guides', 'pair'].map((name) => readFile(new URL(`../lab/${name}.test.ts`, import.meta.url), 'utf8')),
  );
  const pages = (await readdir(guides)).filter((name) => name !== 'README.md');
  assert.ok(pages.length >= 3);
  for (const page of pages) {
    assert.ok(contents.includes(`](${page})`), `the contents page lacks ${page}`);
    assert.ok(
      page === rehearsal || machineTests.some((test) => test.includes(`'${page.replace('.md', '')}'`)),
      `no test runs ${page}`,
    );
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

/** What an old appliance exports: a share on each of its volumes, an account, and a schedule. */
async function archive(): Promise<Buffer> {
  const database = oldDatabase('13.0', {
    account_bsdgroups: [{ id: 40, bsdgrp_gid: 1001, bsdgrp_group: 'family', bsdgrp_builtin: 0 }],
    account_bsdusers: [
      {
        ...{ id: 40, bsdusr_uid: 1001, bsdusr_username: 'anna', bsdusr_full_name: 'Anna', bsdusr_group_id: 40 },
        ...{ bsdusr_unixhash: await hashOf('the old password'), bsdusr_smbhash: '*', bsdusr_builtin: 0 },
        ...{ bsdusr_home: '/mnt/tank/homes/anna', bsdusr_shell: '/bin/sh' },
      },
    ],
    sharing_cifs_share: [
      { id: 1, cifs_path: '/mnt/tank/media', cifs_name: 'films', cifs_enabled: 1 },
      { id: 2, cifs_path: '/mnt/cold/box', cifs_name: 'box', cifs_enabled: 1 },
    ],
    storage_volume: [
      { id: 1, vol_name: 'tank', vol_guid: '1', vol_fstype: 'ZFS', vol_encrypt: 0 },
      { id: 2, vol_name: 'cold', vol_guid: '2', vol_fstype: 'ZFS', vol_encrypt: 0 },
    ],
  });
  return oldArchive({ 'freenas-v1.db': database, pwenc_secret: oldKey });
}

test('the rehearsal of a move is as its guide says', async () => {
  await using box = await appliance();
  const cwd = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  try {
    await writeFile(join(cwd, 'nas-export.tar'), await archive());
    await using shell = new Shell({ cwd });
    await follow(blocksOf(await readFile(new URL(rehearsal, guides), 'utf8')), {
      shell,
      values: { NAS: box.api.url, PASSWORD: rootPassword, ARCHIVE: 'nas-export.tar' },
    });
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
});
