import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meaningOf, readNotification, upsEventNames } from '../../../src/areas/system/notice.ts';

const notification = (event: string, text = '') => ({ source: 'ups', subject: 'rack@localhost', event, text }) as const;

test('control characters are replaced and long texts are truncated', () => {
  const read = readNotification({
    source: 'smartd',
    subject: '/dev/sda\r\nBcc: x',
    event: 'Health\u0000',
    text: `line\nline\u001b[31m${'x'.repeat(9000)}`,
  });
  assert.deepEqual(
    [read?.subject, read?.event, read?.text.slice(0, 16), read?.text.length],
    ['/dev/sda  Bcc: x', 'Health', 'line\nline [31mxx', 8000],
  );
});

test('invalid notifications are rejected', () => {
  for (const value of [
    undefined,
    null,
    7,
    'x',
    [],
    {},
    { ...notification('ONBATT'), source: 'root' },
    { ...notification('ONBATT'), subject: ' \n' },
    { ...notification(''), text: 1 },
  ]) {
    assert.equal(readNotification(value), undefined, JSON.stringify(value));
  }
});

test('every supported event of upsmon has a kind and a level', () => {
  const kinds = upsEventNames.map((event) => [
    event,
    meaningOf(notification(event))?.kind,
    meaningOf(notification(event))?.level,
  ]);
  assert.deepEqual(kinds, [
    ['ONLINE', 'power', 'ends'],
    ['ONBATT', 'power', 'WARN'],
    ['LOWBATT', 'power', 'CRIT'],
    ['FSD', 'power', 'CRIT'],
    ['SHUTDOWN', 'power', 'CRIT'],
    ['COMMOK', 'contact', 'ends'],
    ['COMMBAD', 'contact', 'WARN'],
    ['NOCOMM', 'contact', 'WARN'],
    ['REPLBATT', 'battery', 'WARN'],
  ]);
  assert.equal(meaningOf(notification('toString')), undefined);
});
