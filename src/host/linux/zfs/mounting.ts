import { isWithin } from '../../../lib/path.ts';
import type { Programs } from './programs.ts';

/**
 * The mountpoints of a pool's unmounted filesystems, parents first; those that are not mounted automatically are left
 * out.
 */
export async function mountpoints(programs: Programs, pool: string): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await programs.do(
    'zfs',
    'list',
    '-H',
    '-r',
    '-t',
    'filesystem',
    '-o',
    'name,canmount,mounted,mountpoint',
    pool,
  );
  return new Map(
    stdout.split('\n').flatMap((line) => {
      const [name = '', canmount, mounted, mountpoint = ''] = line.split('\t');
      return canmount === 'on' && mounted === 'no' && mountpoint.startsWith('/') ? [[name, mountpoint] as const] : [];
    }),
  );
}

/** Where the root dataset of a pool is to be mounted, whether or not it is; empty if there is no such pool. */
export async function mountpointOf(programs: Programs, pool: string): Promise<string> {
  return (await programs.run('zfs', 'get', '-H', '-o', 'value', 'mountpoint', pool)).stdout.trim();
}

/** Mounts the pool's unmounted filesystems whose keys are loaded; with `within`, only those below that path. */
export async function mountAll(programs: Programs, pool: string, within?: string): Promise<void> {
  const { stdout } = await programs.do(
    'zfs',
    'get',
    '-H',
    '-r',
    '-t',
    'filesystem',
    '-o',
    'name,value',
    'keystatus',
    pool,
  );
  const locked = new Set(
    stdout.split('\n').flatMap((line) => (line.endsWith('\tunavailable') ? [line.slice(0, line.indexOf('\t'))] : [])),
  );
  for (const [name, mountpoint] of await mountpoints(programs, pool)) {
    if (!locked.has(name) && (within === undefined || isWithin(mountpoint, within)))
      await programs.do('zfs', 'mount', name);
  }
}

interface Keyed {
  readonly name: string;
  readonly isMounted: boolean;
  /** Whether its key is loaded and it is mounted automatically. */
  readonly isMountable: boolean;
}

/**
 * The filesystems that an encryption root encrypts, wherever they are in its pool, with everything below them; parents
 * first.
 */
export async function keyedBy(programs: Programs, root: string): Promise<readonly Keyed[]> {
  const columns = ['name', 'encryptionroot', 'keystatus', 'canmount', 'mounted', 'mountpoint'];
  const pool = root.split('/')[0] ?? root;
  const argv = ['zfs', 'list', '-H', '-r', '-t', 'filesystem', '-o', columns.join(','), pool];
  const keyed = new Map<string, Keyed>();
  for (const line of (await programs.do(...argv)).stdout.split('\n')) {
    const [name = '', encryptionRoot, keystatus, canmount, mounted, mountpoint = ''] = line.split('\t');
    if (encryptionRoot !== root && !keyed.has(name.slice(0, name.lastIndexOf('/')))) continue;
    const isMountable = keystatus !== 'unavailable' && canmount === 'on' && mountpoint.startsWith('/');
    keyed.set(name, { name, isMounted: mounted === 'yes', isMountable });
  }
  return [...keyed.values()];
}

/** Mounts what an encryption root encrypts, with what is below it. What is below a locked dataset stays unmounted. */
export async function mountKeyed(programs: Programs, root: string): Promise<void> {
  const unmounted = new Set<string>();
  for (const { name, isMounted, isMountable } of await keyedBy(programs, root)) {
    if (isMounted) continue;
    if (isMountable && !unmounted.has(name.slice(0, name.lastIndexOf('/')))) await programs.do('zfs', 'mount', name);
    else unmounted.add(name);
  }
}
