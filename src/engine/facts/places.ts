import { memo } from '../../lib/memo.ts';
import { isWithin, parentOf } from '../../lib/path.ts';
import { type Location, volumesFolder } from '../declare/location.ts';
import type { Storage } from './storage-facts.ts';

interface Mounts extends Pick<Storage, 'datasets'>, Partial<Pick<Storage, 'missing'>> {
  readonly pools: { has(name: string): boolean };
}

/** A volume, dataset or path whose absence keeps what lies in a place from being used. */
export interface Absence {
  readonly of: 'volume' | 'dataset' | 'path';
  readonly name: string;
  readonly state: 'missing' | 'not mounted' | 'locked';
}

/**
 * What keeps what lies in a place from being used now; undefined if it can be used. While a dataset is not mounted, its
 * folder is an empty one of the dataset above it.
 */
export function absenceOf(place: Location, { pools, datasets, missing }: Mounts): Absence | undefined {
  const name = 'dataset' in place ? place.dataset : place.path.slice(volumesFolder.length + 1);
  const slash = name.indexOf('/');
  const volume = slash === -1 ? name : name.slice(0, slash);
  if (!pools.has(volume)) return { of: 'volume', name: volume, state: 'missing' };
  if (datasets.get(volume)?.mountpoint === undefined) return { of: 'volume', name: volume, state: 'not mounted' };
  const found = datasets.get(name);
  if ('dataset' in place && found === undefined) return { of: 'dataset', name, state: 'missing' };
  if (found?.kind === 'volume' && found.key === 'unavailable') return { of: 'dataset', name, state: 'locked' };
  for (let dataset = name; dataset !== ''; dataset = dataset.slice(0, Math.max(0, dataset.lastIndexOf('/')))) {
    const { kind, key, mountpoint } = datasets.get(dataset) ?? {};
    if (kind !== 'filesystem') continue;
    if (mountpoint !== undefined) break;
    return { of: 'dataset', name: dataset, state: key === 'unavailable' ? 'locked' : 'not mounted' };
  }
  return 'path' in place && missing?.has(place.path) === true
    ? { of: 'path', name: place.path, state: 'missing' }
    : undefined;
}

/** `absenceOf` in words, such as `the volume tank is not mounted`. */
export function absence(place: Location, mounts: Mounts): string | undefined {
  const found = absenceOf(place, mounts);
  return found && `the ${found.of} ${found.name} is ${found.state}`;
}

/** The names of all volumes and of what is missing, locked or not mounted: what `absence` depends on, as a key for caches. */
export function mountState({ pools, datasets, missing }: Storage): string {
  return [...pools.keys(), '', ...notMounted(datasets), '', ...missing].join('\n');
}

const notMounted = memo((datasets: Storage['datasets']) =>
  [...datasets.values()].flatMap(({ name, kind, mountpoint, key }) => {
    if (key === 'unavailable') return [`${name} is locked`];
    return kind === 'filesystem' && mountpoint === undefined ? [name] : [];
  }),
);

/** The storage when something has been made at this path. */
export function withPath(storage: Storage, path: string): Storage {
  if (!storage.missing.has(path)) return storage;
  return { ...storage, missing: new Set([...storage.missing].filter((one) => one !== path)) };
}

/** The name of the volume that a path is on. */
export function poolOf(path: string): string {
  return path.slice(volumesFolder.length + 1).split('/')[0] ?? '';
}

/** The dataset whose file system contains the path; undefined outside of the volumes. */
export function datasetOf(path: string, { datasets }: Pick<Storage, 'datasets'>): string | undefined {
  if (!isWithin(path, volumesFolder)) return undefined;
  const mounted = byMountpoint(datasets);
  for (let folder = path; folder !== '/'; folder = parentOf(folder)) {
    const name = mounted.get(folder);
    if (name !== undefined) return name;
  }
  return undefined;
}

const byMountpoint = memo(
  (datasets: Storage['datasets']): ReadonlyMap<string, string> =>
    new Map(
      [...datasets.values()].flatMap(({ name, mountpoint }) =>
        mountpoint === undefined ? [] : [[mountpoint, name] as const],
      ),
    ),
);
