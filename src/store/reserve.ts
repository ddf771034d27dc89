/** Room on the disk of the state folder: whether it can be written to, and a file that gives some back when there is none. */
import { randomBytes } from 'node:crypto';
import { accessSync, closeSync, constants, fsyncSync, openSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { showSize } from '../lib/size.ts';
import { messageOf } from '../lib/text.ts';
import { removeFile } from './marks.ts';

/** Below so many free bytes, changes that clients ask for are refused: what is left is for the daemon's own notes. */
export const leastFree = 1024 ** 2;

/** Why nothing can be kept now. */
export type Lack = 'full' | 'readOnly' | 'unwritable';

/** What a failed write lacked; undefined for a failure that has another cause. */
export function lackOf(error: unknown): Lack | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  const { code } = error;
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'SQLITE_FULL') return 'full';
  if (code === 'EROFS' || (error instanceof Database.SqliteError && code.startsWith('SQLITE_READONLY')))
    return 'readOnly';
  // SQLite reports every other errno of a write, such as EDQUOT and EROFS, as an I/O error.
  if (code === 'EIO' || code === 'SQLITE_CANTOPEN' || code.startsWith('SQLITE_IOERR')) return 'unwritable';
  return undefined;
}

/** Bytes that this process may still write there. Root may also use the blocks that a file system sets aside. */
function writable(folder: string): { readonly free: number; readonly total: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  return { free: (process.getuid?.() === 0 ? bfree : bavail) * bsize, total: blocks * bsize };
}

/** SQLite reports it as an I/O error once the file is open. */
function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return lackOf(error) === 'readOnly';
  }
}

/** The sentence for people: what is wrong, how much is free, and what to do. */
export function obstacleOf(folder: string, lack: Lack, size: number, error?: unknown): string {
  return `${causeOf(folder, lack, size, error)} Until then the configuration can be read but not changed; no restart is needed.`;
}

export function causeOf(folder: string, lack: Lack, size: number, error?: unknown): string {
  if (lack === 'readOnly' || isReadOnly(folder))
    return `The file system of ${folder} is read-only. Mount it read-write.`;
  const { free, total } = writable(folder);
  const needed = size + 2 * leastFree;
  // A quota leaves no trace in the figures of the file system.
  if (lack === 'unwritable' || free > needed)
    return `${folder} cannot be written to${error === undefined ? '' : `: ${messageOf(error)}`}. Check the disk and the quotas.`;
  return `The file system of ${folder} is full: ${showSize(free)} of ${showSize(total)} are free. Free at least ${showSize(needed)}.`;
}

/**
 * A file of random bytes that takes up room on the disk of the state folder. When the disk is full it is removed, so that
 * the database can write down what must not be lost: how a job ended, and which alerts were mailed. It is made again when
 * there is room.
 *
 * The bytes are random because a file system that compresses would store zeros in no space at all.
 */
export class Reserve {
  readonly #file: string;
  readonly size: number;

  constructor(file: string, size: number) {
    this.#file = file;
    this.size = size;
  }

  /** Removes the file; answers whether there was any to give. */
  release(): boolean {
    try {
      const there = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
      removeFile(this.#file);
      return there > 0;
    } catch {
      return false;
    }
  }

  /** Whether there is room for it and for changes. */
  get fits(): boolean {
    const there = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    return writable(dirname(this.#file)).free >= Math.max(0, this.size - there) + 2 * leastFree;
  }

  /** Makes it whole, and writes at least a byte, so that a disk that cannot be written to is noticed. Throws what kept it from being so. */
  make(): void {
    const there = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    if (there >= this.size) {
      probe(`${this.#file}.probe`);
      return;
    }
    try {
      append(this.#file, this.size - there);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** Whether there is now too little room for a change. */
  get isShort(): boolean {
    return writable(dirname(this.#file)).free < leastFree;
  }
}

function append(file: string, bytes: number): void {
  const descriptor = openSync(file, 'a', 0o600);
  try {
    for (let written = 0; written < bytes; ) written += writeSync(descriptor, randomBytes(bytes - written));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a byte into a file of its own and removes it. */
function probe(file: string): void {
  const descriptor = openSync(file, 'w', 0o600);
  try {
    writeSync(descriptor, 'x');
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
    removeFile(file);
  }
}
