import { HostError } from '../../ports/index.ts';
import { canmountProperty } from '../../ports/zfs.ts';
import { mountAll } from './mounting.ts';
import type { Programs } from './programs.ts';
import { volumeDevice } from './volume-device.ts';

/**
 * Renames a dataset with everything below it. `canmount=off` unmounts a filesystem and keeps every program from mounting
 * it, wherever its mount point comes from. Children do not inherit it, so each has it, and beside it what it had before.
 */
export async function moveDataset(programs: Programs, name: string, to: string, mounted: boolean): Promise<void> {
  // `zfs rename` would also accept a snapshot.
  if (name.includes('@')) throw new HostError(`cannot open '${name}': it is not a dataset`);
  if (mounted) {
    await rename(programs, name, to);
    try {
      await putBack(programs, to);
    } catch (error) {
      await putAway(programs, to);
      await rename(programs, to, name);
      throw error;
    }
    for (const volume of await volumesIn(programs, to)) await volumeDevice(programs, volume);
    return;
  }
  try {
    await putAway(programs, name);
    await rename(programs, name, to);
  } catch (error) {
    await putBack(programs, name);
    throw error;
  }
}

async function rename(programs: Programs, name: string, to: string): Promise<void> {
  if (name !== to) await programs.patiently('zfs', 'rename', '--', name, to);
}

/** Unmounts the filesystems, children first: a parent is busy while a child is mounted in it. */
async function putAway(programs: Programs, root: string): Promise<void> {
  for (const { name, canmount } of (await mountableIn(programs, root)).toReversed()) {
    if (canmount === 'off') continue;
    await programs.do('zfs', 'set', `${canmountProperty}=${canmount}`, name);
    await programs.patiently('zfs', 'set', 'canmount=off', name);
  }
}

/** Mounts again what was mounted automatically before. */
async function putBack(programs: Programs, root: string): Promise<void> {
  for (const { name, before } of await mountableIn(programs, root)) {
    if (before === undefined) continue;
    // The default is set too: ZFS can reset what is inherited only.
    await programs.do('zfs', 'set', `canmount=${before}`, name);
    await programs.do('zfs', 'inherit', canmountProperty, name);
  }
  await mountAll(programs, root);
}

interface Mountable {
  readonly name: string;
  readonly canmount: string;
  /** What it was before it was put away; undefined if it was not. */
  readonly before: string | undefined;
}

/** The filesystems of a dataset and below it, parents first. */
async function mountableIn(programs: Programs, root: string): Promise<readonly Mountable[]> {
  const columns = ['-o', 'name,property,value,source'];
  const argv = ['zfs', 'get', '-H', '-r', '-t', 'filesystem', ...columns, `canmount,${canmountProperty}`, root];
  const found = new Map<string, Mountable>();
  for (const line of (await programs.do(...argv)).stdout.split('\n')) {
    const [name = '', property, value = '', source = ''] = line.split('\t');
    const known = found.get(name) ?? { name, canmount: 'on', before: undefined };
    const isOwn = source === 'local' || source === 'received';
    if (property === 'canmount') found.set(name, { ...known, canmount: value });
    // An inherited one describes the parent.
    else if (property === canmountProperty) found.set(name, { ...known, before: isOwn ? value : undefined });
  }
  return [...found.values()];
}

async function volumesIn(programs: Programs, root: string): Promise<readonly string[]> {
  const { stdout } = await programs.do('zfs', 'list', '-H', '-r', '-t', 'volume', '-o', 'name', root);
  return stdout.split('\n').filter((name) => name !== '');
}
