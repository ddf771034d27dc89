import { volumeOf } from '../engine/declare/formats.ts';
import type { Facts } from '../engine/facts/facts.ts';
import type { Storage } from '../engine/facts/storage-facts.ts';

/** The reason why a folder of a volume cannot be served now, or undefined if it can. */
export function absence(folder: string, facts: Facts): string | undefined {
  const volume = volumeOf(folder, facts);
  if (volume === undefined) return `the volume of ${folder} is missing`;
  return facts.storage.datasets.get(volume)?.mountpoint === undefined
    ? `the volume ${volume} is not mounted`
    : undefined;
}

/** The volumes and whether each is mounted, as one string: a cache key, because `absence` depends on nothing else. */
export function volumesOf({ pools, datasets }: Storage): string {
  return [...pools.keys()].map((pool) => `${pool}${datasets.get(pool)?.mountpoint === undefined ? '-' : ''}`).join();
}
