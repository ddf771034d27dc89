/**
 * What tells a new machine from one that has lost its configuration, and a database from an older one of the same
 * machine. Three small files help:
 *
 * - `revision.json` beside the database has the number and the digest of a revision that the database had. It is written
 *   after each commit and never before, so it may be older than the database, but not newer. A database that lacks the
 *   revision has lost changes that were answered, such as those in a write-ahead log that was deleted.
 * - `starting` is there from the moment before the key is made until the first configuration is kept. A daemon that is
 *   killed meanwhile leaves a key without records, and may begin again.
 * - The machine's own mark lies outside the state folder and stays when that is lost.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject } from '../lib/json.ts';

export const databaseFile = (folder: string) => join(folder, 'holdfast.sqlite');
export const keyFile = (folder: string) => join(folder, 'secret.key');
export const markFile = (folder: string) => join(folder, 'revision.json');
export const startingFile = (folder: string) => join(folder, 'starting');
export const reserveFile = (folder: string) => join(folder, 'reserve');

/** A revision as the mark knows it. */
export interface RevisionMark {
  readonly revision: number;
  readonly digest: string;
}

export function digestOfRevision(row: Readonly<Record<string, unknown>>): string {
  const { number, at, actor, request, title, changes } = row;
  return createHash('sha256')
    .update(JSON.stringify([Number(number), at, actor, request, title, changes]))
    .digest('hex');
}

/** Undefined when there is none; a file that cannot be understood is none, for the next one replaces it. */
export function readMark(folder: string): RevisionMark | undefined {
  const value = readJson(markFile(folder));
  if (!isObject(value) || typeof value['revision'] !== 'number' || typeof value['digest'] !== 'string')
    return undefined;
  return { revision: value['revision'], digest: value['digest'] };
}

export function writeMark(folder: string, { revision, digest }: RevisionMark): void {
  replaceDurably(markFile(folder), `${JSON.stringify({ revision, digest })}\n`);
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

/** The file is the old one or the new one after a power cut, and never half of either. */
export function replaceDurably(file: string, content: string): void {
  const aside = `${file}.new`;
  try {
    const descriptor = openSync(aside, 'w', 0o600);
    try {
      writeSync(descriptor, content);
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

/** Makes a folder and its missing parents. Where none can be made, as in /proc, the `recursive` option of Node tries for ever. */
export function makeFolder(folder: string, mode: number): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder), mode);
  mkdirSync(folder, { mode });
}

/** Removes a file; none there is no fault. Unlike `rmSync`, it tells a read-only file system by its code. */
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

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
