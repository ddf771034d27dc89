/**
 * Space on the disk of the state folder: whether it is writable, and a reserve file that is removed when the disk is
 * full.
 */
import { randomBytes } from 'node:crypto';
import { accessSync, closeSync, constants, fsyncSync, openSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { showSize } from '../lib/size.ts';
import { messageOf } from '../lib/text.ts';
import { removeFile } from './marks.ts';

/** With fewer free bytes, changes of clients are refused; the rest is reserved for writes of the daemon itself. */
export const leastFree = 1024 ** 2;

/**
 * Bytes of the random block that is written again and again until the reserve has its size. File systems compress blocks
 * of up to 128 KiB by default, so that the repetition does not make the file smaller on the disk.
 */
const largestBlock = 1024 ** 2;

/** Why nothing can be stored now. */
export type Lack = 'full' | 'readOnly' | 'unwritable';

/** Why a write failed; undefined for an error that is not related to the disk. */
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

/** Bytes that this process can still write there. Root can also use the reserved blocks of a file system. */
function writable(folder: string): { readonly free: number; readonly total: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  return { free: (process.getuid?.() === 0 ? bfree : bavail) * bsize, total: blocks * bsize };
}

/** Checked separately, because SQLite reports a read-only file system as an I/O error once the file is open. */
function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return lackOf(error) === 'readOnly';
  }
}

/** The message for users: the cause, the free space, and what to do. */
export function obstacleOf(folder: string, lack: Lack, size: number, error?: unknown): string {
  return `${causeOf(folder, lack, size, error)} Until then the configuration can be read, but not changed; no restart is needed.`;
}

export function causeOf(folder: string, lack: Lack, size: number, error?: unknown): string {
  if (lack === 'readOnly' || isReadOnly(folder))
    return `The file system of ${folder} is read-only. Mount it read-write.`;
  const { free, total } = writable(folder);
  const needed = size + 2 * leastFree;
  // A quota is not visible in the free space of the file system.
  if (lack === 'unwritable' || free > needed)
    return `${folder} cannot be written to${error === undefined ? '' : `: ${messageOf(error)}`}. Check the disk and the quotas.`;
  return `The file system of ${folder} is full: ${showSize(free)} of ${showSize(total)} are free. Free at least ${showSize(needed)}.`;
}

/**
 * A file of random bytes that reserves space on the disk of the state folder. When the disk is full it is removed, so
 * that the database can store what must not be lost, such as the results of jobs and which alerts were mailed. It is
 * created again when there is enough space.
 *
 * The bytes are random because a compressing file system would store zeros in almost no space.
 */
export class Reserve {
  readonly #file: string;
  readonly size: number;

  constructor(file: string, size: number) {
    this.#file = file;
    this.size = size;
  }

  /** Bytes that the file has now. */
  get #existing(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Removes the file; returns whether that freed space. */
  release(): boolean {
    try {
      const existing = this.#existing;
      removeFile(this.#file);
      return existing > 0;
    } catch {
      return false;
    }
  }

  /** Whether there is enough space for the file and for changes. */
  get fits(): boolean {
    return writable(dirname(this.#file)).free >= Math.max(0, this.size - this.#existing) + 2 * leastFree;
  }

  /** Whether the file has its full size. */
  get isMade(): boolean {
    return this.#existing >= this.size;
  }

  /** Creates the file in full size. Writes at least one byte, so that a disk that is not writable is detected. */
  make(): void {
    if (this.isMade) {
      probe(`${this.#file}.probe`);
      return;
    }
    try {
      append(this.#file, this.size - this.#existing);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** Whether there is too little space for a change. */
  get isShort(): boolean {
    return writable(dirname(this.#file)).free < leastFree;
  }
}

function append(file: string, bytes: number): void {
  const descriptor = openSync(file, 'a', 0o600);
  try {
    const block = randomBytes(Math.min(bytes, largestBlock));
    for (let written = 0; written < bytes; )
      written += writeSync(descriptor, block, 0, Math.min(block.length, bytes - written));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a byte to a temporary file and removes it. */
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
