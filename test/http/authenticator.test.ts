import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { after, test } from 'node:test';
import type { Principal } from '../../src/engine/change/request.ts';
import { Passwords } from '../../src/engine/passwords.ts';
import { type Account, Authenticator, type Refusal } from '../../src/http/authenticator.ts';
import type { RefusedLogin } from '../../src/http/refused-logins.ts';

const passwords = new Passwords();
after(() => passwords.close());
const { unix } = await passwords.hash('right');

/** A fake remote connection: real connections of a test come from the loopback, which is never rate-limited. */
function connectionFrom(address: string): Socket {
  return Object.defineProperty(new Socket(), 'remoteAddress', { value: address });
}

const root: Principal = { name: 'root', id: 'root', credential: { kind: 'password' } };
const replicationToken: Principal = {
  name: 'replication token',
  id: 'replication token',
  credential: { kind: 'token' },
};
const account: Account = { hash: unix, least: 0, admit: () => root };

function authenticator({ now = Date.now } = {}) {
  const lines: RefusedLogin[] = [];
  const of = new Authenticator(passwords, (name) => (name === 'root' ? account : undefined), {
    now,
    refused: (line) => lines.push(line),
  });
  const ask = async (
    authorization: string,
    address: string,
    { method = 'GET', url = '/api/v1.0/services/ftp/' } = {},
  ): Promise<Principal | Refusal> => {
    const message = new IncomingMessage(connectionFrom(address));
    return of.admit(Object.assign(message, { method, url, headers: { authorization } }));
  };
  return {
    of,
    lines,
    ask,
    login: (password: string, address: string, name = 'root') =>
      ask(`Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`, address),
  };
}

const wrong = { retryAfter: undefined };

test('after five wrong passwords an address is refused without a check, and other addresses are not', async () => {
  const { login, lines } = authenticator();
  const answers = [];
  for (let count = 0; count < 20; count += 1) answers.push(await login(`guess ${count}`, '198.51.100.1'));
  assert.deepEqual(answers.slice(0, 5), Array<Refusal>(5).fill(wrong));
  for (const answer of answers.slice(5))
    assert.ok('retryAfter' in answer && (answer.retryAfter ?? 0) > 0, JSON.stringify(answer));
  assert.ok('retryAfter' in (await login('right', '198.51.100.1')), 'that address may not try yet');
  assert.deepEqual(await login('right', '203.0.113.1'), root);
  assert.deepEqual(lines[0], { address: '198.51.100.1', account: 'root', reason: 'wrong credential', refused: 1 });
});

test('parallel attempts from one address do not evade the limit', async () => {
  const { login } = authenticator();
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => login(`guess ${index}`, '198.51.100.1')));
  assert.equal(answers.filter((answer) => 'retryAfter' in answer && answer.retryAfter === undefined).length, 5);
});

test('a credential that was accepted before is accepted from any address, also a rate-limited one', async () => {
  const { login } = authenticator();
  assert.deepEqual(await login('right', '203.0.113.1'), root);
  for (let count = 0; count < 20; count += 1) await login(`guess ${count}`, '198.51.100.1');
  assert.deepEqual(await login('right', '198.51.100.1'), root);
});

test('a program that repeats an old password does not lock its address out', async () => {
  const { login } = authenticator();
  for (let count = 0; count < 100; count += 1) assert.deepEqual(await login('an old one', '198.51.100.1'), wrong);
  assert.deepEqual(await login('right', '198.51.100.1'), root);
});

test('an attack from a thousand rate-limited addresses does not lock new addresses out', async () => {
  const { login } = authenticator();
  const storm = Array.from({ length: 1000 }, (_, index) =>
    login(`guess ${index}`, `198.51.${100 + (index % 4)}.${index % 250}`),
  );
  const start = performance.now();
  assert.deepEqual(await login('right', '203.0.113.1'), root);
  assert.ok(performance.now() - start < 1000, `it took ${performance.now() - start} ms`);
  await Promise.all(storm.slice(0, 1));
});

test('a flood of refused logins is logged as a count, not line by line', async () => {
  const { login, lines } = authenticator();
  for (let count = 0; count < 1000; count += 1) await login('the same', '198.51.100.1');
  assert.ok(lines.length >= 5 && lines.length < 100, `${lines.length} lines`);
});

test('at most 64 characters of a name are logged', async () => {
  const { login, lines } = authenticator();
  await login('x', '198.51.100.1', 'n'.repeat(5000));
  assert.equal(lines[0]?.account.length, 64);
});

test('a pairing token is used up by any request that sends it', async () => {
  const { of, ask } = authenticator();
  const pairing = { method: 'POST', url: '/api/v1.0/storage/replication/pair/' };
  const token = () => `Token ${of.issueToken().token}`;
  const good = token();
  assert.deepEqual(await ask(good, '198.51.100.1', pairing), replicationToken);
  assert.deepEqual(await ask(good, '198.51.100.1', pairing), wrong);
  for (const [index, other] of [
    {},
    { ...pairing, method: 'GET' },
    { ...pairing, url: '/api/holdfast/v1/tokens' },
    { ...pairing, url: '/api/holdfast/v1/cluster/join' },
  ].entries()) {
    const seen = token();
    const address = `203.0.113.${index}`;
    assert.deepEqual(await ask(seen, address, other), wrong, JSON.stringify(other));
    assert.deepEqual(await ask(seen, address, pairing), wrong, JSON.stringify(other));
  }
});

test('a token for a pair is accepted at its path alone, once and for ten minutes, and wrong ones count as guesses', async () => {
  let now = 0;
  const { of, ask } = authenticator({ now: () => now });
  const joining = { method: 'POST', url: '/api/holdfast/v1/cluster/join' };
  const { id } = of.expectJoin('first');
  assert.deepEqual(await ask('Token first', '203.0.113.1', joining), {
    ...{ name: 'cluster token', id: 'cluster token', credential: { kind: 'token', id } },
  });
  assert.deepEqual(await ask('Token first', '203.0.113.1', joining), wrong);
  of.expectJoin('second');
  assert.deepEqual(
    await ask('Token second', '203.0.113.1', { ...joining, url: '/api/v1.0/storage/replication/pair/' }),
    wrong,
  );
  of.expectJoin('late');
  now += 10 * 60_000;
  assert.deepEqual(await ask('Token late', '203.0.113.1', joining), wrong);
  of.expectJoin('right');
  for (let guess = 0; guess < 5; guess += 1) await ask(`Token guess${guess}`, '203.0.113.9', joining);
  const refused = await ask('Token right', '203.0.113.9', joining);
  assert.ok('retryAfter' in refused && refused.retryAfter !== undefined);
  // It was not compared, so that it was not used up.
  assert.equal('name' in (await ask('Token right', '203.0.113.2', joining)), true);
});
