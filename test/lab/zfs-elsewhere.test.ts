import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';

/** Another program works in the pool, as sanoid, container engines and `zfs receive` do all day. */
let nas: Nas;

before(async () => {
  nas = await startNas({ disks: 1 });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const datasets = async () => (await nas.api.list('storage/dataset/?limit=0')).map(({ name }) => name);
const snapshots = async () => (await nas.api.list('storage/snapshot/?limit=0')).map(({ id }) => id);

test('changes succeed while another program creates a hundred datasets', async () => {
  await nas.machine.run(
    "nohup sh -c 'for i in $(seq 100); do zfs create tank/d$i; done; touch /tmp/created' >/dev/null 2>&1 &",
  );
  let made = 0;
  const isDone = async () => (await nas.machine.run('ls /tmp/created 2>/dev/null || true')) !== '';
  while (!(await isDone())) {
    await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: `own${made}` });
    assert.ok((await datasets()).includes(`tank/own${made}`));
    made += 1;
  }
  assert.ok(made >= 3, `${made} changes were answered meanwhile`);
  await eventually(30, async () =>
    assert.equal((await datasets()).filter((name) => String(name).startsWith('tank/d')).length, 100),
  );
});

test('snapshots and removals by another program are listed soon', async () => {
  await nas.machine.run('zfs snapshot -r tank@theirs');
  await eventually(30, async () =>
    assert.equal((await snapshots()).filter((id) => String(id).endsWith('@theirs')).length, (await datasets()).length),
  );
  await nas.machine.run('zfs destroy -r tank/d1; zfs rename tank/d2 tank/renamed; zfs destroy tank/d3@theirs');
  await eventually(30, async () => {
    const names = await datasets();
    assert.deepEqual(
      [names.includes('tank/d1'), names.includes('tank/d2'), names.includes('tank/renamed')],
      [false, false, true],
    );
    const ids = await snapshots();
    assert.deepEqual(
      [ids.includes('tank/d1@theirs'), ids.includes('tank/d3@theirs'), ids.includes('tank/renamed@theirs')],
      [false, false, true],
    );
  });
});
