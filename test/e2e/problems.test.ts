import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AlertWatch } from '../../src/areas/system/alert-watch.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

let box: Appliance;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

const problems = (query = '') => box.api.list(`/api/holdfast/v1/problems${query}`);
const idle = { debug() {}, info() {}, warn() {}, error() {} };

test('a problem is in the list, among the alerts, in the readiness, in the events and in the log', async () => {
  assert.deepEqual(await problems(), []);
  assert.deepEqual((await box.api.get('/readyz')).json, { status: 'ready' });
  await box.api.expect(200, 'PUT', 'services/cifs/', { cifs_srv_authmodel: 'share' });
  const [problem, ...others] = await problems();
  assert.deepEqual(others, []);
  const { id, message, since, ...rest } = problem ?? {};
  assert.deepEqual(rest, {
    kind: 'ineffective',
    about: 'services/cifs',
    severity: 'warning',
    dismissed: false,
    snoozed_until: null,
    affects: [],
    remedy: { method: 'PUT', path: '/api/v1.0/services/cifs/', body: { cifs_srv_authmodel: 'user' } },
  });
  assert.ok(Math.abs(Date.parse(String(since)) - Date.now()) < 60_000);
  assert.deepEqual(await box.api.list('system/alert/'), [{ id, level: 'WARN', message, dismissed: false }]);
  const seen = () => box.engine.events.since(0).filter(({ name }) => name.startsWith('problem.'));
  while (seen().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(
    seen().map(({ name, payload }) => [name, payload]),
    [['problem.began', { id, kind: 'ineffective', about: 'services/cifs', severity: 'warning', message }]],
  );
  assert.deepEqual(
    box.log.filter((line) => line.message === message).map(({ level }) => level),
    ['warn'],
  );
  assert.equal((await box.api.send('PUT', `system/alert/${id}/dismiss/`, true)).status, 202);
  assert.deepEqual(
    (await problems()).map(({ dismissed }) => dismissed),
    [true],
  );
});

test('the remedy of a problem ends it', async () => {
  const [problem] = await problems('?about=services');
  assert.deepEqual(await problems('?about=service'), []);
  const remedy: unknown = problem?.['remedy'];
  assert.deepEqual(remedy, {
    method: 'PUT',
    path: '/api/v1.0/services/cifs/',
    body: { cifs_srv_authmodel: 'user' },
  });
  await box.api.expect(200, 'PUT', '/api/v1.0/services/cifs/', { cifs_srv_authmodel: 'user' });
  assert.deepEqual(await problems(), []);
});

test('a critical problem makes the appliance degraded, and since when is remembered over a restart', async () => {
  await using one = await appliance();
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  const [device] = (await one.host.zfs.pools())[0]?.groups[0]?.devices ?? [];
  await one.api.expect(202, 'POST', 'storage/volume/tank/offline/', { label: device?.guid });
  assert.deepEqual((await one.api.get('/readyz')).json, { status: 'degraded' });
  const watch = new AlertWatch(one.engine, one.app.mailer, idle);
  await watch.look();
  await watch.close();
  const sinceOf = async ({ api }: Appliance) =>
    (await api.list('/api/holdfast/v1/problems')).find(({ kind }) => kind === 'pool')?.['since'];
  const since = await sinceOf(one);
  const again = await one.restart();
  assert.equal(await sinceOf(again), since);
  await again.app.close();
});
