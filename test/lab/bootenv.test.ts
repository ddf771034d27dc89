import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { journal, type Nas, startNas, untilReady } from '../support/lab/nas.ts';
import { offerNewerPackage, packageVersion } from '../support/lab/packages.ts';

/** A machine whose root is the file system rpool/ROOT/default, booted by the property `bootfs` of rpool. */
let nas: Nas;
/** The environment that the update created. */
let kept = '';

before(async () => {
  nas = await startNas({ disks: 1, lasting: 'zfs' });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const environments = 'system/bootenv';
const flags = async () =>
  Object.fromEntries((await nas.api.list(`${environments}/`)).map(({ name, active }) => [name, active]));
const said = async (script: string) => (await nas.machine.run(script)).trim();
const root = () => said('findmnt --noheadings --output SOURCE /');
const mark = (word: string) => nas.machine.run(`echo ${word} >/root/mark`);
const activate = (name: string) => nas.api.expect(202, 'POST', `${environments}/${name}/activate/`);

async function restart(): Promise<void> {
  await nas.machine.restartedBy(() => nas.api.expect(202, 'POST', 'system/reboot/'));
  await untilReady(nas.api);
}

async function refusal(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
  const answer = await nas.api.send(method, `${environments}/${path}`, body);
  assert.equal(answer.status, 400, answer.text);
  return answer.json;
}

test('a machine that runs from ZFS has one environment, and its disk and pool are not offered', async () => {
  assert.equal(await root(), 'rpool/ROOT/default');
  const [only, ...others] = await nas.api.list(`${environments}/`);
  assert.deepEqual([only?.['id'], only?.['name'], only?.['active'], others.length], ['default', 'default', 'NR', 0]);
  assert.match(`${only?.['created']} ${only?.['space']}`, /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d \d+(\.\d+)? (Mi|Gi)B$/);
  assert.deepEqual(
    (await nas.api.list('storage/disk/')).map(({ disk_name }) => disk_name),
    ['ubdc'],
  );
  const [pool, ...more] = await nas.api.list(`${environments}/status/`);
  assert.deepEqual([pool?.['name'], pool?.['status'], more], ['rpool', 'ONLINE', []]);
  assert.match(JSON.stringify(pool), /"label":"ubdp1"/);
  for (const path of ['volume', 'volume_import', 'dataset', 'snapshot'])
    assert.deepEqual(await nas.api.list(`storage/${path}/`), []);
});

test('an environment is created from the running one and renamed, and its old name is free again', async () => {
  await mark('early');
  await nas.api.expect(201, 'POST', `${environments}/`, { name: 'spare' });
  assert.equal(
    (await nas.api.post(`${environments}/rename/spare/`, { name: 'next' })).text,
    'Boot Environment has been renamed.',
  );
  assert.equal(
    (await nas.api.expect(201, 'POST', `${environments}/`, { name: 'spare', source: 'next' }))['active'],
    '-',
  );
  assert.deepEqual(await refusal('POST', '', { name: 'next', source: 'none' }), {
    name: ['A boot environment with this name already exists.'],
    source: ['Boot environment "none" does not exist.'],
  });
  assert.deepEqual(await flags(), { default: 'NR', next: '-', spare: '-' });
  assert.deepEqual(await nas.api.list('storage/snapshot/'), []);
  assert.equal((await nas.api.delete('storage/dataset/rpool/ROOT/next/')).status, 404);
});

test('the pool and the dataset that the machine starts from are neither changed nor removed', async () => {
  for (const [method, path, body] of [
    ['DELETE', 'storage/volume/rpool/', { destroy: true }],
    ['DELETE', 'storage/dataset/rpool/ROOT/default/', {}],
    ['PUT', 'storage/dataset/rpool/ROOT/default/', { readonly: 'on' }],
    ['POST', 'storage/volume/rpool/datasets/', { name: 'more' }],
    ['POST', 'storage/volume/', { volume_add: 'rpool', layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }] }],
    ['POST', 'storage/snapshot/', { dataset: 'rpool/ROOT/default', name: 'more' }],
    ['POST', '/api/holdfast/v1/encryption/create', { dataset: 'rpool/more' }],
  ] as const) {
    const answer = await nas.api.send(method, path, body);
    assert.ok(answer.status >= 400 && answer.status < 500, `${method} ${path}: ${answer.status} ${answer.text}`);
  }
  assert.equal(await said('zpool get -Ho value bootfs rpool'), 'rpool/ROOT/default');
  assert.equal(await said('zfs list -Ho name -r -t filesystem,snapshot rpool | grep -c more || true'), '0');
});

test('an update leaves an environment with the system as before', async () => {
  await offerNewerPackage(nas.machine);
  await nas.api.expect(200, 'POST', 'system/update/update/');
  assert.equal(await packageVersion(nas.machine), '1.1');
  kept = Object.keys(await flags()).find((name) => name.startsWith('before-update-')) ?? '';
  assert.deepEqual(await flags(), { default: 'NR', next: '-', spare: '-', [kept]: '-' });
  await mark('late');
});

test('the machine starts from the activated environment, with its contents', async () => {
  await activate(kept);
  assert.deepEqual(await flags(), { default: 'N', next: '-', spare: '-', [kept]: 'R' });
  assert.equal(
    await refusal('DELETE', 'default/'),
    'The boot environment default cannot be removed: the machine runs from it.',
  );
  assert.equal(
    await refusal('DELETE', `${kept}/`),
    `The boot environment ${kept} cannot be removed: the machine boots into it. Activate another one first.`,
  );
  await restart();
  assert.equal(await root(), `rpool/ROOT/${kept}`);
  assert.deepEqual(await flags(), { default: '-', next: '-', spare: '-', [kept]: 'NR' });
  assert.deepEqual([await said('cat /root/mark'), await packageVersion(nas.machine)], ['early', '1.0']);
});

test('the running environment is renamed while it runs, and the machine starts from it', async () => {
  await nas.api.expect(202, 'POST', `${environments}/${kept}/rename/`, { name: 'old' });
  assert.deepEqual(await flags(), { default: '-', next: '-', spare: '-', old: 'NR' });
  assert.deepEqual(
    [await root(), await said('zpool get -Ho value bootfs rpool')],
    ['rpool/ROOT/old', 'rpool/ROOT/old'],
  );
  assert.equal(await said('systemctl is-system-running'), 'running');
});

test('the machine goes back; the other environments are deleted with their contents, and their copies stay', async () => {
  await activate('default');
  await restart();
  assert.deepEqual(
    [await root(), await said('cat /root/mark'), await packageVersion(nas.machine)],
    ['rpool/ROOT/default', 'late', '1.1'],
  );
  // One environment is a copy of the running one, and another is a copy of that copy.
  for (const name of ['next', 'old'])
    assert.equal((await nas.api.delete(`${environments}/${name}/`)).status, 204, await journal(nas.machine));
  assert.deepEqual(await flags(), { default: 'NR', spare: '-' });
  assert.match(
    await said('zfs list -H -t all -o name'),
    /^rpool\nrpool\/ROOT\nrpool\/ROOT\/default\nrpool\/ROOT\/default@\S+\nrpool\/ROOT\/spare$/,
  );
  assert.equal((await nas.api.delete(`${environments}/spare/`)).status, 204);
  assert.equal(await said('zfs list -H -t all -o name'), 'rpool\nrpool/ROOT\nrpool/ROOT/default');
  assert.equal(await refusal('DELETE', 'old/'), 'Boot environment "old" does not exist.');
});

test('the datasets below an environment belong to it', async () => {
  await nas.machine.run(
    'zfs create -u -o canmount=noauto rpool/ROOT/default/var && zfs create -u -o canmount=noauto -o mountpoint=/elsewhere rpool/ROOT/default/opt',
  );
  await nas.api.expect(201, 'POST', `${environments}/`, { name: 'whole' });
  assert.equal(
    await said('zfs get -rHo name,value,source mountpoint rpool/ROOT/whole'),
    'rpool/ROOT/whole\t/\tlocal\nrpool/ROOT/whole/opt\t/elsewhere\tlocal\nrpool/ROOT/whole/var\t/var\tinherited from rpool/ROOT/whole',
  );
  assert.deepEqual(await flags(), { default: 'NR', whole: '-' });
  assert.equal((await nas.api.delete(`${environments}/whole/`)).status, 204);
  assert.equal(
    await said('zfs list -H -t all -o name -r rpool/ROOT'),
    'rpool/ROOT\nrpool/ROOT/default\nrpool/ROOT/default/opt\nrpool/ROOT/default/var',
  );
});

test('at the end nothing differs from the configuration', async () => {
  const reports = await nas.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    reports.filter((report) => report['degraded'] !== null || JSON.stringify(report['drift']) !== '[]'),
    [],
    await journal(nas.machine),
  );
});
