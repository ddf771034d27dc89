import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';
import { standingClock } from '../support/hosts.ts';

const minute = 60_000;

/** An appliance whose clock the test sets, with the volume tank and the dataset tank/papers. A Monday, a minute to nine in Berlin. */
async function onMonday(t: TestContext) {
  const clock = standingClock(Date.UTC(2026, 0, 12, 7, 59, 0, 20));
  const one = await appliance({ now: clock.now });
  t.after(() => one[Symbol.asyncDispose]());
  await one.api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'Europe/Berlin' });
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
  await one.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'papers' });
  return {
    one,
    clock,
    /** Lets minutes pass, with a look at the clock in each, and waits for what was begun. */
    async pass(minutes: number, machine: Appliance = one) {
      for (let passed = 0; passed < minutes; passed += 1) {
        clock.advance(minute);
        machine.engine.lookAtClock();
        for (const { id, state } of machine.engine.jobs.list(20)) if (state === 'running') await ended(machine, id);
      }
    },
  };
}

async function ended({ engine }: Appliance, id: number): Promise<void> {
  while (engine.jobs.get(id)?.state === 'running') await new Promise((resolve) => setTimeout(resolve, 2));
}

const snapshotsOf = async ({ api }: Appliance) =>
  (await api.list('storage/snapshot/?limit=0')).map(({ id }) => String(id)).sort();

test('a task has the defaults of the document, and takes days as a list', async (t) => {
  const { one } = await onMonday(t);
  assert.deepEqual(
    await one.api.expect(201, 'POST', 'storage/task/', {
      task_filesystem: 'tank',
      task_byweekday: [7, '6'],
      task_begin: '9:00',
    }),
    {
      id: 1,
      task_filesystem: 'tank',
      task_recursive: false,
      task_ret_count: 2,
      task_ret_unit: 'week',
      task_begin: '09:00:00',
      task_end: '18:00:00',
      task_interval: 60,
      task_repeat_unit: 'weekly',
      task_byweekday: '6,7',
      task_enabled: true,
    },
  );
  const wrong = await one.api.post('storage/task/', {
    task_filesystem: 'tank/none',
    task_interval: 7,
    task_byweekday: '',
    task_end: '25:00',
  });
  assert.equal(wrong.status, 409);
  assert.deepEqual(Object.keys(JSON.parse(wrong.text)).sort(), [
    'task_byweekday',
    'task_end',
    'task_filesystem',
    'task_interval',
  ]);
});

test('snapshots are made at their times, below too where the task says so, also after a restart', async (t) => {
  const { one, pass } = await onMonday(t);
  await one.api.expect(201, 'POST', 'storage/task/', { task_filesystem: 'tank', task_recursive: true });
  await pass(1);
  assert.deepEqual(await snapshotsOf(one), ['tank/papers@auto-20260112.0900-2w', 'tank@auto-20260112.0900-2w']);
  await pass(30);
  assert.equal((await snapshotsOf(one)).length, 2);
  const again = await one.restart();
  await pass(30, again);
  assert.deepEqual((await snapshotsOf(again)).slice(0, 2), [
    'tank/papers@auto-20260112.0900-2w',
    'tank/papers@auto-20260112.1000-2w',
  ]);
  await again.app.close();
});

test('a task that is switched off rests, and the schedule of one that is on is told', async (t) => {
  const { one, pass } = await onMonday(t);
  await one.api.expect(201, 'POST', 'storage/task/', { task_filesystem: 'tank' });
  const told = (await one.api.list('/api/holdfast/v1/schedules')).filter(({ resource }) => resource === 'storage/task');
  assert.deepEqual(
    told.map(({ schedule, next }) => [schedule, String(next).slice(0, 16)]),
    [['0 9,10,11,12,13,14,15,16,17,18 * * 1,2,3,4,5', '2026-01-12T09:00']],
  );
  await one.api.expect(200, 'PUT', 'storage/task/1/', { task_enabled: false });
  await pass(5);
  assert.deepEqual(await snapshotsOf(one), []);
});

test('another time zone moves the times of a task, and is in the names of its snapshots', async (t) => {
  const { one, pass } = await onMonday(t);
  await one.api.expect(201, 'POST', 'storage/task/', {
    task_filesystem: 'tank/papers',
    task_begin: '17:00',
    task_end: '23:00',
  });
  const next = async () => (await one.api.list('/api/holdfast/v1/schedules'))[0]?.['next'];
  assert.equal(await next(), '2026-01-12T17:00:00+01:00');
  await one.api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'Asia/Tokyo' });
  assert.equal(await next(), '2026-01-12T17:00:00+09:00');
  await pass(1);
  assert.deepEqual(await snapshotsOf(one), ['tank/papers@auto-20260112.1700-2w']);
});

test('retention deletes what a task made when its time is over, and nothing else', async (t) => {
  const { one, pass } = await onMonday(t);
  await one.api.expect(201, 'POST', 'storage/task/', {
    task_filesystem: 'tank',
    task_recursive: true,
    task_ret_count: 2,
    task_ret_unit: 'hour',
    task_interval: 1440,
  });
  // What people made keeps, even under a name that a task could have given, and so does what another task made.
  await one.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 'auto-20250101.0900-2h' });
  await one.host.zfs.createSnapshot('tank/papers@auto-20250101.0900-2h', { task: 7 });
  await one.host.zfs.createSnapshot('tank/papers@kept', { task: 1 });
  await pass(1);
  const own = ['tank@auto-20260112.0900-2h', 'tank/papers@auto-20260112.0900-2h'];
  const others = ['tank/papers@auto-20250101.0900-2h', 'tank/papers@kept', 'tank@auto-20250101.0900-2h'];
  assert.deepEqual(await snapshotsOf(one), [...own, ...others].sort());
  await pass(119);
  assert.deepEqual(await snapshotsOf(one), [...own, ...others].sort());
  await pass(4);
  assert.deepEqual(await snapshotsOf(one), others);
  const [job] = await one.api.list('/api/holdfast/v1/jobs?subject=storage/task/1/retention');
  assert.deepEqual(job?.['result'], { deleted: own, kept: [] });
});

test('a snapshot that cannot be made is the error of its job', async (t) => {
  const { one, pass } = await onMonday(t);
  await one.api.expect(201, 'POST', 'storage/task/', { task_filesystem: 'tank/papers' });
  await one.host.zfs.destroyDataset('tank/papers');
  await pass(1);
  const [job] = await one.api.list('/api/holdfast/v1/jobs?subject=storage/task/1');
  assert.equal(job?.['state'], 'failed');
  assert.match(String(job?.['error']), /tank\/papers.*does not exist/);
});

test('a share shows the snapshots of its task as previous versions, if the task makes any of it', async (t) => {
  const { one } = await onMonday(t);
  await one.api.expect(201, 'POST', 'storage/task/', {
    task_filesystem: 'tank/papers',
    task_ret_count: 3,
    task_ret_unit: 'day',
  });
  const outside = await one.api.post('sharing/cifs/', { cifs_path: '/mnt/tank/media', cifs_storage_task: 1 });
  assert.equal(outside.status, 409);
  assert.match(outside.text, /cifs_storage_task.*the dataset tank of the share, got one of tank\/papers\./);
  await one.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/papers/open', cifs_storage_task: 1 });
  const sections = () => one.host.files.read('/etc/samba/holdfast/shares-0.conf').then((text) => text ?? '');
  const written = await sections();
  assert.match(written, /vfs objects = shadow_copy2/);
  assert.match(written, /shadow:format = auto-%Y%m%d\.%H%M-3d/);
  await one.api.expect(200, 'PUT', 'storage/task/1/', { task_ret_count: 4 });
  assert.match(await sections(), /shadow:format = auto-%Y%m%d\.%H%M-4d/);
  assert.equal((await one.api.delete('storage/task/1/')).status, 204);
  assert.doesNotMatch(await sections(), /shadow/);
});

test('a new volume has a scrub task, which its number or name addresses, and which goes with it', async (t) => {
  const { one } = await onMonday(t);
  const [made] = await one.api.list('storage/scrub/');
  assert.deepEqual(made, {
    id: 1,
    scrub_volume: 'tank',
    scrub_threshold: 35,
    scrub_description: '',
    scrub_minute: '00',
    scrub_hour: '00',
    scrub_daymonth: '*',
    scrub_month: '*',
    scrub_dayweek: '7',
    scrub_enabled: true,
  });
  assert.match(
    (await one.api.post('storage/scrub/', { scrub_volume: 1 })).text,
    /scrub_volume.*already has a scrub task/,
  );
  assert.equal((await one.api.delete('storage/scrub/1/')).status, 204);
  assert.equal((await one.api.expect(201, 'POST', 'storage/scrub/', { scrub_volume: 1 }))['scrub_volume'], 'tank');
  assert.match(
    (await one.api.post('storage/scrub/', { scrub_volume: 99 })).text,
    /scrub_volume.*The volume .* does not exist/,
  );
  await one.api.expect(201, 'POST', 'storage/task/', { task_filesystem: 'tank/papers' });
  assert.equal((await one.api.delete('storage/volume/tank/')).status, 204);
  assert.deepEqual([await one.api.list('storage/scrub/'), await one.api.list('storage/task/')], [[], []]);
});

test('a volume is scrubbed at its time, but not before the threshold has passed', async (t) => {
  const { one, pass, clock } = await onMonday(t);
  await one.api.expect(200, 'PUT', 'storage/scrub/1/', { scrub_hour: '9', scrub_dayweek: '*', scrub_threshold: 2 });
  const results = async () =>
    (await one.api.list('/api/holdfast/v1/jobs?subject=storage/scrub/1')).map(({ result }) => JSON.stringify(result));
  const day = 24 * 60 * minute;
  await pass(1);
  assert.deepEqual(await results(), ['{"started":true}']);
  for (let days = 0; days < 3; days += 1) {
    clock.advance(day - 2 * minute);
    await pass(2);
  }
  assert.deepEqual((await results()).toReversed(), [
    '{"started":true}',
    '{"reason":"The last scrub ended 0 days ago.","started":false}',
    '{"reason":"The last scrub ended 1 days ago.","started":false}',
    '{"started":true}',
  ]);
});
