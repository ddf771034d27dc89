import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ChecksBusy, longestPassword, Passwords } from '../../src/engine/passwords.ts';

const passwords = new Passwords();
after(() => passwords.close());

const { unix } = await passwords.hash('right');

test('a password is checked against its hash', async () => {
  await using other = disposable(new Passwords());
  for (const one of [other.it, passwords]) {
    assert.equal(await one.verify('right', unix), true);
    assert.equal(await one.verify('wrong', unix), false);
    for (const closed of ['*', '!', `!${unix}`, '']) assert.equal(await one.verify('right', closed), false, closed);
  }
});

test('a password above the maximum length is refused before it is hashed', async () => {
  await using busy = disposable(new Passwords({ mostWaiting: 1 }));
  // Both are answered without the worker, which is busy for longer than the test runs.
  void busy.it.verify('a', unix).catch(() => {});
  void busy.it.verify('b', unix, { rank: () => 0 }).catch(() => {});
  for (const long of [
    'x'.repeat(longestPassword + 1),
    'x'.repeat(10_240),
    '\u{1f511}'.repeat(longestPassword / 4 + 1),
  ]) {
    assert.equal(await busy.it.verify(long, unix, { rank: () => 9 }), false);
    await assert.rejects(busy.it.hash(long), /at most 1024 bytes/);
  }
});

test('the longest password that a field accepts is hashed and checked', async () => {
  const longest = '\u{1f511}'.repeat(256);
  await using other = disposable(new Passwords());
  assert.equal(await other.it.verify(longest, (await passwords.hash(longest)).unix), true);
});

test('the lowest rank is checked first, the newest among equals; checks of the daemon come before all, in order', async () => {
  await using one = disposable(new Passwords());
  const done: string[] = [];
  const check = (name: string, rank?: number) =>
    one.it.verify(name, unix, ...(rank === undefined ? [] : [{ rank: () => rank }])).then(() => done.push(name));
  const under = check('under way', 9);
  await Promise.all([
    under,
    check('third', 3),
    check('first', 1),
    check('second, older', 2),
    check('second', 2),
    check('own'),
    check('own, later'),
  ]);
  assert.deepEqual(done, ['under way', 'own', 'own, later', 'first', 'second', 'second, older', 'third']);
});

test('when too many checks are pending, the oldest one with the highest rank is refused', async () => {
  await using one = disposable(new Passwords({ mostWaiting: 3 }));
  const outcomes = ['under way', 'a', 'b', 'c', 'owner'].map((name, index) =>
    one.it.verify(name, unix, { rank: () => (index === 4 ? 0 : 5) }).then(
      () => name,
      (error: unknown) => error,
    ),
  );
  const [, oldest, ...others] = await Promise.all(outcomes);
  assert.ok(oldest instanceof ChecksBusy, String(oldest));
  assert.deepEqual(others, ['b', 'c', 'owner']);
});

test('a check is dropped when no caller waits for its result', async () => {
  await using one = disposable(new Passwords());
  let isWanted = true;
  const under = one.it.verify('under way', unix);
  const gone = one.it.verify('right', unix, { rank: () => 1, isWanted: () => isWanted });
  isWanted = false;
  await assert.rejects(gone, ChecksBusy);
  await under;
});

test('a question that comes while the idle worker is being stopped is answered', { timeout: 20_000 }, async () => {
  await using one = disposable(new Passwords());
  assert.equal(await one.it.verify('right', unix), true);
  const stopping = one.it.close();
  assert.equal(await one.it.verify('right', unix), true);
  await stopping;
  assert.equal(await one.it.verify('right', unix), true, 'its own worker goes on');
});

function disposable(it: Passwords) {
  return { it, [Symbol.asyncDispose]: () => it.close() };
}
