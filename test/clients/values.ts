import assert from 'node:assert/strict';
import { isObject } from '../../src/lib/json.ts';
import {
  answers,
  datasetsPath,
  make,
  makeExtent,
  makePortal,
  makeTarget,
  makeZvol,
  type Row,
  row,
  zvolsPath,
} from './row.ts';

export const values: readonly Row[] = [
  row('V1', 'numbers may be texts, booleans words or digits, and null is unset', async (nas) => {
    for (const [sent, kept] of [
      [true, true],
      ['TRUE', true],
      ['False', false],
      [1, true],
      [0, false],
      ['0', false],
      [null, false],
    ] as const)
      assert.equal(
        (await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_resume: sent }))['ftp_resume'],
        kept,
        String(sent),
      );
    assert.equal((await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_clients: '17' }))['ftp_clients'], 17);
    const [target, extent] = [await makeTarget(nas, 'v1'), await makeExtent(nas, 'v1')];
    const made = await make(nas, 'services/iscsi/targettoextent', {
      iscsi_target: String(target['id']),
      iscsi_extent: extent['id'],
    });
    assert.equal(made['iscsi_target'], target['id']);
  }),
  row('V2', 'sizes are taken as people and programs write them, and answered in bytes', async (nas) => {
    const MiB = 1024 ** 2;
    const sizes = {
      '1G': 1024 * MiB,
      '64m': 64 * MiB,
      '104MiB': 104 * MiB,
      '1 GiB': 1024 * MiB,
      '0.009765625 GiB': 10 * MiB,
      '1048576 KiB': 1024 * MiB,
      '10MB': 10 * MiB,
    };
    await make(nas, datasetsPath, { name: 'v2' });
    for (const [sent, bytes] of Object.entries({ ...sizes, '1073741824b': 1024 * MiB, '52428800': 50 * MiB }))
      assert.equal((await nas.api.expect(201, 'PUT', `${datasetsPath}/v2/`, { quota: sent }))['quota'], bytes, sent);
  }),
  row('V3', 'unknown, read-only and misspelt keys are ignored', async (nas) => {
    const extra = {
      pool: 'x',
      id: 99,
      tag: 1,
      iscsi_target_mode: 'iscsi',
      mountpoint: '/x',
      avail: 1,
      comment: 'x',
      refquote: '1G',
    };
    const { id } = await make(nas, 'services/iscsi/target', { iscsi_target_name: 'v3', ...extra });
    assert.notEqual(id, 99);
    await make(nas, datasetsPath, { name: 'v3', ...extra });
    answers(await nas.api.put(`${datasetsPath}/v3/`, { name: '', comments: 'x', ...extra }), 201);
  }),
  row(
    'V4',
    'a target group has no credentials by null, -1 or nothing, and no initiators by null or nothing',
    async (nas) => {
      for (const [n, more] of [
        {},
        { iscsi_target_authgroup: null, iscsi_target_initiatorgroup: null },
        { iscsi_target_authgroup: -1 },
      ].entries()) {
        const [target, portal] = [await makeTarget(nas, `v4-${n}`), await makePortal(nas, 4000 + n)];
        const group = await make(nas, 'services/iscsi/targetgroup', {
          iscsi_target: target['id'],
          iscsi_target_portalgroup: portal['id'],
          ...more,
        });
        assert.equal(group['iscsi_target_initiatorgroup'], null);
        assert.equal(group['iscsi_target_authtype'], 'None');
        assert.equal(group['iscsi_target_initialdigest'], 'Auto');
        assert.ok(group['iscsi_target_authgroup'] === null || group['iscsi_target_authgroup'] === -1);
      }
    },
  ),
  row('V5', 'the number of a unit may be null or missing, and is an integer or null', async (nas) => {
    const target = await makeTarget(nas, 'v5');
    for (const [n, more] of [{}, { iscsi_lunid: null }, { iscsi_lunid: 7 }].entries()) {
      const extent = await makeExtent(nas, `v5-${n}`);
      const { iscsi_lunid } = await make(nas, 'services/iscsi/targettoextent', {
        iscsi_target: target['id'],
        iscsi_extent: extent['id'],
        ...more,
      });
      assert.ok(iscsi_lunid === null || Number.isInteger(iscsi_lunid));
      if ('iscsi_lunid' in more && more.iscsi_lunid === 7) assert.equal(iscsi_lunid, 7);
    }
  }),
  row('V6', 'nfs_security is null, a list or a text in requests and a list in records', async (nas) => {
    await nas.api.expect(200, 'PUT', 'services/nfs/', { nfs_srv_v4: true });
    for (const [n, [sent, kept]] of [
      [null, []],
      [[], []],
      ['sys', ['sys']],
      [
        ['krb5', 'sys'],
        ['krb5', 'sys'],
      ],
    ].entries())
      assert.deepEqual(
        (
          await make(nas, 'sharing/nfs', {
            nfs_paths: [`/mnt/tank/v6-${n}`],
            nfs_hosts: `192.0.2.${n}`,
            nfs_security: sent,
          })
        )['nfs_security'],
        kept,
      );
  }),
  row('V7', 'the speed of an extent is a text or a number', async (nas) => {
    const { id } = await makeExtent(nas, 'v7');
    for (const sent of ['7200', 7200, 'SSD'])
      assert.equal(
        (await nas.api.expect(200, 'PUT', `services/iscsi/extent/${String(id)}/`, { iscsi_target_extent_rpm: sent }))[
          'iscsi_target_extent_rpm'
        ],
        String(sent),
      );
  }),
  row('V8', 'a zvol is a ZVOL of size "0" with names that stay, also for who calls it a Disk', async (nas) => {
    await makeZvol(nas, 'v8');
    const sent = {
      iscsi_target_extent_type: 'Disk',
      iscsi_target_extent_name: 'v8',
      iscsi_target_extent_disk: 'zvol/tank/v8',
    };
    const made = await make(nas, 'services/iscsi/extent', sent);
    const { iscsi_target_extent_type: type, iscsi_target_extent_path: path, iscsi_target_extent_filesize: size } = made;
    assert.deepEqual([type, path, size], ['ZVOL', '/dev/zvol/tank/v8', '0']);
    assert.match(String(made['iscsi_target_extent_naa']), /^0x/);
    assert.equal(typeof made['iscsi_target_extent_serial'], 'string');
    const changed = await nas.api.expect(200, 'PUT', `services/iscsi/extent/${String(made['id'])}/`, {
      ...sent,
      iscsi_target_extent_comment: 'x',
    });
    assert.deepEqual(changed, { ...made, iscsi_target_extent_comment: 'x' });
  }),
  row('V9', 'names of extents hold slashes, and names of targets are kept as they were sent', async (nas) => {
    await makeZvol(nas, 'v9');
    assert.equal(
      (
        await make(nas, 'services/iscsi/extent', {
          iscsi_target_extent_name: 'tank/v9',
          iscsi_target_extent_disk: 'zvol/tank/v9',
        })
      )['iscsi_target_extent_name'],
      'tank/v9',
    );
    for (const name of ['v9', 'iqn.2026-01.com.example:v9'])
      assert.equal((await makeTarget(nas, name))['iscsi_target_name'], name);
  }),
  row('V10', 'a dataset has its whole name, its pool and its sizes as integers', async (nas) => {
    await make(nas, datasetsPath, { name: 'v10' });
    const record = await nas.api.expect(200, 'GET', 'storage/dataset/tank/v10/');
    assert.deepEqual([record['name'], record['pool']], ['tank/v10', 'tank']);
    assert.ok(record['comments'] === null || typeof record['comments'] === 'string');
    for (const name of ['quota', 'refquota', 'reservation', 'refreservation', 'recordsize', 'avail', 'used', 'refer'])
      assert.ok(Number.isInteger(record[name]), name);
  }),
  row('V11', 'a zvol is named relative to its pool, a dataset as its profile says', async (nas) => {
    await make(nas, datasetsPath, { name: 'v11' });
    await makeZvol(nas, 'v11/z');
    assert.equal((await nas.api.expect(200, 'GET', `${zvolsPath}/v11/z/`))['name'], 'v11/z');
    assert.equal(
      (await nas.api.expect(200, 'GET', `${datasetsPath}/v11/`))['name'],
      nas.profile === 'clients' ? 'v11' : 'tank/v11',
    );
  }),
  row('V12', 'a volume has its names, its state, its space and the tree of what is on it', async (nas) => {
    await make(nas, datasetsPath, { name: 'v12' });
    const record = await nas.api.expect(200, 'GET', 'storage/volume/tank/');
    const { vol_name, name, status, mountpoint, used_pct, avail, children } = record;
    assert.deepEqual([vol_name, name, status, mountpoint], ['tank', 'tank', 'HEALTHY', '/mnt/tank']);
    assert.match(String(used_pct), /^\d+%$/);
    assert.ok(Number.isInteger(avail));
    const [top] = Array.isArray(children) ? children : [];
    const below: unknown =
      isObject(top) && Array.isArray(top['children'])
        ? top['children'].find((one: unknown) => isObject(one) && one['name'] === 'v12')
        : undefined;
    assert.ok(isObject(below));
    assert.deepEqual(
      [below['path'], below['type'], below['mountpoint'], below['children']],
      ['tank/v12', 'dataset', '/mnt/tank/v12', []],
    );
    for (const field of ['used', 'avail', 'used_pct']) assert.ok(Number.isInteger(below[field]), field);
    assert.equal(typeof below['status'], 'string');
  }),
  row('V13', 'a snapshot has all that programs read of it', async (nas) => {
    const made = await make(nas, 'storage/snapshot', { dataset: 'tank', name: 'v13' });
    const { id, fullname, name, filesystem, parent_type, mostrecent } = made;
    assert.deepEqual(
      [id, fullname, name, filesystem, parent_type, mostrecent],
      ['tank@v13', 'tank@v13', 'v13', 'tank', 'filesystem', true],
    );
    assert.ok('used' in made && 'refer' in made);
    await makeZvol(nas, 'v13');
    assert.equal((await make(nas, 'storage/snapshot', { dataset: 'tank/v13', name: 's' }))['parent_type'], 'volume');
  }),
  row('V14', 'a service tells whether it runs, under the names that programs know', async ({ api }) => {
    const names = [
      'iscsitarget',
      'cifs',
      'nfs',
      'afp',
      'ftp',
      'ssh',
      'snmp',
      'tftp',
      'ups',
      'rsync',
      'smartd',
      'lldp',
      'webdav',
      'dynamicdns',
    ];
    for (const name of names) {
      const { srv_service, srv_state } = await api.expect(200, 'GET', `services/services/${name}/`);
      assert.equal(srv_service, name);
      assert.match(String(srv_state), /^(RUNNING|STOPPED)$/);
    }
  }),
  row('V15', 'the version is an object with three texts', async ({ api }) => {
    const { fullversion, name, version } = await api.expect(200, 'GET', 'system/version/');
    assert.match(String(fullversion), /^FreeNAS-\d+\.\d+/);
    assert.equal(name, 'FreeNAS');
    assert.equal(typeof version, 'string');
  }),
  row(
    'V16',
    'a certificate has its names in a list, its dates in the form of C and its lifetime as an integer',
    async (nas) => {
      const about = {
        cert_city: 'X',
        cert_state: 'X',
        cert_country: 'US',
        cert_email: 'a@example.com',
        cert_organization: 'X',
        cert_digest_algorithm: 'SHA256',
      };
      const asked = (cert_name: string) => ({
        ...about,
        cert_name,
        cert_common: `${cert_name}.example.com`,
        cert_key_length: 1024,
        cert_lifetime: 365,
      });
      answers(await nas.api.post('system/certificateauthority/internal/', asked('v16-root')), 201);
      const authority = (await nas.api.list('system/certificateauthority/')).find(
        ({ cert_name }) => cert_name === 'v16-root',
      );
      answers(
        await nas.api.post('system/certificate/internal/', {
          ...asked('v16'),
          cert_signedby: authority?.['id'],
          cert_san: 'a.example.com b.example.com',
        }),
        201,
      );
      const certificate = (await nas.api.list('system/certificate/')).find(({ cert_name }) => cert_name === 'v16');
      assert.ok(Array.isArray(certificate?.['cert_san']));
      assert.match(String(certificate?.['cert_from']), /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/);
      assert.equal(certificate?.['cert_lifetime'], 365);
    },
  ),
];
