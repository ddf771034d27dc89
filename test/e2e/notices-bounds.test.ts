import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AlertWatch } from '../../src/areas/system/alert-watch.ts';
import { notice } from '../../src/areas/system/notice.ts';
import { appliance } from '../support/appliance.ts';
import { mail } from '../support/mail-server.ts';

test('a program has at most 100 notices, the newest', async () => {
  await using box = await appliance();
  for (let n = 0; n < 105; n += 1)
    assert.equal(
      await box.app.notices.take({ source: 'smartd', subject: `/dev/sd${n}`, event: 'Health', text: '' }),
      undefined,
    );
  const subjects = box.engine
    .table(notice)
    .all()
    .map(({ subject }) => subject);
  assert.equal(subjects.length, 100);
  assert.ok(!subjects.includes('/dev/sd4') && subjects.includes('/dev/sd5') && subjects.includes('/dev/sd104'));
});

test('mail that failed is sent again after a pause that grows, and at once with new settings', async () => {
  let now = Date.now();
  await using box = await appliance({ now: () => now, sendsMail: true });
  await box.api.expect(200, 'PUT', 'services/services/ups/', { srv_enable: true });
  await box.app.notices.take({ source: 'ups', subject: 'rack', event: 'ONBATT', text: '' });
  // Nothing listens there.
  await box.api.expect(200, 'PUT', 'system/email/', mail(1));
  const watch = new AlertWatch(box.engine, box.app.mailer, {
    debug: () => {},
    info: () => {},
    warn: (_fields, message) => void failures.push(message),
    error: () => {},
  });
  const failures: string[] = [];
  const after = async (minutes: number) => {
    now += minutes * 60_000;
    await watch.look();
    return failures.length;
  };
  assert.deepEqual([await after(0), await after(0), await after(0.9)], [1, 1, 1]);
  assert.deepEqual([await after(0.2), await after(1.9), await after(0.2)], [2, 2, 3]);
  assert.deepEqual([await after(3.9), await after(0.2)], [3, 4]);
  await box.api.expect(200, 'PUT', 'system/email/', mail(2));
  assert.equal(await after(0), 5);
  await watch.close();
});
