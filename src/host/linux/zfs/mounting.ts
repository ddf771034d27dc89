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

export async function mounted(programs: Programs, pool: string): Promise<readonly string[]> {
  const { stdout } = await programs.do('zfs', 'list', '-H', '-r', '-t', 'filesystem', '-o', 'mounted,name', pool);
  return stdout.split('\n').flatMap((line) => (line.startsWith('yes\t') ? [line.slice('yes\t'.length)] : []));
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
