import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { poolProblems } from '../../src/areas/storage/pool-problems.ts';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { withKey } from '../support/keys.ts';

const root = '/api/holdfast/v1/bin';
let box: Appliance;
let time = Date.now();

before(async () => {
  box = await appliance({ now: () => time });
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
});

after(() => box?.[Symbol.asyncDispose]());

const put = (path: string, body: object = {}) => box.api.expect(201, 'POST', root, { path, ...body });
const restore = (id: unknown, body: object = {}) => box.api.post(`${root}/${String(id)}/restore`, body);
const dataset = (name: string, more: object = {}) =>
  box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name, ...more });
const datasetNames = async () => (await box.machine.zfs.datasets()).map(({ name }) => name);
const idle = async () => {
  while (box.engine.jobs.list(20).some(({ state }) => state === 'running')) await pause(5);
};
const share = async (name: string) =>
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: name, cifs_path: '/mnt/tank' });

test('a share goes to the bin and comes back with its id and all its values', async () => {
  const made = await share('docs');
  const entry = await put(`sharing/cifs/${String(made['id'])}/`);
  assert.deepEqual(
    [entry['title'], entry['name'], entry['removed_by'], entry['dataset'], entry['used']],
    ['CIFS share', 'docs', 'root', null, 0],
  );
  assert.equal(Date.parse(String(entry['ends'])) - Date.parse(String(entry['removed'])), 7 * 86_400_000);
  assert.deepEqual(entry['records'], [{ resource: 'sharing/cifs', id: made['id'] }]);
  assert.equal((await box.api.get(`sharing/cifs/${String(made['id'])}/`)).status, 404);
  const answer = await restore(entry['id']);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(await box.api.expect(200, 'GET', `sharing/cifs/${String(made['id'])}/`), made);
  assert.deepEqual(await box.api.list(root), []);
  assert.equal((await restore(entry['id'])).status, 404);
});

test('a name that was taken meanwhile is named with its holder, and another name is taken', async () => {
  const made = await share('music');
  const entry = await put(`sharing/cifs/${String(made['id'])}/`);
  const other = await share('music');
  assert.notEqual(other['id'], made['id'], 'the id of what is in the bin is not given again');
  const refusal = await restore(entry['id']);
  assert.equal(refusal.status, 409, refusal.text);
  assert.match(refusal.text, new RegExp(`sharing/cifs/${String(other['id'])} has its cifs_name \\\\"music\\\\"`));
  assert.ok(isObject(refusal.json));
  assert.equal(refusal.json['code'], 'busy');
  const answer = await restore(entry['id'], { name: 'old-music' });
  assert.equal(answer.status, 200, answer.text);
  const back = await box.api.expect(200, 'GET', `sharing/cifs/${String(made['id'])}/`);
  assert.deepEqual(back, { ...made, cifs_name: 'old-music' });
});

test('a task goes to the bin, and a plan says what would be done and does nothing', async () => {
  const job = { cron_user: 'root', cron_command: 'true', cron_description: 'kept' };
  const { id } = await box.api.expect(201, 'POST', 'tasks/cronjob/', job);
  const path = `tasks/cronjob/${String(id)}/`;
  const planned = async (address: string, body: object) => {
    const answer = await box.api.post('/api/holdfast/v1/plan', { method: 'POST', path: address, body });
    assert.ok(answer.status === 200 && Array.isArray(answer.json), answer.text);
    return answer.json;
  };
  assert.ok((await planned(root, { path })).length > 0);
  await box.api.expect(200, 'GET', path);
  const entry = await put(path);
  assert.ok((await planned(`${root}/${String(entry['id'])}/restore`, {})).length > 0);
  assert.equal((await box.api.get(path)).status, 404);
  await box.api.expect(204, 'DELETE', `${root}/${String(entry['id'])}`);
  assert.equal((await restore(entry['id'])).status, 404);
  assert.equal((await box.api.get(path)).status, 404);
});

test('what the removal of a record changed in others is as before after the restore, unless it was changed again', async () => {
  const task = { task_filesystem: 'tank', task_recursive: false, task_ret_count: 2, task_ret_unit: 'week' };
  const { id } = await box.api.expect(201, 'POST', 'storage/task/', task);
  const one = await share('one');
  const two = await share('two');
  for (const { id: shareId } of [one, two])
    await box.api.expect(200, 'PUT', `sharing/cifs/${String(shareId)}/`, { cifs_storage_task: id });
  const entry = await put(`storage/task/${String(id)}/`);
  assert.equal((await box.api.expect(200, 'GET', `sharing/cifs/${String(one['id'])}/`))['cifs_storage_task'], null);
  const other = await box.api.expect(201, 'POST', 'storage/task/', task);
  await box.api.expect(200, 'PUT', `sharing/cifs/${String(two['id'])}/`, { cifs_storage_task: other['id'] });
  assert.equal((await restore(entry['id'])).status, 200);
  const now = async (which: typeof one) =>
    (await box.api.expect(200, 'GET', `sharing/cifs/${String(which['id'])}/`))['cifs_storage_task'];
  assert.deepEqual([await now(one), await now(two)], [id, other['id']]);
});

test('what has no place in the bin is refused in words, and is still there', async () => {
  const refusal = await box.api.post(root, { path: 'storage/volume/tank/' });
  assert.equal(refusal.status, 400, refusal.text);
  assert.match(refusal.text, /A volume cannot go to the bin/);
  for (const path of ['storage/volume/tank/scrub/', 'sharing/cifs/none/', 'nowhere/'])
    assert.ok((await box.api.post(root, { path })).status >= 400, path);
  await box.api.expect(200, 'GET', 'storage/volume/tank/');
});

test('an account in the bin is locked, keeps its name and numbers, and comes back with its password and groups', async () => {
  const { id: team } = await box.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'team' });
  const account = { bsdusr_username: 'mary', bsdusr_full_name: 'Mary', bsdusr_creategroup: true };
  const sent = { ...account, bsdusr_password: 'secret 1', bsdusr_to_group: [team] };
  const made = await box.api.expect(201, 'POST', 'account/users/', sent);
  const ofMachine = async () => (await box.machine.accounts.owned()).users.find(({ name }) => name === 'mary');
  const samba = async () => (await box.machine.files.read('/etc/samba/smbpasswd')) ?? '';
  const earlier = [await ofMachine(), await samba()];
  assert.match(await samba(), /^mary:/m);
  const entry = await put(`account/users/${String(made['id'])}/`);
  const locked = await ofMachine();
  assert.deepEqual(
    [locked?.uid, locked?.passwordHash, locked?.groups, locked?.shell],
    [made['bsdusr_uid'], '*', [], '/usr/sbin/nologin'],
  );
  assert.doesNotMatch(await samba(), /mary/);
  const next = { bsdusr_full_name: 'x', bsdusr_password: 'secret 2', bsdusr_creategroup: true };
  for (const taken of [{ bsdusr_username: 'mary' }, { bsdusr_username: 'mia', bsdusr_uid: made['bsdusr_uid'] }]) {
    const refusal = await box.api.post('account/users/', { ...next, ...taken });
    assert.equal(refusal.status, 409, refusal.text);
    assert.match(refusal.text, new RegExp(`The bin keeps the user mary .*entry ${String(entry['id'])}`));
  }
  const mia = await box.api.expect(201, 'POST', 'account/users/', { ...next, bsdusr_username: 'mia' });
  assert.notEqual(mia['bsdusr_uid'], made['bsdusr_uid']);
  const answer = await restore(entry['id']);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(await box.api.expect(200, 'GET', `account/users/${String(made['id'])}/`), made);
  assert.match(await samba(), /^mary:/m);
  assert.deepEqual(
    [
      await ofMachine(),
      (await samba())
        .split('\n')
        .toSorted()
        .filter((line) => !line.startsWith('mia')),
    ],
    [earlier[0], String(earlier[1]).split('\n').toSorted()],
  );
});

test('a dataset goes to the bin with its children, shares and tasks, and comes back with all of it and its files', async () => {
  const made = await dataset('media', { quota: '1G', compression: 'gzip-9', comments: 'films' });
  await box.api.expect(201, 'POST', 'storage/dataset/tank/media/', { name: 'inner' });
  await box.machine.files.write('/mnt/tank/media/film', 'reel', { mode: 0o644 });
  await box.machine.files.write('/mnt/tank/media/inner/file', 'inside', { mode: 0o644 });
  await box.api.expect(200, 'POST', 'storage/snapshot/', { dataset: 'tank/media', name: 'monday' }).catch(() => {});
  const of = await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'films', cifs_path: '/mnt/tank/media' });
  const nfs = await box.api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/media/inner'] });
  const task = await box.api.expect(201, 'POST', 'storage/task/', { task_filesystem: 'tank/media' });
  const before = (await box.machine.zfs.datasets()).filter(({ name }) => name.startsWith('tank/media'));
  const snapshots = (await box.api.list('storage/snapshot/')).map(({ id }) => id);
  const entry = await put('storage/dataset/tank/media/');
  assert.deepEqual(
    [entry['dataset'], entry['kept_as']],
    ['tank/media', `tank/.holdfast-bin/${String(entry['id'])}-media`],
  );
  assert.ok(Number(entry['used']) > 0, 'it counts as space used');
  assert.deepEqual(
    new Set(JSON.parse(JSON.stringify(entry['records'])).map(({ resource }: { resource: string }) => resource)),
    new Set(['sharing/cifs', 'sharing/nfs', 'storage/task']),
  );
  const kept = (await box.machine.zfs.datasets()).filter(({ name }) => name.startsWith(String(entry['kept_as'])));
  assert.deepEqual(
    kept.map(({ mountpoint, properties }) => [mountpoint, properties.readonly]),
    Array(2).fill([undefined, 'on']),
  );
  assert.equal(await box.machine.files.kind('/mnt/tank/media/film'), undefined);
  for (const path of ['storage/dataset/', 'storage/volume/tank/datasets/', 'storage/volume/', 'storage/snapshot/'])
    assert.doesNotMatch((await box.api.get(path)).text, /holdfast-bin|media/, path);
  const [volume] = await box.api.list(`${root}/volumes`);
  assert.ok(Number(volume?.['used']) >= Number(entry['used']) && volume?.['entries'] === 1, JSON.stringify(volume));
  const answer = await restore(entry['id']);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(await box.machine.files.read('/mnt/tank/media/film'), 'reel');
  assert.equal(await box.machine.files.read('/mnt/tank/media/inner/file'), 'inside');
  const after_ = (await box.machine.zfs.datasets()).filter(({ name }) => name.startsWith('tank/media'));
  assert.deepEqual(
    after_.map(({ available: _, ...rest }) => rest),
    before.map(({ available: _, ...rest }) => rest),
  );
  assert.deepEqual(
    (await box.api.list('storage/snapshot/')).map(({ id }) => id),
    snapshots,
  );
  for (const [path, record] of [
    ['sharing/cifs', of],
    ['sharing/nfs', nfs],
    ['storage/task', task],
  ] as const)
    assert.deepEqual(await box.api.expect(200, 'GET', `${path}/${String(record['id'])}/`), record);
  const { avail: _, ...shown } = await box.api.expect(200, 'GET', 'storage/dataset/tank/media/');
  const { avail: __, used: ___, ...expected } = made;
  assert.deepEqual({ ...shown, ...expected }, shown);
});

test('a dataset whose name was taken comes back under another one, and its shares follow it', async () => {
  await dataset('one');
  const of = await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'ones', cifs_path: '/mnt/tank/one' });
  const entry = await put('storage/volume/tank/datasets/one/');
  await dataset('one');
  const refusal = await restore(entry['id']);
  assert.equal(refusal.status, 409, refusal.text);
  assert.match(refusal.text, /a dataset or zvol has this name now/);
  assert.equal((await restore(entry['id'], { name: 'elsewhere/one' })).status, 400);
  const answer = await restore(entry['id'], { name: 'tank/first' });
  assert.equal(answer.status, 200, answer.text);
  const back = await box.api.expect(200, 'GET', `sharing/cifs/${String(of['id'])}/`);
  assert.deepEqual(back, { ...of, cifs_path: '/mnt/tank/first' });
  assert.deepEqual(
    (await datasetNames()).filter((name) => /one|first/.test(name)),
    ['tank/first', 'tank/one'],
  );
});

test('a zvol goes to the bin with its extent, and comes back as the disk that it was', async () => {
  await box.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'disk', volsize: '64M' });
  const extent = await box.api.expect(201, 'POST', 'services/iscsi/extent/', {
    iscsi_target_extent_name: 'disk',
    iscsi_target_extent_type: 'Disk',
    iscsi_target_extent_disk: 'zvol/tank/disk',
  });
  const entry = await put('storage/volume/tank/zvols/disk/');
  assert.equal(entry['title'], 'zvol');
  assert.deepEqual(await box.api.list('storage/volume/tank/zvols/'), []);
  const answer = await restore(entry['id']);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(await box.api.expect(200, 'GET', `services/iscsi/extent/${String(extent['id'])}/`), extent);
});

test('neither snapshots of a task nor recursive ones are taken in the bin', async () => {
  await dataset('quiet');
  const entry = await put('storage/dataset/tank/quiet/');
  await box.machine.zfs.createSnapshot('tank@whole', { recursive: true });
  assert.deepEqual(await box.machine.zfs.snapshots([String(entry['kept_as']), 'tank/.holdfast-bin']), []);
  assert.ok((await box.machine.zfs.snapshots(['tank', 'tank/media'])).some(({ name }) => name === 'whole'));
  await box.api.expect(204, 'DELETE', `${root}/${String(entry['id'])}`);
  assert.ok(!(await datasetNames()).includes(String(entry['kept_as'])), 'DELETE destroys it');
});

test('a dataset with a clone of its snapshot is refused, and the clone is named', async () => {
  await dataset('source');
  await box.machine.zfs.createSnapshot('tank/source@a');
  await box.machine.zfs.cloneSnapshot('tank/source@a', 'tank/copy');
  await box.engine.renew('storage');
  const refusal = await box.api.post(root, { path: 'storage/dataset/tank/source/' });
  assert.equal(refusal.status, 400, refusal.text);
  assert.match(refusal.text, /dependent clones, such as tank\/copy/);
  assert.match(refusal.text, /"code":"busy"/);
});

test('at the end of its days a job destroys what is in the bin, also after a restart', async () => {
  await dataset('old');
  const settings = await box.api.expect(200, 'PUT', `${root}/settings`, { days: 2 });
  assert.deepEqual(settings, { days: 2, for_document: false });
  const entry = await put('storage/dataset/tank/old/');
  box = await box.restart();
  const look = async (days: number) => {
    time = Date.parse(String(entry['removed'])) + days * 86_400_000;
    box.engine.lookAtClock();
    time += 61_000;
    box.engine.lookAtClock();
    await idle();
  };
  await look(1.9);
  assert.ok((await datasetNames()).includes(String(entry['kept_as'])));
  await look(2.001);
  assert.ok(!(await datasetNames()).includes(String(entry['kept_as'])));
  assert.deepEqual(
    (await box.api.list(root)).filter(({ id }) => id === entry['id']),
    [],
  );
});

test('what cannot be destroyed at its end is a problem, and a nearly full volume names the bin', async () => {
  await dataset('held');
  const entry = await put('storage/dataset/tank/held/');
  await box.machine.zfs.createSnapshot(`${String(entry['kept_as'])}@a`);
  await box.machine.zfs.cloneSnapshot(`${String(entry['kept_as'])}@a`, 'tank/holder');
  time = Date.parse(String(entry['ends'])) + 2 * 3_600_000;
  box.engine.lookAtClock();
  time += 61_000;
  box.engine.lookAtClock();
  await idle();
  const problem = box.engine.problems.find(({ kind }) => kind === 'overdue');
  assert.equal(problem?.about, `holdfast/bin/${String(entry['id'])}`);
  assert.ok((await datasetNames()).includes(String(entry['kept_as'])));
  const refusal = await box.api.delete(`${root}/${String(entry['id'])}`);
  assert.equal(refusal.status, 400, refusal.text);
  assert.match(refusal.text, /"code":"busy".*tank\\?\/holder/);
  const { facts } = box.engine.world;
  const [pool] = facts.storage.pools.values();
  assert.ok(pool !== undefined);
  const full = new Map([[pool.name, { ...pool, allocated: pool.size }]]);
  const situation = { ...box.engine.world, facts: { ...facts, storage: { ...facts.storage, pools: full } } };
  const capacity = poolProblems(situation).find(({ kind }) => kind === 'capacity');
  assert.match(capacity?.message ?? '', /The bin occupies .* of it: GET \/api\/holdfast\/v1\/bin/);
  await box.machine.zfs.destroyDataset('tank/holder');
  await box.api.expect(204, 'DELETE', `${root}/${String(entry['id'])}`);
});

test('where the setting says so, a DELETE of the document moves to the bin', async () => {
  await box.api.expect(200, 'PUT', `${root}/settings`, { for_document: true });
  const made = await share('by-delete');
  await box.api.expect(204, 'DELETE', `sharing/cifs/${String(made['id'])}/`);
  await dataset('by-delete');
  await box.api.expect(204, 'DELETE', 'storage/dataset/tank/by-delete/');
  const [ofDataset, ofShare] = await box.api.list(root);
  assert.deepEqual([ofDataset?.['name'], ofShare?.['name']], ['tank/by-delete', 'by-delete']);
  for (const entry of [ofDataset, ofShare]) assert.equal((await restore(entry?.['id'])).status, 200);
  await box.api.expect(200, 'PUT', `${root}/settings`, { for_document: false });
  await box.api.expect(204, 'DELETE', `sharing/cifs/${String(made['id'])}/`);
  await box.api.expect(204, 'DELETE', 'storage/dataset/tank/by-delete/');
  assert.deepEqual(
    (await box.api.list(root)).map(({ name }) => name),
    [],
  );
});

test('keys need the rights of the request, and a confined one moves and restores only what is below its dataset', async () => {
  await dataset('k8s');
  const permissions = [{ resources: ['holdfast/bin'], verbs: ['*'] }];
  const { api: plain } = await withKey(box, { name: 'plain', role: 'provisioner', dataset: 'tank/k8s' });
  const { api } = await withKey(box, { name: 'csi', role: 'provisioner', dataset: 'tank/k8s', permissions });
  await api.expect(201, 'POST', 'storage/dataset/tank/k8s/', { name: 'pvc' });
  const nfs = await api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/k8s/pvc'] });
  const path = 'storage/dataset/tank/k8s/pvc/';
  assert.equal((await plain.post(root, { path })).status, 403);
  const entry = await api.expect(201, 'POST', root, { path });
  assert.equal(entry['removed_by'], 'key csi');
  assert.equal((await plain.post(`${root}/${String(entry['id'])}/restore`, {})).status, 403);
  const outside = await api.post(`${root}/${String(entry['id'])}/restore`, { name: 'tank/stolen' });
  assert.equal(outside.status, 403, outside.text);
  await api.expect(200, 'POST', `${root}/${String(entry['id'])}/restore`, {});
  await api.expect(200, 'GET', `sharing/nfs/${String(nfs['id'])}/`);
  await dataset('private');
  assert.equal((await api.post(root, { path: 'storage/dataset/tank/private/' })).status, 403);
  const other = await put('storage/dataset/tank/private/');
  for (const body of [{}, { name: 'tank/k8s/private' }])
    assert.equal((await api.post(`${root}/${String(other['id'])}/restore`, body)).status, 403);
  assert.equal((await api.delete(`${root}/${String(other['id'])}`)).status, 403);
  await box.api.expect(200, 'PUT', `${root}/settings`, { for_document: true });
  await plain.expect(204, 'DELETE', path);
  assert.equal((await box.api.list(root))[0]?.['dataset'], 'tank/k8s/pvc');
  await box.api.expect(200, 'PUT', `${root}/settings`, { for_document: false });
});

test('a volume that is destroyed takes its entries with it', async () => {
  await dataset('last');
  const entry = await put('storage/dataset/tank/last/');
  const { id } = await box.api.expect(200, 'GET', 'storage/volume/tank/');
  await box.api.expect(204, 'DELETE', `storage/volume/${String(id)}/`);
  assert.equal((await box.api.get(`${root}/${String(entry['id'])}`)).status, 404);
});
