import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

const chunk = 4 * 1024 ** 2;

/**
 * Copies a file, and leaves holes as holes, so that the copy of an extent takes no more space than its data. Where the
 * file system shares blocks between files, nothing is copied. Node cannot ask where the holes of a file are, so the copy
 * reads all of it and writes what is not zero: a second for 3 GB. The number of blocks that the file system counts is of
 * no use: one that compresses counts less than there is.
 */
function copySparse(from: string, to: string): void {
  const { mode, size } = lstatSync(from);
  if (size <= chunk) copyFileSync(from, to, constants.COPYFILE_FICLONE);
  else if (!shareBlocks(from, to)) copyData(from, to, { mode, size });
}

function shareBlocks(from: string, to: string): boolean {
  try {
    copyFileSync(from, to, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    return false;
  }
}

function copyData(from: string, to: string, { mode, size }: { readonly mode: number; readonly size: number }): void {
  const source = openSync(from, 'r');
  const target = openSync(to, 'w', mode);
  try {
    fchmodSync(target, mode);
    ftruncateSync(target, size);
    const [buffer, zeros] = [Buffer.alloc(chunk), Buffer.alloc(chunk)];
    for (let at = 0; at < size; at += chunk) {
      const data = buffer.subarray(0, readSync(source, buffer, 0, chunk, at));
      if (!data.equals(zeros.subarray(0, data.length))) writeSync(target, data, 0, data.length, at);
    }
  } finally {
    closeSync(source);
    closeSync(target);
  }
}

/** Copies a folder with all in it, without the entries at these paths. Links are copied as they are. */
export function copyTree(from: string, to: string, without: ReadonlySet<string> = new Set()): void {
  if (mkdirSync(to, { recursive: true }) !== undefined) chmodSync(to, lstatSync(from).mode);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (without.has(source)) continue;
    if (entry.isDirectory()) copyTree(source, target, without);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.isFile()) copySparse(source, target);
  }
}
