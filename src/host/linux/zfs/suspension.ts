import { readdir, readFile } from 'node:fs/promises';

/** Where ZFS shows the state of each pool. To read it never waits for the pool, as its programs do. */
const states = '/proc/spl/kstat/zfs';

/**
 * The suspended pool for which a program of ZFS with these arguments may wait: one that they name, or any if they name
 * none. A pool is suspended when it has lost the disks that it needs.
 */
export async function suspendedPool(argv: readonly string[], folder = states): Promise<string | undefined> {
  const pools = (await readdir(folder, { withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const named = pools.filter((pool) => argv.some((argument) => argument.split(/[/@#]/)[0] === pool));
  for (const pool of named.length > 0 ? named : pools) {
    const state = await readFile(`${folder}/${pool}/state`, 'utf8').catch(() => '');
    if (state.trim() === 'SUSPENDED') return pool;
  }
  return undefined;
}
