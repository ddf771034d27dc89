/** What a person does to the way by which the console reaches the appliance: its address, and its certificate. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { rootPassword } from '../support/appliance.ts';
import { findings, inAllModes, picture, signIn, visit, visited } from '../support/browser.ts';
import { freePort } from '../support/tls-client.ts';

const httpsPort = await freePort();
const world = await visited(undefined, undefined, {
  exposure: { address: '127.0.0.1', offset: httpsPort - 443, own: 0 },
  // The first start of a real machine, which makes a certificate.
  around: (machine) => Object.freeze({ ...machine, kind: 'linux' }),
});
const { api, host } = world.box;
after(() => world[Symbol.asyncDispose]());

await api.expect(201, 'POST', 'network/interface/', {
  ...{ int_name: 'lan', int_interface: 'em0', int_ipv4address: '192.0.2.1', int_v4netmaskbit: '24' },
});
const addresses = async () => (await host.network.look()).links.find(({ name }) => name === 'em0')?.addresses;

test('a changed address is kept by a person in any window, and the countdown leaves them all', async () => {
  const [one, two] = [await world.signedIn(), await world.signedIn()];
  await visit(one, '#/network');
  assert.deepEqual(await inAllModes(one, 'network'), []);
  await one.getByRole('link', { name: /Change address… of em0/ }).click();
  await one.getByLabel('IPv4 address').fill('not an address');
  await one.getByRole('button', { name: 'Preview' }).click();
  await one.getByText(/Expected .*IPv4/).waitFor();
  await one.getByLabel('IPv4 address').fill('192.0.2.77');
  await one.getByRole('button', { name: 'Preview' }).click();
  await one.getByText('Address=192.0.2.77/24').waitFor();
  assert.deepEqual(await inAllModes(one, 'address'), []);
  assert.deepEqual(await addresses(), ['192.0.2.1/24'], 'a preview changes nothing');
  await one.getByRole('button', { name: 'Change the address' }).click();
  for (const page of [one, two])
    await page.getByText(/This change is taken back in \d+ s unless you keep it/).waitFor();
  await visit(one, '#/sharing');
  await one.getByRole('button', { name: 'Keep' }).waitFor();
  assert.deepEqual(await findings(two), []);
  await picture(two, 'keep-light');
  assert.notEqual(world.box.engine.provisional, undefined, 'what windows ask for by themselves keeps nothing');
  await two.getByRole('button', { name: 'Keep' }).click();
  await two
    .locator('.notices')
    .getByText(/^Kept: /)
    .waitFor();
  for (const page of [one, two]) await page.getByRole('button', { name: 'Keep' }).waitFor({ state: 'detached' });
  assert.equal(world.box.engine.provisional, undefined);
  assert.deepEqual(await addresses(), ['192.0.2.77/24']);
  assert.deepEqual(world.mishaps, []);
});

test('a change that nobody keeps goes back, and every window says so', async () => {
  const page = await world.signedIn();
  await visit(page, '#/network');
  await api.expect(200, 'PUT', 'network/interface/1/?confirm_within=3', { int_ipv4address: '192.0.2.99' });
  await page.getByRole('button', { name: 'Keep' }).waitFor();
  await page.getByRole('button', { name: 'Keep' }).waitFor({ state: 'detached' });
  await page.getByText('192.0.2.77/24').waitFor();
  assert.deepEqual(await addresses(), ['192.0.2.77/24']);
});

test('a window that has changed the address by which it reaches the appliance says where to go on', async () => {
  const page = await world.signedIn();
  // The loopback by which the test comes is not the address of any interface.
  await page.route('**/network/interface/1/', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), ipv4_addresses: ['127.0.0.1/8'] } });
  });
  await visit(page, '#/network/address?key=1');
  await page.getByLabel('IPv4 address').fill('192.0.2.78');
  await page.getByText(/open http:\/\/192\.0\.2\.78:\d+\/ after it and press Keep there/).waitFor();
  await page.route('**/api/**', (route) => route.abort());
  await page.getByRole('button', { name: 'Change the address' }).click();
  await page.getByText('The appliance has left this address').waitFor();
  assert.equal(
    await page.getByRole('link', { name: /^Open http/ }).getAttribute('href'),
    `http://192.0.2.78:${new URL(api.url).port}/`,
  );
  assert.deepEqual(await findings(page), []);
});

test('the page notices that the certificate was changed, and says it at once when the browser refuses the new one', async () => {
  const page = await world.open({ ignoreHTTPSErrors: true });
  await page.goto(`https://127.0.0.1:${httpsPort}/`);
  await signIn(page, rootPassword);
  await page.getByRole('navigation').waitFor();
  await visit(page, '#/sharing');
  await api.expect(200, 'PUT', '/api/holdfast/v1/https', { further_names: ['nas.example.org'] });
  await page.getByRole('button', { name: 'Load again' }).waitFor({ state: 'detached' });
  // As a browser that has not accepted it: each new connection fails until the page is loaded again, which asks about the
  // new one. The stream of events has ended.
  let isAccepted = false;
  page.on('request', (request) => {
    isAccepted ||= request.isNavigationRequest();
  });
  await page.route('**/api/**', (route) => (isAccepted ? route.continue() : route.abort('failed')));
  await api.expect(200, 'PUT', 'sharing/cifs/1/', { cifs_comment: 'after the new certificate' });
  await page.getByText('The certificate of the appliance was changed').waitFor();
  assert.deepEqual(await inAllModes(page, 'certificate-changed'), []);
  await page.getByRole('button', { name: 'Load again' }).click();
  await page.getByRole('heading', { name: 'Sharing', exact: true }).waitFor();
});
