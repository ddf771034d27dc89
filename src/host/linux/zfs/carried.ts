import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../lib/text.ts';
import { HostError } from '../../ports/index.ts';
import { stateDataset } from '../../ports/zfs.ts';
import { mountsNow } from '../mounts.ts';
import type { Programs } from './programs.ts';

/**
 * What services keep for themselves and clients rely on: the accounts, secrets and domain membership of Samba, and the
 * clients of NFS that may reclaim their locks. `helpers` have a folder open although the service is off; the service
 * starts them again.
 */
const carried = [
  { name: 'samba', folder: '/var/lib/samba', helpers: [] },
  { name: 'nfs', folder: '/var/lib/nfs', helpers: ['nfsdcld.service', 'rpc-statd.service', 'fsidd.service'] },
] as const;

/** Has the folders of the machine show those on the pool, which get their contents from the machine the first time. */
export async function carry(programs: Programs, pool: string): Promise<void> {
  const home = join('/mnt', pool, stateDataset, 'carried');
  try {
    await mkdir(home, { recursive: true, mode: 0o711 });
    for (const { name, folder, helpers } of carried) {
      const on = join(home, name);
      if (!existsSync(folder) || (await isMount(folder))) continue;
      await stop(programs, helpers);
      if (!existsSync(on)) {
        // A copy that was cut short is no copy.
        await rm(`${on}.new`, { recursive: true, force: true });
        await programs.do('cp', '--archive', '--one-file-system', folder, `${on}.new`);
        await rename(`${on}.new`, on);
      }
      await programs.do('mount', '--bind', on, folder);
    }
  } catch (error) {
    throw error instanceof HostError ? error : new HostError(`cannot use ${home}: ${messageOf(error)}`);
  }
}

/** Has the folders show what the machine itself has there, so that the pool can be exported. */
export async function uncarry(programs: Programs): Promise<void> {
  for (const { folder, helpers } of carried) {
    if (!(await isMount(folder))) continue;
    await stop(programs, helpers);
    while (await isMount(folder)) await programs.patiently('umount', folder);
  }
}

/** By one program, because meanwhile no machine serves. One that is not installed does not run. */
async function stop(programs: Programs, helpers: readonly string[]): Promise<void> {
  if (helpers.length > 0) await programs.run('systemctl', 'stop', ...helpers);
}

async function isMount(folder: string): Promise<boolean> {
  return (await mountsNow()).some(({ on }) => on === folder);
}
