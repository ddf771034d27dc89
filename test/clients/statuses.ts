import { answers, datasetsPath, make, makeExtent, makePortal, makeTarget, type Row, row, zvolsPath } from './row.ts';

/** The statuses where the document gives two, under the calls that the table names. */
export const statuses: readonly Row[] = [
  row('POST zvols', 'a zvol is made with 202', async ({ api }) =>
    answers(await api.post(`${zvolsPath}/`, { name: 's1', volsize: '1M', sparse: true }), 202),
  ),
  row('PUT zvols', 'a zvol is changed with 201', async (nas) => {
    await make(nas, zvolsPath, { name: 's2', volsize: '1M', sparse: true }, 202);
    answers(await nas.api.put(`${zvolsPath}/s2/`, { volsize: '2M' }), 201);
  }),
  row('POST datasets', 'a dataset below a volume is made with 201', async ({ api }) =>
    answers(await api.post(`${datasetsPath}/`, { name: 's3' }), 201),
  ),
  row('POST dataset', 'a dataset below another is made with 201', async ({ api }) =>
    answers(await api.post('storage/dataset/tank/', { name: 's4' }), 201),
  ),
  row('PUT permission', 'permissions are given with 201', async ({ api }) =>
    answers(
      await api.put('storage/permission/', {
        mp_path: '/mnt/tank',
        mp_acl: 'unix',
        mp_mode: '755',
        mp_user: 'root',
        mp_group: 'wheel',
      }),
      201,
    ),
  ),
  row('POST snapshot', 'a snapshot is made with 201', async ({ api }) =>
    answers(await api.post('storage/snapshot/', { dataset: 'tank', name: 's6' }), 201),
  ),
  row('POST clone, rollback', 'a snapshot is cloned and rolled back to with 202 and a sentence', async (nas) => {
    await make(nas, datasetsPath, { name: 's7' });
    await make(nas, 'storage/snapshot', { dataset: 'tank/s7', name: 's' });
    answers(
      await nas.api.post('storage/snapshot/tank/s7@s/clone/', { name: 'tank/s7clone' }),
      202,
      /^Snapshot cloned\.$/,
    );
    answers(
      await nas.api.post('storage/snapshot/tank/s7@s/rollback/', { force: true }),
      202,
      /^Snapshot rolled back\.$/,
    );
  }),
  row('PUT iscsi', 'what belongs to iSCSI is changed with 200', async (nas) => {
    const [target, extent, portal] = [
      await makeTarget(nas, 's8'),
      await makeExtent(nas, 's8'),
      await makePortal(nas, 4108),
    ];
    answers(await nas.api.put(`services/iscsi/target/${String(target['id'])}/`, { iscsi_target_alias: 's8' }), 200);
    answers(
      await nas.api.put(`services/iscsi/extent/${String(extent['id'])}/`, { iscsi_target_extent_comment: 's8' }),
      200,
    );
    answers(
      await nas.api.put(`services/iscsi/portal/${String(portal['id'])}/`, {
        iscsi_target_portal_ips: ['0.0.0.0:4109'],
      }),
      200,
    );
    answers(await nas.api.put('services/iscsi/globalconfiguration/', { iscsi_pool_avail_threshold: 50 }), 200);
  }),
  row('any create, any delete', 'records are made with 201 and removed with 204', async (nas) => {
    for (const [path, body] of [
      ['services/iscsi/authorizedinitiator', {}],
      ['sharing/cifs', { cifs_path: '/mnt/tank/s9' }],
      ['sharing/afp', { afp_path: '/mnt/tank/s9' }],
      ['sharing/nfs', { nfs_paths: ['/mnt/tank/s9'], nfs_hosts: '192.0.2.109' }],
      ['account/groups', { bsdgrp_group: 's9' }],
      ['tasks/initshutdown', { ini_command: 'true', ini_when: 'postinit' }],
    ] as const) {
      const { id } = await make(nas, path, body);
      answers(await nas.api.delete(`${path}/${String(id)}/`), 204);
    }
  }),
];
