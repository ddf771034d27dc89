import { isWithin } from '../../lib/path.ts';

/** The folder in which every volume is mounted. */
export const volumesFolder = '/mnt';

/**
 * A place on a volume: a file or folder, or a dataset, zvol or whole volume by its full name. A path that the program
 * that uses it makes itself may be missing.
 */
export type Location = { readonly path: string; readonly isMade?: true } | { readonly dataset: string };

/** The path below which everything of a dataset is mounted. */
export function folderOf(dataset: string): string {
  return `${volumesFolder}/${dataset}`;
}

/** Whether a place is another one, or is in it. */
export function isIn(place: Location, outer: Location): boolean {
  if ('dataset' in place && 'dataset' in outer) return isWithin(place.dataset, outer.dataset);
  return isWithin(pathOf(place), pathOf(outer));
}

function pathOf(place: Location): string {
  return 'path' in place ? place.path : folderOf(place.dataset);
}
