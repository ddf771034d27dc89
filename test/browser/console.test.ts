/** The console in a real browser: every page by axe in light, dark and at 320 px, the budget, and tasks of people. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { rootPassword } from '../support/appliance.ts';
import { findings, inAllModes, picture, signIn, visit, visited } from '../support/browser.ts';
import { oldDatabase } from '../support/old-appliance.ts';

const world = await visited();
const { box } = world;
after(() => world[Symbol.asyncDispose]());

const pages: Readonly<Record<string, string>> = {
  overview: '#/',
  storage: '#/storage',
  pool: '#/storage/pool?name=tank',
  sharing: '#/sharing',
  list: '#/storage/list?of=storage/dataset',
  share: '#/sharing/record?of=sharing/cifs&key=1',
  'new-pool': '#/storage/new-pool',
  'first-hour': '#/overview/first-hour?step=share',
  'new-dataset': '#/storage/record?of=storage/volume/tank/datasets&new=1',
  task: '#/system/record?of=tasks/cronjob&key=1',
  settings: '#/sharing/record?of=services/ftp',
  remove: '#/storage/command?of=storage/volume&key=tank&verb=delete',
  migrate: '#/system/migrate',
  block: '#/block',
  protection: '#/protection',
  accounts: '#/accounts',
  system: '#/system',
  'new-share': '#/sharing/new-share?folder=/mnt/tank/work',
  'new-target': '#/block/new-target',
  'new-replication': '#/protection/new-replication',
  join: '#/accounts/join',
  'new-certificate': '#/system/new-certificate',
  activity: '#/activity',
  change: '#/activity/revision?number=5',
  account: '#/account',
};

test('axe finds nothing on any page, in light and dark, and the pages fit into 320 px', async () => {
  const page = await world.signedIn();
  const wrong: string[] = [];
  for (const [name, address] of Object.entries(pages)) {
    await visit(page, address);
    wrong.push(...(await inAllModes(page, name)));
  }
  assert.deepEqual(wrong, []);
  assert.deepEqual(world.mishaps, []);
});

/** What a person can use on the page now, each with a number. Of radio buttons the arrow keys reach the others. */
const numbered = `(() => {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')];
  const usable = all.filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0 &&
    !(one.type === 'radio' && !one.checked));
  usable.forEach((one, index) => { one.dataset.nth = String(index); });
  return usable.length;
})()`;

/** The number of what has the focus, if it is seen that it has it. */
const focused = `(() => {
  const one = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  const isSeen = outlineStyle !== 'none' && outlineWidth !== '0px' && box.bottom > 0 && box.top < innerHeight;
  return isSeen ? one.dataset.nth : 'unseen ' + one.outerHTML.slice(0, 120);
})()`;

test('everything on every page is reached by the keyboard alone, and it is seen where the focus is', async () => {
  const page = await world.signedIn();
  for (const [name, address] of Object.entries(pages)) {
    await visit(page, address);
    await page.evaluate('document.activeElement.blur(); getSelection().setPosition(document.body, 0)');
    let count = -1;
    // A page is whole once no answer adds anything to it any more.
    for (let before = -2; count !== before; await page.waitForTimeout(300)) {
      before = count;
      count = Number(await page.evaluate(numbered));
    }
    const reached = new Set<string>();
    for (let presses = 0; presses < count + 3 && reached.size < count; presses += 1) {
      await page.keyboard.press('Tab');
      const where = String(await page.evaluate(focused));
      if (where !== 'undefined' && !where.startsWith('unseen <body')) reached.add(where);
    }
    assert.deepEqual(
      [...reached].filter((one) => one.startsWith('unseen')),
      [],
      name,
    );
    assert.equal(reached.size, count, `${name}: ${count - reached.size} of ${count} are not reached`);
  }
});

test('a wrong password is refused with a sentence, and the end of a session is noticed', async () => {
  const page = await world.open();
  assert.deepEqual(await findings(page), []);
  await picture(page, 'sign-in-light');
  await signIn(page, 'not the password');
  await page.getByText('This name and password are not accepted.').waitFor();
  await signIn(page, rootPassword);
  await page.getByRole('navigation').waitFor();
  await box.api.expect(204, 'DELETE', '/api/holdfast/v1/sessions?account=root');
  await page.evaluate("location.hash = '#/sharing'");
  await page.getByText('The session has ended.').waitFor();
  await signIn(page, rootPassword);
  await page.getByRole('heading', { name: 'Sharing', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  const { status } = await page.request
    .get(`${box.api.url}/api/holdfast/v1/sessions/current`)
    .then((answer) => ({ status: answer.status() }));
  assert.equal(status, 401);
});

async function shares(): Promise<readonly string[]> {
  const { json } = await box.api.get('/api/v1.0/sharing/cifs/');
  return Array.isArray(json) ? json.map(({ cifs_name: name }) => String(name)) : [];
}

test('a share is made: its mistake stands under its field, the preview shows the file, and Undo takes it back', async () => {
  const page = await world.signedIn();
  await visit(page, pages['sharing'] ?? '');
  await page.getByRole('link', { name: 'CIFS shares' }).click();
  await page.getByRole('link', { name: 'New CIFS share' }).click();
  const folder = page.getByLabel('Folder · required');
  await folder.fill('/nowhere');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('Expected a path on a volume').waitFor();
  assert.equal(await folder.getAttribute('aria-invalid'), 'true');
  await folder.fill('/mnt/tank/home');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.locator('.diff', { hasText: 'path = /mnt/tank/home' }).waitFor();
  assert.deepEqual(await shares(), ['media'], 'a preview changes nothing');
  assert.deepEqual(await findings(page), []);
  await picture(page, 'preview-light');
  await page.getByRole('tab', { name: 'As command' }).click();
  assert.match(
    (await page.locator('#tab-panel').textContent()) ?? '',
    /^holdfast create share\/smb --path \/mnt\/tank\/home$/m,
  );
  await page.getByRole('tab', { name: 'As request' }).click();
  assert.match((await page.locator('#tab-panel').textContent()) ?? '', /^POST \/api\/v1\.0\/sharing\/cifs\/$/m);
  await page.getByRole('button', { name: 'Save' }).click();
  const notice = page.locator('.notices');
  await notice.getByText('Created: CIFS share home').waitFor();
  assert.deepEqual((await shares()).toSorted(), ['home', 'media']);
  await notice.getByRole('button', { name: 'Undo' }).click();
  await notice.getByText('was taken back').waitFor();
  assert.deepEqual(await shares(), ['media']);
});

test('what another client changes is shown without a reload, and is not overwritten', async () => {
  const page = await world.signedIn();
  await visit(page, pages['share'] ?? '');
  await box.api.expect(200, 'PUT', 'sharing/cifs/1/', { cifs_comment: 'from elsewhere' });
  const comment = page.getByLabel('Comment');
  await until(async () => (await comment.inputValue()) === 'from elsewhere');
  await comment.fill('mine');
  await box.api.expect(200, 'PUT', 'sharing/cifs/1/', { cifs_comment: 'theirs' });
  await page.getByText('Somebody else has changed this').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText(/./).first().waitFor();
  await page.getByRole('button', { name: 'Take the new values' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('.notices').getByText('Changed: CIFS share media').waitFor();
  const { text } = await box.api.get('/api/v1.0/sharing/cifs/1/');
  assert.equal(JSON.parse(text).cifs_comment, 'mine');
});

test('the search leads by the keyboard alone to a record and to a setting', async () => {
  const page = await world.signedIn();
  const find = async (text: string) => {
    await page.locator('body').press('/');
    await page.keyboard.type(text);
    await page.getByRole('option').first().waitFor();
  };
  await find('rotate');
  assert.deepEqual(await inAllModes(page, 'search'), []);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Cron job Rotate the keys' }).waitFor();
  await page.getByText('Next runs').waitFor();
  await find('workgroup');
  await page.keyboard.press('Enter');
  await until(async () => (await page.evaluate('document.activeElement?.id')) === 'field-cifs_srv_workgroup');
});

test('Enter takes what belongs to the text in the box, also before its answer has come', async () => {
  const page = await world.signedIn();
  const box = page.getByRole('combobox', { name: /^Find/ });
  await box.fill('rotate');
  await page.getByRole('option', { name: /Rotate the keys/ }).waitFor();
  await page.route(/\/v1\/search\?/, async (route) => {
    await until(async () => (await page.evaluate('window.mayAnswer')) === true);
    await route.continue();
  });
  await box.fill('workgroup');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate('location.hash'), '', 'the results of the text before are not taken');
  await page.evaluate('window.mayAnswer = true');
  await until(async () => (await page.evaluate('document.activeElement?.id')) === 'field-cifs_srv_workgroup');
});

test('a pool is removed only after its name is typed, and what lies on it is listed', async () => {
  const page = await world.signedIn();
  await visit(page, '#/storage/command?of=storage/volume&key=fast&verb=delete');
  const button = page.getByRole('button', { name: 'Delete' });
  await page.getByText('All data and snapshots of it').waitFor();
  assert.equal(await button.isDisabled(), true);
  const name = page.getByLabel('Type fast to go on');
  await name.fill('fas');
  assert.equal(await button.isDisabled(), true);
  await name.fill('fast');
  await button.and(page.locator(':enabled')).waitFor();
  // What goes with it changes: the name that was typed does not count for that.
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/fast/late', cifs_name: 'late' });
  await page.getByRole('link', { name: 'CIFS share "late"' }).waitFor();
  await page.getByText('What goes with it has changed').waitFor();
  assert.deepEqual([await name.inputValue(), await button.isDisabled()], ['', true]);
  await name.fill('fast');
  const sent = page.waitForRequest((request) => request.method() === 'DELETE');
  await button.click();
  assert.match((await sent).headers()['x-holdfast-plan'] ?? '', /^[\w-]{43}$/);
  await page.locator('.notices').getByText('Delete: volume fast').waitFor();
  assert.equal((await box.api.get('/api/v1.0/storage/volume/fast/')).status, 404);
});

test('what is refused as busy names what uses it, as a link', async () => {
  await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/work', name: 'monday' });
  await box.api.expect(202, 'POST', 'storage/snapshot/tank/work@monday/clone/', { name: 'tank/copy' });
  const page = await world.signedIn();
  await visit(page, '#/storage/command?of=storage/dataset&key=tank/work&verb=delete');
  await page.getByLabel('Type tank/work to go on').fill('tank/work');
  await page.getByRole('button', { name: 'Delete dataset tank/work' }).click();
  await page.getByText('Clones need tank/work: tank/copy. Remove them first.').waitFor();
  assert.deepEqual(await findings(page), []);
  await page.getByRole('alert').getByRole('link', { name: 'tank/copy' }).click();
  await page.getByRole('heading', { name: 'tank / copy' }).waitFor();
});

test('a restart of the machine says who is cut off, and destroys nothing', async () => {
  const page = await world.signedIn();
  await visit(page, '#/system/list?of=system/reboot');
  await page.getByRole('link', { name: 'Start…' }).click();
  await page.getByRole('heading', { name: 'Who is cut off' }).waitFor();
  await page.getByText('Nobody is known to use a share or a disk now.').waitFor();
  assert.deepEqual(await findings(page), []);
  assert.equal(await page.getByText('destroys', { exact: true }).count(), 0);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.locator('.preview').getByText('Restarts the machine after the answer and the current change.').waitFor();
});

test('a difference from the configuration is shown on the record that it comes from, and the button mends it', async () => {
  await box.api.expect(200, 'PUT', '/api/holdfast/v1/drift/samba', { policy: 'report' });
  const file = join(box.folder, 'virtual/root/etc/samba/smb.conf');
  writeFileSync(file, `${readFileSync(file, 'utf8')}# by hand\n`);
  const page = await world.signedIn();
  await visit(page, pages['share'] ?? '');
  await box.engine.inspect();
  const note = page.locator('.note', { hasText: 'Subsystem samba was changed outside of Holdfast.' });
  await note.waitFor();
  assert.deepEqual(await findings(page), []);
  await note.getByRole('button', { name: 'Heal' }).click();
  await note.waitFor({ state: 'detached' });
  assert.doesNotMatch(readFileSync(file, 'utf8'), /by hand/);
});

test('a list of thousands has only the rows in sight in the page, and finds and orders on the appliance', async () => {
  const page = await world.signedIn();
  for (let from = 0; from < 600; from += 100)
    await box.api.expect(200, 'POST', '/api/holdfast/v1/transactions', {
      requests: Array.from({ length: 100 }, (_, index) => ({
        ...{ method: 'POST', path: 'tasks/cronjob/' },
        body: {
          ...{ cron_user: 'root', cron_command: 'true', cron_enabled: false },
          cron_description: `task ${String(from + index).padStart(4, '0')}`,
        },
      })),
    });
  await visit(page, '#/system/list?of=tasks/cronjob');
  const rows = page.locator('.window tbody tr:not(.gap)');
  await rows.first().waitFor();
  assert.ok((await rows.count()) < 60, `${await rows.count()} rows are in the page`);
  await scrollToEnd(page);
  await page.getByRole('link', { name: 'task 0599' }).waitFor();
  assert.ok((await rows.count()) < 60);
  await page.getByLabel('Filter by').fill('task 0042');
  await page.getByRole('link', { name: 'task 0042' }).waitFor();
  assert.equal(await rows.count(), 1);
});

async function scrollToEnd(page: Page): Promise<void> {
  await until(async () => {
    await page.locator('.window').evaluate((box) => box.scrollTo(0, box.scrollHeight));
    return (await page.getByRole('link', { name: 'task 0599' }).count()) === 1;
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 15_000; !(await holds()); ) {
    assert.ok(Date.now() < end, 'it did not come to hold within 15 s');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test('the database of an old appliance is read, its remarks are shown, and the file is previewed and applied', async () => {
  const page = await world.signedIn();
  await visit(page, pages['migrate'] ?? '');
  const database = oldDatabase('11.2', {
    sharing_cifs_share: [
      { id: 1, cifs_path: '/mnt/tank/media', cifs_name: 'old films' },
      { id: 2, cifs_path: '/mnt/gone/x', cifs_name: 'gone' },
    ],
    network_interfaces: [
      { id: 1, int_interface: 'igb0', int_name: 'office', int_ipv4address: '198.51.100.7', int_v4netmaskbit: '24' },
    ],
  });
  await page.getByLabel('Archive of the export').setInputFiles({
    ...{ name: 'nas.db', mimeType: 'application/octet-stream', buffer: database },
  });
  await page.getByRole('button', { name: 'Read it', exact: true }).click();
  await page.getByText('which this machine has not imported').waitFor();
  await page.getByLabel('igb0 · office').selectOption('em3');
  await page.getByRole('button', { name: 'Read it again' }).click();
  const file = page.getByLabel('The proposed file');
  await until(async () => /interface:\n {2}em3:/.test(await file.inputValue()));
  assert.deepEqual(await findings(page), []);
  await picture(page, 'migrate-light');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.locator('.diff', { hasText: '[old films]' }).waitFor();
  assert.ok(!(await shares()).includes('old films'), 'a preview changes nothing');
  await file.fill((await file.inputValue()).replace(/^interface:\n(?: .*\n)+/m, ''));
  await page.getByRole('button', { name: 'Apply the file' }).click();
  await page.locator('.notices').getByText('Applied: the configuration of 11.2').waitFor();
  assert.ok((await shares()).includes('old films'));
});
