import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';

let box: Appliance;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'other' });
});

after(async () => {
  await box?.[Symbol.asyncDispose]();
});

const shares = 'sharing/nfs';

async function problems(body: object): Promise<Readonly<Record<string, readonly string[]>>> {
  const answer = await box.api.post(`${shares}/`, body);
  assert.equal(answer.status, 409, answer.text);
  return JSON.parse(answer.text);
}

test('a share is made, changed and deleted, and its folder is made', async () => {
  const made = await box.api.expect(201, 'POST', `${shares}/`, {
    nfs_paths: '/mnt/tank/media',
    nfs_hosts: 'a.example.com',
    nfs_security: null,
  });
  assert.deepEqual(made, {
    id: made['id'],
    nfs_alldirs: false,
    nfs_comment: '',
    nfs_hosts: 'a.example.com',
    nfs_mapall_group: '',
    nfs_mapall_user: '',
    nfs_maproot_group: '',
    nfs_maproot_user: '',
    nfs_network: '',
    nfs_paths: ['/mnt/tank/media'],
    nfs_quiet: false,
    nfs_ro: false,
    nfs_security: [],
  });
  assert.equal(await box.host.files.kind('/mnt/tank/media'), 'folder');
  const changed = await box.api.expect(200, 'PUT', `${shares}/${made['id']}/`, { nfs_comment: 'Media' });
  assert.deepEqual([changed['nfs_comment'], changed['nfs_paths']], ['Media', ['/mnt/tank/media']]);
  assert.equal((await box.api.delete(`${shares}/${made['id']}/`)).status, 204);
  assert.equal(await box.host.files.read('/etc/exports.d/holdfast-0.exports'), undefined);
});

test('V6: nfs_security is a list or a text, counts with every version, and is kept by a PUT of another field', async () => {
  const without = await box.api.expect(201, 'POST', `${shares}/`, {
    nfs_paths: ['/mnt/tank/v6'],
    nfs_hosts: 'v6.example.com',
    nfs_security: 'krb5p',
  });
  assert.deepEqual(without['nfs_security'], ['krb5p']);
  const kept = await box.api.expect(200, 'PUT', `${shares}/${without['id']}/`, { nfs_comment: 'secret' });
  assert.deepEqual(kept['nfs_security'], ['krb5p']);
  assert.match((await box.host.files.read('/etc/exports.d/holdfast-0.exports')) ?? '', /sec=krb5p,/);
  for (const [sent, kept] of [
    ['sys', ['sys']],
    [
      ['krb5', 'sys'],
      ['krb5', 'sys'],
    ],
    [[], []],
    [null, []],
  ] as const) {
    assert.deepEqual(
      (await box.api.expect(200, 'PUT', `${shares}/${without['id']}/`, { nfs_security: sent }))['nfs_security'],
      kept,
    );
  }
  await box.api.delete(`${shares}/`);
});

test('B8: two shares of a dataset do not let the same clients in', async () => {
  await box.api.expect(201, 'POST', `${shares}/`, { nfs_paths: ['/mnt/tank/a'] });
  assert.deepEqual(await problems({ nfs_paths: ['/mnt/tank/b'] }), {
    nfs_network: ["You can't share same filesystem with all hosts twice."],
  });
  assert.deepEqual(await problems({ nfs_paths: ['/mnt/tank/b'], nfs_network: '192.0.2.0/24' }), {
    nfs_network: ['Another NFS share already exports this dataset for some network'],
  });
  await box.api.expect(201, 'POST', `${shares}/`, { nfs_paths: ['/mnt/tank/b'], nfs_hosts: 'b.example.com' });
  assert.deepEqual(await problems({ nfs_paths: ['/mnt/tank/c'], nfs_hosts: 'c.example.com b.example.com' }), {
    nfs_hosts: ['Another NFS share already exports this dataset for b.example.com'],
  });
  await box.api.expect(201, 'POST', `${shares}/`, { nfs_paths: ['/mnt/tank/other'], nfs_network: '192.0.2.0/24' });
  assert.deepEqual(await problems({ nfs_paths: ['/mnt/tank/other/x'], nfs_network: '192.0.2.128/25' }), {
    nfs_network: ['Another NFS share already exports this dataset for some network'],
  });
  assert.deepEqual(await problems({ nfs_paths: ['/mnt/tank/other/x'] }), {
    nfs_network: ['Another NFS share already exports this dataset for some network'],
  });
  await box.api.expect(201, 'POST', `${shares}/`, { nfs_paths: ['/mnt/tank/other/x'], nfs_network: '198.51.100.0/24' });
  await box.api.delete(`${shares}/`);
});

test('what does not go together is told by its field', async () => {
  assert.deepEqual(Object.keys(await problems({})), ['nfs_paths']);
  assert.deepEqual(Object.keys(await problems({ nfs_paths: [] })), ['nfs_paths']);
  assert.deepEqual(Object.keys(await problems({ nfs_paths: ['/mnt/tank/a b'] })), ['nfs_paths']);
  assert.deepEqual(Object.keys(await problems({ nfs_paths: ['/mnt/tank/a', '/mnt/tank/other/b'] })), ['nfs_paths']);
  assert.deepEqual(Object.keys(await problems({ nfs_paths: ['/mnt/tank/a', '/mnt/tank/b'], nfs_alldirs: true })), [
    'nfs_alldirs',
  ]);
  assert.deepEqual(
    Object.keys(await problems({ nfs_paths: ['/mnt/tank/a'], nfs_mapall_user: 'root', nfs_maproot_user: 'root' })),
    ['nfs_mapall_user'],
  );
  assert.deepEqual(Object.keys(await problems({ nfs_paths: ['/mnt/tank/a'], nfs_mapall_group: 'wheel' })), [
    'nfs_mapall_group',
  ]);
  assert.deepEqual(Object.keys(await problems({ nfs_paths: ['/mnt/tank/a'], nfs_maproot_user: 'who' })), [
    'nfs_maproot_user',
  ]);
  assert.deepEqual(
    Object.keys(await problems({ nfs_paths: ['/mnt/tank/a'], nfs_network: '192.0.2.0', nfs_hosts: 'a(rw)' })).sort(),
    ['nfs_hosts', 'nfs_network'],
  );
});

test('the settings have their rules', async () => {
  const settings = await box.api.expect(200, 'PUT', 'services/nfs/', {
    nfs_srv_servers: '50',
    nfs_srv_bindip: '192.0.2.7',
    nfs_srv_mountd_port: 618,
  });
  assert.deepEqual(
    [settings['nfs_srv_servers'], settings['nfs_srv_bindip'], settings['nfs_srv_mountd_port']],
    [50, ['192.0.2.7'], 618],
  );
  const refused = async (body: object) => Object.keys(JSON.parse((await box.api.put('services/nfs/', body)).text));
  assert.deepEqual(await refused({ nfs_srv_v4_v3owner: true }), ['nfs_srv_v4_v3owner']);
  assert.deepEqual(await refused({ nfs_srv_v4: true, nfs_srv_v4_v3owner: true, nfs_srv_16: true }), ['nfs_srv_16']);
  assert.deepEqual(await refused({ nfs_srv_rpcstatd_port: 618 }), ['nfs_srv_rpcstatd_port']);
  assert.deepEqual(await refused({ nfs_srv_rpclockd_port: 2049 }), ['nfs_srv_rpclockd_port']);
  await box.api.expect(200, 'PUT', 'services/nfs/', { nfs_srv_v4: true, nfs_srv_v4_v3owner: true });
  assert.equal((await box.api.expect(200, 'PUT', 'services/nfs/', { nfs_srv_v4: false }))['nfs_srv_v4_v3owner'], false);
});
