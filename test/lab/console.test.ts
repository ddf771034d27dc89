/**
 * The console in a browser that is another host of the machine's network: from the first password to a file that a
 * client reads, over HTTPS with the machine's own authority.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import type { Page } from 'playwright-core';
import { browserAt, findings, signIn, visit, type Windows } from '../support/browser.ts';
import { eventually, type Nas, rootPassword, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

const newPassword = 'a password of my own';
const theirPassword = 'her long password';
const folder = mkdtempSync(join(tmpdir(), 'console-'));

let nas: Nas;
let windows: Windows;
let page: Page;

before(async () => {
  nas = await startNas({ disks: 4 });
  const own = await nas.api.expect(200, 'GET', '/api/holdfast/v1/https');
  windows = await browserAt(`https://${nas.machine.address}/`, [
    `--ignore-certificate-errors-spki-list=${await keyOf(nas.machine.address, String(own['authority']))}`,
  ]);
  page = await windows.open();
  // The machine computes on the cores of the browser.
  page.setDefaultTimeout(120_000);
});

after(async () => {
  await windows?.[Symbol.asyncDispose]();
  await nas?.[Symbol.asyncDispose]();
});

/**
 * The digest of the key of the machine's certificate, after a connection that verified the certificate against the
 * authority and the address. Chromium accepts this key alone, because Debian has no tool at hand that gives the browser an
 * authority.
 */
async function keyOf(host: string, authority: string): Promise<string> {
  const socket = connect({ host, port: 443, ca: authority });
  await once(socket, 'secureConnect');
  const key = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
  socket.destroy();
  assert.ok(key !== undefined);
  return createHash('sha256').update(key).digest('base64');
}

const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const follow = (name: string | RegExp) => page.getByRole('link', { name }).first().click();
const step = (number: number) => page.getByRole('heading', { name: `Step ${number} of 7` }).waitFor();
const notice = (text: string) => page.locator('.notices').getByText(text).waitFor();

/** Runs commands of smbclient on the share, in the folder of the test. */
async function onShare(commands: string): Promise<string> {
  const { status, stdout, stderr } = await runClient([
    ...(['smbclient', `//${nas.machine.address}/media`, '-U', `anna%${theirPassword}`] as const),
    ...['-c', `lcd ${folder}; ${commands}`],
  ]);
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

test('from the first password to a share: each step of the first hour is done on the machine', async () => {
  await signIn(page, rootPassword);
  await follow('Set this machine up');
  await step(1);
  await page.locator('#field-bsdusr_password').fill(newPassword);
  await page.getByLabel('The same again').fill(newPassword);
  await press('Set the password');

  await step(2);
  await press('Preview');
  await page.locator('.preview').getByText('create the pool tank').waitFor();
  await press('Make the pool tank');
  await step(3);
  assert.match(await nas.machine.run('zpool list -H -o name,health'), /^tank\tONLINE$/m);

  await press('Make the dataset');
  await step(4);
  assert.match(await nas.machine.run('zfs list -H -o name,mounted'), /^tank\/media\tyes$/m);

  await page.getByLabel('User name').fill('anna');
  await page.getByLabel('Full name').fill('Anna');
  await page.locator('#field-bsdusr_password').fill(theirPassword);
  await press('Make the account');
  await step(5);
  assert.match(await nas.machine.run('getent passwd anna'), /^anna:/);

  await press('Share the folder');
  await step(6);
  await press('Schedule the snapshots');
  await step(7);
  await page.getByText('SMB runs').waitFor();
  await page.getByText(`smb://${nas.machine.address}/media`).first().waitFor();
  assert.deepEqual(await findings(page), []);
});

test('smbclient opens the share of the first hour, and writes a file', async () => {
  writeFileSync(join(folder, 'letter.txt'), 'as it was');
  await eventually(20, () => onShare('put letter.txt'));
  assert.equal(await nas.machine.run('cat /mnt/tank/media/letter.txt'), 'as it was');
});

test('a snapshot is made, and the file that a client has spoiled since is restored from it', async () => {
  await visit(page, '#/storage/snapshots?dataset=tank/media');
  await follow('New snapshot');
  await page.getByLabel('Name · required').fill('monday');
  await press('Save');
  await notice('Created: snapshot');
  writeFileSync(join(folder, 'letter.txt'), 'spoiled');
  await onShare('put letter.txt');

  await visit(page, '#/storage/snapshots?dataset=tank/media');
  await page.getByRole('button', { name: 'monday' }).click();
  await follow('Files…');
  await follow('Restore letter.txt');
  await press('Replace what is there');
  await notice('Restored: letter.txt');
  await onShare('get letter.txt back.txt');
  assert.equal(readFileSync(join(folder, 'back.txt'), 'utf8'), 'as it was');
});

test('a file that was edited by hand is shown as a difference, and the button mends it', async () => {
  await nas.machine.run(`
    holdfast api PUT /api/holdfast/v1/drift/samba '{"policy": "report"}'
    echo '# by hand' >>/etc/samba/smb.conf`);
  await visit(page, '#/activity');
  await page.getByRole('cell', { name: '/etc/samba/smb.conf' }).waitFor();
  await press('Heal');
  await notice('samba is as configured again');
  assert.doesNotMatch(await nas.machine.run('cat /etc/samba/smb.conf'), /by hand/);
  assert.deepEqual(windows.mishaps, []);
});
