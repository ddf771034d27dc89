/**
 * Three small files that distinguish a new machine from one that lost its configuration, and the current database from
 * an older copy:
 *
 * - `revision.json` next to the database contains the number and the digest of a revision of the database, and
 *   the plan that ended last. It is written after each commit and never before, so it may be older than the database,
 *   but not newer. A database that lacks the revision or the end of the plan has lost changes that were answered, such
 *   as those in a deleted write-ahead log.
 * - `starting` exists from just before the key is created until the first configuration is stored. A daemon that is
 *   killed in between leaves a key without records, and may start again.
 * - The mark of the machine is outside the state folder and remains if that is lost.
 */
import { createHash } from 'node:crypto';
import {
  close,
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject } from '../lib/json.ts';

export const databaseFile = (folder: string) => join(folder, 'holdfast.sqlite');
export const keyFile = (folder: string) => join(folder, 'secret.key');
export const markFile = (folder: string) => join(folder, 'revision.json');
export const startingFile = (folder: string) => join(folder, 'starting');
export const reserveFile = (folder: string) => join(folder, 'reserve');

/** A revision in a mark. */
export interface RevisionMark {
  readonly revision: number;
  readonly digest: string;
  /**
   * The plan of the journal that ended last, or 0 if none did since the start. A change that only the machine keeps, such
   * as a new dataset, has no revision: if just its end were lost, the next start would take it back.
   */
  readonly plan: number;
}

export function digestOfRevision(row: Readonly<Record<string, unknown>>): string {
  const { number, at, actor, request, title, changes } = row;
  return createHash('sha256')
    .update(JSON.stringify([Number(number), at, actor, request, title, changes]))
    .digest('hex');
}

/** Marks have the same length, so that one can be written over another. */
const markLength = 127;

/** Undefined if there is no mark or the file is invalid; the next mark replaces it. */
export function readMark(folder: string): RevisionMark | undefined {
  const value = readJson(markFile(folder));
  if (!isObject(value) || typeof value['revision'] !== 'number' || typeof value['digest'] !== 'string')
    return undefined;
  const plan = typeof value['plan'] === 'number' ? value['plan'] : 0;
  return { revision: value['revision'], digest: value['digest'], plan };
}

export function writeMark(
  folder: string,
  { revision, digest, plan }: RevisionMark,
  how: { readonly durably: boolean },
): void {
  const content = `${JSON.stringify({ revision, digest, plan }).padEnd(markLength)}\n`;
  if (how.durably) replaceDurably(markFile(folder), content);
  else overwrite(markFile(folder), content);
}

/**
 * Makes the mark that is there safe from a power cut, in a thread of Node. It is a part of one sector, which a disk writes
 * as a whole or not at all.
 */
export function syncMark(folder: string, done: (error: Error | null) => void): void {
  open(markFile(folder), 'r+', (error, descriptor) => {
    if (error !== null) return done(error);
    fdatasync(descriptor, (failure) => close(descriptor, (other) => done(failure ?? other ?? null)));
  });
}

/** The state folder that a machine was configured from. */
export function readMachineMark(file: string): { readonly state: string } | undefined {
  if (!existsSync(file)) return undefined;
  const value = readJson(file);
  return { state: isObject(value) ? String(value['state']) : 'an unknown folder' };
}

export function writeMachineMark(file: string, state: string): void {
  if (readMachineMark(file)?.state === state) return;
  makeFolder(dirname(file), 0o755);
  replaceDurably(file, `${JSON.stringify({ state })}\n`);
}

/** Replaces a file atomically: after a power cut it has the old or the new content, never a part of it. */
export function replaceDurably(file: string, content: string | Buffer): void {
  const aside = `${file}.new`;
  try {
    const descriptor = openSync(aside, 'w', 0o600);
    try {
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(aside, file);
  } catch (error) {
    removeFile(aside);
    throw error;
  }
  syncFolder(dirname(file));
}

/** Writes over a file of the same length, which needs no space on the disk and survives the end of this process. */
function overwrite(file: string, content: string): void {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    writeSync(descriptor, content);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Creates a folder and its missing parents. Where that is impossible, as in /proc, Node's `recursive` option never
 * returns.
 */
export function makeFolder(folder: string, mode: number): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder), mode);
  mkdirSync(folder, { mode });
}

/** Removes a file if it exists. Unlike `rmSync`, it reports a read-only file system by its error code. */
export function removeFile(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) unlinkSync(file);
}

export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Undefined if there is no such file, or no JSON in it. */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
