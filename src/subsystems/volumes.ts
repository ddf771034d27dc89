import { volumeOf } from '../engine/declare/formats.ts';
import type { Facts } from '../engine/upkeep/facts.ts';
import type { Storage } from '../engine/upkeep/storage-facts.ts';

/** Why a folder of a volume cannot be served now, in words, if it cannot. */
export function absence(folder: string, facts: Facts): string | undefined {
  const volume = volumeOf(folder, facts);
  if (volume === undefined) return `the volume of ${folder} is not there`;
  return facts.storage.datasets.get(volume)?.mountpoint === undefined
    ? `the volume ${volume} is not mounted`
    : undefined;
}

/** Which volumes there are and which are mounted, in one word: what `absence` answers depends on nothing else. */
export function volumesOf({ pools, datasets }: Storage): string {
  return [...pools.keys()].map((pool) => `${pool}${datasets.get(pool)?.mountpoint === undefined ? '-' : ''}`).join();
}
