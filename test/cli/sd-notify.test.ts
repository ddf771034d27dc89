import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { StartNotifier } from '../../src/cli/sd-notify.ts';

/** A notifier with the clock of the test, and the messages that it sent. */
function notifier(t: { after(deed: () => void): void }) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let now = 0;
  const sent: string[] = [];
  const one = new StartNotifier({
    send: async (...states) => void sent.push(states.join(' ')),
    now: () => now,
  });
  const pass = (seconds: number) => {
    now += seconds * 1000;
    mock.timers.tick(seconds * 1000);
  };
  return { one, sent, pass };
}

const extended = (what: string) => `EXTEND_TIMEOUT_USEC=300000000 STATUS=Starting: ${what}`;

test('a start that ends within ten seconds sends only READY=1', async (t) => {
  const { one, sent, pass } = notifier(t);
  for (const what of ['a', 'b', '']) {
    pass(3);
    one.progress(what);
  }
  await one.ready();
  pass(60);
  assert.deepEqual(sent, ['READY=1 STATUS=Serving']);
});

test('progress extends the start timeout, at most every ten seconds, with the newest status', (t) => {
  const { one, sent, pass } = notifier(t);
  for (let second = 1; second <= 25; second += 1) {
    pass(1);
    one.progress(`step ${second}`);
  }
  assert.deepEqual(sent, [extended('step 9'), extended('step 19')]);
});

test('a start without progress is not extended', (t) => {
  const { one, sent, pass } = notifier(t);
  one.progress('stuck');
  pass(600);
  assert.deepEqual(sent, [extended('stuck')]);
});

test('after the start only the status is sent', async (t) => {
  const { one, sent, pass } = notifier(t);
  one.progress('importing tank');
  await one.ready();
  pass(20);
  one.progress('');
  assert.deepEqual(sent, ['READY=1 STATUS=Serving, importing tank', 'STATUS=Serving']);
});
