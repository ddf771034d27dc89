/**
 * Opens the state folder: refuses lost or damaged data, migrates, and reads a copy if the file cannot be opened in
 * place.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';
import {
  databaseFile,
  digestOfRevision,
  keyFile,
  markFile,
  type RevisionMark,
  readMachineMark,
  readMark,
  replaceDurably,
  startingFile,
  syncFolder,
} from './marks.ts';
import { migrations } from './migrations.ts';
import { type Lack, lackOf } from './reserve.ts';
import { Seal } from './seal.ts';

/** Thrown if the state folder cannot be used. The message is shown to the user who starts the daemon. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

export interface StoreOptions {
  /** Size in bytes of the file that is removed when the disk is full; 0 by default. */
  readonly reserve?: number;
  /** The file with the key of the seal; in the state folder by default. */
  readonly key?: string | undefined;
  /** A file outside the state folder that marks this machine as configured. */
  readonly machineMark?: string;
  /** The machine of a pair that uses the store; records of resources that are `ofNode` are those of this one. */
  readonly node?: string | undefined;
  /** Folders on other file systems whose free space is reported. */
  readonly watched?: readonly string[];
  /** Whether the state is accepted although data was lost. */
  readonly accepts?: boolean;
  /** Whether only a copy is read and nothing is written. */
  readonly onlyLooks?: boolean;
}

export interface Opened {
  readonly database: Database.Database;
  readonly seal: Seal;
  /** The folder of the copy in memory, if the file could not be opened in place. */
  readonly copy: string | undefined;
  /** Why nothing can be stored. */
  readonly lack: Lack | undefined;
}

const keyIn = (folder: string, { key = keyFile(folder) }: Pick<StoreOptions, 'key'>) => key;

interface OpenOptions extends Pick<StoreOptions, 'accepts' | 'onlyLooks' | 'key'> {
  readonly inPlace?: boolean;
}

/** Opens the database in place, or a copy of it if the disk is not writable. */
export function openState(folder: string, options: OpenOptions): Opened {
  if (options.onlyLooks === true) return openCopy(folder, options, undefined);
  try {
    return { ...openFile(databaseFile(folder), folder, options), copy: undefined, lack: undefined };
  } catch (error) {
    const lack = lackOf(error);
    if (lack === undefined || options.inPlace === true || !existsSync(keyIn(folder, options))) throw error;
    return openCopy(folder, options, lack);
  }
}

function openCopy(folder: string, options: OpenOptions, lack: Lack | undefined): Opened {
  const copy = copyOf(databaseFile(folder));
  try {
    return { ...openFile(join(copy, basename(databaseFile(folder))), folder, options), copy, lack };
  } catch (error) {
    rmSync(copy, { recursive: true, force: true });
    throw error;
  }
}

function openFile(file: string, folder: string, options: OpenOptions): Pick<Opened, 'database' | 'seal'> {
  const key = keyIn(folder, options);
  const database = openDatabase(file);
  try {
    // Checked before anything is written.
    if (options.accepts !== true) refuseBehind(database, folder, key);
    migrate(database, file);
    return { database, seal: sealOf(database, folder, { key, onlyLooks: options.onlyLooks === true }) };
  } catch (error) {
    database.close();
    throw error;
  }
}

export function closeState({ database, copy }: Pick<Opened, 'database' | 'copy'>): void {
  database.close();
  if (copy !== undefined) rmSync(copy, { recursive: true, force: true });
}

/** Copies the database to a file system in memory. If all of them are full, throws the last error. */
function copyOf(file: string): string {
  let failure: unknown;
  for (const parent of ['/run', '/dev/shm', tmpdir()]) {
    try {
      const folder = mkdtempSync(join(parent, 'holdfast-copy-'));
      try {
        for (const one of [file, `${file}-wal`]) if (existsSync(one)) copyFileSync(one, join(folder, basename(one)));
        return folder;
      } catch (error) {
        rmSync(folder, { recursive: true, force: true });
        throw error;
      }
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Creates a key for a new database only: a new key could not decrypt existing secrets. */
function sealOf(
  database: Database.Database,
  folder: string,
  { key, onlyLooks }: { readonly key: string; readonly onlyLooks: boolean },
): Seal {
  if (existsSync(key)) return Seal.at(key);
  if (hasRecords(database))
    throw new StoreError(
      `${key} is missing. Without it the stored secrets cannot be decrypted. Restore the file, or run: ${wayOut}.`,
    );
  if (onlyLooks) return new Seal(Buffer.alloc(32));
  replaceDurably(startingFile(folder), '');
  const seal = Seal.at(key);
  syncFolder(dirname(key));
  return seal;
}

function hasRecords(database: Database.Database): boolean {
  return hasTables(database) && database.prepare('SELECT EXISTS (SELECT * FROM documents)').pluck().get() === 1;
}

/** False for a database that lost its write-ahead log soon after it was created. */
function hasTables(database: Database.Database): boolean {
  return Number(database.pragma('user_version', { simple: true })) > 0;
}

/** The newest revision. A caller that needs it often keeps the prepared statement. */
export function lastRevision(database: {
  prepare(sql: string): Database.Statement;
}): Omit<RevisionMark, 'plan'> | undefined {
  return revisionOf(database.prepare('SELECT * FROM revisions ORDER BY number DESC LIMIT 1').get());
}

function revisionOf(row: unknown): Omit<RevisionMark, 'plan'> | undefined {
  return isObject(row) ? { revision: Number(row['number']), digest: digestOfRevision(row) } : undefined;
}

export const wayOut = 'holdfast recover';

/** Throws if a daemon has the database open. */
export function mustBeUnused(folder: string): void {
  const file = databaseFile(folder);
  if (!existsSync(file)) return;
  const database = new Database(file, { timeout: 0 });
  try {
    database.pragma('locking_mode = EXCLUSIVE');
    database.prepare('SELECT COUNT(*) FROM sqlite_master').get();
  } catch (error) {
    // A damaged database cannot be in use.
    if (isLocked(error)) throw inUse(file);
  } finally {
    database.close();
  }
}

function isLocked(error: unknown): boolean {
  return (
    error instanceof Database.SqliteError &&
    (error.code.startsWith('SQLITE_BUSY') || error.code.startsWith('SQLITE_LOCKED'))
  );
}

function inUse(file: string): StoreError {
  return new StoreError(
    `Another Holdfast process uses ${file}. Stop it first, or start this one with another --state folder.`,
  );
}

/**
 * SQLite treats a missing or empty file as a new database. With an existing key, or on a machine that was configured,
 * the data was lost instead, and starting with an empty configuration would remove everything from the machine.
 */
export function refuseLost(folder: string, options: Pick<StoreOptions, 'key' | 'machineMark'>): void {
  const { machineMark } = options;
  const key = keyIn(folder, options);
  const file = databaseFile(folder);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0) return;
  if (existsSync(startingFile(folder))) return;
  const state = existsSync(file) ? `${file} is damaged: it is empty` : `${file} is missing`;
  const machine = machineMark === undefined ? undefined : readMachineMark(machineMark);
  const sign = existsSync(key)
    ? `${key} shows that there was a configuration`
    : existsSync(markFile(folder))
      ? `${markFile(folder)} shows that there was a configuration`
      : machine && `${machineMark} shows that this machine was configured from ${machine.state}`;
  if (sign !== undefined)
    throw new StoreError(
      `${state}, but ${sign}. Nothing was changed. To restore a backup or to start with an empty configuration, run: ${wayOut}.`,
    );
}

/** Refuses a database that lost revisions or all records. */
function refuseBehind(database: Database.Database, folder: string, key: string): void {
  const file = databaseFile(folder);
  if (!hasRecords(database)) {
    if (!existsSync(key) || existsSync(startingFile(folder))) return;
    throw new StoreError(
      `${file} has no records, but ${key} shows that there was a configuration. Nothing was changed. To restore a backup or to start with an empty configuration, run: ${wayOut}.`,
    );
  }
  const mark = readMark(folder);
  if (mark === undefined) return;
  const last = lastRevision(database)?.revision ?? 0;
  if (last < mark.revision)
    throw new StoreError(
      `${file} ends with revision ${last}, but revision ${mark.revision} was stored in it. Changes are lost, such as those of ${basename(file)}-wal. Nothing was changed. To continue with revision ${last} or to restore a backup, run: ${wayOut}.`,
    );
  if (mark.plan > 0 && (mark.plan > lastPlan(database) || isOpen(database, mark.plan)))
    throw new StoreError(
      `${file} lacks the end of change ${mark.plan}, which was stored in it. Changes are lost, such as those of ${basename(file)}-wal. Nothing was changed. To continue without them or to restore a backup, run: ${wayOut}.`,
    );
  const same = revisionOf(database.prepare('SELECT * FROM revisions WHERE number = ?').get(mark.revision));
  if (same !== undefined && same.digest !== mark.digest)
    throw new StoreError(
      `${file} is not the database that was last used here: its revision ${mark.revision} is different. Nothing was changed. To continue with this database, run: ${wayOut}.`,
    );
}

/** The number of the newest plan that the journal had, open or ended. */
function lastPlan(database: Database.Database): number {
  return Number(database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'plans'").pluck().get() ?? 0);
}

function isOpen(database: Database.Database, plan: number): boolean {
  return database.prepare('SELECT 1 FROM plans WHERE id = ?').get(plan) !== undefined;
}

function openDatabase(file: string): Database.Database {
  const database = new Database(file, { timeout: 0 });
  try {
    // The kernel releases the lock when the process ends for any reason, so unlike a pid file it is never stale.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    // In KiB. Records are read once at start; afterwards each change needs only a few pages.
    database.pragma('cache_size = -2000');
    const verdict = database.pragma('quick_check(1)', { simple: true });
    if (verdict !== 'ok')
      throw new StoreError(
        `${file} is damaged: ${String(verdict).replaceAll(/\s+/g, ' ')}. Holdfast does not replace it. To restore a backup, run: ${wayOut}.`,
      );
    return database;
  } catch (error) {
    database.close();
    if (error instanceof StoreError) throw error;
    const code = error instanceof Database.SqliteError ? error.code : '';
    if (isLocked(error)) throw inUse(file);
    if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
      throw new StoreError(
        `${file} is damaged: ${messageOf(error)}. Holdfast does not replace it. To restore a backup, run: ${wayOut}.`,
      );
    }
    if (lackOf(error) !== undefined) throw error;
    throw new StoreError(`${file} cannot be opened: ${messageOf(error)}`);
  }
}

function migrate(database: Database.Database, file: string): void {
  const version = Number(database.pragma('user_version', { simple: true }));
  if (version > migrations.length)
    throw new StoreError(
      `${file} was written by a newer version of Holdfast: expected schema version ${migrations.length} or earlier, got ${version}.`,
    );
  if (version === migrations.length) return;
  database
    .transaction(() => {
      for (const step of migrations.slice(version)) database.exec(step);
      database.pragma(`user_version = ${migrations.length}`);
    })
    .exclusive();
  database.pragma('wal_checkpoint(TRUNCATE)');
}
