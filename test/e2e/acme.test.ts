/** What is refused before an authority is asked, and who gets the answer to its challenge. `test/lab` has a real one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateProblems } from '../../src/areas/certificates/certificate-problems.ts';
import { appliance } from '../support/appliance.ts';
import { at } from '../support/description.ts';
import { freePort } from '../support/tls-client.ts';

const acme = '/api/holdfast/v1/acme';
const asked = { name: 'public', names: ['nas.example.org'], terms_agreed: true, directory: 'https://127.0.0.1:1/dir' };

test('an order that no authority would accept is refused with every reason', async () => {
  await using one = await appliance();
  for (const [sent, field, reason] of [
    [{ names: ['*.example.org'] }, 'challenge', /Expected dns-01 for the wildcard \*\.example\.org/],
    [{ challenge: 'dns-01' }, 'hook', /hook is required/],
    [{ challenge: 'dns-01', hook: ['/x'], names: ['192.0.2.7'] }, 'challenge', /Expected http-01 for the address/],
    [{ hook: ['program'] }, 'hook', /absolute path/],
    [{ names: [] }, 'names', /At least one name/],
    [{ names: ['a b'] }, 'names', /got "a b"/],
    [{ directory: 'http://acme.example.org/dir' }, 'directory', /Expected an address with https/],
    [{ terms_agreed: false }, 'terms_agreed', /Expected true/],
  ] as const) {
    const answer = await one.api.post(acme, { ...asked, ...sent });
    assert.equal(answer.status, 400, answer.text);
    assert.match(String(at(answer.json, 'fields', field)), reason, answer.text);
  }
  assert.deepEqual(await one.api.list(acme), []);
});

test('a challenge is answered without a credential, at every endpoint and only while it lasts', async () => {
  const plain = await freePort();
  await using one = await appliance({ exposure: { address: '127.0.0.1', offset: 9000, own: 0 } });
  await one.api.expect(200, 'PUT', '/api/holdfast/v1/https', {});
  await one.api.expect(200, 'PUT', 'system/settings/', {
    ...{ stg_guiprotocol: 'https', stg_guiport: plain, stg_guihttpsport: await freePort() },
  });
  const get = async (url: string, token: string) => {
    const answer = await fetch(`${url}/.well-known/acme-challenge/${token}`, {
      headers: { host: 'any.example.org' },
      redirect: 'manual',
    });
    return [answer.status, await answer.text()];
  };
  const redirects = `http://127.0.0.1:${plain}`;
  const own = await freePort();
  await one.host.web.beginChallenge({ token: 'abc', answer: 'abc.def', port: own });
  for (const url of [one.api.url, redirects, `http://127.0.0.1:${own}`])
    assert.deepEqual(await get(url, 'abc'), [200, 'abc.def'], url);
  assert.equal((await get(one.api.url, 'other'))[0], 401);
  assert.equal((await get(redirects, 'other'))[0], 308);
  assert.equal((await get(`http://127.0.0.1:${own}`, 'other'))[0], 404);
  await one.host.web.endChallenge('abc');
  assert.equal((await get(one.api.url, 'abc'))[0], 401);
  await assert.rejects(get(`http://127.0.0.1:${own}`, 'abc'), 'its port is closed');
});

test('a certificate that is renewed is a problem only when the renewal is late', () => {
  const now = Date.parse('2026-03-01T00:00:00Z');
  const problemsWith = (days: number, is_renewed: boolean) =>
    certificateProblems(
      'system/certificate',
      [
        {
          ...{ id: 1, cert_name: 'public', cert_lifetime: 90, is_renewed },
          ...{ cert_digest_algorithm: 'SHA256', cert_key_length: 256 },
          cert_until: new Date(now + days * 86_400_000).toUTCString().replace(' GMT', ''),
        },
      ],
      now,
    ).map(({ kind }) => kind);
  assert.deepEqual(problemsWith(29, false), ['expires']);
  assert.deepEqual(problemsWith(29, true), []);
  assert.deepEqual(problemsWith(22, true), ['expires']);
  assert.deepEqual(problemsWith(-1, true), ['expired']);
});
