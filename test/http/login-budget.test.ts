import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LoginBudget, sourceOf } from '../../src/http/login-budget.ts';

const from = (remote: string, local = '192.0.2.7') => sourceOf({ remote, local });
const minute = 60_000;

function budget() {
  let time = 0;
  return {
    of: new LoginBudget(() => time),
    pass(milliseconds: number) {
      time += milliseconds;
    },
  };
}

/** Sends guesses without waiting, and returns how many passwords were checked. */
function guess(of: LoginBudget, address: string, times: number): number {
  let tried = 0;
  for (let count = 0; count < times; count += 1) {
    const source = from(address);
    if (of.wait(source, 'root') > 0) continue;
    of.begin(source);
    of.refused('root', address);
    tried += 1;
  }
  return tried;
}

test('an address has five wrong attempts, then waits longer after each further one', () => {
  const { of, pass } = budget();
  assert.equal(guess(of, '198.51.100.1', 1000), 5);
  const waits: number[] = [];
  for (let count = 0; count < 8; count += 1) {
    const seconds = of.wait(from('198.51.100.1'), 'root');
    waits.push(seconds);
    pass(seconds * 1000);
    assert.equal(guess(of, '198.51.100.1', 1000), 1, `after ${seconds} s`);
  }
  assert.ok(
    waits.every((seconds, index) => index === 0 || seconds >= (waits[index - 1] ?? 0)),
    waits.join(' '),
  );
  assert.ok(Math.max(...waits) <= 60 && (waits.at(-1) ?? 0) > 20, waits.join(' '));
});

test('wrong attempts of an address decay with time', () => {
  const { of, pass } = budget();
  guess(of, '198.51.100.1', 1000);
  pass(30 * minute);
  assert.equal(of.wait(from('198.51.100.1'), 'root'), 0);
  assert.ok(guess(of, '198.51.100.1', 1000) >= 4);
});

test('a correct password clears the address', () => {
  const { of } = budget();
  guess(of, '198.51.100.1', 4);
  of.begin(from('198.51.100.1'));
  of.succeeded(from('198.51.100.1'));
  assert.equal(guess(of, '198.51.100.1', 1000), 5);
});

test('during an attack each new address has one free attempt, and addresses with a wrong attempt wait', () => {
  const { of } = budget();
  for (let count = 1; count <= 200; count += 1) guess(of, `198.51.100.${count}`, 5);
  assert.equal(of.wait(from('203.0.113.1'), 'root'), 0);
  assert.equal(guess(of, '203.0.113.1', 1000), 1);
  assert.equal(of.wait(from('203.0.113.2'), 'another account'), 0);
});

test('whatever other addresses do, the machine itself and an address without attempts never wait', () => {
  const address = fc
    .tuple(fc.integer({ min: 1, max: 223 }), fc.nat(255), fc.nat(255), fc.nat(255))
    .map((bytes) => bytes.join('.'));
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(fc.constantFrom('127.0.0.1', '192.0.2.7', '::1', '198.51.100.1', '198.51.100.2'), fc.nat(100_000)),
        { maxLength: 300 },
      ),
      address,
      (guesses, owner) => {
        const { of, pass } = budget();
        for (const [one, milliseconds] of guesses) {
          pass(milliseconds);
          guess(of, one, 1);
        }
        for (const local of ['127.0.0.1', '127.8.9.10', '::1', '192.0.2.7'])
          assert.equal(of.wait(from(local), 'root'), 0, local);
        if (!/^198\.51\.100\.[12]$/.test(owner)) assert.equal(of.wait(from(owner), 'root'), 0, owner);
      },
    ),
  );
});

test('IPv6 addresses count by their /64 network', () => {
  const { of } = budget();
  for (let count = 0; count < 10; count += 1) guess(of, `2001:db8:1:2::${count}`, 1);
  assert.ok(of.wait(from('2001:db8:1:2:ffff::1'), 'root') > 0);
  assert.equal(of.wait(from('2001:db8:1:3::1'), 'root'), 0);
  assert.equal(from('fe80::1%eth0').name, from('fe80::2%eth1').name);
});

test('addresses with fewer attempts rank first, and those with an earlier login before all', () => {
  const { of } = budget();
  guess(of, '198.51.100.1', 3);
  of.begin(from('203.0.113.1'));
  of.succeeded(from('203.0.113.1'));
  const [guesser, unknown, known] = ['198.51.100.1', '203.0.113.9', '203.0.113.1'].map((one) => of.rank(from(one)));
  assert.ok((known ?? 0) < (unknown ?? 0) && (unknown ?? 0) < (guesser ?? 0), `${known} ${unknown} ${guesser}`);
});

test('an attack is reported from the twentieth refused login until an hour after the last', () => {
  const { of, pass } = budget();
  for (let count = 1; count < 20; count += 1) of.refused('root', '198.51.100.1');
  assert.equal(of.attack, undefined);
  for (let count = 0; count < 31; count += 1) of.refused('root', '198.51.100.2');
  assert.deepEqual(of.attack, { account: 'root', refused: 50, address: '198.51.100.2' });
  pass(59 * minute);
  assert.notEqual(of.attack, undefined);
  pass(2 * minute);
  assert.equal(of.attack, undefined);
});
