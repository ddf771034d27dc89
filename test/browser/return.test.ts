/** The console after a sleep, a restart of the daemon, and beside another window. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { appliance, rootPassword } from '../support/appliance.ts';
import { findings, inAllModes, signIn, visit, visited } from '../support/browser.ts';

const world = await visited();
const { api } = world.box;
after(() => world[Symbol.asyncDispose]());

const share = '#/sharing/record?of=sharing/cifs&key=1';
const comment = (text: string) => api.expect(200, 'PUT', 'sharing/cifs/1/', { cifs_comment: text });

test('after a sleep with the page in sight, values and the stream of events are renewed', async () => {
  const page = await world.open();
  await page.clock.install();
  await page.reload();
  // The connection of before the sleep: it is gone, and no end of it ever arrives.
  let streams = 0;
  await page.route(/\/v1\/events\?/, (route) => {
    streams += 1;
    return streams === 1 ? undefined : route.continue();
  });
  await signIn(page, rootPassword);
  await page.getByRole('navigation').waitFor();
  await page.evaluate(`location.hash = '${share}'`);
  const field = page.getByLabel('Comment');
  await field.waitFor();
  await comment('while it slept');
  await page.clock.runFor(5000);
  assert.equal(await field.inputValue(), 'Films and music');
  assert.equal(streams, 1);
  // As a lid that is closed and opened: timers that are due run once.
  await page.clock.fastForward(25_000);
  await page.clock.resume();
  await holds(async () => (await field.inputValue()) === 'while it slept');
  assert.equal(streams, 2);
  await comment('after the sleep');
  await holds(async () => (await field.inputValue()) === 'after the sleep');
  assert.equal(streams, 2, 'by the new stream');
});

test('two windows agree on a change, on its way back, and on what another client does', async () => {
  const [one, two] = [await world.signedIn(), await world.signedIn()];
  for (const page of [one, two]) await visit(page, share);
  await comment('of a program');
  for (const page of [one, two])
    await holds(async () => (await page.getByLabel('Comment').inputValue()) === 'of a program');
  await one.getByLabel('Comment').fill('of a window');
  await one.getByRole('button', { name: 'Save' }).click();
  await holds(async () => (await two.getByLabel('Comment').inputValue()) === 'of a window');
  await two.locator('footer').getByRole('button', { name: 'Undo' }).click();
  for (const page of [one, two])
    await holds(async () => (await page.getByLabel('Comment').inputValue()) === 'of a program');
});

test('what cannot be read again is grey, with its age and the reason, until it can', async () => {
  const page = await world.signedIn();
  await visit(page, '#/sharing');
  await page.route('**/services/services/**', (route) =>
    route.fulfill({ status: 500, json: { code: 'failed', detail: 'the service manager does not answer' } }),
  );
  await comment('read again');
  await page.getByText(/^Some of this page was read \d+ s ago and not again$/).waitFor();
  await page.getByText('the service manager does not answer').first().waitFor();
  await page.locator('main.stale').waitFor();
  assert.deepEqual(await findings(page), []);
  await page.unroute('**/services/services/**');
  await page.getByRole('button', { name: 'Read it again' }).click();
  await page.getByRole('button', { name: 'Read it again' }).waitFor({ state: 'detached' });
  assert.equal(await page.locator('main.stale').count(), 0);
  await comment('of a program');
});

test('without an answer the page says so, and after a restart it goes on at the same page', async () => {
  const page = await world.signedIn();
  await visit(page, share);
  await world.box.app.close();
  await page.getByText('No connection: what is shown is old').waitFor();
  const note = page.getByText('The appliance does not answer', { exact: true });
  await note.waitFor({ timeout: 40_000 });
  const colour = (what: string) => page.evaluate(`getComputedStyle(document.querySelector('${what}')).color`);
  assert.equal(await colour('main .card legend'), await colour('footer'), 'what is old is grey');
  assert.deepEqual(await inAllModes(page, 'no-answer'), []);

  const port = Number(new URL(api.url).port);
  const again = await appliance({ folder: world.box.folder, console: world.files, port });
  try {
    await page.getByText('The session has ended.').waitFor({ timeout: 40_000 });
    await signIn(page, rootPassword);
    const field = page.getByLabel('Comment');
    await holds(async () => (await field.inputValue()) === 'of a program');
    await again.api.expect(200, 'PUT', 'sharing/cifs/1/', { cifs_comment: 'after the restart' });
    await holds(async () => (await field.inputValue()) === 'after the restart');
    await page.locator('footer').getByText('Connected').waitFor();
    assert.equal(await note.count(), 0);
  } finally {
    await again.app.close();
  }
});

async function holds(claim: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 15_000; !(await claim()); ) {
    assert.ok(Date.now() < end, 'it did not come to hold within 15 s');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
