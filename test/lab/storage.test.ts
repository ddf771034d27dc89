import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;

before(async () => {
  nas = await startNas({ disks: 2 });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const lines = async (script: string) => (await nas.machine.run(script)).split('\n').filter((line) => line !== '');
const ids = async () => (await nas.api.list('storage/snapshot/?limit=0')).map((one) => one['id']);

test('a zvol has a device of its size, grows, and is deleted with its device', async () => {
  const zvols = 'storage/volume/tank/zvols';
  const made = await nas.api.expect(202, 'POST', `${zvols}/`, { name: 'v', volsize: '10M', comments: 'a disk' });
  assert.deepEqual([made['name'], made['volsize'], made['comments']], ['v', 10 * 1024 ** 2, 'a disk']);
  assert.deepEqual(await lines('blockdev --getsize64 /dev/zvol/tank/v'), [String(10 * 1024 ** 2)]);
  await nas.machine.run('echo content | dd of=/dev/zvol/tank/v conv=notrunc status=none');
  assert.equal(
    (await nas.api.expect(201, 'PUT', `${zvols}/v/`, { volsize: '0.05 GiB' }))['volsize'],
    Math.ceil((0.05 * 1024 ** 3) / 16384) * 16384,
  );
  assert.match(
    await nas.machine.run('head -c 7 /dev/zvol/tank/v; blockdev --getsize64 /dev/zvol/tank/v'),
    /^content\s*53690368\s*$/,
  );
  const shrunk = await nas.api.put(`${zvols}/v/`, { volsize: '1M' });
  assert.deepEqual([shrunk.status, Object.keys(Object(shrunk.json))], [400, ['volsize']]);
  await nas.api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'a' });
  await nas.api.expect(202, 'POST', `${zvols}/`, {
    name: 'a/sparse',
    volsize: '2T',
    sparse: true,
    force: true,
    blocksize: '8K',
  });
  assert.deepEqual(await lines('zfs get -Hpo value volsize,volblocksize,refreservation tank/a/sparse'), [
    String(2 * 1024 ** 4),
    '8192',
    '0',
  ]);
  const taken = await nas.api.post(`${zvols}/`, { name: 'v', volsize: '1M' });
  assert.match(taken.text, /dataset already exists/);
  const tooMuch = await nas.api.post(`${zvols}/`, { name: 'w', volsize: '2T', force: true });
  assert.equal(tooMuch.status, 400);
  assert.match(tooMuch.text, /"volsize":\["[^"]*space/);
  assert.equal((await nas.api.get(`${zvols}/w/`)).status, 404);
  assert.equal((await nas.api.delete(`${zvols}/a/sparse/`)).status, 204);
  assert.equal((await nas.api.delete('storage/volume/tank/datasets/v/')).status, 204, 'also by the datasets');
  assert.deepEqual(await lines('ls /dev/zvol/tank 2>/dev/null; zfs list -Ho name -t volume'), []);
});

test('a property that the pool refuses is reported by its name', async () => {
  const answer = await nas.api.put('storage/dataset/tank/a/', { reservation: '900G', comments: 'x' });
  assert.deepEqual([answer.status, Object.keys(Object(answer.json))], [400, ['reservation']]);
  assert.deepEqual(await lines('zfs get -Hpo value reservation,holdfast:comment tank/a'), ['0', '-']);
  await nas.machine.run('mkdir /mnt/tank/folder');
  assert.match((await nas.api.post('storage/dataset/tank/', { name: 'folder' })).text, /"name":\["[^"]*folder/);
});

test('snapshots are created, listed, rolled back and cloned', async () => {
  await nas.machine.run('echo old >/mnt/tank/a/file; zpool sync');
  await nas.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank', name: 'first', recursive: true });
  assert.deepEqual(await ids(), ['tank@first', 'tank/a@first']);
  await nas.machine.run('echo new >/mnt/tank/a/file; echo more >/mnt/tank/a/other');
  await nas.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/a', name: 'second one' });
  await nas.api.expect(202, 'POST', 'storage/snapshot/tank%2Fa%40first/clone/', { name: 'tank/c' });
  assert.deepEqual(await lines('cat /mnt/tank/c/file'), ['old']);
  const refusal = await nas.api.post('storage/snapshot/tank/a@first/rollback/', {});
  assert.equal(refusal.status, 400);
  assert.match(String(refusal.json), /more recent snapshots/);
  await nas.api.expect(202, 'POST', 'storage/snapshot/tank/a@first/rollback/', { force: true });
  assert.deepEqual(await lines('cat /mnt/tank/a/file; ls /mnt/tank/a'), ['old', 'file']);
  assert.deepEqual(await ids(), ['tank@first', 'tank/a@first']);
});

test('a snapshot with a clone is deleted with it', async () => {
  assert.equal((await nas.api.delete('storage/snapshot/tank/a@first/')).status, 204);
  assert.deepEqual(await lines('zfs get -Ho value defer_destroy tank/a@first'), ['on']);
  assert.equal((await nas.api.delete('storage/dataset/tank/c/')).status, 204);
  assert.deepEqual(await ids(), ['tank@first']);
  const absent = await nas.api.delete('storage/snapshot/tank/a@first/');
  assert.equal(absent.status, 400);
  assert.match(absent.text, /^\{"error":/);
});

test('snapshots that are changed outside of Holdfast are listed', async () => {
  await nas.machine.run('zfs snapshot tank/a@theirs; zfs destroy tank@first');
  await eventually(15, async () => assert.deepEqual(await ids(), ['tank/a@theirs']));
  await nas.machine.run('zfs rename tank/a tank/b');
  await eventually(15, async () => assert.deepEqual(await ids(), ['tank/b@theirs']));
  await nas.machine.run('zfs rename tank/b tank/a');
});

test('permissions are set on a folder and everything below it', async () => {
  await nas.machine.run('mkdir -p /mnt/tank/a/deep/er; touch /mnt/tank/a/deep/er/file');
  const body = {
    mp_path: '/mnt/tank/a/',
    mp_acl: 'unix',
    mp_mode: '750',
    mp_user: 'nobody',
    mp_group: 'nogroup',
    mp_recursive: true,
  };
  assert.equal((await nas.api.put('storage/permission/', body)).text, 'Mount Point permissions successfully updated.');
  assert.deepEqual(await lines('stat -c "%a %U:%G" /mnt/tank/a /mnt/tank/a/deep/er/file'), [
    '750 nobody:nogroup',
    '750 nobody:nogroup',
  ]);
  await nas.api.expect(201, 'PUT', 'storage/permission/', { ...body, mp_acl: 'windows', mp_user_en: false });
  assert.deepEqual(
    await lines(
      'touch /mnt/tank/a/deep/new; stat -c "%a %U:%G" /mnt/tank/a/deep /mnt/tank/a/deep/er/file; stat -c %G /mnt/tank/a/deep/new',
    ),
    ['2775 nobody:nogroup', '664 nobody:nogroup', 'nogroup'],
  );
});

test('settings that a disk does not support are refused, and a description is accepted', async () => {
  const [first] = await nas.api.list('storage/disk/');
  const path = `storage/disk/${encodeURIComponent(String(first?.['disk_identifier']))}/`;
  const refusal = await nas.api.put(path, { disk_hddstandby: '30', disk_description: 'x' });
  assert.equal(refusal.status, 409);
  assert.match(refusal.text, /has no standby timer/);
  assert.equal((await nas.api.expect(200, 'PUT', path, { disk_description: 'left' }))['disk_description'], 'left');
  assert.deepEqual(await lines('cat /etc/hdparm.conf'), ['# Written by Holdfast.']);
});

test('a list of thousands of snapshots costs no more than its page', { timeout: 300_000 }, async (t) => {
  const datasets = 30;
  const each = 100;
  const wanted = datasets * each;
  await nas.machine.run(
    `zfs create tank/many; for n in $(seq 2 ${datasets}); do zfs create -o canmount=off tank/many/$n; done; for n in $(seq 1 ${each}); do zfs snapshot -r tank/many@s$n; done`,
    { seconds: 240 },
  );
  await eventually(60, async () => assert.equal((await ids()).length, wanted + 1));
  const milliseconds = async (path: string) => {
    const begun = performance.now();
    assert.equal((await nas.api.get(path)).status, 200);
    return performance.now() - begun;
  };
  const times: number[] = [];
  for (let n = 0; n < 20; n += 1) times.push(await milliseconds('storage/snapshot/'));
  const page = times.toSorted((a, b) => a - b)[10] ?? 0;
  const all = await milliseconds('storage/snapshot/?limit=0');
  const [zfs] = await lines(
    'begun=$(date +%s%N); zfs list -t snapshot -H -o name >/dev/null; echo $(( ($(date +%s%N) - begun) / 1000000 ))',
  );
  const making: number[] = [];
  for (const name of ['soon-after', 'later', 'later-still']) {
    const begun = performance.now();
    await nas.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/a', name });
    making.push(Math.round(performance.now() - begun));
    await pause(4000);
  }
  t.diagnostic(
    `${wanted} snapshots: a page ${page.toFixed(1)} ms, all ${all.toFixed(0)} ms, zfs list -o name ${zfs} ms, making one ${making.join(', then ')} ms`,
  );
  assert.ok(page < 50, `a page took ${page} ms`);
});

test('a restart of the daemon changes nothing', async () => {
  const earlier = { snapshots: await ids(), disks: await nas.api.list('storage/disk/') };
  await nas.machine.run('systemctl restart holdfast');
  await eventually(30, async () =>
    assert.deepEqual({ snapshots: await ids(), disks: await nas.api.list('storage/disk/') }, earlier),
  );
});
