import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import type { Api } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { at } from '../support/description.ts';
import { withKey } from '../support/keys.ts';
import { managementRoot } from '../support/management.ts';

/** A volume with a dataset for a key, another dataset beside it, and one with a similar name. */
async function provisioned(): Promise<Appliance & { readonly provisioner: Api; readonly planner: Api }> {
  const nas = await appliance();
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  for (const name of ['k8s', 'k8s-other', 'private'])
    await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  for (const parent of ['k8s', 'private']) {
    await nas.api.expect(201, 'POST', `storage/dataset/tank/${parent}/`, { name: 'old' });
    await nas.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: `${parent}/disk`, volsize: '16M' });
    await nas.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: `${parent}/spare`, volsize: '16M' });
    await nas.api.expect(201, 'POST', 'storage/snapshot/', { dataset: `tank/${parent}/old`, name: 'one' });
  }
  const { api } = await withKey(nas, { name: 'csi', role: 'provisioner', dataset: 'tank/k8s' });
  const permissions = [{ resources: ['holdfast/plan'], verbs: ['planRequest'] }];
  const plans = await withKey(nas, { name: 'plans', role: 'provisioner', dataset: 'tank/k8s', permissions });
  return { ...nas, provisioner: api, planner: plans.api };
}

test('a provisioner creates, shares, copies and removes what is below its dataset', async () => {
  await using nas = await provisioned();
  const { provisioner: api } = nas;
  await api.expect(201, 'POST', 'storage/dataset/tank/k8s/', { name: 'pvc-1' });
  await api.expect(201, 'PUT', 'storage/volume/tank/datasets/k8s/pvc-1/', { refquota: '64M' });
  const nfs = await api.expect(201, 'POST', 'sharing/nfs/', {
    nfs_paths: ['/mnt/tank/k8s/pvc-1'],
    nfs_maproot_user: 'root',
  });
  await api.expect(200, 'PUT', `sharing/nfs/${nfs['id']}/`, { nfs_comment: 'one' });
  const cifs = await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/k8s/pvc-1' });
  await api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'k8s/pvc-2', volsize: '16M' });
  const target = await api.expect(201, 'POST', 'services/iscsi/target/', { iscsi_target_name: 'pvc-2' });
  const extent = await api.expect(201, 'POST', 'services/iscsi/extent/', {
    iscsi_target_extent_name: 'pvc-2',
    iscsi_target_extent_type: 'Disk',
    iscsi_target_extent_disk: 'zvol/tank/k8s/pvc-2',
  });
  const link = await api.expect(201, 'POST', 'services/iscsi/targettoextent/', {
    iscsi_target: target['id'],
    iscsi_extent: extent['id'],
  });
  await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/k8s/pvc-1', name: 'now' });
  await api.expect(202, 'POST', 'storage/snapshot/tank/k8s/pvc-1@now/clone/', { name: 'tank/k8s/copy' });
  await api.expect(204, 'DELETE', 'storage/dataset/tank/k8s/copy/');
  for (const path of [
    `services/iscsi/targettoextent/${link['id']}`,
    `services/iscsi/extent/${extent['id']}`,
    `services/iscsi/target/${target['id']}`,
    'storage/volume/tank/zvols/k8s/pvc-2',
    `sharing/cifs/${cifs['id']}`,
    `sharing/nfs/${nfs['id']}`,
    'storage/snapshot/tank/k8s/pvc-1@now',
    'storage/dataset/tank/k8s/pvc-1',
  ])
    await api.expect(204, 'DELETE', `${path}/`);
});

test('nothing that a provisioner sends reaches outside of its dataset', async () => {
  await using nas = await provisioned();
  const { api: root, provisioner: api, planner } = nas;
  const made = async (path: string, body: unknown) => String((await root.expect(201, 'POST', `${path}/`, body))['id']);
  const nfs = await made('sharing/nfs', { nfs_paths: ['/mnt/tank/private'] });
  const cifs = await made('sharing/cifs', { cifs_path: '/mnt/tank/private' });
  const target = await made('services/iscsi/target', { iscsi_target_name: 'foreign' });
  const disk = (name: string) => ({
    iscsi_target_extent_name: name.replaceAll('/', '-'),
    iscsi_target_extent_type: 'Disk',
    iscsi_target_extent_disk: name,
  });
  const extent = await made('services/iscsi/extent', disk('zvol/tank/private/disk'));
  const own = await made('services/iscsi/extent', disk('zvol/tank/k8s/disk'));
  const link = await made('services/iscsi/targettoextent', {
    iscsi_target: Number(target),
    iscsi_extent: Number(extent),
  });
  const ownTarget = await made('services/iscsi/target', { iscsi_target_name: 'own' });
  const portal = await made('services/iscsi/portal', { iscsi_target_portal_ips: ['0.0.0.0:3260'] });
  // A client of a share below the dataset could replace it by a link.
  await nas.machine.files.makeFolder('/mnt/tank/k8s/old/folder', { within: '/mnt/tank', mode: 0o777 });
  const state = async () => [
    await Promise.all(
      [
        'sharing/nfs/',
        'sharing/cifs/',
        'services/iscsi/extent/',
        'services/iscsi/targettoextent/',
        'services/iscsi/target/',
      ].map((path) => root.list(path)),
    ),
    [...nas.engine.world.facts.storage.datasets.keys()],
    nas.engine.world.facts.storage.snapshots.all.length,
  ];
  const before = await state();
  const reached: string[] = [];
  const otherwise: string[] = [];
  for (const [method, path, body] of [
    ['POST', 'storage/volume/tank/datasets/', { name: 'beside' }],
    ['POST', 'storage/dataset/tank/', { name: 'beside' }],
    ['POST', 'storage/dataset/tank/private/', { name: 'in' }],
    ['POST', 'storage/dataset/tank/k8s-other/', { name: 'in' }],
    ['PUT', 'storage/dataset/tank/k8s/', { quota: 0 }],
    ['PUT', 'storage/volume/tank/datasets/private/', { readonly: 'on' }],
    ['POST', 'storage/dataset/tank/private/old/', { readonly: 'on' }],
    ['DELETE', 'storage/dataset/tank/k8s/', undefined],
    ['DELETE', 'storage/dataset/tank/private/old/', undefined],
    ['DELETE', 'storage/volume/tank/datasets/private/disk/', undefined],
    ['POST', 'storage/volume/tank/zvols/', { name: 'private/other', volsize: '16M' }],
    ['POST', 'storage/volume/tank/zvols/', { name: 'k8s/../private/other', volsize: '16M' }],
    ['PUT', 'storage/volume/tank/zvols/private/disk/', { volsize: '32M' }],
    ['DELETE', 'storage/volume/tank/zvols/private/disk/', { cascade: true }],
    ['POST', 'storage/snapshot/', { dataset: 'tank/private', name: 'two' }],
    ['POST', 'storage/snapshot/', { dataset: 'tank', name: 'two', recursive: true }],
    ['DELETE', 'storage/snapshot/tank/private/old@one/', undefined],
    ['POST', 'storage/snapshot/tank/private/old@one/clone/', { name: 'tank/k8s/stolen' }],
    ['POST', 'storage/snapshot/tank/k8s/old@one/clone/', { name: 'tank/private/planted' }],
    ['POST', 'storage/snapshot/tank/k8s/old@one/rollback/', {}],
    ['POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/k8s-other'] }],
    ['POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/k8s/old/../../private/old'] }],
    ['POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/k8s/old/folder'] }],
    ['POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/k8s'] }],
    ['PUT', `sharing/nfs/${nfs}/`, { nfs_paths: ['/mnt/tank/k8s/old'] }],
    ['DELETE', `sharing/nfs/${nfs}/`, undefined],
    ['DELETE', 'sharing/nfs/', undefined],
    ['POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/private/old' }],
    ['POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/k8s/old/new-folder' }],
    ['POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/k8s/old', cifs_auxsmbconf: 'root preexec = /bin/sh' }],
    ['POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/k8s/old', cifs_home: true }],
    ['PUT', `sharing/cifs/${cifs}/`, { cifs_comment: 'mine' }],
    ['POST', 'sharing/webdav/', { webdav_name: 'a', webdav_path: '/mnt/tank/k8s/old' }],
    ['POST', 'services/iscsi/extent/', disk('zvol/tank/private/spare')],
    ['POST', 'services/iscsi/extent/', disk('ada5')],
    [
      'POST',
      'services/iscsi/extent/',
      {
        iscsi_target_extent_name: 'file',
        iscsi_target_extent_type: 'File',
        iscsi_target_extent_path: '/mnt/tank/k8s/old/file',
        iscsi_target_extent_filesize: '16MB',
      },
    ],
    ['PUT', `services/iscsi/extent/${extent}/`, { iscsi_target_extent_comment: 'mine' }],
    [
      'PUT',
      `services/iscsi/extent/${own}/`,
      { iscsi_target_extent_disk: 'zvol/tank/private/spare', iscsi_target_extent_type: 'Disk' },
    ],
    ['DELETE', `services/iscsi/extent/${extent}/`, undefined],
    ['PUT', `services/iscsi/target/${target}/`, { iscsi_target_alias: 'mine' }],
    ['DELETE', `services/iscsi/target/${target}/`, undefined],
    ['POST', 'services/iscsi/targettoextent/', { iscsi_target: Number(ownTarget), iscsi_extent: Number(extent) }],
    ['POST', 'services/iscsi/targettoextent/', { iscsi_target: Number(target), iscsi_extent: Number(own) }],
    ['PUT', `services/iscsi/targettoextent/${link}/`, { iscsi_target: Number(ownTarget) }],
    ['DELETE', `services/iscsi/targettoextent/${link}/`, undefined],
    ['POST', 'services/iscsi/targetgroup/', { iscsi_target: Number(target), iscsi_target_portalgroup: Number(portal) }],
    ['POST', `${managementRoot}/plan`, { method: 'DELETE', path: 'storage/dataset/tank/private/old/' }],
    ['POST', `${managementRoot}/keys`, { name: 'more', role: 'provisioner', dataset: 'tank' }],
    ['POST', 'storage/volume/tank/scrub/', {}],
    ['DELETE', 'storage/volume/tank/', undefined],
  ] as const) {
    const dry = await planner.post(`${managementRoot}/plan`, { method, path, body });
    const answer = await api.send(method, path, body);
    // A key that may plan everything learns no more than what it may send.
    if (!path.endsWith('/plan') && (dry.status === 403) !== (answer.status === 403))
      otherwise.push(`${method} ${path} planned: ${dry.text}, sent: ${answer.text}`);
    if (answer.status < 400) reached.push(`${method} ${path} ${JSON.stringify(body)}: ${answer.status}`);
    else if (answer.status !== 403) otherwise.push(`${method} ${path} ${answer.text}`);
  }
  assert.deepEqual(reached, []);
  // Invalid for everybody.
  assert.deepEqual(
    otherwise.map((line) => line.replace(/ \{.*/, '')),
    ['POST storage/volume/tank/zvols/'],
  );
  assert.deepEqual(await state(), before);
});

test('a dry run of a provisioner says what it may do below its dataset', async () => {
  await using nas = await provisioned();
  const answer = await nas.planner.post(`${managementRoot}/plan`, {
    method: 'POST',
    path: 'storage/dataset/tank/k8s/',
    body: { name: 'pvc-1' },
  });
  assert.deepEqual([answer.status, answer.json], [200, ['create the dataset tank/k8s/pvc-1']]);
});

test('a clone outside of the dataset keeps a zvol from being destroyed with its clones', async () => {
  await using nas = await provisioned();
  const { api: root, provisioner: api } = nas;
  await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/k8s/disk', name: 'one' });
  await root.expect(202, 'POST', 'storage/snapshot/tank/k8s/disk@one/clone/', { name: 'tank/private/copy' });
  assert.equal((await api.delete('storage/volume/tank/zvols/k8s/disk/', { cascade: true })).status, 403);
  assert.ok(nas.engine.world.facts.storage.datasets.has('tank/private/copy'));
  await root.expect(204, 'DELETE', 'storage/volume/tank/zvols/private/copy/');
  await api.expect(204, 'DELETE', 'storage/volume/tank/zvols/k8s/disk/', { cascade: true });
});

test('a provisioner requires a dataset, which goes with no raw permission', async () => {
  await using nas = await appliance();
  const post = async (body: unknown) => {
    const fields = at((await nas.api.post(`${managementRoot}/keys`, body)).json, 'fields');
    return isObject(fields) ? fields : {};
  };
  assert.deepEqual(await post({ name: 'a', role: 'provisioner' }), {
    dataset: ['dataset is required when role is provisioner.'],
  });
  assert.deepEqual(Object.keys(await post({ name: 'a', role: 'administrator', dataset: 'tank/a' })), ['dataset']);
  assert.deepEqual(Object.keys(await post({ name: 'a', role: 'provisioner', dataset: 'tank/../a' })), ['dataset']);
});

test('a provisioner lists the folders of its dataset, and no others', async () => {
  await using nas = await provisioned();
  const folders = (path: string) => nas.provisioner.get(`${managementRoot}/folders?path=${path}`);
  const own = await folders('/mnt/tank/k8s');
  assert.equal(own.status, 200, own.text);
  assert.match(own.text, /"path":"\/mnt\/tank\/k8s\/old"/);
  for (const path of ['/mnt', '/mnt/tank', '/mnt/tank/private', '/mnt/tank/k8s-other', '/mnt/tank/k8s/../private']) {
    const answer = await folders(path);
    assert.equal(answer.status, 400, `${path}: ${answer.text}`);
    assert.match(answer.text, /confined/);
  }
});
