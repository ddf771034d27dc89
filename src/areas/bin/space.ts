import { binFolder, type Dataset } from '../../host/ports/zfs.ts';

/** Bytes that the bins of a pool occupy. One in another one is counted with that. */
export function binUse(pool: string, binned: ReadonlyMap<string, Dataset>): number {
  return [...binned.values()]
    .filter(
      ({ name }) => name.startsWith(`${pool}/`) && name.indexOf(`/${binFolder}`) === name.length - binFolder.length - 1,
    )
    .reduce((sum, { used }) => sum + used, 0);
}
