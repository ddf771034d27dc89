import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rmdir, unlink } from 'node:fs/promises';
import { HostError } from '../ports/index.ts';
import { codeOf } from './failure.ts';
import { type Border, inFolder, openFolder, walk } from './walk.ts';

/**
 * Files in folders that their owner may change meanwhile, such as keys in a home. Root writes them, so each step uses
 * an open folder and a plain name in it, and follows no link.
 */

/** Larger than any list of keys; a user's file must not fill the memory. */
const mostBytes = 1024 * 1024;

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export function readPrivateFile(border: Border, parts: readonly string[]): Promise<string | undefined> {
  return inFolderOf(border, parts, async (above, { folderName, name }) => {
    const folder = await openFolderIn(above, folderName);
    if (folder === undefined) return undefined;
    try {
      return await readIn(folder, name);
    } finally {
      await folder.close();
    }
  });
}

export function writePrivateFile(
  border: Border,
  parts: readonly string[],
  content: string,
  owner: Owner,
): Promise<void> {
  return inFolderOf(border, parts, async (above, { folderName, name }) => {
    let made = false;
    let folder = await openFolderIn(above, folderName);
    if (folder === undefined) {
      await mkdir(inFolder(above, folderName), 0o700);
      made = true;
      folder = await openFolderIn(above, folderName);
    }
    try {
      if (folder === undefined) throw new HostError(`${folderName} was removed meanwhile`);
      await folder.chown(owner.uid, owner.gid);
      await folder.chmod(0o700);
      await replaceIn(folder, name, content, owner);
    } catch (error) {
      if (made) await rmdir(inFolder(above, folderName)).catch(() => {});
      throw error;
    } finally {
      await folder?.close();
    }
  });
}

export function removePrivateFile(border: Border, parts: readonly string[]): Promise<void> {
  return inFolderOf(border, parts, async (above, { folderName, name }) => {
    const folder = await openFolderIn(above, folderName);
    if (folder === undefined) return;
    try {
      await unlink(inFolder(folder, name)).catch(unlessAbsent);
    } finally {
      await folder.close();
    }
    await rmdir(inFolder(above, folderName)).catch((error: unknown) => {
      const code = codeOf(error);
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
    });
  });
}

async function inFolderOf<T>(
  border: Border,
  parts: readonly string[],
  work: (above: FileHandle, names: { folderName: string; name: string }) => Promise<T>,
): Promise<T> {
  const [folderName, name] = parts.slice(-2);
  if (folderName === undefined || name === undefined)
    throw new HostError('expected a path of a folder and a file in it');
  const { end, close } = await walk(border, parts.slice(0, -2));
  try {
    return await work(end, { folderName, name });
  } finally {
    await close();
  }
}

async function openFolderIn(above: FileHandle, name: string): Promise<FileHandle | undefined> {
  try {
    return await open(inFolder(above, name), openFolder);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP' || code === 'ENOTDIR') throw new HostError(`${name} is not a folder, or is a link to one`);
    throw error;
  }
}

async function readIn(folder: FileHandle, name: string): Promise<string | undefined> {
  let file: FileHandle;
  try {
    // Without O_NONBLOCK, opening a named pipe would block.
    file = await open(inFolder(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return undefined;
    throw code === 'ELOOP' ? new HostError(`${name} is a link`) : error;
  }
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new HostError(`${name} is not a file`);
    // It could be another user's file under a second name.
    if (stats.nlink > 1) throw new HostError(`${name} has more than one hard link`);
    if (stats.size > mostBytes) throw new HostError(`${name} is larger than ${mostBytes} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

async function replaceIn(folder: FileHandle, name: string, content: string, { uid, gid }: Owner): Promise<void> {
  const aside = inFolder(folder, `.${name}.${randomBytes(8).toString('hex')}`);
  try {
    const file = await open(
      aside,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    try {
      await file.writeFile(content);
      await file.chown(uid, gid);
      await file.chmod(0o600);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, inFolder(folder, name));
  } catch (error) {
    await unlink(aside).catch(() => {});
    throw error;
  }
}

function unlessAbsent(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error;
}
