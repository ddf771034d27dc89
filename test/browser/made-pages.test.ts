/** Pages that are made by hand, each doing what it is for. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { visit, visited } from '../support/browser.ts';

const world = await visited();
const { api, host } = world.box;
after(() => world[Symbol.asyncDispose]());

await api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'design', bsdgrp_gid: 3000 });

test('a folder is shared by two protocols for a group, as one change', async () => {
  const page = await world.signedIn();
  await visit(page, '#/sharing');
  await page.getByRole('link', { name: 'Share a folder' }).click();
  await page.getByLabel('Folder', { exact: true }).fill('/nowhere');
  await page.getByLabel('NFS, for').check();
  await page.getByRole('button', { name: 'Share the folder' }).click();
  await page
    .getByText(/Expected a path on a volume/)
    .first()
    .waitFor();
  await page.getByLabel('Folder', { exact: true }).fill('/mnt/tank/work');
  await page.getByLabel('Group', { exact: true }).selectOption('design');
  await page.getByText('smb://127.0.0.1/work').waitFor();
  await page.getByRole('button', { name: 'Share the folder' }).click();
  await page.locator('.notices').getByText('Shared: /mnt/tank/work').waitFor();
  await page.getByRole('row', { name: /served NFS .*work/ }).waitFor();
  const [smb] = (await api.list('sharing/cifs/')).filter((one) => one['cifs_name'] === 'work');
  assert.equal(smb?.['cifs_guestok'], false);
  assert.equal(await host.files.mode('/mnt/tank/work'), 0o2775);
  const services = await api.list('services/services/?limit=0');
  assert.equal(services.find((one) => one['srv_service'] === 'nfs')?.['srv_state'], 'RUNNING');
  assert.deepEqual(world.mishaps, []);
});

test('a client gets a disk: extent, target, portal, clients and the service are one change', async () => {
  const page = await world.signedIn();
  await visit(page, '#/block');
  await page.getByRole('link', { name: 'A disk for a client' }).click();
  await page.getByLabel('Name').fill('mail');
  await page.getByLabel('Pool').selectOption('tank');
  await page.getByLabel('Size').fill('a lot');
  await page.getByRole('button', { name: 'Make the disk' }).click();
  await page
    .getByText(/Expected .*size/i)
    .first()
    .waitFor();
  await page.getByLabel('Size').fill('64M');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page
    .getByText(/iscsi\/mail/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Make the disk' }).click();
  await page.locator('.notices').getByText('Made: the disk mail').waitFor();
  assert.equal((await api.list('services/iscsi/targettoextent/')).length, 1);
  assert.equal(await host.files.size('/mnt/tank/iscsi/mail'), 64 * 1024 ** 2);
});

test('a domain is joined, and the page says to which one the machine belongs', async () => {
  const page = await world.signedIn();
  await visit(page, '#/accounts');
  await page.getByRole('link', { name: 'Join a domain' }).click();
  assert.equal(await page.getByRole('button', { name: 'Join', exact: true }).isDisabled(), true);
  await page.locator('#field-ad_domainname').fill('corp.example.com');
  await page.locator('#field-ad_bindname').fill('Administrator');
  await page.locator('#field-ad_bindpw').fill('wrong');
  await page.getByRole('button', { name: 'Join', exact: true }).click();
  await page.getByRole('alert').getByText(/./).first().waitFor();
  await page.locator('#field-ad_bindpw').fill('domain secret');
  await page.getByRole('button', { name: 'Join', exact: true }).click();
  await page.getByRole('heading', { name: 'This machine belongs to corp.example.com' }).waitFor();
  assert.equal((await host.domain.membership())?.domain, 'corp.example.com');
});

test('a request for a certificate is made, and a public authority is asked only with the agreement', async () => {
  const page = await world.signedIn();
  await visit(page, '#/system');
  await page.getByRole('link', { name: 'New certificate' }).click();
  assert.equal(await page.getByRole('button', { name: 'Order it' }).isDisabled(), true);
  await page.getByLabel('I agree').check();
  await page.getByLabel('Names of this machine').fill('not a name/');
  await page.getByRole('button', { name: 'Order it' }).click();
  await page.getByText(/Expected host names/).waitFor();
  await page.getByText('From an authority of your own').click();
  for (const [field, value] of Object.entries({
    ...{ name: 'office', organization: 'Example', city: 'Bonn', state: 'NRW', country: 'DE', email: 'a@example.org' },
  })) {
    const input = page.locator(`#field-cert_${field}`);
    if ((await input.evaluate((element) => element.tagName)) === 'SELECT') await input.selectOption({ label: value });
    else await input.fill(value);
  }
  await page.locator('#field-cert_common').fill('nas.example.org');
  await page.getByRole('button', { name: 'Make the request' }).click();
  await page.locator('.notices').getByText('Made: the certificate office').waitFor();
  const [made] = await api.list('system/certificate/');
  assert.match(String(made?.['cert_CSR']), /BEGIN CERTIFICATE REQUEST/);
});

test('a replication by hand shows the key of this machine, and what is missing stands under its field', async () => {
  const page = await world.signedIn();
  await visit(page, '#/protection');
  await page.getByRole('link', { name: 'Replicate to another machine' }).click();
  await page.getByText('By hand').click();
  await page.getByText(/^ssh-/).waitFor();
  await page.locator('#field-repl_filesystem').fill('tank/none');
  await page.locator('#field-repl_remote_hostname').fill('nas2.example.org');
  await page.locator('#field-repl_zfs').fill('backup');
  await page.getByRole('button', { name: 'Replicate', exact: true }).click();
  await page.getByText(/none/).first().waitFor();
  await page.getByText(/One field is wrong|fields are wrong/).waitFor();
  assert.deepEqual(await api.list('storage/replication/'), []);
});
