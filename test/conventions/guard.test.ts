import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { routesOf } from '../../src/http/routes.ts';
import { rootPassword } from '../support/appliance.ts';
import { addressed, isHarmless, pathOf, readable } from '../support/catalogue.ts';
import { furnished } from '../support/furnished.ts';
import { managementPaths } from '../support/management.ts';
import { headOf } from '../support/raw.ts';

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'] as const;

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** Each is a way not to be root. `user0` is an account of the examples, with this very password. */
const strangers: readonly (readonly [title: string, authorization: string | undefined])[] = [
  ['no credential', undefined],
  ['a wrong password', basic('root', 'a wrong password')],
  ['an empty password', basic('root', '')],
  ['the password with a blank behind it', basic('root', `${rootPassword} `)],
  ['an account that does not exist', basic('nobody-at-all', rootPassword)],
  ['an account that is not root, with its right password', basic('user0', 'secret 0')],
  ['root in other letters', basic('Root', rootPassword)],
  ['a name that every object has', basic('__proto__', 'x')],
  ['no colon', `Basic ${Buffer.from('root').toString('base64')}`],
  ['no base64', 'Basic \u00e9\u00e9\u00e9'],
  ['an empty credential', 'Basic '],
  ['another scheme', basic('root', rootPassword).replace('Basic', 'Digest')],
  ['a made-up bearer', 'Bearer 0123456789abcdef'],
  ['only a scheme', 'Basic'],
  ['the hash for the password', basic('root', '$6$rounds=5000$x$y')],
  ['a long password', basic('root', 'x'.repeat(8000))],
];

/** Probes are answered in one word: GET and HEAD without a credential, and nothing else. */
const probed = ['/healthz', '/readyz'];

const beyond = [
  ...probed,
  '/openapi.json',
  '/api/v1.0/',
  '/api/v1.0/no/such/',
  ...managementPaths,
  '/docs',
  '/metrics',
  '/',
];

test('without the right credential every address and method answers 401, and nothing changes', async () => {
  await using world = await furnished();
  const documented = routesOf(addressed).map((route) => {
    const rest = route.pattern.slice(route.resource.path.length).replace(/\{key\*?\}/, '1');
    return { path: `/api/v1.0/${pathOf(route.resource)}${rest}/`, allowed: [...route.operations.keys()].map(String) };
  });
  const others = beyond.map((path) => ({ path, allowed: [...methods].map(String) }));
  const before = { machine: await world.machineState(), kept: world.keptState() };
  world.faults.heal();
  for (const { path, allowed } of [...documented, ...others]) {
    for (const method of methods) {
      // The whole list on one method of each address, the first two on every one: a password takes its time to be checked.
      const tried =
        method === allowed[0] && path.includes('cronjob') ? strangers : strangers.slice(0, method === 'GET' ? 3 : 1);
      for (const [title, authorization] of tried) {
        const answer = await fetch(`${world.api.url}${path}`, {
          method,
          redirect: 'manual',
          headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
          ...(method === 'GET' || method === 'HEAD' ? {} : { body: '{}' }),
        });
        const told = `${method} ${path} with ${title} answered ${answer.status}`;
        const text = await answer.text();
        if (probed.includes(path) && ['GET', 'HEAD'].includes(method) && authorization === undefined) {
          assert.equal(answer.status, 200, told);
          assert.match(text, method === 'HEAD' ? /^$/ : /^[a-z]+\n$/, told);
          continue;
        }
        assert.equal(answer.status, 401, told);
        assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic realm="/i, told);
      }
    }
  }
  assert.deepEqual(
    world.faults.titles.filter((call) => !isHarmless(call)),
    [],
  );
  assert.deepEqual({ machine: await world.machineState(), kept: world.keptState() }, before);
});

test('who has no right credential is refused before a body is read, on every address', async () => {
  await using world = await furnished();
  const paths = [...routesOf(addressed).map((route) => `/api/v1.0/${pathOf(route.resource)}/`), ...beyond];
  for (const path of new Set(paths)) {
    for (const headers of [{ 'content-length': '1000000' }, { 'transfer-encoding': 'chunked' }]) {
      const socket = connect(Number(new URL(world.api.url).port), '127.0.0.1');
      socket.write(headOf('POST', path, { ...headers, authorization: basic('root', 'a wrong password') }));
      const [answer] = await once(socket, 'data');
      assert.match(String(answer), /^HTTP\/1\.1 401 /, `${path} ${JSON.stringify(headers)}`);
      socket.destroy();
    }
  }
});

test('a method in a header does not get past the gate', async () => {
  await using world = await furnished();
  const before = world.keptState();
  for (const method of ['DELETE', 'POST', 'PUT', 'TRACE']) {
    const answer = await fetch(`${world.api.url}/api/v1.0/tasks/cronjob/`, {
      headers: { 'x-http-method-override': method },
    });
    assert.equal(answer.status, 401, method);
  }
  assert.deepEqual(world.keptState(), before);
});

test('nothing happens on GET and HEAD, whatever is read', async () => {
  await using world = await furnished();
  const before = { machine: await world.machineState(), kept: world.keptState() };
  const revisions = (await world.api.get('/api/holdfast/v1/revisions?limit=1')).text;
  world.faults.heal();
  // One GET of the document changes something: it dismisses an alert (Part C, gaps 14.2).
  const paths = [
    ...(await readable(world.api)).filter((path) => !path.endsWith('/dismiss/')),
    ...beyond.filter((path) => !path.endsWith('/events')),
  ];
  assert.ok(paths.length > 100, `only ${paths.length} addresses were found`);
  for (const path of paths) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await world.api.send(method, path);
      assert.ok(
        answer.status === 200 || (beyond.includes(path) && [404, 405].includes(answer.status)),
        `${method} ${path} answered ${answer.status} ${answer.text.slice(0, 200)}`,
      );
    }
  }
  assert.deepEqual(
    world.faults.titles.filter((call) => !isHarmless(call)),
    [],
  );
  assert.deepEqual({ machine: await world.machineState(), kept: world.keptState() }, before);
  assert.equal((await world.api.get('/api/holdfast/v1/revisions?limit=1')).text, revisions);
});
