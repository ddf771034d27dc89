import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings, SettingsError } from '../../src/cli/settings.ts';

const none = { HOLDFAST_CONFIG: '/dev/null' };

test('mail settings come from options and the environment; without them mail is kept and every server verified', () => {
  const fresh = readSettings({}, none, false);
  assert.deepEqual([fresh.sendMail, fresh.unverifiedMail], [false, []]);
  const sent = readSettings({ sendMail: true, unverifiedMail: 'Mail.example.org, 192.0.2.1' }, none, false);
  assert.deepEqual([sent.sendMail, sent.unverifiedMail], [true, ['mail.example.org', '192.0.2.1']]);
  const named = { ...none, HOLDFAST_SEND_MAIL: 'yes', HOLDFAST_UNVERIFIED_MAIL: '2001:db8::1' };
  assert.deepEqual(readSettings({}, named, false).unverifiedMail, ['2001:db8::1']);
  assert.equal(readSettings({}, named, false).sendMail, true);
});

test('the offset of ports is one that leads from the privileged ports to others', () => {
  assert.equal(readSettings({}, none, false).portOffset, 9000);
  assert.equal(readSettings({ portOffset: '20000' }, none, false).portOffset, 20_000);
  for (const portOffset of ['0', '443', '1e4', '65000', '-1'])
    assert.throws(() => readSettings({ portOffset }, none, false), /Expected --port-offset as a number from 1024/);
});

test('a mail setting that means nothing is refused by name', () => {
  for (const [environment, message] of [
    [{ HOLDFAST_SEND_MAIL: '1' }, /HOLDFAST_SEND_MAIL to be yes or no, got "1"/],
    [{ HOLDFAST_UNVERIFIED_MAIL: '*' }, /--unverified-mail as host names or addresses.* got "\*"/],
  ] as const)
    assert.throws(
      () => readSettings({}, { ...none, ...environment }, false),
      (error) => error instanceof SettingsError && message.test(error.message),
    );
});
