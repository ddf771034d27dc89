import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { faultNames } from '../../src/host/ports/faults.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const hour = 3_600_000;
const day = 24 * hour;
const faults = '/api/holdfast/v1/virtual/faults';

let box: Appliance;
/** A Monday. */
let clock = Date.UTC(2026, 5, 1, 12);

before(async () => {
  box = await appliance({ now: () => clock });
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

const current = async () =>
  (await box.api.list('/api/holdfast/v1/problems')).map(({ kind, about, severity }) => [kind, about, severity]);

async function begin(kind: string, target = '', value?: number): Promise<unknown> {
  const body = { kind, target, ...(value !== undefined && { value }) };
  return (await box.api.expect(201, 'POST', faults, body))['id'];
}

const end = (id: unknown) => box.api.expect(204, 'DELETE', `${faults}/${String(id)}`);

const disk = 'storage/disk/{serial}VIRT0001';
const volume = 'storage/volume/tank';

/** What each fault leads to. The errors of a disk that are there when it is first looked at do not rise. */
const effects: readonly (readonly [kind: string, target: string, value: number | undefined, problems: unknown])[] = [
  ['disk-fails', 'ada0', undefined, [['pool', volume, 'critical']]],
  ['disk-degraded', 'ada0', undefined, [['pool', volume, 'critical']]],
  [
    'read-errors',
    'ada0',
    undefined,
    [
      ['errors rising', volume, 'critical'],
      ['errors', volume, 'warning'],
    ],
  ],
  [
    'write-errors',
    'ada0',
    3,
    [
      ['errors rising', volume, 'critical'],
      ['errors', volume, 'warning'],
    ],
  ],
  [
    'checksum-errors',
    'ada0',
    7,
    [
      ['errors rising', volume, 'critical'],
      ['errors', volume, 'warning'],
    ],
  ],
  ['smart-failure', 'ada0', undefined, [['smart', disk, 'critical']]],
  ['bad-sectors', 'ada0', undefined, [['bad sectors', disk, 'warning']]],
  ['temperature', 'ada0', undefined, [['temperature', disk, 'critical']]],
  ['wear', 'ada0', undefined, [['wear', disk, 'warning']]],
  ['wear', 'ada0', 100, [['wear', disk, 'critical']]],
  ['pool-usage', 'tank', 85, [['capacity', volume, 'warning']]],
  ['pool-usage', 'tank', undefined, [['capacity', volume, 'critical']]],
  ['scrub-age', 'tank', undefined, [['scrub', volume, 'warning']]],
  ['clock', '', undefined, [['clock', 'system/ntpserver', 'warning']]],
  ['memory', '', 5, [['memory', 'memory', 'warning']]],
  ['memory', '', undefined, [['memory', 'memory', 'critical']]],
  ['updates', '', undefined, [['update', 'system/update', 'warning']]],
];

for (const [kind, target, value, problems] of effects)
  test(`the fault ${kind} ${value ?? ''} is a problem while it lasts`, async () => {
    assert.deepEqual(await current(), []);
    const id = await begin(kind, target, value);
    assert.deepEqual(await current(), problems);
    assert.deepEqual(
      (await box.api.list(faults)).map((one) => [one['kind'], one['target']]),
      [[kind, target]],
    );
    await end(id);
    assert.deepEqual(await current(), []);
    assert.deepEqual(await box.api.list(faults), []);
  });

test('every kind of fault is tried here', () => {
  assert.deepEqual(new Set([...effects.map(([kind]) => kind), 'self-test-age']), new Set<string>(faultNames));
});

test('errors that become no more end to rise after a day', async () => {
  const id = await begin('checksum-errors', 'ada1', 2);
  assert.equal((await current())[0]?.[0], 'errors rising');
  clock += 25 * hour;
  assert.deepEqual(await current(), [['errors', volume, 'warning']]);
  await begin('checksum-errors', 'ada1', 3);
  assert.equal((await current())[0]?.[0], 'errors rising');
  await end(id);
  assert.deepEqual(await current(), []);
});

test('a disk that is hotter than it usually is, but not too hot, is a problem', async () => {
  await current();
  clock += 8 * hour;
  const id = await begin('temperature', 'ada2', 44);
  assert.deepEqual(await current(), [['unusual temperature', 'storage/disk/{serial}VIRT0003', 'warning']]);
  await end(id);
  assert.deepEqual(await current(), []);
});

test('a self-test that was due twice is a problem of the disk, until one ends', async () => {
  const { id } = await box.api.expect(201, 'POST', 'tasks/smarttest/', {
    ...{ smarttest_disks: ['ada0'], smarttest_type: 'S', smarttest_hour: '3' },
    ...{ smarttest_daymonth: '*', smarttest_month: '*', smarttest_dayweek: '*' },
  });
  const fault = await begin('self-test-age', 'ada0', 24 * 20);
  assert.deepEqual(await current(), [], 'the task is new');
  clock += 4 * day;
  assert.deepEqual(await current(), [['self-test', disk, 'warning']]);
  await end(fault);
  assert.deepEqual(await current(), []);
  await box.api.expect(204, 'DELETE', `tasks/smarttest/${String(id)}/`);
});

test('a snapshot task that took none of two due snapshots is late, until it takes one', async () => {
  const { id } = await box.api.expect(201, 'POST', 'storage/task/', {
    ...{ task_filesystem: 'tank', task_interval: 60, task_repeat_unit: 'daily' },
    ...{ task_begin: '00:00:00', task_end: '23:59:00' },
  });
  assert.deepEqual(await current(), []);
  clock += 3 * hour;
  assert.deepEqual(await current(), [['late', `storage/task/${String(id)}`, 'warning']]);
  await box.machine.zfs.createSnapshot('tank@auto', { recursive: false, task: Number(id) });
  await begin('memory', '', 50).then(end);
  assert.deepEqual(await current(), []);
  await box.api.expect(204, 'DELETE', `storage/task/${String(id)}/`);
});

test('what cannot be simulated is refused, and faults last over a restart', async () => {
  assert.equal((await box.api.post(faults, { kind: 'flood' })).status, 400);
  const unknown = await box.api.post(faults, { kind: 'wear', target: 'ada99' });
  assert.equal(unknown.status, 400);
  assert.match(unknown.text, /There is no disk ada99\./);
  assert.equal((await box.api.post(faults, { kind: 'clock', target: 'ada0' })).status, 400);
  assert.equal((await box.api.send('DELETE', `${faults}/99`)).status, 404);
  await using one = await appliance();
  await one.api.expect(201, 'POST', faults, { kind: 'wear', target: 'ada0' });
  const again = await one.restart();
  assert.deepEqual(await again.api.list(faults), [{ id: 1, kind: 'wear', target: 'ada0', value: 95 }]);
  await again.app.close();
});

test('a real machine has no faults to make', async () => {
  await using real = await appliance({ around: ({ faults: _, ...host }) => ({ ...host, kind: 'linux' }) });
  for (const answer of [
    await real.api.get(faults),
    await real.api.post(faults, { kind: 'memory' }),
    await real.api.send('DELETE', `${faults}/1`),
  ]) {
    assert.equal(answer.status, 404);
    assert.match(answer.text, /only on a virtual host/);
  }
});
