import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance } from '../support/appliance.ts';
import { rawSend } from '../support/raw.ts';

test('the documentation page loads only files of this server and runs no other scripts', async () => {
  await using box = await appliance();
  for (const path of ['/docs', '/docs/']) {
    const page = await box.api.get(path);
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    // Nothing is inline, and every URL is served by this daemon.
    assert.doesNotMatch(page.text, /<style|<script>| on\w+=| style=/);
    const addresses = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address);
    assert.equal(addresses.length, 3);
    for (const address of addresses) {
      assert.match(address, /^\/docs\/[\w.-]+$/);
      const asset = await box.api.get(address);
      assert.equal(asset.status, 200, address);
      assert.equal(asset.headers.get('x-content-type-options'), 'nosniff');
    }
  }
  const start = (await box.api.get('/docs/start.js')).text;
  assert.match(start, /url: '\/openapi\.json'/);
  assert.match(start, /validatorUrl: null/);
  assert.match((await box.api.get('/docs/swagger-ui-bundle.js')).text, /SwaggerUIBundle/);
});

test('the page requires a credential, and serves no other files', async () => {
  await using box = await appliance();
  for (const path of ['/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json'])
    assert.match((await rawSend(box.api.url, { path, stranger: true })).status, / 401 /, path);
  for (const path of ['/docs/package.json', '/docs/..%2f..%2fpackage.json', '/docs/swagger-ui-bundle.js.map'])
    assert.equal((await box.api.get(path)).status, 404, path);
});
