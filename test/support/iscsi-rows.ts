import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Api } from './api.ts';

const rows = readFileSync(new URL('../../conformance/operations.tsv', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => line.split('\t'))
  .filter(([, path]) => path?.startsWith('/services/iscsi/'))
  .map(([method = '', path = '', status]) => ({ row: `${method} ${path}`, status: Number(status) }));

/**
 * Sends every iSCSI request of the document's list of operations, and checks its status. The portal 1 and the volume
 * tank must exist.
 */
export async function everyRow(api: Api): Promise<void> {
  const asked = new Set<string>();
  const ask = async (method: string, name: string, body?: object, id?: number): Promise<number> => {
    const row = `${method} /services/iscsi/${name}/${id === undefined ? '' : '{id}/'}`;
    const status = rows.find((one) => one.row === row)?.status ?? assert.fail(`${row} is no row of the list`);
    asked.add(row);
    return Number(
      (await api.expect(status, method, `services/iscsi/${name}/${id === undefined ? '' : `${id}/`}`, body))['id'],
    );
  };
  const credential = await ask('POST', 'authcredential', {
    iscsi_target_auth_tag: 9,
    iscsi_target_auth_user: 'row',
    iscsi_target_auth_secret: 'secretsecret99',
  });
  const initiators = await ask('POST', 'authorizedinitiator', {
    iscsi_target_initiator_initiators: 'iqn.2026-01.com.example:row',
  });
  const portal = await ask('POST', 'portal', { iscsi_target_portal_ips: ['127.0.0.1:3299'] });
  const extent = await ask('POST', 'extent', {
    iscsi_target_extent_name: 'row',
    iscsi_target_extent_type: 'File',
    iscsi_target_extent_path: '/mnt/tank/row',
    iscsi_target_extent_filesize: '1MB',
  });
  const target = await ask('POST', 'target', { iscsi_target_name: 'row' });
  const group = await ask('POST', 'targetgroup', {
    iscsi_target: target,
    iscsi_target_portalgroup: 1,
    iscsi_target_initiatorgroup: initiators,
    iscsi_target_authtype: 'CHAP',
    iscsi_target_authgroup: 9,
  });
  const association = await ask('POST', 'targettoextent', { iscsi_target: target, iscsi_extent: extent });
  await ask('GET', 'globalconfiguration');
  await ask('PUT', 'globalconfiguration', { iscsi_pool_avail_threshold: 1 });
  await ask('PUT', 'authcredential', { iscsi_target_auth_secret: 'secretsecret88' }, credential);
  await ask(
    'PUT',
    'authorizedinitiator',
    { iscsi_target_initiator_initiators: 'iqn.2026-01.com.example:another' },
    initiators,
  );
  await ask('PUT', 'portal', { iscsi_target_portal_ips: ['127.0.0.1:3298'] }, portal);
  await ask('PUT', 'extent', { iscsi_target_extent_rpm: '7200', iscsi_target_extent_filesize: '2MB' }, extent);
  await ask('PUT', 'target', { iscsi_target_name: 'iqn.2026-01.com.example:row', iscsi_target_alias: 'a row' }, target);
  await ask('PUT', 'targetgroup', { iscsi_target_authtype: 'None', iscsi_target_authgroup: -1 }, group);
  await ask('PUT', 'targettoextent', { iscsi_lunid: 7 }, association);
  for (const [name, id] of [
    ['targettoextent', association],
    ['targetgroup', group],
    ['target', target],
    ['extent', extent],
    ['portal', portal],
    ['authorizedinitiator', initiators],
    ['authcredential', credential],
  ] as const) {
    await ask('GET', name);
    await ask('DELETE', name, undefined, id);
  }
  assert.deepEqual(
    rows.map(({ row }) => row).filter((row) => !asked.has(row)),
    [],
  );
}
