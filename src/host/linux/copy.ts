import { constants } from 'node:fs';
import { copyFile, lchown, lstat, lutimes, mkdir, open, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { lastElement } from '../../lib/path.ts';
import { HostError } from '../ports/index.ts';
import { isAbsence } from './failure.ts';

/**
 * Makes `to` a copy of the file or link `from`, with its owner, permissions and times. False when nothing is at `from`.
 */
export async function copyFileOrLink(from: string, to: string, folderMode: number): Promise<boolean> {
  const found = await lstat(from).catch((error: unknown) => {
    if (isAbsence(error)) return undefined;
    throw error;
  });
  if (found === undefined) return false;
  if (!found.isFile() && !found.isSymbolicLink()) throw new HostError('it is neither a file nor a link');
  await makeFolders(dirname(to), folderMode);
  const aside = join(dirname(to), `.${lastElement(to)}.holdfast`);
  try {
    await rm(aside, { force: true });
    if (found.isSymbolicLink()) await symlink(await readlink(from), aside);
    else {
      // The copy has at most the permissions of the original at any time, so that no other account can read a secret.
      await (
        await open(aside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600)
      ).close();
      await copyFile(from, aside);
    }
    await lchown(aside, found.uid, found.gid);
    if (found.isFile()) {
      const file = await open(aside, constants.O_RDONLY | constants.O_NOFOLLOW);
      try {
        await file.chmod(found.mode & 0o7777);
        await file.sync();
      } finally {
        await file.close();
      }
    }
    await lutimes(aside, found.atime, found.mtime);
    await rename(aside, to);
  } catch (error) {
    await rm(aside, { force: true }).catch(() => {});
    throw error;
  }
  return true;
}

/** The daemon's umask cuts the mode given to mkdir, so the permissions of new folders are set afterwards. */
async function makeFolders(folder: string, mode: number): Promise<void> {
  const above = dirname(folder);
  if (above !== folder) {
    const isThere = await lstat(above).then(
      () => true,
      (error: unknown) => {
        if (isAbsence(error)) return false;
        throw error;
      },
    );
    if (!isThere) await makeFolders(above, mode);
  }
  try {
    await mkdir(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    throw error;
  }
  const made = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await made.chmod(mode);
  } finally {
    await made.close();
  }
}
