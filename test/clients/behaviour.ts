import assert from 'node:assert/strict';
import { catalogue } from '../../src/areas/index.ts';
import { isObject } from '../../src/lib/json.ts';
import type { ApiAnswer } from '../support/api.ts';
import {
  answers,
  datasetsPath,
  make,
  makeExtent,
  makeJob,
  makePortal,
  makeTarget,
  makeZvol,
  type Nas,
  type Record_,
  type Row,
  row,
  zvolsPath,
} from './row.ts';

/** A target with a portal and an extent. */
async function offered(nas: Nas, name: string, port: number) {
  const [target, portal, extent] = [
    await makeTarget(nas, name),
    await makePortal(nas, port),
    await makeExtent(nas, name),
  ];
  const group = await make(nas, 'services/iscsi/targetgroup', {
    iscsi_target: target['id'],
    iscsi_target_portalgroup: portal['id'],
  });
  const association = await make(nas, 'services/iscsi/targettoextent', {
    iscsi_target: target['id'],
    iscsi_extent: extent['id'],
  });
  const at = (path: string, record: Record_) => `services/iscsi/${path}/${String(record['id'])}/`;
  return {
    target,
    portal,
    extent,
    paths: {
      target: at('target', target),
      extent: at('extent', extent),
      group: at('targetgroup', group),
      association: at('targettoextent', association),
    },
  };
}

/** A refusal of what is there already: 409 with lists of sentences, one of which programs look for. */
function twice(answer: ApiAnswer, phrase: RegExp): void {
  answers(answer, 409);
  const { json } = answer;
  assert.ok(isObject(json) && Object.values(json).every(Array.isArray), answer.text);
  assert.match(JSON.stringify(json), phrase);
}

export const behaviour: readonly Row[] = [
  row('B1', 'every record is read alone: by its id, services and volumes also by name', async (nas) => {
    const { id } = await makeJob(nas);
    for (const path of [
      `tasks/cronjob/${String(id)}/`,
      'account/users/1/',
      'account/groups/1/',
      'services/services/ftp/',
      'services/services/1/',
      'storage/volume/tank/',
      'storage/volume/1/',
    ])
      answers(await nas.api.get(path), 200);
    for (const path of [
      'tasks/cronjob/987654/',
      'account/users/987654/',
      'services/services/none/',
      'storage/volume/none/',
      'sharing/nfs/987654/',
      'services/iscsi/target/987654/',
    ])
      answers(await nas.api.get(path), 404);
  }),
  row('B2', 'a dataset is read, changed and destroyed at its own path', async (nas) => {
    await make(nas, datasetsPath, { name: 'b2' });
    answers(await nas.api.get('storage/dataset/tank/b2/'), 200);
    assert.equal((await nas.api.expect(200, 'PUT', 'storage/dataset/tank/b2/', { comments: 'x' }))['comments'], 'x');
    answers(await nas.api.delete('storage/dataset/tank/b2/'), 204);
    answers(await nas.api.get('storage/dataset/tank/b2/'), 404);
  }),
  row('B3', 'a target takes its groups and associations along', async (nas) => {
    const { paths } = await offered(nas, 'b3', 5003);
    answers(await nas.api.delete(paths.target), 204);
    for (const path of [paths.group, paths.association]) answers(await nas.api.get(path), 404);
  }),
  row('B4', 'an extent takes its associations along', async (nas) => {
    const { paths } = await offered(nas, 'b4', 5004);
    answers(await nas.api.delete(paths.extent), 204);
    answers(await nas.api.get(paths.association), 404);
    answers(await nas.api.get(paths.target), 200);
  }),
  row(
    'B5',
    'an association that went with its extent is gone, and may be deleted again in one profile',
    async (nas) => {
      const { paths } = await offered(nas, 'b5', 5005);
      answers(await nas.api.delete(paths.extent), 204);
      answers(await nas.api.delete(paths.association), nas.profile === 'clients' ? 204 : 404);
    },
  ),
  row('B6', 'a zvol goes by the path of a dataset too', async (nas) => {
    await makeZvol(nas, 'b6');
    answers(await nas.api.delete(`${datasetsPath}/b6/`), 204);
    answers(await nas.api.get(`${zvolsPath}/b6/`), 404);
  }),
  row('B7', 'a snapshot with a clone is deleted with 204 and goes with its last clone', async (nas) => {
    await make(nas, datasetsPath, { name: 'b7' });
    await make(nas, 'storage/snapshot', { dataset: 'tank/b7', name: 's' });
    answers(await nas.api.post('storage/snapshot/tank/b7@s/clone/', { name: 'tank/b7clone' }), 202);
    answers(await nas.api.delete('storage/snapshot/tank/b7@s/'), 204);
    answers(await nas.api.delete('storage/dataset/tank/b7clone/'), 204);
    assert.ok(!(await nas.api.list('storage/snapshot/?limit=0')).some(({ id }) => id === 'tank/b7@s'));
  }),
  row('B8', 'what is there twice is refused in words that programs look for', async (nas) => {
    const { target, portal, extent } = await offered(nas, 'b8', 5008);
    const post = (path: string, body: Record_) => nas.api.post(`${path}/`, body);
    await make(nas, 'sharing/cifs', { cifs_path: '/mnt/tank/b8', cifs_name: 'b8' });
    twice(
      await post('sharing/cifs', { cifs_path: '/mnt/tank/b8b', cifs_name: 'b8' }),
      /A share with this name already exists\./,
    );
    await make(nas, 'sharing/nfs', { nfs_paths: ['/mnt/tank/b8'], nfs_network: '198.51.100.0/24' });
    twice(
      await post('sharing/nfs', { nfs_paths: ['/mnt/tank/b8'], nfs_network: '198.51.100.0/24' }),
      /You can't share same filesystem with all hosts twice\.|Another NFS share already exports this dataset for some network/,
    );
    twice(await post('services/iscsi/target', { iscsi_target_name: 'b8' }), /Target name already exists/);
    twice(
      await post('services/iscsi/targetgroup', { iscsi_target: target['id'], iscsi_target_portalgroup: portal['id'] }),
      /cannot be duplicated on a target/,
    );
    twice(
      await post('services/iscsi/extent', {
        iscsi_target_extent_name: 'b8',
        iscsi_target_extent_type: 'File',
        iscsi_target_extent_path: '/mnt/tank/b8c',
        iscsi_target_extent_filesize: '64KB',
      }),
      /Extent name must be unique/,
    );
    twice(
      await post('services/iscsi/targettoextent', { iscsi_target: target['id'], iscsi_extent: extent['id'] }),
      /Extent is already in this target\./,
    );
    const other = await makeExtent(nas, 'b8other');
    twice(
      await post('services/iscsi/targettoextent', {
        iscsi_target: target['id'],
        iscsi_extent: other['id'],
        iscsi_lunid: 0,
      }),
      /LUN ID is already being used for this target\./,
    );
  }),
  row('B9', 'what is wrong is told in JSON, in the form that its place has', async ({ api }) => {
    const told = async (method: string, path: string, body: unknown, key: string) => {
      const { json, text } = await api.send(method, path, body);
      assert.ok(isObject(json) && Object.hasOwn(json, key), text);
    };
    await told('POST', 'storage/volume/', {}, '__all__');
    await told('POST', 'tasks/cronjob/', { cron_user: 'root' }, 'cron_command');
    await told('DELETE', 'storage/snapshot/tank@none/', undefined, 'error');
    await told('DELETE', 'account/users/1/', undefined, 'error_message');
  }),
  row('B10', 'zvols that are there, missing or busy are told in words that programs look for', async (nas) => {
    await makeZvol(nas, 'b10');
    answers(
      await nas.api.post(`${zvolsPath}/`, { name: 'b10', volsize: '1M', sparse: true }),
      400,
      /dataset already exists/,
    );
    const missing = await nas.api.delete(`${zvolsPath}/b10none/`);
    assert.ok(missing.status === 404 || /dataset does not exist/.test(missing.text));
    await nas.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: true });
    const extent = await make(nas, 'services/iscsi/extent', {
      iscsi_target_extent_name: 'b10',
      iscsi_target_extent_disk: 'zvol/tank/b10',
    });
    const target = await makeTarget(nas, 'b10');
    await make(nas, 'services/iscsi/targettoextent', { iscsi_target: target['id'], iscsi_extent: extent['id'] });
    answers(await nas.api.delete(`${zvolsPath}/b10/`), 400, /dataset is busy/);
  }),
  row('B11', 'DELETE on a collection with a body empties it', async (nas) => {
    for (const [path, body] of [
      ['sharing/afp', { afp_path: '/mnt/tank/b11', afp_name: 'b11' }],
      ['sharing/cifs', { cifs_path: '/mnt/tank/b11', cifs_name: 'b11' }],
    ] as const) {
      await make(nas, path, body);
      answers(await nas.api.delete(`${path}/`, body), 204);
      assert.deepEqual(await nas.api.list(`${path}/`), []);
    }
  }),
  row('B12', 'settings answer under an id too', async ({ api }) => {
    for (const path of ['services/ftp/1/', 'directoryservice/ldap/1/', 'system/settings/1/'])
      answers(await api.get(path), 200);
    answers(await api.put('services/ftp/1/', { ftp_banner: 'b12' }), 200, /"ftp_banner":"b12"/);
  }),
  row('B13', 'a PUT of one field keeps the others, and srv_enable switches the service at once', async (nas) => {
    const { id, ...made } = await makeJob(nas, { cron_description: 'b13' });
    assert.deepEqual(await nas.api.expect(200, 'PUT', `tasks/cronjob/${String(id)}/`, { cron_hour: '4' }), {
      id,
      ...made,
      cron_hour: '4',
    });
    for (const [srv_enable, state] of [
      [true, 'RUNNING'],
      [false, 'STOPPED'],
    ] as const)
      assert.equal((await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable }))['srv_state'], state);
  }),
  row('B14', 'what the document gives no shapes for is there', async ({ api }) => {
    answers(await api.post('system/settings/restart-httpd-all/'), 202);
    for (const path of [
      'storage/scrub/',
      'storage/task/',
      'storage/replication/',
      'services/smart/',
      'storage/disk/',
      'system/update/check/',
    ])
      answers(await api.get(path), 200);
    // Shares over WebDAV are being built: their address answers as soon as it is in the catalogue.
    answers(await api.get('sharing/webdav/'), catalogue.some(({ path }) => path === 'sharing/webdav') ? 200 : 404);
  }),
];
