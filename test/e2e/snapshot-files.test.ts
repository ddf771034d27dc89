import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';
import { managementRoot } from '../support/management.ts';

/** Single files of snapshots: what differs, what is restored, and what that leaves. */
let box: Appliance;
const media = '/mnt/tank/media';
const monday = 'tank/media@monday';

before(async () => {
  box = await appliance();
  const { api, host } = box;
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  for (const name of ['media', 'other']) await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  await host.zfs.createDataset('tank/media/below');
  await box.engine.renew('storage');
  await host.files.write(`${media}/letters/may.txt`, 'as it was');
  await host.files.write(`${media}/letters/june.txt`, 'June');
  await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/media', name: 'monday' });
  await host.files.write(`${media}/letters/may.txt`, 'spoiled');
  await host.files.remove(`${media}/letters/june.txt`);
});

after(() => box?.[Symbol.asyncDispose]());

const restore = (body: object) => box.api.post(`${managementRoot}/snapshots/restore`, { snapshot: monday, ...body });
const plan = (body: object) =>
  box.api.post(`${managementRoot}/plan`, {
    ...{ method: 'POST', path: `${managementRoot}/snapshots/restore` },
    body: { snapshot: monday, ...body },
  });
const text = (path: string) => box.host.files.read(`${media}/${path}`);
const snapshotNames = async () => (await box.host.zfs.snapshots(['tank/media'])).map(({ name }) => name);

test('what differs since a snapshot is listed by path', async () => {
  const found = await box.api.expect(200, 'GET', `${managementRoot}/snapshots/differences?from=${monday}`);
  assert.deepEqual(found, {
    complete: true,
    differences: [
      { change: 'changed', kind: 'folder', path: 'letters', to: null },
      { change: 'removed', kind: 'file', path: 'letters/june.txt', to: null },
      { change: 'changed', kind: 'file', path: 'letters/may.txt', to: null },
    ],
  });
});

test('a snapshot that is not there, or of another dataset, is refused under its name', async () => {
  await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/other', name: 'monday' });
  for (const [query, field] of [
    ['from=tank/media@none', 'from'],
    [`from=${monday}&to=tank/media@none`, 'to'],
    [`from=${monday}&to=tank/other@monday`, 'to'],
  ] as const) {
    const { status, json } = await box.api.get(`${managementRoot}/snapshots/differences?${query}`);
    assert.equal(status, 400, query);
    assert.match(JSON.stringify(json), new RegExp(`"${field}":\\["`));
  }
});

test('the files of a snapshot are listed as a folder', async () => {
  const listed = await box.api.list(`${managementRoot}/folders?path=${media}/.zfs/snapshot/monday/letters&files=true`);
  assert.deepEqual(
    listed.map(({ path, kind }) => [path, kind]),
    ['june.txt', 'may.txt'].map((name) => [`${media}/.zfs/snapshot/monday/letters/${name}`, 'file']),
  );
});

test('a file that is gone is restored, and one that is there only when that is asked', async () => {
  const planned = await plan({ path: 'letters/june.txt' });
  assert.match(planned.text, /restore \/mnt\/tank\/media\/letters\/june.txt/);
  assert.equal(await text('letters/june.txt'), undefined, 'a preview restores nothing');
  assert.deepEqual((await restore({ path: 'letters/june.txt' })).json, {
    path: `${media}/letters/june.txt`,
    kept_in: null,
  });
  assert.equal(await text('letters/june.txt'), 'June');

  const refused = await restore({ path: 'letters/may.txt' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /"to":\[".*may.txt.*exists/);
  assert.equal(await text('letters/may.txt'), 'spoiled');
  assert.deepEqual((await restore({ path: 'letters/may.txt', to: 'letters/may (monday).txt' })).status, 200);
  assert.equal(await text('letters/may (monday).txt'), 'as it was');
  assert.deepEqual(await snapshotNames(), ['monday']);
});

test('what a restore replaces is kept in a snapshot', async () => {
  const answered = await restore({ path: 'letters/may.txt', replaces: true });
  assert.match(answered.text, /"kept_in":"tank\/media@before-restore-\d{8}-\d{6}"/);
  assert.equal(await text('letters/may.txt'), 'as it was');
  const [, before = ''] = await snapshotNames();
  assert.match(before, /^before-restore-/);
  assert.equal(
    (await restore({ snapshot: `tank/media@${before}`, path: 'letters/may.txt', to: 'spoiled.txt' })).status,
    200,
  );
  assert.equal(await text('spoiled.txt'), 'spoiled');
});

test('a path out of the dataset, over another dataset, into no folder, or of nothing is refused, and nothing is made', async () => {
  const before = await snapshotNames();
  for (const body of [
    { path: '../other/x' },
    { path: '/etc/passwd' },
    { path: '.zfs/snapshot/monday/letters' },
    { path: 'letters', to: 'below' },
    { path: 'letters', to: 'below/letters' },
    { path: 'letters', to: 'none/letters' },
    { path: 'none' },
    { path: '' },
    { path: 'letters', snapshot: 'tank/media@none' },
  ]) {
    const { status, text: answer } = await restore({ ...body, replaces: true });
    assert.equal(status, 400, `${JSON.stringify(body)}: ${answer}`);
  }
  assert.deepEqual(await snapshotNames(), before);
});

test('a file that a target serves is not replaced under it', async () => {
  await box.api.expect(201, 'POST', 'services/iscsi/extent/', {
    ...{ iscsi_target_extent_name: 'disk', iscsi_target_extent_type: 'File' },
    ...{ iscsi_target_extent_path: `${media}/disk`, iscsi_target_extent_filesize: '1MB' },
  });
  await box.api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/media', name: 'disk' });
  const { status, text: answer } = await restore({ snapshot: 'tank/media@disk', path: 'disk', replaces: true });
  assert.equal(status, 400);
  assert.match(answer, /served over iSCSI/);
});

test('a folder is created with the owner and permissions of the one that it is in', async () => {
  const { api, host } = box;
  await host.files.setPermissions(media, { within: '/mnt', folderMode: 0o770, recursive: false });
  const path = `${media}/projects`;
  assert.deepEqual(await api.expect(201, 'POST', `${managementRoot}/folders`, { path }), { path });
  assert.equal(await host.files.mode(path), 0o770);
  for (const other of [path, `${media}/none/x`, '/mnt/tank', '/mnt/nowhere/x', '/etc/x']) {
    const { status, json } = await api.post(`${managementRoot}/folders`, { path: other });
    assert.deepEqual([status, Object.keys(Object(Object(json)['fields'] ?? json))], [400, ['path']], other);
  }
});
