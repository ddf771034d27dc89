import { createReadStream, type Stats } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { entryOf } from '../ports/files.ts';
import type { Difference } from '../ports/zfs.ts';

/**
 * What differs between two folders, without the entries of the later one at these paths. A folder has changed when its
 * list of names has. What was renamed is removed and added: nothing else is known of it here.
 */
export async function differencesOf(
  before: string,
  after: string,
  without: ReadonlySet<string>,
): Promise<Difference[]> {
  const found: Difference[] = [];
  const note = (change: Difference['change'], path: string, stats: Stats) =>
    found.push({ change, kind: entryOf('', stats).kind, path });
  const all = async (change: 'added' | 'removed', root: string, path: string): Promise<void> => {
    const stats = await lstat(join(root, path));
    note(change, path, stats);
    if (stats.isDirectory())
      for (const name of await namesIn(join(root, path), without)) await all(change, root, `${path}/${name}`);
  };
  const compare = async (path: string): Promise<void> => {
    const [old, now] = [await lstat(join(before, path)), await lstat(join(after, path))];
    if (old.isDirectory() && now.isDirectory()) {
      const [had, has] = [await namesIn(join(before, path), without), await namesIn(join(after, path), without)];
      if (had.join('/') !== has.join('/')) note('changed', path, now);
      const below = (name: string) => (path === '' ? name : `${path}/${name}`);
      for (const name of had.filter((one) => !has.includes(one))) await all('removed', before, below(name));
      for (const name of has)
        if (had.includes(name)) await compare(below(name));
        else await all('added', after, below(name));
    } else if (old.isDirectory() !== now.isDirectory()) {
      await all('removed', before, path);
      await all('added', after, path);
    } else if (!(await isSame(join(before, path), old, join(after, path), now))) {
      note('changed', path, now);
    }
  };
  await compare('');
  return found;
}

async function namesIn(folder: string, without: ReadonlySet<string>): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => !without.has(join(folder, name))).sort();
}

async function isSame(before: string, old: Stats, after: string, now: Stats): Promise<boolean> {
  if (old.isSymbolicLink() !== now.isSymbolicLink() || old.mode !== now.mode || old.size !== now.size) return false;
  if (old.isSymbolicLink()) return (await readlink(before)) === (await readlink(after));
  const later = createReadStream(after)[Symbol.asyncIterator]();
  // Both are read in pieces of one size.
  for await (const piece of createReadStream(before)) {
    const { value } = await later.next();
    if (!Buffer.from(piece).equals(Buffer.from(value ?? ''))) {
      await later.return?.();
      return false;
    }
  }
  return true;
}
