import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { standingClock } from '../support/hosts.ts';

let box: Appliance;
const clock = standingClock();

before(async () => {
  box = await appliance({ now: clock.now });
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

/** Between the looks, a second of the appliance's time passes: it looks at some facts once a minute. */
const until = async (holds: () => Promise<boolean>, what = 'it') => {
  for (let seconds = 0; !(await holds()); seconds += 1) {
    assert.ok(seconds < 3600, `${what} did not come within an hour`);
    clock.advance(1000);
    await pause(5);
  }
};
const absent = async () =>
  (await box.api.list('/api/holdfast/v1/problems'))
    .filter(({ kind }) => kind === 'absent')
    .map(({ about, message, affects, remedy }) => ({ about, message, affects, remedy }));
const fileOf = async (path: string) => (await box.host.files.read(path)) ?? '';
const smb = () => fileOf('/etc/samba/holdfast/shares-0.conf');

async function kinds(): Promise<readonly (readonly [string, string])[]> {
  const at = (name: string) => ({ [name]: '/mnt/tank/media' });
  const made: (readonly [string, string])[] = [];
  for (const [path, body] of [
    ['sharing/cifs', { cifs_name: 'media', ...at('cifs_path') }],
    ['sharing/nfs', { nfs_paths: ['/mnt/tank/media'] }],
    ['sharing/afp', { afp_name: 'media', ...at('afp_path') }],
    ['sharing/webdav', { webdav_name: 'media', webdav_perm: false, ...at('webdav_path') }],
    ['services/rsyncmod', { rsyncmod_name: 'media', ...at('rsyncmod_path') }],
  ] as const) {
    const { id } = await box.api.expect(201, 'POST', `${path}/`, body);
    made.push([path, `${path}/${id}`]);
  }
  return made;
}

test('whatever served a dataset that is gone is a problem, and is in no configuration', async () => {
  const { api, machine } = box;
  await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  const records = await kinds();
  await api.expect(200, 'PUT', 'services/tftp/', { tftp_directory: '/mnt/tank/media' });
  await api.expect(200, 'PUT', 'services/services/tftp/', { srv_enable: true });
  await api.expect(200, 'PUT', 'services/ftp/', { ftp_onlyanonymous: true, ftp_anonpath: '/mnt/tank/media' });
  await api.expect(201, 'POST', 'services/iscsi/extent/', {
    iscsi_target_extent_name: 'disk',
    iscsi_target_extent_type: 'File',
    iscsi_target_extent_path: '/mnt/tank/media/disk',
    iscsi_target_extent_filesize: '1MB',
  });
  await api.expect(201, 'POST', 'storage/task/', { task_filesystem: 'tank/media' });
  assert.match(await smb(), /\[media\]/);
  assert.deepEqual(await absent(), []);

  // By other hands, as `zfs destroy` does it.
  await machine.zfs.destroyDataset('tank/media');
  await until(async () => (await absent()).length === 3);
  const problems = await absent();
  const affected: unknown = problems.find(({ about }) => about === '/mnt/tank/media')?.affects;
  assert.deepEqual(Array.isArray(affected) ? affected.toSorted() : affected, [
    'services/ftp',
    'services/rsyncmod/1',
    'services/tftp',
    'sharing/afp/1',
    'sharing/cifs/1',
    'sharing/nfs/1',
    'sharing/webdav/1',
  ]);
  assert.match(
    String(problems.find(({ about }) => about === '/mnt/tank/media')?.message),
    /^Nothing is at \/mnt\/tank\/media\. This affects: .*CIFS share "media"/,
  );
  assert.deepEqual(
    problems.flatMap(({ about, remedy }) => (about === '/mnt/tank/media/disk' ? [remedy] : [])),
    [{ method: 'DELETE', path: '/api/v1.0/services/iscsi/extent/1/' }],
  );
  assert.ok(problems.some(({ about }) => about === 'storage/dataset/tank/media'));
  await until(async () => !(await smb()).includes('[media]'));
  // Each subsystem follows by itself.
  for (const path of [
    '/etc/exports.d/holdfast-0.exports',
    '/etc/netatalk/afp.conf',
    '/etc/rsyncd.conf',
    '/etc/proftpd/proftpd.conf',
    '/etc/holdfast/webdav/httpd.conf',
  ])
    await until(async () => !/tank\/media/.test(await fileOf(path)), `${path} without the dataset`);
  await until(async () => (await box.host.services.states(['tftpd-hpa'])).get('tftpd-hpa')?.running === false);

  // What was read is written back, with everything that it has.
  for (const [, record] of records) {
    const whole = (await api.get(`${record}/`)).json;
    assert.ok(isObject(whole));
    await api.expect(200, 'PUT', `${record}/`, whole);
    if (record.startsWith('sharing/webdav'))
      await api.expect(200, 'PUT', `${record}/`, { ...whole, webdav_perm: true });
    assert.equal(await box.host.files.kind('/mnt/tank/media'), undefined, record);
  }
});

test('what is gone does not stand in the way of what is new', async () => {
  const { api } = box;
  await api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank/other'] });
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'other', cifs_path: '/mnt/tank/other' });
  assert.match(await smb(), /\[other\]/);
});

test('when the dataset is there again, all of it is served, and a folder that a share makes is served at once', async () => {
  const { api } = box;
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'again', cifs_path: '/mnt/tank/media' });
  assert.match(await smb(), /\[again\]/);
  await until(async () => (await smb()).includes('[media]'));
  assert.deepEqual((await absent()).map(({ about }) => about).toSorted(), [
    '/mnt/tank/media/disk',
    'storage/dataset/tank/media',
  ]);
});

test('a folder that a user removes is noticed', async () => {
  const { api, machine } = box;
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'plain', cifs_path: '/mnt/tank/plain' });
  await machine.files.removeEmptyFolder('/mnt/tank/plain');
  await api.expect(200, 'PUT', 'sharing/cifs/4/', { cifs_comment: 'Looked at again.' });
  await until(async () => (await absent()).some(({ about }) => about === '/mnt/tank/plain'));
  await api.expect(204, 'DELETE', 'sharing/cifs/4/');
  await until(async () => !(await absent()).some(({ about }) => about === '/mnt/tank/plain'));
});
