/** Folders that are chosen, and single files of snapshots, in a real browser. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { findings, inAllModes, picture, visit, visited } from '../support/browser.ts';

const world = await visited();
const { api, host } = world.box;
after(() => world[Symbol.asyncDispose]());

const letters = '/mnt/tank/home/letters';
for (const name of ['may', 'june', 'july']) await host.files.write(`${letters}/${name}.txt`, `as ${name} was`);
await host.files.makeFolder('/mnt/tank/home/drafts', { within: '/mnt', mode: 0o755 });
await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/home', name: 'monday' });
await host.files.write(`${letters}/may.txt`, 'spoiled');
await host.files.remove(`${letters}/june.txt`);
await host.files.write(`${letters}/august.txt`, 'new');
await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/home', name: 'tuesday' });
await host.files.write(`${letters}/later.txt`, 'x');

test('a folder is chosen by walking there, and one is made on the way, by the keyboard alone', async () => {
  const page = await world.signedIn();
  await visit(page, '#/sharing/record?of=sharing/cifs&new=1');
  const choose = page.getByRole('button', { name: 'Choose: Folder' });
  await choose.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Choose a folder' });
  await dialog.getByRole('button', { name: 'tank' }).focus();
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'home' }).click();
  await dialog.getByRole('button', { name: 'drafts' }).waitFor();
  assert.deepEqual(await findings(page), []);
  await picture(page, 'choose-folder-light');
  await dialog.getByLabel('Name of a new folder').fill('drafts');
  await page.keyboard.press('Enter');
  await dialog.getByText('"/mnt/tank/home/drafts" exists.').waitFor();
  await dialog.getByLabel('Name of a new folder').fill('projects');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Take /mnt/tank/home/projects' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Folder · required').inputValue(), '/mnt/tank/home/projects');
  assert.equal(await host.files.kind('/mnt/tank/home/projects'), 'folder');
  await page.locator('button[aria-label="Choose: Folder"]:focus').waitFor();
  await page.keyboard.press('Enter');
  await dialog.getByText('There is no folder in it.').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(world.mishaps, []);
});

test('several folders of a share are chosen one after the other', async () => {
  const page = await world.signedIn();
  await visit(page, '#/sharing/record?of=sharing/nfs&new=1&set.nfs_comment=x');
  const area = page.getByLabel('Folders · required');
  for (const name of ['media', 'work']) {
    await page.getByRole('button', { name: 'Choose: Folders' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'tank', exact: true }).click();
    await dialog.getByRole('button', { name, exact: true }).click();
    await dialog.getByRole('button', { name: `Take /mnt/tank/${name}` }).click();
    await dialog.waitFor({ state: 'detached' });
  }
  assert.equal(await area.inputValue(), '/mnt/tank/media\n/mnt/tank/work');
});

test('the files of a snapshot are walked through, and its differences are listed', async () => {
  const page = await world.signedIn();
  const wrong: string[] = [];
  await visit(page, '#/storage/snapshots?dataset=tank/home');
  await page.getByRole('button', { name: 'monday' }).click();
  await page.getByRole('link', { name: 'Files…' }).click();
  await page.getByRole('link', { name: 'letters', exact: true }).click();
  await page.getByRole('cell', { name: 'june.txt', exact: true }).waitFor();
  assert.equal(await page.getByRole('cell', { name: 'august.txt', exact: true }).count(), 0);
  wrong.push(...(await inAllModes(page, 'files')));
  await page.getByRole('link', { name: 'Compare…' }).click();
  for (const [state, path] of [
    ['gone', 'june.txt'],
    ['changed', 'may.txt'],
    ['new', 'august.txt'],
  ])
    await page.getByRole('row', { name: new RegExp(`${state} letters/${path}`) }).waitFor();
  wrong.push(...(await inAllModes(page, 'differences')));
  assert.deepEqual(wrong, []);
  await page.getByLabel('until').selectOption('tuesday');
  await page.getByText('4 differences').waitFor();
  assert.equal(await page.getByText('later.txt').count(), 0);
});

test('a file is restored where it was, which keeps what was there, and under another name', async () => {
  const page = await world.signedIn();
  await visit(page, '#/storage/restore-file?snapshot=tank/home@monday&path=letters/may.txt&kind=file');
  await page.getByText('What is there now is replaced.').waitFor();
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText(/^create the snapshot tank\/home@before-restore-/).waitFor();
  assert.deepEqual(await inAllModes(page, 'restore-file'), []);
  assert.equal(await host.files.read(`${letters}/may.txt`), 'spoiled');
  await page.getByRole('button', { name: 'Replace what is there' }).click();
  await page.locator('.notices').getByText('Restored: letters/may.txt').waitFor();
  assert.equal(await host.files.read(`${letters}/may.txt`), 'as may was');
  await page.getByRole('link', { name: 'Restore july.txt' }).click();
  await page.getByText('Under another name').click();
  assert.equal(await page.getByLabel('Path in tank/home').inputValue(), 'letters/july (monday).txt');
  await page.getByLabel('Path in tank/home').fill('letters/may.txt');
  await page.getByRole('button', { name: 'Restore beside it' }).click();
  await page.getByText(/may.txt" exists/).waitFor();
  await page.getByLabel('Path in tank/home').fill('letters/july again.txt');
  await page.getByRole('button', { name: 'Restore beside it' }).click();
  await page.locator('.notices').getByText('Restored: letters/july again.txt').waitFor();
  assert.equal(await host.files.read(`${letters}/july again.txt`), 'as july was');
  assert.deepEqual(world.mishaps, []);
});
