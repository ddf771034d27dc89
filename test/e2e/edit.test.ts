/** `holdfast edit`, with programs in place of a person at an editor. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Shell } from '../support/command-shell.ts';

/** The next edits use this script, which gets the file as $1. What it writes to `seen` is what the editor was shown. */
function editorIn(shell: Shell, script: string): string {
  const program = join(shell.folder, 'editor');
  writeFileSync(program, `#!/bin/bash\nset -e\ncat "$1" >>${join(shell.folder, 'seen')}\n${script}\n`);
  chmodSync(program, 0o700);
  shell.environment = { EDITOR: program };
  return join(shell.folder, 'seen');
}

async function withShare(): Promise<Shell> {
  const shell = await Shell.open();
  await shell.does('create pool tank --layout stripe:ada0');
  await shell.does('create group family');
  await shell.does('create share/smb media --path /mnt/tank/media');
  return shell;
}

test('only what was changed is sent, with the names of people', async () => {
  await using shell = await withShare();
  const seen = editorIn(shell, 'sed -i \'s/^guest: false/guest: true/; s/^comment:.*/comment: Films/\' "$1"');
  assert.equal(await shell.does('edit share/smb media'), 'Changed share/smb media.\n');
  assert.match(readFileSync(seen, 'utf8'), /^# share\/smb media: .*\n# .*holdfast explain share\/smb\.FIELD\n/);
  assert.match(readFileSync(seen, 'utf8'), /^path: \/mnt\/tank\/media$/m);
  const [revision] = await shell.nas.api.list('/api/holdfast/v1/revisions?limit=1');
  const { changes } = await shell.nas.api.expect(
    200,
    'GET',
    `/api/holdfast/v1/revisions/${String(revision?.['number'])}`,
  );
  assert.match(JSON.stringify(changes), /cifs_guestok/);
  assert.equal(await shell.does('show share/smb media -c guest,comment'), 'guest    yes\ncomment  Films\n');
  // A record of settings has no name, and records of others are named in the text.
  editorIn(shell, 'sed -i \'s/^group: .*/group: family/\' "$1"');
  await shell.does('create user anna --full-name Anna --group family --password-disabled');
  assert.equal(await shell.does('edit user anna'), 'Nothing was changed.\n');
  editorIn(shell, 'sed -i \'s/^workgroup: .*/workgroup: HOME/\' "$1"');
  assert.equal(await shell.does('edit service/smb'), 'Changed service/smb.\n');
  editorIn(shell, 'sed -i \'s/^workgroup: .*/workgroup: OTHER/\' "$1"');
  const planned = await shell.run('edit', 'service/smb', '--plan');
  assert.equal(planned.exit, 2, planned.err);
  assert.equal(await shell.does('show service/smb -c workgroup'), 'workgroup  HOME\n');
});

test('errors come back into the editor at their fields, until the text is right or stays as it is', async () => {
  await using shell = await withShare();
  const seen = editorIn(
    shell,
    `if grep -q '^# error' "$1"; then sed -i 's/^path: .*/path: \\/mnt\\/tank\\/films/' "$1"; else sed -i 's/^path: .*/path: \\/nowhere/; s/^guest: .*/guest: perhaps/' "$1"; fi
if [ $(grep -c '^# What' ${join(shell.folder, 'seen')}) = 2 ]; then sed -i 's/^guest: .*/guest: true/' "$1"; fi`,
  );
  assert.equal(await shell.does('edit share/smb media'), 'Changed share/smb media.\n');
  const second = readFileSync(seen, 'utf8').split('# share/smb media')[2] ?? '';
  assert.match(second, /^# error: Expected a path on a volume.*\npath: \/nowhere$/m);
  assert.match(second, /^# error: Expected true or false.*\nguest: perhaps$/m);
  assert.equal(await shell.does('show share/smb media -c path,guest'), 'path   /mnt/tank/films\nguest  yes\n');
  // What is no YAML and what is no field is said in the text too; a text that stays as it is ends the command.
  editorIn(shell, 'grep -q error "$1" || sed -i \'s/^path: /pfad: /\' "$1"');
  const kept = await shell.fails(1, 'edit share/smb media');
  assert.match(
    kept,
    /share\/smb has no field "pfad" that can be edited\.\nholdfast: Nothing was changed\. Your text is in /,
  );
  const file = /text is in (\S+)\.\n$/.exec(kept)?.[1] ?? '';
  assert.match(readFileSync(file, 'utf8'), /^# error: .*"pfad".*\npfad: \/mnt\/tank\/films$/m);
  rmSync(dirname(file), { recursive: true });
  editorIn(shell, 'grep -q error "$1" || echo \'path: [\' >>"$1"');
  const broken = await shell.fails(1, 'edit share/smb media');
  rmSync(dirname(/text is in (\S+)\.\n$/.exec(broken)?.[1] ?? '/nothing'), { recursive: true });
});

test('a record that was changed meanwhile stays as it is, and the text is kept', async () => {
  await using shell = await withShare();
  const { api } = shell.nas;
  editorIn(
    shell,
    `sed -i 's/^comment:.*/comment: Mine/' "$1"
curl -sS -u "root:a test password" -X PUT -H 'content-type: application/json' -d '{"cifs_comment": "Theirs"}' ${api.url}/api/v1.0/sharing/cifs/1/ >/dev/null`,
  );
  const refused = await shell.fails(5, 'edit share/smb media');
  assert.match(
    refused,
    /media was changed meanwhile, so nothing of yours was changed\.\nholdfast: {3}comment: was empty, is Theirs\n/,
  );
  const file = /Your text is in (\S+)\.\n$/.exec(refused)?.[1] ?? '';
  assert.match(readFileSync(file, 'utf8'), /^comment: Mine$/m);
  rmSync(dirname(file), { recursive: true });
  assert.equal(await shell.does('show share/smb media -c comment'), 'comment  Theirs\n');
});

test('an empty file, a failed editor and no editor change nothing', async () => {
  await using shell = await withShare();
  editorIn(shell, ': >"$1"; echo "$1" >"$0.file"');
  assert.match(await shell.fails(1, 'edit share/smb media'), /Nothing was changed/);
  assert.ok(!existsSync(readFileSync(join(shell.folder, 'editor.file'), 'utf8').trim()), 'the file is removed');
  editorIn(shell, 'exit 3');
  assert.match(await shell.fails(1, 'edit share/smb media'), /The editor ended with 3/);
  shell.environment = { EDITOR: '/nonexistent/editor' };
  assert.match(await shell.fails(64, 'edit share/smb media'), /cannot be started/);
  shell.environment = {};
  assert.match(await shell.fails(64, 'edit share/smb media'), /needs a terminal/);
  assert.match(await shell.fails(64, 'edit snapshot tank@one'), /has no command set/);
});
