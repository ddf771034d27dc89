import type { Furnished } from '../../support/furnished.ts';
import { lawOfRequest } from './law.ts';

const path = '/api/holdfast/v1/transactions';
let count = 0;

/** Records and datasets, and at the end a dataset that is destroyed. */
async function mixed({ api }: Furnished) {
  // Otherwise each change would make more calls than the one before it.
  await api.expect(204, 'DELETE', 'sharing/nfs/');
  if (count > 0) await api.send('DELETE', `storage/volume/tank/datasets/whole${count}/`);
  count += 1;
  const name = `whole${count}`;
  await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: `${name}-old` });
  const requests = [
    { method: 'POST', path: 'storage/volume/tank/datasets/', body: { name }, name: 'place' },
    { method: 'POST', path: 'sharing/nfs/', body: { nfs_paths: [{ $ref: 'place.mountpoint' }] } },
    { method: 'POST', path: 'tasks/cronjob/', body: { cron_user: 'root', cron_command: 'true' } },
    { method: 'DELETE', path: `storage/volume/tank/datasets/${name}-old/` },
  ];
  return { method: 'POST' as const, path, body: { requests } };
}

/** A pool with a dataset and a share of it. */
async function volume({ api, engine }: Furnished) {
  const [old] = (await api.list('storage/volume/')).filter((one) => one['vol_name'] === 'whole');
  if (old !== undefined) await api.expect(204, 'DELETE', `storage/volume/${String(old['id'])}/`);
  const disk = engine.world.facts.disks.find(({ usedBy }) => usedBy === undefined)?.name;
  const layout = [{ vdevtype: 'stripe', disks: [disk] }];
  const requests = [
    { method: 'POST', path: 'storage/volume/', body: { volume_name: 'whole', layout }, name: 'volume' },
    { method: 'POST', path: 'storage/volume/{volume.id}/datasets/', body: { name: 'a' }, name: 'place' },
    { method: 'POST', path: 'sharing/cifs/', body: { cifs_name: 'whole', cifs_path: { $ref: 'place.mountpoint' } } },
  ];
  return { method: 'POST' as const, path, body: { requests } };
}

/** A file with a jail of a new template, and what it is shown. */
async function jails({ api }: Furnished) {
  for (const { id } of await api.list('jails/jails/?jail_host=whole'))
    await api.expect(204, 'DELETE', `jails/jails/${id}/`);
  for (const { id, jt_name } of await api.list('jails/templates/?limit=0'))
    if (jt_name === 'whole') await api.expect(204, 'DELETE', `jails/templates/${id}/`);
  const text = `holdfast: 1
jail/template: { whole: { os: Linux, arch: x64, url: 'debootstrap:trixie' } }
jail: { whole: { type: whole, ipv4: 10.211.0.1 } }
jail/mountpoint: { whole /media: { jail: whole, source: /mnt/tank, destination: /media } }
`;
  return { method: 'POST' as const, path: '/api/holdfast/v1/file/apply', body: { files: [{ name: 'a.yaml', text }] } };
}

lawOfRequest('a file with a jail of a new template', jails);
lawOfRequest('a transaction of records and datasets', mixed);
lawOfRequest('a transaction of a pool, a dataset and a share', volume);
