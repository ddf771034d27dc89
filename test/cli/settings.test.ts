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

test('a virtual host posts to webhooks only if an option or the environment says so', () => {
  assert.equal(readSettings({}, none, false).sendWebhooks, false);
  assert.equal(readSettings({ sendWebhooks: true }, none, false).sendWebhooks, true);
  assert.equal(readSettings({}, { ...none, HOLDFAST_SEND_WEBHOOKS: 'yes' }, false).sendWebhooks, true);
});

test('the offset of ports is one that leads from the privileged ports to others', () => {
  assert.equal(readSettings({}, none, false).portOffset, 9000);
  assert.equal(readSettings({ portOffset: '20000' }, none, false).portOffset, 20_000);
  for (const portOffset of ['0', '443', '1e4', '65000', '-1'])
    assert.throws(() => readSettings({ portOffset }, none, false), /Expected --port-offset as a number from 1024/);
});

test('a slow machine may have longer stalls', () => {
  assert.equal(readSettings({}, none, false).longestTurn, 50);
  assert.equal(readSettings({}, { ...none, HOLDFAST_STALL: '500' }, false).longestTurn, 500);
  for (const HOLDFAST_STALL of ['0', '5', '1s', '', '1000000'])
    assert.throws(() => readSettings({}, { ...none, HOLDFAST_STALL }, false), /Expected HOLDFAST_STALL as a number/);
});

test('the clock of a virtual host can be set off by seconds, that of a real machine cannot', () => {
  assert.equal(readSettings({}, none, false).clockOffset, 0);
  assert.equal(readSettings({ clockOffset: '-3600' }, none, false).clockOffset, -3_600_000);
  for (const clockOffset of ['1h', '1.5', ''])
    assert.throws(() => readSettings({ clockOffset }, none, false), /Expected --clock-offset as a number of seconds/);
  assert.throws(() => readSettings({ host: 'linux', clockOffset: '5' }, none, true), /uses the clock of the machine/);
});

test('a mail setting that means nothing is refused by name', () => {
  for (const [environment, message] of [
    [{ HOLDFAST_SEND_MAIL: '1' }, /HOLDFAST_SEND_MAIL to be yes or no, got "1"/],
    [{ HOLDFAST_SEND_WEBHOOKS: 'on' }, /HOLDFAST_SEND_WEBHOOKS to be yes or no, got "on"/],
    [{ HOLDFAST_UNVERIFIED_MAIL: '*' }, /--unverified-mail as host names or addresses.* got "\*"/],
  ] as const)
    assert.throws(
      () => readSettings({}, { ...none, ...environment }, false),
      (error) => error instanceof SettingsError && message.test(error.message),
    );
});
