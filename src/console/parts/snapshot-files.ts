/** What single files of snapshots are, for the pages that show them. */
import { client } from '../base/client.ts';
import * as t from '../texts/parts/snapshot-files.ts';

/** Where a dataset is mounted; refused for one that is not, because its snapshots cannot be looked into then. */
export async function mountpointOf(dataset: string): Promise<string> {
  const [found] = await client.get('/api/v1.0/storage/dataset/', {
    query: { filter: [`name=${dataset}`], fields: ['name', 'mountpoint'] },
  });
  const mountpoint = found?.mountpoint;
  if (typeof mountpoint !== 'string' || !mountpoint.startsWith('/'))
    throw new TypeError(t.theDatasetIsNotMounted(dataset));
  return mountpoint;
}

/** `[dataset, name]` of `tank/media@monday`. */
export function partsOf(snapshot: string): readonly [string, string] {
  const at = snapshot.indexOf('@');
  return [snapshot.slice(0, at), snapshot.slice(at + 1)];
}

export const join = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** What an entry of a folder is, in words. */
export const kinds = { folder: t.folder, file: t.file, link: t.link, other: t.other } as const;
