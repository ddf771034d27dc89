import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings, SettingsError } from '../../src/cli/settings.ts';
import { crossSiteProblem, Hosts, readAuthority } from '../../src/http/origin.ts';

const hosts = new Hosts({
  own: () => new Set(['nas', 'nas.example.org']),
  further: ['proxy.example.com', 'files.example.com:8443'],
});

test('Host may be an address, localhost, a name of the machine or of a proxy, with any port', () => {
  const right = [
    ...[
      'localhost',
      'localhost:8080',
      '127.0.0.1:8080',
      '192.0.2.7',
      '[::1]:8080',
      '[fe80::1%25eth0]:80',
      '[fe80::1%eth0]',
      '203.0.113.9:18080',
    ],
    ...[
      'nas',
      'NAS:8080',
      'nas.example.org',
      'nas.example.org.',
      'proxy.example.com',
      'PROXY.example.com:443',
      'files.example.com',
      'files.example.com:1',
    ],
  ];
  for (const host of [...right, undefined, ''])
    for (let time = 0; time < 2; time += 1) assert.equal(hosts.problem(host), undefined, String(host));
});

test('any other Host is refused, and the error names the option to set', () => {
  const wrong = [
    'evil.example',
    'evil.example:8080',
    'nas.example.org.evil.example',
    'xnas',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '1.2.3.4.5',
    'nas@evil.example',
    'nas evil',
    ':80',
    'é',
  ];
  for (const host of wrong)
    assert.match(
      hosts.problem(host) ?? 'none',
      /^Expected an address or a name of this machine in Host, got ".*--names or HOLDFAST_NAMES/,
      host,
    );
});

test('a name of the machine is accepted only while it is configured', () => {
  const own = new Set(['before']);
  const changing = new Hosts({ own: () => own, further: [] });
  assert.equal(changing.problem('before'), undefined);
  own.clear();
  own.add('after');
  assert.equal(changing.problem('after'), undefined);
  assert.notEqual(changing.problem('before'), undefined);
});

test('a same-origin page may send changes, by HTTP and by HTTPS', () => {
  for (const [origin, host, isSecure] of [
    ['http://192.0.2.7:8080', '192.0.2.7:8080', false],
    ['http://nas', 'nas', false],
    ['http://nas', 'nas:80', false],
    ['https://nas', 'nas:443', true],
    ['https://NAS:8443', 'nas:8443', true],
    ['http://[::1]:8080', '[::1]:8080', false],
    // Behind a proxy that terminates TLS, whether it forwards the host name or not.
    ['https://proxy.example.com', 'proxy.example.com', false],
    ['https://files.example.com:8443', '127.0.0.1:8080', false],
  ] as const)
    assert.equal(
      crossSiteProblem({ origin, host, 'sec-fetch-site': 'same-origin' }, isSecure, [
        'proxy.example.com',
        'files.example.com:8443',
      ]),
      undefined,
      origin,
    );
});

test('a page of another origin may not send changes', () => {
  for (const [origin, host, isSecure] of [
    ['http://evil.example', '192.0.2.7:8080', false],
    ['http://192.0.2.7', '192.0.2.7:8080', false],
    ['http://192.0.2.7:8081', '192.0.2.7:8080', false],
    ['https://nas', 'nas', false],
    ['http://nas', 'nas', true],
    ['null', 'nas', false],
    ['', 'nas', false],
    ['nas', 'nas', false],
    ['file://nas', 'nas', false],
    ['http://nas.evil.example', 'nas', false],
    ['https://files.example.com', 'nas', false],
    ['http://nas', undefined, false],
  ] as const)
    assert.match(
      crossSiteProblem({ origin, ...(host === undefined ? {} : { host }) }, isSecure, ['files.example.com:8443']) ??
        'none',
      /^Expected a page of this machine/,
      `${origin} at ${host}`,
    );
});

test('Sec-Fetch-Site is checked with and without an Origin', () => {
  for (const site of ['same-origin', 'none'])
    assert.equal(crossSiteProblem({ host: 'nas', 'sec-fetch-site': site }, false, []), undefined, site);
  for (const site of ['cross-site', 'same-site', '', 'anything'])
    for (const origin of [{}, { origin: 'http://nas' }])
      assert.match(
        crossSiteProblem({ host: 'nas', 'sec-fetch-site': site, ...origin }, false, []) ?? 'none',
        /^Expected/,
        site,
      );
  assert.equal(crossSiteProblem({ host: 'nas' }, false, []), undefined, 'a program');
});

test('an authority is a name or an address with an optional port', () => {
  assert.deepEqual(readAuthority('Nas.Example.org.:8443'), { name: 'nas.example.org', port: 8443 });
  assert.deepEqual(readAuthority('[2001:DB8::7]'), { name: '2001:db8::7', port: undefined });
  for (const text of ['', ':80', 'a b', 'http://a', 'a/b', 'a:b', '[a', 'a@b', 'a:123456'])
    assert.equal(readAuthority(text), undefined, text);
});

test('names of proxies come from the command line or the environment, and an invalid one is refused', () => {
  const environment = { HOLDFAST_CONFIG: '/dev/null' };
  assert.deepEqual(readSettings({}, environment, false).names, []);
  assert.deepEqual(
    readSettings({}, { ...environment, HOLDFAST_NAMES: 'Nas.example.org, files.example.org:8443' }, false).names,
    ['nas.example.org', 'files.example.org:8443'],
  );
  assert.deepEqual(readSettings({ names: 'a' }, { ...environment, HOLDFAST_NAMES: 'b' }, false).names, ['a']);
  assert.throws(() => readSettings({ names: 'https://a/' }, environment, false), SettingsError);
  assert.throws(
    () => readSettings({}, { ...environment, HOLDFAST_ROOT_PASSWORD: 'x'.repeat(1025) }, false),
    SettingsError,
  );
});
