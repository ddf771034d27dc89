import { constants } from 'node:fs';
import { chmod, copyFile, type FileHandle, lstat, mkdir, open, readdir, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';

const chunk = 16 * 1024 ** 2;

/**
 * Copies a file, and leaves holes as holes, so that the copy of an extent takes no more space than its data. Where the
 * file system shares blocks between files, nothing is copied. Node cannot ask where the holes of a file are, so the copy
 * reads all of it and writes what is not zero: a second for 3 GB, in which the daemon answers other requests. The number
 * of blocks that the file system counts is of no use: one that compresses counts less than there is.
 */
async function copySparse(from: string, to: string): Promise<void> {
  const { mode, size } = await lstat(from);
  if (size <= chunk) await copyFile(from, to, constants.COPYFILE_FICLONE);
  else if (!(await shareBlocks(from, to))) await copyData(from, to, { mode, size });
}

function shareBlocks(from: string, to: string): Promise<boolean> {
  return copyFile(from, to, constants.COPYFILE_FICLONE_FORCE).then(
    () => true,
    () => false,
  );
}

async function copyData(
  from: string,
  to: string,
  { mode, size }: { readonly mode: number; readonly size: number },
): Promise<void> {
  const source = await open(from, 'r');
  try {
    const target = await open(to, 'w', mode);
    try {
      await target.chmod(mode);
      await target.truncate(size);
      await copyChunks(source, target, size);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function copyChunks(source: FileHandle, target: FileHandle, size: number): Promise<void> {
  const [buffer, zeros] = [Buffer.alloc(chunk), Buffer.alloc(chunk)];
  for (let at = 0; at < size; at += chunk) {
    const data = buffer.subarray(0, (await source.read(buffer, 0, chunk, at)).bytesRead);
    if (!data.equals(zeros.subarray(0, data.length))) await target.write(data, 0, data.length, at);
  }
}

/**
 * Copies a folder with all in it, without the entries at these paths, while the daemon answers other requests. Links are
 * copied as they are.
 */
export async function copyTree(from: string, to: string, without: ReadonlySet<string> = new Set()): Promise<void> {
  if ((await mkdir(to, { recursive: true })) !== undefined) await chmod(to, (await lstat(from)).mode);
  for (const name of await readdir(from)) await copyEntry(join(from, name), join(to, name), without);
}

/** Copies a file, a link or a folder with all in it. */
export async function copyEntry(from: string, to: string, without: ReadonlySet<string> = new Set()): Promise<void> {
  if (without.has(from)) return;
  const found = await lstat(from);
  if (found.isDirectory()) await copyTree(from, to, without);
  else if (found.isSymbolicLink()) await symlink(await readlink(from), to);
  else if (found.isFile()) await copySparse(from, to);
}
