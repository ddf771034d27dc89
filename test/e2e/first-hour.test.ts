/** docs/first-hour.md, run as printed: the daemon and each command are processes of their own. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startDaemon, stateFolder } from '../crash/daemon.ts';
import { blocksOf, follow, Shell } from '../support/guide.ts';
import { holdfast } from '../support/programs.ts';

/** A `holdfast` for a shell, whose daemon has this state. */
function commandsFor(state: string): { readonly cwd: string; readonly env: Readonly<Record<string, string>> } {
  const folder = join(state, 'shell');
  mkdirSync(folder);
  const program = join(folder, 'holdfast');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${holdfast}' "$@"\n`);
  chmodSync(program, 0o700);
  const { PATH = '' } = process.env;
  return { cwd: folder, env: { PATH: `${folder}:${PATH}`, HOLDFAST_STATE: state, XDG_CONFIG_HOME: state } };
}

test('the first hour of the guide is what a reader sees on the virtual host', async () => {
  await using state = await stateFolder();
  const daemon = await startDaemon(state.path);
  try {
    await using shell = new Shell(commandsFor(state.path));
    const page = readFileSync(new URL('../../docs/first-hour.md', import.meta.url), 'utf8');
    const password = "my own 'password'";
    await follow(blocksOf(page), { shell, values: { PASSWORD: password, DISKS: 'ada0,ada1,ada2' } });
    const credential = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
    const answer = await fetch(`${daemon.api.url}/api/v1.0/sharing/cifs/`, { headers: { authorization: credential } });
    assert.equal(answer.status, 200, 'the password of the page is that of root');
  } finally {
    await daemon.end('SIGKILL');
  }
});
