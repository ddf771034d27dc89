/** The first hour in a real browser: from an empty machine to a share, with disks of different sizes. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { Api } from '../support/api.ts';
import { GiB } from '../support/appliance.ts';
import { inAllModes, signIn, visit, visited } from '../support/browser.ts';

const world = await visited(mkdtempSync(join(tmpdir(), 'holdfast-test-')), undefined, {
  disks: [2, 2, 2, 2, 2, 4].map((size) => size * GiB),
});
const { api, folder } = world.box;
after(() => world[Symbol.asyncDispose]());

const findings: string[] = [];
/** Looks at the page by axe in light, dark and at 320 px; what was found is stated at the end. */
async function look(page: Page, name: string): Promise<void> {
  for (const notice of await page.getByRole('button', { name: 'Dismiss this notice' }).all()) await notice.click();
  // What is scrolled below the fixed head counts as too small to be hit.
  await page.evaluate('scrollTo(0, 0)');
  findings.push(...(await inAllModes(page, name)));
}

const heading = (page: Page, step: number) => page.getByRole('heading', { name: `Step ${step} of 7` });
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const newPassword = 'a password of my own';
const own = new Api(api.url, { user: 'root', password: newPassword });

test('an empty machine leads to the first hour, and comes by it to a share that is served', async () => {
  const page = await world.signedIn();
  await visit(page, '#/');
  await look(page, 'overview-empty');
  await page.getByRole('link', { name: 'Set this machine up' }).click();

  await heading(page, 1).waitFor();
  await page.getByLabel('Password', { exact: false }).first().fill('short');
  await page.getByLabel('The same again').fill('other');
  await page.getByText('This differs from the password above.').waitFor();
  await page.getByLabel('The same again').fill('short');
  await press(page, 'Set the password');
  await page.getByText(/Expected at least \d+ characters for root/).waitFor();
  await look(page, 'first-hour-password');
  await page.locator('#field-bsdusr_password').fill(newPassword);
  await page.getByLabel('The same again').fill(newPassword);
  await press(page, 'Set the password');

  await heading(page, 2).waitFor();
  await page.getByText('The disks differ in size').first().waitFor();
  assert.equal(await page.getByRole('radio', { name: /RAID-Z2/ }).isChecked(), true);
  await page.getByRole('radio', { name: /RAID-Z1/ }).press('Space');
  await page.getByLabel('Spares').selectOption('1');
  await page.getByText('spare: ada5').first().waitFor();
  await page.getByLabel('Name of the pool').fill('mirror');
  await press(page, 'Preview');
  await page.getByText(/A volume name must begin with a letter/).waitFor();
  await page.getByLabel('Name of the pool').fill('tank');
  await press(page, 'Preview');
  await page.locator('.preview').getByText('create the pool tank').waitFor();
  await look(page, 'first-hour-pool');
  await press(page, 'Make the pool tank');

  await heading(page, 3).waitFor();
  const status = (await own.get('/api/v1.0/storage/volume/tank/status/')).text;
  assert.match(status, /raidz1/);
  assert.match(status, /spares/);
  await look(page, 'first-hour-dataset');
  await press(page, 'Make the dataset');

  await heading(page, 4).waitFor();
  await page.getByLabel('User name').fill('anna');
  await page.getByLabel('Full name').fill('Anna');
  await page.locator('#field-bsdusr_password').fill('her long password');
  await look(page, 'first-hour-account');
  await press(page, 'Make the account');

  // A reload, and another window, go on where it stands.
  await heading(page, 5).waitFor();
  await page.reload();
  await heading(page, 5).waitFor();
  const other = await world.open();
  await signIn(other, newPassword);
  await visit(other, '#/overview/first-hour');
  await heading(other, 5).waitFor();
  await page.getByLabel('Folder · required').fill('/mnt/none');
  await press(page, 'Share the folder');
  await page.locator('#field-cifs_path-problem').waitFor();
  await page.getByLabel('Folder · required').fill('/mnt/tank/media');
  await press(page, 'Preview');
  await page.locator('.diff', { hasText: 'path = /mnt/tank/media' }).waitFor();
  await look(page, 'first-hour-share');
  await press(page, 'Share the folder');

  await heading(page, 6).waitFor();
  await press(page, 'Preview');
  await look(page, 'first-hour-snapshots');
  await press(page, 'Schedule the snapshots');

  await heading(page, 7).waitFor();
  await page.getByText('SMB runs').waitFor();
  await page
    .getByText(/^smb:\/\/.*\/media$/)
    .first()
    .waitFor();
  await page.getByText(/^\\\\.*\\media$/).waitFor();
  await look(page, 'first-hour-address');
  const served = readFileSync(join(folder, 'virtual/root/etc/samba/holdfast/shares-0.conf'), 'utf8');
  assert.match(served, /^\[media\]\n {2}path = \/mnt\/tank\/media$/m);
  const services = await own.list('services/services/?limit=0');
  assert.equal(services.find((one) => one['srv_service'] === 'cifs')?.['srv_state'], 'RUNNING');
  assert.deepEqual(findings, []);
  assert.deepEqual(world.mishaps, []);
});
