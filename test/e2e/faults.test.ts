import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { faultNames } from '../../src/host/ports/faults.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { certificateRequest } from '../support/certificates.ts';

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
  ['standby', 'ada0', undefined, []],
  ['smart-failure', 'ada0', undefined, [['smart', disk, 'critical']]],
  ['bad-sectors', 'ada0', undefined, [['bad sectors', disk, 'warning']]],
  ['temperature', 'ada0', undefined, [['temperature', disk, 'critical']]],
  ['wear', 'ada0', undefined, [['wear', disk, 'warning']]],
  ['wear', 'ada0', 100, [['wear', disk, 'critical']]],
  ['pool-usage', 'tank', 85, [['capacity', volume, 'warning']]],
  ['pool-usage', 'tank', undefined, [['capacity', volume, 'critical']]],
  ['scrub-age', 'tank', undefined, [['scrub', volume, 'warning']]],
  ['slow-resilver', 'tank', undefined, [['resilver', volume, 'warning']]],
  ['slow-resilver', 'tank', 2, []],
  ['system-usage', '', 92, [['space', '/', 'warning']]],
  ['system-usage', '', undefined, [['space', '/', 'critical']]],
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
  const others = ['self-test-age', 'service-fails', 'replication'];
  assert.deepEqual(new Set([...effects.map(([kind]) => kind), ...others]), new Set<string>(faultNames));
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

test('a replication that fails for longer than twice the period of its snapshots is late, until one succeeds', async () => {
  clock = Date.UTC(2026, 5, 15, 12);
  const { id } = await box.api.expect(201, 'POST', 'storage/task/', {
    ...{ task_filesystem: 'tank', task_interval: 60, task_repeat_unit: 'daily' },
    ...{ task_begin: '00:00:00', task_end: '23:59:00' },
  });
  await box.api.expect(201, 'POST', 'storage/replication/', {
    ...{ repl_filesystem: 'tank', repl_zfs: 'backup/nas', repl_remote_hostname: 'far.example.com' },
    repl_remote_hostkey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0',
  });
  const pass = async (minutes: number) => {
    for (let passed = 0; passed < minutes; passed += 5) {
      clock += 5 * 60_000;
      box.engine.lookAtClock();
      while (box.engine.jobs.list(20).some(({ state }) => state === 'running')) await pause(2);
    }
  };
  const about = 'storage/replication/1';
  await pass(65);
  assert.deepEqual(await current(), []);
  const fault = await begin('replication');
  await pass(60);
  assert.deepEqual(await current(), [['job', about, 'critical']], 'its last run failed, and it is not late yet');
  await pass(65);
  assert.deepEqual(
    new Set(await current()),
    new Set([
      ['job', about, 'critical'],
      ['late', about, 'critical'],
    ]),
  );
  await end(fault);
  await pass(10);
  assert.deepEqual(await current(), []);
  await box.api.expect(204, 'DELETE', `${about}/`);
  await box.api.expect(204, 'DELETE', `storage/task/${String(id)}/`);
});

test('a share whose service fails is a problem, until the service runs again', async () => {
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'team', cifs_path: '/mnt/tank' });
  await box.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  assert.deepEqual(await current(), []);
  const fault = await begin('service-fails', 'smbd');
  const until = async (what: string, holds: (kinds: readonly unknown[]) => boolean) => {
    for (const last = performance.now() + 10_000; ; await pause(20)) {
      const problems = await current();
      if (holds(problems.map(([kind]) => kind))) return problems;
      assert.ok(performance.now() < last, `${what}: ${JSON.stringify(problems)}`);
    }
  };
  await until('it ended', (kinds) => kinds.includes('ended'));
  const problems = await until('it cannot be started', (kinds) => kinds.includes('subsystem'));
  assert.ok(
    problems.every(([, about]) => about === 'subsystem/samba'),
    JSON.stringify(problems),
  );
  const service = await box.api.expect(200, 'GET', 'services/services/cifs/');
  assert.deepEqual([service['srv_enable'], box.machine.services.isRunning('smbd')], [true, false]);
  const refused = await box.api.send('POST', '/api/holdfast/v1/drift/samba/heal');
  assert.notEqual(refused.status, 200, 'it cannot be started while the fault lasts');
  // Samba reads the switches of all services and the authorities, but the change of another one does not concern it.
  await box.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  await box.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: false });
  const changed = await box.api.send('PUT', 'services/cifs/', { cifs_srv_description: 'another' });
  assert.equal(changed.status, 400, 'a change of its own settings cannot be applied');
  await end(fault);
  await box.api.expect(200, 'POST', '/api/holdfast/v1/drift/samba/heal');
  assert.ok(box.machine.services.isRunning('smbd'));
  await until('nothing is wrong', (kinds) => kinds.length === 0);
  await box.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: false });
  await box.api.expect(204, 'DELETE', 'sharing/cifs/1/');
});

test('a certificate is a problem from 30 days before its end, a worse one after it, and none once it is gone', async () => {
  const { id: authority } = await created('certificateauthority', { cert_lifetime: 3650 });
  const { id } = await created('certificate', { cert_lifetime: 60, cert_signedby: authority });
  const about = `system/certificate/${String(id)}`;
  const issued = clock;
  assert.deepEqual(await current(), []);
  clock = issued + 29 * day;
  assert.deepEqual(await current(), []);
  clock = issued + 31 * day;
  assert.deepEqual(await current(), [['expires', about, 'warning']]);
  clock = issued + 61 * day;
  assert.deepEqual(await current(), [['expired', about, 'critical']]);
  await box.api.expect(204, 'DELETE', `${about}/`);
  assert.deepEqual(await current(), []);
});

async function created(of: 'certificate' | 'certificateauthority', more: Readonly<Record<string, unknown>>) {
  const name = `for ${of}`.replace(' ', '-');
  const body = { ...certificateRequest, cert_name: name, ...more };
  await box.api.expect(201, 'POST', `system/${of}/internal/`, body);
  return (await box.api.list(`system/${of}/`)).find((one) => one['cert_name'] === name) ?? assert.fail(name);
}

test('what cannot be simulated is refused, and faults last over a restart', async () => {
  assert.equal((await box.api.post(faults, { kind: 'flood' })).status, 400);
  const unknown = await box.api.post(faults, { kind: 'wear', target: 'ada99' });
  assert.equal(unknown.status, 400);
  assert.match(unknown.text, /There is no disk ada99\./);
  const service = await box.api.post(faults, { kind: 'service-fails', target: 'nothing' });
  assert.deepEqual([service.status, /There is no service nothing\./.test(service.text)], [400, true]);
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
