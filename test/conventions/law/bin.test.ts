import type { Furnished } from '../../support/furnished.ts';
import { lawOfRequest } from './law.ts';

const root = '/api/holdfast/v1/bin';
let count = 0;

/** A dataset with a child and a share; those of before are destroyed, so that each change makes as many calls. */
async function dataset({ api }: Furnished): Promise<string> {
  for (const { id } of await api.list(root)) await api.expect(204, 'DELETE', `${root}/${String(id)}`);
  for (const { id, cifs_name: name } of await api.list('sharing/cifs/?limit=0'))
    if (String(name).startsWith('binned')) await api.expect(204, 'DELETE', `sharing/cifs/${String(id)}/`);
  await api.send('DELETE', `storage/dataset/tank/binned${count}/`);
  count += 1;
  const name = `binned${count}`;
  await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  await api.expect(201, 'POST', `storage/dataset/tank/${name}/`, { name: 'inner' });
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: name, cifs_path: `/mnt/tank/${name}/inner` });
  return `storage/dataset/tank/${name}/`;
}

async function putAway(world: Furnished): Promise<string> {
  const path = await dataset(world);
  return String((await world.api.expect(201, 'POST', root, { path }))['id']);
}

lawOfRequest('a dataset that is moved to the bin', async (world) => ({
  ...{ method: 'POST' as const, path: root, body: { path: await dataset(world) } },
}));

lawOfRequest('a dataset that is restored from the bin', async (world) => ({
  ...{ method: 'POST' as const, path: `${root}/${await putAway(world)}/restore`, body: {} },
}));

lawOfRequest('a dataset that is destroyed in the bin', async (world) => ({
  ...{ method: 'DELETE' as const, path: `${root}/${await putAway(world)}`, body: undefined },
}));
