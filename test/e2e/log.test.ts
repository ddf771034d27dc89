/** What the log of the daemon has: little on a quiet day, and the id of each request that changed something. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { appliance } from '../support/appliance.ts';
import { standingClock } from '../support/hosts.ts';
import { managementRoot } from '../support/management.ts';

const minute = 60_000;
const shown = new Set(['info', 'warn', 'error']);

test('a day without changes has one line for each run of a task, and no other', async () => {
  const clock = standingClock(Date.UTC(2026, 0, 12, 0, 0, 30));
  await using nas = await appliance({ now: clock.now, keepsHistory: true });
  await nas.api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'UTC' });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  for (const service of ['ftp', 'snmp'])
    await nas.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable: true });
  // Ten snapshots, from 9 to 18 o'clock. A scrub task is there for each volume, and its day is not today.
  await nas.api.expect(201, 'POST', 'storage/task/', {
    task_filesystem: 'tank',
    task_ret_count: 1,
    task_ret_unit: 'year',
  });
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  const before = nas.log.length;
  for (let passed = 0; passed < 24 * 60; passed += 1) {
    clock.advance(minute);
    nas.engine.lookAtClock();
    await nas.app.history.sample();
    while (nas.engine.jobs.list(5).some(({ state }) => state === 'running')) await pause(1);
    if (passed % 30 !== 0) continue;
    await nas.engine.renew('storage', 'condition', 'services');
    await nas.engine.inspect();
    for (const path of ['/metrics', '/readyz', `${managementRoot}/problems`])
      assert.ok((await nas.api.get(path)).status < 300);
  }
  const lines = nas.log.slice(before).filter(({ level }) => shown.has(level));
  const counts = Map.groupBy(lines, ({ level, message }) => `${level} ${message.replace(/\d{8}\.\d{4}/, 'TIME')}`);
  assert.deepEqual(
    [...counts].map(([line, { length }]) => [line, length]),
    [['info create the snapshot tank@auto-TIME-1y', 10]],
  );
});

test('a request has the same id in its answer, in the log, in the audit log and in its revision', async () => {
  await using nas = await appliance();
  const answer = await nas.api.put('services/snmp/', { snmp_location: 'here' });
  assert.equal(answer.status, 200);
  const id = answer.headers.get('x-request-id') ?? '';
  assert.match(id, /./);
  const lines = nas.log.filter(({ fields }) => isObject(fields) && fields['request'] === id);
  assert.ok(lines.length > 0);
  const [revision] = await nas.api.list(`${managementRoot}/revisions?limit=1`);
  const entries = await nas.api.list(`${managementRoot}/audit`);
  assert.equal(revision?.['request'], id);
  assert.deepEqual(
    entries.filter(({ request }) => request === id).map(({ path, status }) => [path, status]),
    [['/api/v1.0/services/snmp/', 200]],
  );
});
