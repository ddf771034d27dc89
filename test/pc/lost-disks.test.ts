/** Disks are pulled out while Holdfast changes the pools on them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';

let nas: Nas;

before(async () => {
  nas = await startNas({
    memory: 2048,
    pc: ['A', 'B', 'C', 'D'].map((name) => ({ bus: 'scsi', serial: `SC-${name}` })),
  });
  const disks = new Map((await nas.api.list('storage/disk/?limit=0')).map((disk) => [disk['disk_serial'], disk]));
  const named = (...names: readonly string[]) => names.map((name) => disks.get(`SC-${name}`)?.['disk_name']);
  for (const [volume_name, vdevtype, members] of [
    ['tank', 'mirror', named('A', 'B')],
    ['alone', 'stripe', named('C')],
    ['sudden', 'stripe', named('D')],
  ])
    await nas.api.expect(201, 'POST', 'storage/volume/', { volume_name, layout: [{ vdevtype, disks: members }] });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const add = (pool: string, name: string) => nas.api.post(`storage/volume/${pool}/datasets/`, { name });
const problems = async () => JSON.stringify((await nas.api.get('/api/holdfast/v1/problems')).json);

test('changes that were answered while a disk was pulled are there, none is half made, and the pool is degraded', async () => {
  const answers = new Map<string, { dataset: number; share: number | undefined }>();
  for (let number = 0; number < 6; number += 1) {
    const name = `d${number}`;
    const adding = add('tank', name);
    const pulling = number === 2 ? nas.machine.monitor('device_del disk1') : undefined;
    const { status: dataset } = await adding;
    await pulling;
    const path = `/mnt/tank/${name}`;
    const share =
      dataset === 201 ? (await nas.api.post('sharing/cifs/', { cifs_name: name, cifs_path: path })).status : undefined;
    answers.set(name, { dataset, share });
  }
  // A mirror goes on, so that nothing has to be refused.
  assert.deepEqual(
    [...answers.values()].filter(({ dataset, share }) => dataset !== 201 || share !== 201),
    [],
  );
  const names = [...answers.keys()];
  assert.deepEqual((await nas.machine.run('zfs list -H -r -o name tank')).trim().split('\n'), [
    'tank',
    ...names.map((name) => `tank/${name}`),
  ]);
  const shares = [...(await nas.machine.run('testparm -s 2>/dev/null')).matchAll(/^\[(d\d)\]/gm)];
  assert.deepEqual(shares.map(([, name]) => name).toSorted(), names);
  await eventually(120, async () =>
    assert.equal((await nas.api.expect(200, 'GET', 'storage/volume/tank/'))['status'], 'DEGRADED'),
  );
  await eventually(60, async () => assert.match(await problems(), /tank[^{}]*DEGRADED|DEGRADED[^{}]*tank/));
  const reports = await nas.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter(({ drift }) => Array.isArray(drift) && drift.length > 0),
    [],
  );
});

test('while a pool is suspended, its changes are refused with what to do, and all other requests are answered', async () => {
  await nas.api.expect(201, 'POST', 'storage/volume/alone/datasets/', { name: 'data' });
  await nas.machine.monitor('device_del disk2');
  await nas.machine.run('(dd if=/dev/zero of=/mnt/alone/data/file bs=1M count=4 oflag=sync >/dev/null 2>&1 &)');
  await eventually(120, async () =>
    assert.match(await nas.machine.run('cat /proc/spl/kstat/zfs/alone/state'), /SUSPENDED/),
  );
  const refused = await add('alone', 'more');
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /The pool alone is suspended.*zpool clear alone/);
  // The backup of the configuration, which follows each change, is not written to it, and holds nothing up.
  assert.equal((await nas.api.put('services/services/ftp/', { srv_enable: true })).status, 200);
  await eventually(60, async () => assert.match(await journal(nas.machine), /backup on a pool: failed/));
  assert.equal((await add('tank', 'meanwhile')).status, 201);
  await eventually(120, async () => assert.match(await problems(), /alone/));
  for (const path of ['storage/volume/', 'storage/dataset/', 'sharing/cifs/', 'system/alert/'])
    assert.equal((await nas.api.get(path)).status, 200, path);
  assert.match(JSON.stringify(await nas.api.list('storage/dataset/?limit=0')), /alone\/data/);
});

test('a change that ZFS has begun when the disk goes is answered, and so are those after it', async (t) => {
  await nas.machine.monitor('device_del disk3');
  const refused = await add('sudden', 'data');
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /^\{"error_message":"The pool sudden (is suspended|has written nothing for a minute)/);
  t.diagnostic(`left behind: ${await nas.machine.run('ps -eo stat,args | grep "^D.* zfs " || echo nothing')}`);
  assert.equal((await add('tank', 'afterwards')).status, 201);
  assert.equal((await nas.api.put('services/services/ftp/', { srv_enable: false })).status, 200);
});
