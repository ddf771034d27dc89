/**
 * Tasks of a person on an appliance that begins empty, with clicks, filled fields and seconds for each. The table in
 * docs/console.md has the clicks and fields.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { visited } from '../support/browser.ts';

const world = await visited(mkdtempSync(join(tmpdir(), 'holdfast-test-')));
const { api, machine, engine, folder } = world.box;
after(() => world[Symbol.asyncDispose]());
const window = await world.signedIn();
const page = readFileSync(new URL('../../docs/console.md', import.meta.url), 'utf8');

class Person {
  readonly page: Page;
  clicks = 0;
  fields = 0;

  constructor(at: Page) {
    this.page = at;
  }

  async click(what: Locator): Promise<void> {
    this.clicks += 1;
    await what.click();
  }

  async press(name: string): Promise<void> {
    await this.click(this.page.getByRole('button', { name, exact: true }));
  }

  /** A link of the page, or of the menu. */
  async open(name: string | RegExp): Promise<void> {
    await this.click(this.page.getByRole('link', { name, ...(typeof name === 'string' && { exact: true }) }).first());
  }

  async fill(field: string, text: string): Promise<void> {
    this.fields += 1;
    await this.page.locator(`#${field}`).fill(text);
  }
}

/** Does a task, and states that the documentation has its clicks and fields. */
async function task(t: TestContext, name: string, work: (person: Person) => Promise<void>): Promise<void> {
  const person = new Person(window);
  await window.evaluate("location.hash = '#/'");
  await window.getByRole('heading', { name: 'Pools' }).waitFor();
  const begin = performance.now();
  await work(person);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  t.diagnostic(`| ${name} | ${person.clicks} | ${person.fields} | ${seconds} |`);
  const [, clicks, fields] = new RegExp(`^\\| ${name} +\\| (\\d+) +\\| (\\d+) +\\|`, 'm').exec(page) ?? [];
  assert.deepEqual([person.clicks, person.fields], [Number(clicks), Number(fields)], name);
}

test('make a pool and a share', async (t) => {
  await task(t, 'make a pool and a share', async (person) => {
    await person.open('Set this machine up');
    await person.open('Skip');
    // One disk stays out, for the replacement below.
    await person.click(window.getByRole('checkbox', { name: /^ada7/ }));
    await person.press('Make the pool tank');
    await person.press('Make the dataset');
    await person.fill('field-bsdusr_username', 'anna');
    await person.fill('field-bsdusr_full_name', 'Anna');
    await person.fill('field-bsdusr_password', 'her long password');
    await person.press('Make the account');
    await person.press('Share the folder');
    await person.press('Schedule the snapshots');
    await window.getByText('SMB runs').waitFor();
  });
});

test('replace a disk', async (t) => {
  machine.zfs.breakDisk('ada1');
  await engine.renew('storage', 'disks');
  await task(t, 'replace a disk', async (person) => {
    await person.open('Storage');
    await person.open(/^Replace ada1/);
    await person.press('Next');
    await person.press('Next');
    await person.click(window.getByRole('radio', { name: /ada7/ }));
    await person.press('Next');
    await person.press('Replace ada1');
    await window.getByText('ada7 has taken the place of ada1').waitFor({ timeout: 60_000 });
  });
});

test('restore a file from a snapshot', async (t) => {
  const media = join(folder, 'virtual/root/mnt/tank/media');
  mkdirSync(media, { recursive: true });
  writeFileSync(join(media, 'letter.txt'), 'as it was');
  await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/media', name: 'monday' });
  writeFileSync(join(media, 'letter.txt'), 'spoiled');
  await task(t, 'restore a file from a snapshot', async (person) => {
    await person.open('Storage');
    await person.open('tank/media');
    await person.open('Snapshots');
    await person.click(window.getByRole('button', { name: 'monday' }));
    await person.open('Files…');
    await person.open('Restore letter.txt');
    await person.press('Replace what is there');
    await window.locator('.notices').getByText('Restored: letter.txt').waitFor();
  });
  assert.equal(readFileSync(join(media, 'letter.txt'), 'utf8'), 'as it was');
});

test('find out why a share is not served', async (t) => {
  await api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: false });
  await task(t, 'find out why a share is not served', async (person) => {
    await person.open('Sharing');
    await person.open('SMB is off');
    await person.click(window.locator('#field-srv_enable'));
    await person.press('Save');
    await window.locator('.notices').getByText('Changed: service cifs').waitFor();
  });
  const [smb] = (await api.list('services/services/?limit=0')).filter((one) => one['srv_service'] === 'cifs');
  assert.equal(smb?.['srv_state'], 'RUNNING');
});

test('join a domain', async (t) => {
  await task(t, 'join a domain', async (person) => {
    await person.open('Accounts and directory');
    await person.open('Join a domain');
    await person.fill('field-ad_domainname', 'corp.example.com');
    await person.fill('field-ad_bindname', 'Administrator');
    await person.fill('field-ad_bindpw', 'domain secret');
    await person.press('Join');
    await window.getByRole('heading', { name: 'This machine belongs to corp.example.com' }).waitFor();
  });
  assert.equal((await world.box.host.domain.membership())?.domain, 'corp.example.com');
});

test('change the address of the machine', async (t) => {
  await api.expect(201, 'POST', 'network/interface/', {
    ...{ int_name: 'lan', int_interface: 'em0', int_ipv4address: '192.0.2.1', int_v4netmaskbit: '24' },
  });
  await task(t, 'change the address of the machine', async (person) => {
    await person.open('Network');
    await person.open(/^Change address/);
    await person.fill('address', '192.0.2.77');
    await person.press('Change the address');
    await person.press('Keep');
    await window
      .locator('.notices')
      .getByText(/^Kept: /)
      .waitFor();
  });
  const link = (await world.box.host.network.look()).links.find(({ name }) => name === 'em0');
  assert.deepEqual([link?.addresses, engine.provisional], [['192.0.2.77/24'], undefined]);
});
