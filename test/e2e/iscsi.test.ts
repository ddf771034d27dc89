import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Initiator, VirtualTargets } from '../../src/host/virtual/index.ts';
import { VirtualTargets as VirtualTargetsClass } from '../../src/host/virtual/targets.ts';
import { type Appliance, appliance, GiB } from '../support/appliance.ts';
import { everyRow } from '../support/iscsi-rows.ts';

const basename = 'iqn.2005-10.org.freenas.ctl';
const at = (path: string) => `services/iscsi/${path}/`;

/** An appliance with the volume tank, the zvol tank/v, a portal, and the service running. */
async function furnished(): Promise<Appliance> {
  const one = await appliance({ disks: [4 * GiB, 4 * GiB] });
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await one.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: '10M' });
  await one.api.expect(201, 'POST', at('portal'), { iscsi_target_portal_ips: ['0.0.0.0:3260'] });
  await one.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: true });
  return one;
}

function targetsOf({ host }: Appliance): VirtualTargets {
  assert.ok(host.targets instanceof VirtualTargetsClass);
  return host.targets;
}

/** Asks again for some seconds until it holds. */
async function eventually(statement: () => Promise<void>): Promise<void> {
  const end = Date.now() + 10_000;
  for (;;) {
    try {
      await statement();
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await pause(20);
    }
  }
}

/** Somebody at the first portal. */
const client = (more: Partial<Initiator> = {}): Initiator => ({
  name: 'iqn.1993-08.org.debian:01:c',
  address: '192.0.2.7',
  portal: { address: '192.0.2.1', port: 3260 },
  ...more,
});

const file = (name: string, more: object = {}) => ({
  iscsi_target_extent_name: name,
  iscsi_target_extent_type: 'File',
  iscsi_target_extent_path: `/mnt/tank/new/folder/${name}`,
  iscsi_target_extent_filesize: '1MB',
  ...more,
});

const zvolExtent = {
  iscsi_target_extent_name: 'tank/v',
  iscsi_target_extent_type: 'Disk',
  iscsi_target_extent_disk: 'zvol/tank/v',
};

/** A target with a way in for everybody and the zvol at LUN 0. */
async function targetOn(
  one: Appliance,
  name = 't',
): Promise<{ target: number; extent: number; association: number; group: number }> {
  const { api } = one;
  const target = Number((await api.expect(201, 'POST', at('target'), { iscsi_target_name: name }))['id']);
  const group = Number(
    (await api.expect(201, 'POST', at('targetgroup'), { iscsi_target: target, iscsi_target_portalgroup: 1 }))['id'],
  );
  const extent = Number((await api.expect(201, 'POST', at('extent'), zvolExtent))['id']);
  const association = Number(
    (await api.expect(201, 'POST', at('targettoextent'), { iscsi_target: target, iscsi_extent: extent }))['id'],
  );
  return { target, extent, association, group };
}

test('initiators find what the records say, while the service is on', async () => {
  await using one = await furnished();
  await targetOn(one);
  const targets = targetsOf(one);
  assert.deepEqual(targets.discovered(client()), [`${basename}:t`]);
  const [lun] = targets.luns(`${basename}:t`, client()) ?? [];
  assert.deepEqual(
    [lun?.number, lun?.extent.backing, lun?.extent.blockSize],
    [0, { kind: 'zvol', path: '/dev/zvol/tank/v' }, 512],
  );
  assert.deepEqual(
    targets.discovered(client({ portal: { address: '192.0.2.1', port: 3261 } })),
    [],
    'at another port there is nothing',
  );
  assert.equal(
    (await one.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: 'false' }))['srv_state'],
    'STOPPED',
  );
  assert.deepEqual(targets.discovered(client()), []);
  assert.equal(
    (await one.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
  assert.deepEqual(targets.discovered(client()), [`${basename}:t`]);
});

test('V9: names are kept in lower case, and the base name stands only on the wire', async () => {
  await using one = await furnished();
  for (const name of ['short', 'iqn.2026-01.com.example:full', 'eui.02004567a425678d', 'naa.52004567ba64678d']) {
    const made = await one.api.expect(201, 'POST', at('target'), { iscsi_target_name: name });
    assert.equal(made['iscsi_target_name'], name);
    await one.api.expect(201, 'POST', at('targetgroup'), { iscsi_target: made['id'], iscsi_target_portalgroup: 1 });
  }
  const wire = ['eui.02004567a425678d', 'iqn.2026-01.com.example:full', 'naa.52004567ba64678d'];
  assert.deepEqual(targetsOf(one).discovered(client()).toSorted(), [...wire, `${basename}:short`].toSorted());
  const settings = await one.api.expect(200, 'PUT', at('globalconfiguration'), {
    iscsi_basename: 'iqn.2026-01.com.Example',
  });
  assert.equal(settings['iscsi_basename'], 'iqn.2026-01.com.example');
  assert.deepEqual(
    targetsOf(one).discovered(client()).toSorted(),
    [...wire, 'iqn.2026-01.com.example:short'].toSorted(),
  );
  const twin = await one.api.post(at('target'), { iscsi_target_name: 'iqn.2026-01.com.example:short' });
  assert.equal(twin.status, 409);
  assert.match(twin.text, /Target name already exists/);
  assert.equal((await one.api.post(at('target'), { iscsi_target_name: 'SHORT' })).status, 409);
  assert.equal(
    (await one.api.expect(201, 'POST', at('extent'), { ...zvolExtent, iscsi_target_extent_name: 'k8s/pvc-1' }))[
      'iscsi_target_extent_name'
    ],
    'k8s/pvc-1',
  );
});

test('V8: a zvol is answered as ZVOL with a size of "0", names that stay, and is changed by who calls it a Disk', async () => {
  await using one = await furnished();
  const made = await one.api.expect(201, 'POST', at('extent'), zvolExtent);
  assert.deepEqual(
    [made['iscsi_target_extent_type'], made['iscsi_target_extent_path'], made['iscsi_target_extent_filesize']],
    ['ZVOL', '/dev/zvol/tank/v', '0'],
  );
  assert.match(String(made['iscsi_target_extent_naa']), /^0x6589cfc000000[0-9a-f]{19}$/);
  assert.equal(typeof made['iscsi_target_extent_serial'], 'string');
  assert.ok(!('iscsi_target_extent_disk' in made));
  const path = `${at('extent')}${made['id']}/`;
  for (const body of [
    { iscsi_target_extent_type: 'Disk', iscsi_target_extent_comment: 'x' },
    { ...zvolExtent, iscsi_target_extent_comment: 'x' },
    { iscsi_target_extent_comment: 'x' },
  ]) {
    assert.deepEqual(await one.api.expect(200, 'PUT', path, body), { ...made, iscsi_target_extent_comment: 'x' });
  }
  const restarted = await one.restart();
  assert.deepEqual(await restarted.api.expect(200, 'GET', path), { ...made, iscsi_target_extent_comment: 'x' });
  await restarted[Symbol.asyncDispose]();
});

test('an exported extent of a zvol is made again from the file, which then has nothing to do', async () => {
  await using one = await furnished();
  const { api } = one;
  const made = await api.expect(201, 'POST', at('extent'), zvolExtent);
  const own = '/api/holdfast/v1/file';
  const text = (await api.send('GET', own)).text;
  assert.equal((await api.delete(`${at('extent')}${made['id']}/`)).status, 204);
  const files = [{ name: 'site.yaml', text }];
  await api.expect(200, 'POST', `${own}/apply`, { files });
  const [again] = await api.list(at('extent'));
  assert.deepEqual(
    [again?.['iscsi_target_extent_type'], again?.['iscsi_target_extent_path'], again?.['iscsi_target_extent_serial']],
    ['ZVOL', '/dev/zvol/tank/v', made['iscsi_target_extent_serial']],
  );
  assert.deepEqual((await api.expect(200, 'POST', `${own}/diff`, { files }))['changes'], []);
});

test('V1 V4 V5 V7: numbers as texts, -1 and null, a speed as a number', async () => {
  await using one = await furnished();
  const { api } = one;
  const { target, extent } = await targetOn(one);
  const group = await api.expect(200, 'GET', `${at('targetgroup')}1/`);
  assert.deepEqual(
    [
      group['iscsi_target_authtype'],
      group['iscsi_target_initialdigest'],
      group['iscsi_target_authgroup'],
      group['iscsi_target_initiatorgroup'],
    ],
    ['None', 'Auto', null, null],
  );
  const changed = await api.expect(200, 'PUT', `${at('targetgroup')}1/`, {
    iscsi_target: String(target),
    iscsi_target_portalgroup: '1',
    iscsi_target_authgroup: -1,
    iscsi_target_initialdigest: 'Auto',
  });
  assert.deepEqual(changed, group);
  assert.equal(
    (
      await api.expect(200, 'PUT', `${at('extent')}${extent}/`, {
        iscsi_target_extent_rpm: 7200,
        iscsi_target_extent_blocksize: '4096',
      })
    )['iscsi_target_extent_rpm'],
    '7200',
  );
  await api.expect(201, 'POST', at('extent'), file('second', { iscsi_target_extent_blocksize: 4096 }));
  const second = await api.expect(201, 'POST', at('targettoextent'), {
    iscsi_target: String(target),
    iscsi_extent: 2,
    iscsi_lunid: null,
  });
  assert.equal(second['iscsi_lunid'], 1, 'the smallest that is free');
  assert.equal(
    (
      await api.expect(200, 'PUT', `${at('targettoextent')}${second['id']}/`, { iscsi_target: target, iscsi_extent: 2 })
    )['iscsi_lunid'],
    1,
  );
  assert.equal(
    (await api.expect(200, 'PUT', `${at('targettoextent')}${second['id']}/`, { iscsi_lunid: '7' }))['iscsi_lunid'],
    7,
  );
  assert.equal(
    (await api.expect(200, 'PUT', `${at('targettoextent')}${second['id']}/`, { iscsi_lunid: null }))['iscsi_lunid'],
    1,
    'the smallest that is free, also in an update',
  );
  // V3
  assert.equal(
    (await api.expect(201, 'POST', at('target'), { iscsi_target_name: 'u', iscsi_target_mode: 'iscsi', pool: 'tank' }))[
      'iscsi_target_name'
    ],
    'u',
  );
});

test('B3 B4 B5: a target takes its groups and associations along, an extent its associations', async () => {
  await using one = await furnished();
  const { api } = one;
  const { target, extent, association, group } = await targetOn(one);
  assert.equal((await api.delete(`${at('extent')}${extent}/`)).status, 204);
  assert.equal((await api.delete(`${at('targettoextent')}${association}/`)).status, 404);
  const other = Number((await api.expect(201, 'POST', at('extent'), zvolExtent))['id']);
  await api.expect(201, 'POST', at('targettoextent'), { iscsi_target: target, iscsi_extent: other });
  assert.equal((await api.delete(`${at('target')}${target}/`)).status, 204);
  assert.equal((await api.get(`${at('targetgroup')}${group}/`)).status, 404);
  assert.deepEqual(await api.list(at('targettoextent')), []);
  assert.equal((await api.list(at('extent'))).length, 1, 'the extent stays');
});

test('B8: what is there twice is told in the words that programs look for', async () => {
  await using one = await furnished();
  const { api } = one;
  const { target, extent } = await targetOn(one);
  const twice: readonly (readonly [string, object, string])[] = [
    ['target', { iscsi_target_name: 't' }, 'Target name already exists'],
    ['targetgroup', { iscsi_target: target, iscsi_target_portalgroup: 1 }, 'cannot be duplicated on a target'],
    ['extent', file('tank/v'), 'Extent name must be unique'],
    [
      'targettoextent',
      { iscsi_target: target, iscsi_extent: extent, iscsi_lunid: 5 },
      'Extent is already in this target.',
    ],
  ];
  for (const [path, body, phrase] of twice) {
    const answer = await api.post(at(path), body);
    assert.equal(answer.status, 409, path);
    assert.ok(answer.text.includes(phrase), `${path}: ${answer.text}`);
  }
  await api.expect(201, 'POST', at('extent'), file('f'));
  const taken = await api.post(at('targettoextent'), { iscsi_target: target, iscsi_extent: 2, iscsi_lunid: 0 });
  assert.deepEqual(
    [taken.status, taken.json],
    [409, { iscsi_lunid: ['LUN ID is already being used for this target.'] }],
  );
});

test('gaps 7.5: what an initiator is connected to goes only when the request says so', async () => {
  await using one = await furnished();
  const { api } = one;
  const { target, extent, association } = await targetOn(one);
  targetsOf(one).connect(`${basename}:t`, client());
  for (const path of [
    `${at('target')}${target}/`,
    `${at('extent')}${extent}/`,
    `${at('targettoextent')}${association}/`,
  ]) {
    for (const body of [undefined, {}]) {
      const answer = await api.send('DELETE', path, body);
      assert.equal(answer.status, 400, path);
      assert.match(
        answer.text,
        /^\{"__all__":\["iqn.2005-10.org.freenas.ctl:t is in use by iqn.1993-08.org.debian:01:c/,
      );
    }
    assert.equal((await api.send('DELETE', path, '{')).status, 400, 'a body that is no JSON');
    assert.equal((await api.get(path)).status, 200);
  }
  assert.equal((await api.send('DELETE', `${at('targettoextent')}${association}/`, { force: true })).status, 204);
  assert.equal((await api.send('DELETE', `${at('target')}${target}/`, { whatever: 1 })).status, 204);
  assert.deepEqual(await targetsOf(one).sessions(`${basename}:t`), []);
});

test('tags are numbered anew when one goes', async () => {
  await using one = await furnished();
  const { api } = one;
  for (const port of [3261, 3262])
    await api.expect(201, 'POST', at('portal'), { iscsi_target_portal_ips: [`0.0.0.0:${port}`] });
  const tags = async (path: string, name: string) => (await api.list(at(path))).map((one_) => [one_['id'], one_[name]]);
  assert.deepEqual(await tags('portal', 'iscsi_target_portal_tag'), [
    [1, 1],
    [2, 2],
    [3, 3],
  ]);
  assert.equal((await api.delete(`${at('portal')}1/`)).status, 204);
  assert.deepEqual(await tags('portal', 'iscsi_target_portal_tag'), [
    [2, 1],
    [3, 2],
  ]);
  for (let count = 0; count < 3; count += 1)
    await api.expect(201, 'POST', at('authorizedinitiator'), count === 0 ? { iscsi_target_initiator_tag: 1 } : {});
  assert.equal((await api.post(at('authorizedinitiator'), { iscsi_target_initiator_tag: 2 })).status, 409);
  assert.equal((await api.delete(`${at('authorizedinitiator')}1/`)).status, 204);
  assert.deepEqual(await tags('authorizedinitiator', 'iscsi_target_initiator_tag'), [
    [2, 1],
    [3, 2],
  ]);
  assert.equal((await api.delete(at('authorizedinitiator'))).status, 204, 'B11');
  assert.deepEqual(await api.list(at('authorizedinitiator')), []);
});

test('a file is made with its folders, grows, and is neither cut nor removed by accident', async () => {
  await using one = await furnished();
  const { api, host } = one;
  const path = '/mnt/tank/new/folder/f';
  const made = await api.expect(201, 'POST', at('extent'), file('f', { iscsi_target_extent_filesize: '50MB' }));
  assert.equal(made['iscsi_target_extent_filesize'], '50MB');
  assert.equal(await host.files.size(path), 50 * 1024 ** 2);
  await api.expect(200, 'PUT', `${at('extent')}1/`, { iscsi_target_extent_filesize: 60 * 1024 ** 2 });
  assert.equal(await host.files.size(path), 60 * 1024 ** 2);
  await api.expect(200, 'PUT', `${at('extent')}1/`, { iscsi_target_extent_filesize: '1MB' });
  assert.equal(await host.files.size(path), 60 * 1024 ** 2);
  assert.equal(
    (await api.post(at('extent'), file('f', { iscsi_target_extent_name: 'g' }))).status,
    409,
    'two extents of one file',
  );
  assert.equal((await api.delete(`${at('extent')}1/`)).status, 204);
  assert.equal(await host.files.size(path), 60 * 1024 ** 2, 'the file stays');
  const other = await api.post(at('extent'), file('f', { iscsi_target_extent_filesize: '100MB' }));
  assert.match(other.text, /has 62914560 bytes, not 104857600/);
  const again = await api.expect(201, 'POST', at('extent'), file('f', { iscsi_target_extent_filesize: 0 }));
  assert.equal(again['iscsi_target_extent_filesize'], '0');
  assert.equal((await api.send('DELETE', `${at('extent')}${again['id']}/`, { delete: true })).status, 204);
  await eventually(async () => assert.equal(await host.files.kind(path), undefined));
  assert.equal(
    (await api.post(at('extent'), file('f', { iscsi_target_extent_filesize: '0' }))).status,
    409,
    'no file to take as it is',
  );
});

test('what an extent cannot be is told by its field', async () => {
  await using one = await furnished();
  const { api } = one;
  await api.expect(201, 'POST', 'storage/dataset/tank/', { name: 'd' });
  const wrong: readonly (readonly [object, string])[] = [
    [file('a', { iscsi_target_extent_path: '/etc/passwd' }), 'iscsi_target_extent_path'],
    [file('a', { iscsi_target_extent_path: '/mnt/tank/x/' }), 'iscsi_target_extent_path'],
    [file('a', { iscsi_target_extent_path: '/mnt/tank' }), 'iscsi_target_extent_path'],
    [file('a', { iscsi_target_extent_path: '/mnt/tank/d' }), 'iscsi_target_extent_path'],
    [file('a', { iscsi_target_extent_path: '/mnt/tank/../../etc/x' }), 'iscsi_target_extent_path'],
    [file('a', { iscsi_target_extent_path: '' }), 'iscsi_target_extent_path'],
    [file('a', { iscsi_target_extent_filesize: '1000' }), 'iscsi_target_extent_filesize'],
    [file('a', { iscsi_target_extent_filesize: 'much' }), 'iscsi_target_extent_filesize'],
    [file('a', { iscsi_target_extent_blocksize: 513 }), 'iscsi_target_extent_blocksize'],
    [file('a', { iscsi_target_extent_avail_threshold: 100 }), 'iscsi_target_extent_avail_threshold'],
    [file('a', { iscsi_target_extent_serial: '12345678901234567' }), 'iscsi_target_extent_serial'],
    [file('a"b'), 'iscsi_target_extent_name'],
    [{ ...zvolExtent, iscsi_target_extent_disk: 'zvol/tank/none' }, 'iscsi_target_extent_disk'],
    [{ ...zvolExtent, iscsi_target_extent_disk: 'zvol/tank/v@none' }, 'iscsi_target_extent_disk'],
    [{ ...zvolExtent, iscsi_target_extent_disk: 'ada0' }, 'iscsi_target_extent_disk'],
    [{ ...zvolExtent, iscsi_target_extent_disk: 'ada9' }, 'iscsi_target_extent_disk'],
    [{ ...zvolExtent, iscsi_target_extent_disk: '' }, 'iscsi_target_extent_disk'],
  ];
  for (const [body, field] of wrong) {
    const answer = await api.post(at('extent'), body);
    assert.deepEqual([answer.status, Object.keys(Object(answer.json))], [409, [field]], JSON.stringify(body));
  }
  assert.equal(
    (
      await api.expect(201, 'POST', at('extent'), {
        iscsi_target_extent_name: 'disk',
        iscsi_target_extent_disk: 'ada1',
      })
    )['iscsi_target_extent_path'],
    '/dev/ada1',
  );
  await api.expect(201, 'POST', 'storage/snapshot/', { dataset: 'tank/v', name: 's' });
  const snapshot = await api.expect(201, 'POST', at('extent'), {
    iscsi_target_extent_name: 's',
    iscsi_target_extent_disk: 'zvol/tank/v@s',
  });
  assert.deepEqual([snapshot['iscsi_target_extent_type'], snapshot['iscsi_target_extent_ro']], ['ZVOL', true]);
});

test('initiators come in by name, by network and by credentials', async () => {
  await using one = await furnished();
  const { api } = one;
  const { group } = await targetOn(one);
  const targets = targetsOf(one);
  const name = `${basename}:t`;
  await api.expect(201, 'POST', at('authorizedinitiator'), {
    iscsi_target_initiator_initiators: 'iqn.a:one\niqn.a:TWO',
    iscsi_target_initiator_auth_network: '192.0.2.0/28 2001:db8::/32',
  });
  await api.expect(200, 'PUT', `${at('targetgroup')}${group}/`, { iscsi_target_initiatorgroup: 1 });
  assert.deepEqual(targets.discovered(client()), [], 'another name');
  assert.deepEqual(targets.discovered(client({ name: 'iqn.a:two' })), [name]);
  assert.deepEqual(targets.discovered(client({ name: 'iqn.a:two', address: '192.0.2.17' })), [], 'another network');
  await api.expect(201, 'POST', at('authcredential'), {
    iscsi_target_auth_tag: 3,
    iscsi_target_auth_user: 'joe',
    iscsi_target_auth_secret: 'secretsecret12',
  });
  assert.equal(
    (await api.put(`${at('targetgroup')}${group}/`, { iscsi_target_authtype: 'CHAP' })).status,
    409,
    'no group of credentials',
  );
  assert.equal(
    (await api.put(`${at('targetgroup')}${group}/`, { iscsi_target_authtype: 'CHAP', iscsi_target_authgroup: 1 }))
      .status,
    409,
    'a tag, not an id',
  );
  const mutual = await api.put(`${at('targetgroup')}${group}/`, {
    iscsi_target_authtype: 'CHAP Mutual',
    iscsi_target_authgroup: 3,
  });
  assert.deepEqual([mutual.status, Object.keys(Object(mutual.json))], [409, ['iscsi_target_authgroup']], 'no peer');
  await api.expect(200, 'PUT', `${at('targetgroup')}${group}/`, {
    iscsi_target_authtype: 'CHAP',
    iscsi_target_authgroup: 3,
  });
  assert.equal(targets.luns(name, client({ name: 'iqn.a:one' })), undefined);
  assert.equal(
    targets.luns(name, client({ name: 'iqn.a:one', credential: { user: 'joe', secret: 'wrongwrongwrong' } })),
    undefined,
  );
  assert.equal(
    targets.luns(name, client({ name: 'iqn.a:one', credential: { user: 'joe', secret: 'secretsecret12' } }))?.length,
    1,
  );
  assert.equal((await api.delete(`${at('authcredential')}1/`)).status, 204);
  assert.equal(targets.luns(name, client({ name: 'iqn.a:one' })), undefined, 'without the credentials nobody comes in');
  assert.equal((await api.delete(`${at('authorizedinitiator')}1/`)).status, 204);
  assert.deepEqual(targets.discovered(client()), [], 'it was for some, and is not for everybody now');
});

test('credentials have secrets of 12 to 16 characters, and a peer has both name and secret', async () => {
  await using one = await furnished();
  const { api } = one;
  const credential = {
    iscsi_target_auth_tag: '1',
    iscsi_target_auth_user: 'joe',
    iscsi_target_auth_secret: 'secretsecret12',
  };
  const wrong: readonly (readonly [object, string])[] = [
    [{ iscsi_target_auth_secret: 'short' }, 'iscsi_target_auth_secret'],
    [{ iscsi_target_auth_secret: '12345678901234567' }, 'iscsi_target_auth_secret'],
    [{ iscsi_target_auth_peeruser: 'peer' }, 'iscsi_target_auth_peersecret'],
    [{ iscsi_target_auth_peersecret: 'peersecret1234' }, 'iscsi_target_auth_peeruser'],
    [
      { iscsi_target_auth_peeruser: 'peer', iscsi_target_auth_peersecret: 'secretsecret12' },
      'iscsi_target_auth_peersecret',
    ],
  ];
  for (const [more, field] of wrong) {
    const answer = await api.post(at('authcredential'), { ...credential, ...more });
    assert.deepEqual([answer.status, Object.keys(Object(answer.json))], [409, [field]]);
  }
  for (let count = 0; count < 2; count += 1)
    await api.expect(201, 'POST', at('authcredential'), { ...credential, iscsi_target_auth_user: `joe${count}` });
  assert.ok(!one.log.some((line) => JSON.stringify(line).includes('secretsecret12')));
});

test('portals: an address with its port is used once, and CHAP wants credentials', async () => {
  await using one = await furnished();
  const { api } = one;
  for (const ips of [
    [],
    ['0.0.0.0'],
    ['300.1.1.1:3260'],
    ['0.0.0.0:0'],
    ['0.0.0.0:3260'],
    ['[::]:3260', '[::]:3260'],
    ['example.com:3260'],
  ]) {
    const answer = await api.post(at('portal'), { iscsi_target_portal_ips: ips });
    assert.deepEqual(
      [answer.status, Object.keys(Object(answer.json))],
      [409, ['iscsi_target_portal_ips']],
      JSON.stringify(ips),
    );
  }
  assert.equal(
    (
      await api.post(at('portal'), {
        iscsi_target_portal_ips: ['[::]:3260'],
        iscsi_target_portal_discoveryauthmethod: 'CHAP',
      })
    ).status,
    409,
  );
  const elsewhere = await api.post(at('portal'), { iscsi_target_portal_ips: ['192.0.2.1:3262'] });
  assert.equal(elsewhere.status, 409);
  assert.match(elsewhere.text, /Expected an address of this machine \(.*0\.0\.0\.0, ::\), got 192\.0\.2\.1:3262/);
  await api.expect(201, 'POST', 'network/interface/', {
    int_interface: 'em0',
    int_name: 'lan',
    int_ipv4address: '192.0.2.1',
    int_v4netmaskbit: '24',
  });
  await api.expect(201, 'POST', at('authcredential'), {
    iscsi_target_auth_user: 'joe',
    iscsi_target_auth_secret: 'secretsecret12',
  });
  await api.expect(201, 'POST', at('portal'), {
    iscsi_target_portal_ips: ['192.0.2.1:3262', '[::]:3260'],
    iscsi_target_portal_discoveryauthmethod: 'CHAP',
    iscsi_target_portal_discoveryauthgroup: '1',
  });
  await api.expect(201, 'POST', at('target'), { iscsi_target_name: 't' });
  await api.expect(201, 'POST', at('targetgroup'), { iscsi_target: 1, iscsi_target_portalgroup: 2 });
  const there = { portal: { address: '192.0.2.1', port: 3262 } };
  assert.deepEqual(targetsOf(one).discovered(client(there)), []);
  assert.deepEqual(
    targetsOf(one).discovered(client({ ...there, credential: { user: 'joe', secret: 'secretsecret12' } })),
    [`${basename}:t`],
  );
  assert.equal((await api.delete(`${at('portal')}2/`)).status, 204);
  assert.deepEqual(await api.list(at('targetgroup')), [], 'the target groups of a portal go with it');
});

test('B10: a zvol that is offered is busy; a volume takes its extents along', async () => {
  await using one = await furnished();
  const { api } = one;
  await targetOn(one);
  await api.expect(201, 'POST', at('extent'), file('f'));
  const busy = await api.delete('storage/volume/tank/zvols/v/');
  assert.equal(busy.status, 400);
  assert.match(busy.text, /dataset is busy/);
  assert.equal((await api.send('DELETE', 'storage/volume/tank/', { destroy: false })).status, 204);
  assert.deepEqual(await api.list(at('extent')), []);
  assert.deepEqual(await api.list(at('targettoextent')), []);
  assert.equal((await api.list(at('target'))).length, 1);
});

test('PUT of one field keeps the others, and answers 200; the singleton also with an id (B12 B13)', async () => {
  await using one = await furnished();
  const { api } = one;
  const before = await api.expect(200, 'PUT', at('globalconfiguration'), {
    iscsi_isns_servers: '192.0.2.1 [2001:db8::1]:3205',
    iscsi_pool_avail_threshold: '80',
  });
  assert.deepEqual(
    await api.expect(200, 'PUT', `${at('globalconfiguration')}1/`, { iscsi_pool_avail_threshold: null }),
    { ...before, iscsi_pool_avail_threshold: null },
  );
  for (const body of [
    { iscsi_pool_avail_threshold: 100 },
    { iscsi_isns_servers: 'server' },
    { iscsi_basename: '' },
    { iscsi_basename: 'store' },
  ])
    assert.equal((await api.put(at('globalconfiguration'), body)).status, 409);
  const portal = await api.expect(200, 'PUT', `${at('portal')}1/`, { iscsi_target_portal_comment: 'x' });
  assert.deepEqual(portal['iscsi_target_portal_ips'], ['0.0.0.0:3260']);
  const target = await api.expect(201, 'POST', at('target'), { iscsi_target_name: 't', iscsi_target_alias: '' });
  assert.equal(target['iscsi_target_alias'], null);
  assert.equal((await api.post(at('target'), { iscsi_target_name: 'u', iscsi_target_alias: 'target' })).status, 409);
});

test('space that runs short is warned of, once', async () => {
  await using one = await furnished();
  const { api } = one;
  await api.expect(201, 'POST', at('extent'), { ...zvolExtent, iscsi_target_extent_avail_threshold: 90 });
  await api.expect(201, 'POST', at('extent'), file('f', { iscsi_target_extent_avail_threshold: 10 }));
  const warnings = async () =>
    (await api.list('/api/holdfast/v1/drift')).find(({ subsystem }) => subsystem === 'iscsi')?.['problems'];
  assert.deepEqual(await warnings(), []);
  await api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'big', volsize: '2G' });
  const warning = 'The dataset tank of the iSCSI extent "tank/v" has less than 90 % of its space free.';
  assert.deepEqual(await warnings(), [warning]);
  await api.expect(200, 'PUT', at('globalconfiguration'), { iscsi_pool_avail_threshold: 80 });
  const ofPool = 'The pool tank has less than 80 % of its space free. It holds zvols that are iSCSI extents.';
  assert.deepEqual(await warnings(), [ofPool, warning]);
  const logged = () => one.log.filter(({ level }) => level === 'warn').map(({ message }) => message);
  while (logged().length < 2) await pause(20);
  assert.deepEqual(logged().toSorted(), [warning, ofPool].toSorted());
});

test('every row of the document about iSCSI, while targets are offered', async () => {
  await using one = await furnished();
  await everyRow(one.api);
});
