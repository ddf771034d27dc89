import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';

/** A share on a mistyped path creates that folder on the volume, as the document requires. */
let box: Appliance;

before(async () => {
  box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
});

after(() => box?.[Symbol.asyncDispose]());

const shares = [
  ['cifs', 'cifs_path', (path: string) => ({ cifs_path: path })],
  ['nfs', 'nfs_paths', (path: string) => ({ nfs_paths: [path], nfs_alldirs: false })],
  ['afp', 'afp_path', (path: string) => ({ afp_path: path })],
  ['webdav', 'webdav_path', (path: string) => ({ webdav_path: path, webdav_name: 'dav', webdav_perm: false })],
] as const;

for (const [kind, field, shareOf] of shares) {
  test(`an ${kind} share creates its folder with a warning, unless the request says whether it is created`, async () => {
    const { api, host } = box;
    const path = `/mnt/tank/${kind}`;
    const from = box.log.length;
    const warned = () =>
      box.log
        .slice(from)
        .filter(({ level }) => level === 'warn')
        .map(({ fields, message }) => [message, 'path' in fields && fields.path]);
    const created = { message: 'a share created its folder, which did not exist', path };

    const refused = await api.post(`sharing/${kind}/`, { ...shareOf(path), create: false });
    assert.deepEqual(
      [refused.status, refused.json],
      [409, { [field]: [`The folder ${path} does not exist. Send create: true to create it.`] }],
    );
    assert.equal(await host.files.kind(path), undefined);

    const asked = await api.expect(201, 'POST', `sharing/${kind}/`, { ...shareOf(path), create: true });
    assert.equal('create' in asked, false);
    const at = `sharing/${kind}/${String(asked['id'])}/`;
    await api.expect(204, 'DELETE', at);
    await api.expect(
      204,
      'DELETE',
      `sharing/${kind}/${String((await api.expect(201, 'POST', `sharing/${kind}/`, { ...shareOf(path), create: false }))['id'])}/`,
    );
    await api.expect(201, 'POST', `sharing/${kind}/`, shareOf(path));
    assert.deepEqual(
      warned().filter(([message]) => message === created.message),
      [],
      'the folder was asked for, or there',
    );

    const [record] = await api.list(`sharing/${kind}/`);
    await api.expect(200, 'PUT', `sharing/${kind}/${String(record?.['id'])}/`, shareOf(`${path}-mistyped`));
    assert.deepEqual(
      warned().filter(([message]) => message === created.message),
      [[created.message, `${path}-mistyped`]],
    );
  });
}
