/** Storage in a real browser: a disk is replaced, a dataset restored from a snapshot, and datasets show their space. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { inAllModes, visit, visited } from '../support/browser.ts';

const world = await visited();
const { box, files } = world;
const { api, machine } = box;
after(() => world[Symbol.asyncDispose]());

await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'reserved', refreservation: '500M' });
await api.expect(201, 'POST', 'storage/dataset/tank/home/', { name: 'mara', compression: 'off' });
await api.expect(200, 'PUT', 'storage/dataset/tank/home/', { atime: 'off' });
await api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'vm', volsize: '200M' });

/** Looks at the page by axe in light, dark and at 320 px. */
async function look(page: Page, name: string): Promise<void> {
  assert.deepEqual(await inAllModes(page, name), []);
}

test('a dataset shows what its space is for, and which properties are its own', async () => {
  const page = await world.signedIn();
  await visit(page, '#/storage/pool?name=tank');
  await page
    .getByRole('img', { name: /500 MB reserved/ })
    .first()
    .waitFor();
  await page.getByRole('link', { name: 'tank/home/mara' }).click();
  const row = (title: string) => page.getByRole('row', { name: new RegExp(`^${title}`) });
  assert.match((await row('Compression').textContent()) ?? '', /set here/);
  assert.match((await row('Access times').textContent()) ?? '', /from tank\/home/);
  assert.match((await row('Read-only').textContent()) ?? '', /default/);
  await look(page, 'dataset');
  await page.getByRole('link', { name: 'home', exact: true }).click();
  await page.getByRole('heading', { name: 'Datasets below' }).waitFor();
  assert.deepEqual(world.mishaps, []);
});

test('a failed disk is replaced by the keyboard alone, and the page shows how far the new one is filled', async () => {
  const page = await world.signedIn();
  machine.zfs.breakDisk('ada1');
  await box.engine.renew('storage', 'disks');
  await visit(page, '#/storage/pool?name=tank');
  await page.getByRole('heading', { name: 'ada1 has failed' }).waitFor();
  await look(page, 'pool-failed');
  await page.getByRole('link', { name: 'Replace ada1…' }).press('Enter');
  await page.getByRole('radio', { name: /ada1/ }).waitFor();
  assert.equal(await page.getByRole('radio', { name: /ada1/ }).isChecked(), true);
  const next = page.getByRole('button', { name: 'Next' });
  await look(page, 'replace-which');
  await next.press('Enter');
  await page.getByText('its serial number cannot be read').waitFor();
  await page.getByText('VIRT0001').waitFor();
  // All that answer stay in: also those of no pool.
  const inMachine = await api.list('storage/disk/?limit=0');
  const staying = inMachine.filter((disk) => disk['disk_name'] !== 'ada1').map((disk) => String(disk['disk_serial']));
  assert.ok(staying.length >= 7);
  for (const serial of staying) assert.equal(await page.getByText(serial, { exact: true }).count(), 1, serial);
  await look(page, 'replace-pull');
  await next.press('Enter');
  await page.getByRole('radio', { name: /ada6/ }).press('Space');
  assert.equal(await page.getByRole('radio', { name: /ada6/ }).isChecked(), true);
  await look(page, 'replace-new');
  await next.press('Enter');
  await page.getByText(/replace \d+ of tank by ada6/).waitFor();
  await look(page, 'replace-check');
  await page.getByRole('button', { name: 'Replace ada1' }).press('Enter');
  await page.getByText(/The new disk is filled: \d+ %/).waitFor();
  await look(page, 'replace-filling');
  await page.getByText('ada6 has taken the place of ada1').waitFor({ timeout: 60_000 });
  const status = await api.get('/api/v1.0/storage/volume/tank/');
  assert.equal(JSON.parse(status.text).status, 'HEALTHY');
  assert.deepEqual(world.mishaps, []);
});

test('the pages of storage add at most 15 kB each', async () => {
  const page = await world.open();
  const loaded = new Set<string>();
  page.on('response', (answer) => void loaded.add(new URL(answer.url()).pathname));
  await page.reload();
  await page.getByLabel('Password').fill('a test password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Pools' }).waitFor();
  for (const address of [
    '#/storage/dataset?name=tank/home',
    '#/storage/replace?pool=tank',
    '#/storage/snapshots',
    '#/storage/restore?snapshot=tank/home@none',
    '#/storage',
  ]) {
    const before = new Set(loaded);
    await visit(page, address);
    const more = [...loaded].filter((path) => !before.has(path));
    const size = more.reduce((sum, path) => sum + (files.get(path)?.gzip.length ?? 0), 0);
    assert.ok(size <= 15 * 1024, `${address}: ${size} bytes`);
  }
});

const within = (path: string) => join(box.folder, 'virtual/root', path);

test('a dataset is restored beside itself by the mouse, and in its place by the keyboard', async () => {
  mkdirSync(within('mnt/tank/work'), { recursive: true });
  const letter = within('mnt/tank/work/letter.txt');
  writeFileSync(letter, 'as it was');
  await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/work', name: 'monday' });
  writeFileSync(letter, 'spoiled');
  await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/work', name: 'friday' });
  const page = await world.signedIn();
  await visit(page, '#/storage/dataset?name=tank/work');
  await page.getByRole('link', { name: 'Snapshots', exact: true }).click();
  await page.getByRole('button', { name: 'monday' }).click();
  await look(page, 'snapshots');
  await page.getByRole('link', { name: 'Restore all…' }).click();
  await page.getByLabel('Name of the new dataset').fill('tank/old-work');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page
    .locator('.preview')
    .getByText(/clone tank\/work@monday/)
    .waitFor();
  await look(page, 'restore-beside');
  await page.getByRole('button', { name: 'Make the dataset' }).click();
  await page.getByRole('heading', { name: 'tank / old-work' }).waitFor();
  assert.equal(readFileSync(within('mnt/tank/old-work/letter.txt'), 'utf8'), 'as it was');
  assert.equal(readFileSync(letter, 'utf8'), 'spoiled');

  await visit(page, '#/storage/snapshots?dataset=tank/work');
  await page.getByRole('region', { name: 'Snapshots' }).focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'monday' }).waitFor();
  await page.getByRole('link', { name: 'Restore all…' }).press('Enter');
  await page.getByRole('radio', { name: /In its place/ }).press('Space');
  await page.getByText('Snapshot friday').waitFor();
  const roll = page.getByRole('button', { name: 'Roll tank/work back' });
  assert.equal(await roll.isDisabled(), true);
  await page.getByLabel('Type tank/work to go on').pressSequentially('tank/work');
  await look(page, 'restore-in-place');
  await roll.press('Enter');
  await page.locator('.notices').getByText('tank/work is what it was at monday.').waitFor();
  assert.equal(readFileSync(letter, 'utf8'), 'as it was');
  const left = await api.list('storage/snapshot/?limit=0');
  assert.deepEqual(
    left.map(({ id }) => id).filter((id) => String(id).startsWith('tank/work@')),
    ['tank/work@monday'],
  );
  assert.deepEqual(world.mishaps, []);
});
