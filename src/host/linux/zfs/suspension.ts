import { readdir, readFile } from 'node:fs/promises';
import { isWithin } from '../../../lib/path.ts';
import { readMounts } from '../mounts.ts';

/** Where ZFS shows the state of each pool. To read it never waits for the pool, as its programs do. */
const states = '/proc/spl/kstat/zfs';
/** What is mounted, for this process. */
const mounts = '/proc/self/mountinfo';

/** The pools that have lost the disks that they need. */
async function suspendedPools(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const pools = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const suspended = await Promise.all(
    pools.map(async (pool) => {
      const state = await readFile(`${folder}/${pool}/state`, 'utf8').catch(() => '');
      return state.trim() === 'SUSPENDED';
    }),
  );
  return pools.filter((_, index) => suspended[index]);
}

/**
 * The suspended pool for which a program of ZFS with these arguments may wait: one that they name, or any if they name
 * no pool of this machine.
 */
export async function suspendedPool(argv: readonly string[], folder = states): Promise<string | undefined> {
  const suspended = await suspendedPools(folder);
  if (suspended.length === 0) return undefined;
  const named = (pool: string) => argv.some((argument) => argument.split(/[/@#]/)[0] === pool);
  const found = suspended.find(named);
  if (found !== undefined) return found;
  const others = (await readdir(folder)).filter((pool) => !suspended.includes(pool));
  return others.some(named) ? undefined : suspended[0];
}

/** The suspended pool that a path leads into, if any. Links are not followed: to read them may wait for the pool. */
export async function suspendedPoolAt(
  path: string,
  from: { readonly states: string; readonly mounts: string } = { states, mounts },
): Promise<string | undefined> {
  const suspended = await suspendedPools(from.states);
  if (suspended.length === 0) return undefined;
  const [innermost] = readMounts(await readFile(from.mounts, 'utf8'))
    .filter(({ on }) => isWithin(path, on))
    .toSorted((a, b) => b.on.length - a.on.length);
  const pool = innermost?.kind === 'zfs' ? innermost.source.split('/')[0] : undefined;
  return pool !== undefined && suspended.includes(pool) ? pool : undefined;
}
