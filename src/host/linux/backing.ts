import { access, realpath, stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { HostError } from '../ports/index.ts';
import type { Extent } from '../ports/targets.ts';
import { hostError } from './failure.ts';
import type { PoolFiles } from './zfs/pool-files.ts';

/** How long udev may take to make the device of a new zvol, in milliseconds, and how often it is looked for. */
const patience = { whole: 10_000, step: 50 };

/**
 * The kernel opens whatever the path leads to. So the path itself must be the file or device: through a link, any
 * account that can write in the folder could choose what is offered.
 */
export async function mustBeItself({ backing: { kind, path } }: Extent, poolFiles: PoolFiles): Promise<void> {
  for (let waited = 0; kind === 'zvol' && waited < patience.whole && !(await exists(path)); waited += patience.step)
    await wait(patience.step);
  try {
    const isItself = await poolFiles.use(path, async () => {
      const found = await stat(path);
      return kind === 'file' ? found.isFile() && (await realpath(path)) === path : found.isBlockDevice();
    });
    if (!isItself) {
      throw new HostError(
        kind === 'file' ? 'expected a regular file, not a link or another kind of file' : 'it is not a disk',
      );
    }
  } catch (error) {
    const hint = path.includes('@') ? '; ZFS shows the devices of snapshots where the property snapdev is visible' : '';
    throw new HostError(`${hostError(`cannot offer ${path}`, error).message}${hint}`, { cause: error });
  }
}

export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
