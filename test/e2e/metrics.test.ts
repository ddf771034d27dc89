import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { families } from '../../src/areas/metrics/families.ts';
import type { Exposition } from '../../src/lib/exposition.ts';
import { appliance } from '../support/appliance.ts';
import { type ParsedFamily, parseExposition } from '../support/exposition.ts';
import { type Furnished, furnished } from '../support/furnished.ts';
import { withKey } from '../support/keys.ts';

let world: Furnished;

before(async () => {
  world = await furnished();
});

after(() => world?.[Symbol.asyncDispose]());

const openMetrics = 'application/openmetrics-text; version=1.0.0';

async function scraped(format: Exposition = 'text'): Promise<ReadonlyMap<string, ParsedFamily>> {
  const accept = format === 'text' ? 'text/plain' : openMetrics;
  const { status, text } = await world.api.send('GET', '/metrics', undefined, { accept });
  assert.equal(status, 200, text);
  return parseExposition(text, format);
}

/** The values of a family, by the labels that are asked for. */
function valuesOf(metrics: ReadonlyMap<string, ParsedFamily>, name: string, label: string) {
  return Object.fromEntries(
    (metrics.get(name)?.samples ?? []).map(({ labels, value }) => [labels.get(label) ?? '', value]),
  );
}

test('both formats are exact, and have the same series', async () => {
  const [text, open] = [await scraped(), await scraped('openmetrics')];
  const series = (metrics: ReadonlyMap<string, ParsedFamily>) =>
    [...metrics.values()]
      .flatMap(({ samples }) => samples.map(({ name, labels }) => JSON.stringify([name, ...labels])))
      .filter((one) => !one.includes('/metrics'));
  assert.deepEqual(series(text), series(open));
  assert.equal(text.get('holdfast_build_info')?.type, 'gauge');
  assert.equal(open.get('holdfast_build')?.type, 'info');
  for (const { name, help } of open.values()) assert.match(help, /^[A-Z].*[.]$/, name);
});

test('the content type names the format that Accept prefers', async () => {
  const typeFor = async (accept: string) =>
    (await world.api.send('GET', '/metrics', undefined, { accept })).headers.get('content-type');
  assert.equal(await typeFor('*/*'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.equal(await typeFor(openMetrics), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
});

test('pools, datasets and disks have the figures that the daemon knows', async () => {
  const { storage, disks } = world.engine.world.facts;
  const metrics = await scraped();
  const [pool] = storage.pools.values();
  assert.ok(pool !== undefined);
  assert.equal(valuesOf(metrics, 'zfs_pool_size_bytes', 'pool')[pool.name], pool.size);
  assert.equal(valuesOf(metrics, 'zfs_pool_health', 'pool')[pool.name], 0);
  const watched = ['freeing_bytes', 'leaked_bytes', 'fragmentation_ratio', 'deduplication_ratio', 'readonly'];
  assert.deepEqual(
    watched.map((name) => valuesOf(metrics, `zfs_pool_${name}`, 'pool')[pool.name]),
    [0, 0, 0, 1, 0],
  );
  assert.deepEqual(Object.keys(valuesOf(metrics, 'zfs_dataset_used_bytes', 'name')), [...storage.datasets.keys()]);
  const kinds = valuesOf(metrics, 'zfs_dataset_used_bytes', 'type');
  assert.deepEqual(Object.keys(kinds).toSorted(), ['filesystem', 'volume']);
  for (const { name, figures } of storage.datasets.values()) {
    const shown = (family: string) => valuesOf(metrics, `zfs_dataset_${family}`, 'name')[name];
    assert.deepEqual(
      ['logical_used_bytes', 'used_by_dataset_bytes', 'used_by_snapshot_bytes', 'written_bytes'].map(shown),
      [figures.logicalUsed, figures.usedByDataset, figures.usedBySnapshots, figures.written],
    );
    assert.equal(shown('compression_ratio'), 1 / figures.compression);
  }
  const snapshots = valuesOf(metrics, 'holdfast_dataset_snapshots', 'name');
  const counted = Object.values(snapshots).reduce((sum, count) => sum + count, 0);
  assert.ok(counted > 0);
  assert.equal(counted, storage.snapshots.all.length);
  assert.deepEqual(
    Object.keys(valuesOf(metrics, 'smartctl_device', 'device')),
    disks.map(({ name }) => name),
  );
});

test('a pool that is degraded and a service that is switched on change their figures', async () => {
  await using box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  const metrics = async () => parseExposition((await box.api.get('/metrics')).text, 'text');
  const before = await metrics();
  assert.equal(valuesOf(before, 'zfs_pool_health', 'pool')['tank'], 0);
  assert.equal(valuesOf(before, 'holdfast_service_up', 'service')['ftp'], 0);
  const [device] = box.engine.world.facts.storage.pools.get('tank')?.groups[0]?.devices ?? [];
  await box.machine.zfs.offlineDevice('tank', device?.guid ?? '');
  await box.engine.renew('storage');
  await box.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  const after = await metrics();
  assert.equal(valuesOf(after, 'zfs_pool_health', 'pool')['tank'], 1);
  assert.equal(valuesOf(after, 'holdfast_service_up', 'service')['ftp'], 1);
  assert.equal(valuesOf(after, 'holdfast_service_enabled', 'service')['ftp'], 1);
});

test('a disk that rests has a state and no values of SMART', async () => {
  await using box = await appliance();
  await box.machine.faults.begin({ kind: 'standby', target: 'ada1', value: 0 });
  await box.engine.renew('condition');
  const metrics = parseExposition((await box.api.get('/metrics')).text, 'text');
  const [awake, resting] = ['ada0', 'ada1'].map((disk) =>
    [...metrics].flatMap(([name, { samples }]) =>
      samples.flatMap(({ labels, value }) => (labels.get('device') === disk ? [`${name} ${value}`] : [])),
    ),
  );
  assert.ok(awake?.includes('smartctl_device_state 0') && awake.includes('smartctl_device_temperature 34'));
  assert.deepEqual(
    resting?.map((sample) => sample.split(' ')[0]),
    ['smartctl_device', 'smartctl_device_capacity_bytes', 'smartctl_device_state'],
  );
  assert.ok(resting?.includes('smartctl_device_state 1'));
});

test('a scrape asks the machine for nothing, and says how old what it shows is', async () => {
  world.faults.heal();
  const metrics = await scraped();
  assert.deepEqual(world.faults.titles, []);
  const ages = valuesOf(metrics, 'holdfast_facts_age_seconds', 'kind');
  for (const kind of ['storage', 'disks', 'services']) assert.ok((ages[kind] ?? -1) >= 0, kind);
});

test('jobs, changes and requests are counted', async () => {
  const before = valuesOf(await scraped(), 'holdfast_change_wait_seconds', 'le')['+Inf'] ?? 0;
  await world.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  const metrics = await scraped();
  assert.equal(valuesOf(metrics, 'holdfast_change_wait_seconds', 'le')['+Inf'], before + 1);
  const requests = metrics.get('holdfast_http_request_duration_seconds')?.samples ?? [];
  const posts = requests.find(
    ({ name, labels }) =>
      name.endsWith('_count') && labels.get('route') === '/api/v1.0/tasks/cronjob' && labels.get('method') === 'POST',
  );
  assert.ok((posts?.value ?? 0) > 0);
});

test('addresses that clients make up do not add series', async () => {
  const routes = async () =>
    new Set(
      (await scraped()).get('holdfast_http_request_duration_seconds')?.samples.map(({ labels }) => labels.get('route')),
    );
  await world.api.get('/nowhere');
  const before = await routes();
  for (let n = 0; n < 5; n += 1) {
    await world.api.get(`/made-up/${n}`);
    await world.api.get(`/api/v1.0/made/up/${n}/`);
    await world.api.get(`/api/holdfast/v1/made-up-${n}`);
  }
  assert.deepEqual(await routes(), before);
});

test('a key of the role scrape reads the metrics and nothing else', async () => {
  const { api } = await withKey(world, { name: 'prometheus', role: 'scrape' });
  assert.equal((await api.get('/metrics')).status, 200);
  assert.equal((await api.get('storage/volume/')).status, 403);
  assert.equal((await api.get('/api/holdfast/v1/problems')).status, 403);
  const { api: other } = await withKey(world, {
    name: 'shares',
    permissions: [{ resources: ['sharing/*'], verbs: ['read'] }],
  });
  assert.equal((await other.get('/metrics')).status, 403);
});

test('every family is declared with a unit that its name ends with, and is described once', () => {
  assert.equal(new Set(families.map(({ name }) => name)).size, families.length);
  for (const { name, unit } of families) {
    assert.match(name, /^(zfs|smartctl|holdfast|process)_[a-z0-9_]+$/);
    assert.ok(unit === undefined || name.endsWith(`_${unit}`), name);
    assert.ok(unit !== undefined || !/_(bytes|seconds|ratio)$/.test(name), name);
  }
});

test('without a credential a probe gets one word, with one the reasons, with a wrong one nothing', async () => {
  const { url } = world.api;
  for (const [path, word] of [
    ['/healthz', 'alive'],
    ['/readyz', 'ready'],
  ] as const) {
    const answer = await fetch(`${url}${path}`);
    assert.deepEqual(
      [answer.status, answer.headers.get('content-type'), await answer.text()],
      [200, 'text/plain; charset=utf-8', word === 'ready' ? `${stateOf()}\n` : `${word}\n`],
    );
    const wrong = await fetch(`${url}${path}`, { headers: { authorization: `Basic ${btoa('root:wrong')}` } });
    assert.deepEqual([wrong.status, await wrong.text()], [401, '']);
    assert.equal((await world.api.get(path)).headers.get('content-type'), 'application/json');
    assert.equal((await fetch(`${url}${path}`, { method: 'POST' })).status, 401);
  }
});

const stateOf = () =>
  world.engine.condition.problems.some(({ severity }) => severity === 'critical') ? 'degraded' : 'ready';
