import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meaningOf, readNotification, upsEventNames } from '../../../src/areas/system/notice.ts';

const told = (event: string, text = '') => ({ source: 'ups', subject: 'rack@localhost', event, text }) as const;

test('control characters and what is too long do not come through', () => {
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

test('what is no message is none', () => {
  for (const value of [
    undefined,
    null,
    7,
    'x',
    [],
    {},
    { ...told('ONBATT'), source: 'root' },
    { ...told('ONBATT'), subject: ' \n' },
    { ...told(''), text: 1 },
  ]) {
    assert.equal(readNotification(value), undefined, JSON.stringify(value));
  }
});

test('every event of upsmon that is told has a meaning, and those that it ends are of its kind', () => {
  const kinds = upsEventNames.map((event) => [event, meaningOf(told(event))?.kind, meaningOf(told(event))?.level]);
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
  assert.equal(meaningOf(told('toString')), undefined);
});
