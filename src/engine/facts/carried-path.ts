import { isWithin } from '../../lib/path.ts';
import { volumesFolder } from '../declare/location.ts';
import type { Storage } from './storage-facts.ts';

export interface CarriedPath {
  readonly path: string;
  /** What has to be done before the path is there; undefined if it is. */
  readonly toDo: string | undefined;
}

/**
 * Where a folder of the machine is once its dataset is mounted where Holdfast expects it; undefined if it is on no
 * dataset. The file system of the root is no volume.
 */
export function carriedPath(path: string, { datasets }: Pick<Storage, 'datasets'>): CarriedPath | undefined {
  const holder = [...datasets.values()]
    .filter(
      ({ mountpoint, kind }) =>
        kind === 'filesystem' && mountpoint !== undefined && mountpoint !== '/' && isWithin(path, mountpoint),
    )
    .toSorted((a, b) => (b.mountpoint?.length ?? 0) - (a.mountpoint?.length ?? 0))
    .at(0);
  if (holder?.mountpoint === undefined) return undefined;
  const [pool = ''] = holder.name.split('/');
  const usual = `${volumesFolder}/${holder.name}`;
  if (holder.mountpoint === usual) return { path, toDo: undefined };
  const root = datasets.get(pool)?.mountpoint;
  const isPoolElsewhere =
    root !== undefined &&
    root !== `${volumesFolder}/${pool}` &&
    holder.mountpoint === root + holder.name.slice(pool.length);
  return {
    path: usual + path.slice(holder.mountpoint.length),
    toDo: isPoolElsewhere
      ? `zfs set mountpoint=${volumesFolder}/${pool} ${pool}`
      : `zfs set mountpoint=${usual} ${holder.name}`,
  };
}
