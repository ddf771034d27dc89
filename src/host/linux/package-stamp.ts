import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** What apt reads to find out which packages could be updated: what is installed, what the sources have, and its settings. */
const files = ['var/lib/dpkg/status', 'var/lib/apt/extended_states', 'etc/apt/sources.list', 'etc/apt/preferences'];
const folders = ['var/lib/apt/lists', 'etc/apt/sources.list.d', 'etc/apt/preferences.d', 'etc/apt/apt.conf.d'];

/**
 * A text that is another one once any of these files was changed, added or removed. Reading their dates takes less than a
 * millisecond, and simulating an update a second of processor time.
 */
export async function packageStamp(root = '/'): Promise<string> {
  const below = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(join(root, folder)).catch(() => []);
      return [folder, ...names.map((name) => join(folder, name))];
    }),
  );
  const paths = [...files, ...below.flat()].toSorted();
  const lines = await Promise.all(
    paths.map(async (path) => {
      const found = await stat(join(root, path), { bigint: true }).catch(() => undefined);
      return found === undefined ? '' : `${path} ${found.mtimeNs} ${found.size}`;
    }),
  );
  return lines.join('\n');
}
