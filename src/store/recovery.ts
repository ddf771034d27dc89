/**
 * Recovery of a state folder that the daemon refuses: examine it, accept it, restore a backup, or start with an empty
 * one.
 */
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { backupName, backupsFolder } from '../engine/configuration/backup-names.ts';
import type { Kept, RecordChange } from '../engine/configuration/tables.ts';
import type { Configuration } from '../engine/declare/resource.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';
import { readBackup } from './backup-file.ts';
import { databaseFile, keyFile, markFile, readMark, removeFile, replaceDurably, startingFile } from './marks.ts';
import { mustBeUnused, StoreError, type StoreOptions } from './open.ts';
import { recoveryKeyName } from './pool-backups.ts';
import { Store } from './store.ts';

/** A backup on a pool. */
export interface FoundBackup {
  readonly file: string;
  readonly revision: number;
  /** When it was written, in ISO 8601. */
  readonly at: string;
  /** The file with the key that decrypts its secrets, if found. */
  readonly keyFile: string | undefined;
}

export interface StateReport {
  readonly folder: string;
  /** Why the daemon refuses to start with it; undefined if it does not. */
  readonly refusal: string | undefined;
  /** The newest revision in the database, if it is readable. */
  readonly revision: number | undefined;
  /** The newest revision that is known to have been stored. */
  readonly marked: number | undefined;
}

/** Examines the state. Reads a copy, so that nothing is written and a running daemon is not affected. */
export function examine(folder: string, options: StoreOptions): StateReport {
  const marked = readMark(folder)?.revision;
  if (!existsSync(databaseFile(folder)))
    return { folder, refusal: refusalOf(folder, options), revision: undefined, marked };
  const refusal = refusalOf(folder, options);
  try {
    const store = Store.open(folder, { ...options, reserve: 0, accepts: true, onlyLooks: true });
    try {
      return { folder, refusal, revision: store.revisions(1)[0]?.number, marked };
    } finally {
      store.close();
    }
  } catch (error) {
    return { folder, refusal: refusal ?? messageOf(error), revision: undefined, marked };
  }
}

function refusalOf(folder: string, options: StoreOptions): string | undefined {
  // Opening a new state folder would create it.
  if (
    !existsSync(databaseFile(folder)) &&
    !existsSync(keyFile(folder)) &&
    !existsSync(markFile(folder)) &&
    !existsSync(options.machineMark ?? '')
  )
    return undefined;
  try {
    Store.open(folder, { ...options, reserve: 0, onlyLooks: true }).close();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The backups on mounted pools, the newest first. `root` is the root folder of the machine's files. */
export function backupsOnPools(root: string, state: string): readonly FoundBackup[] {
  const files = globSync(join(root, 'mnt', '*', backupsFolder, 'configuration-*.json')).filter((file) =>
    backupName.test(basename(file)),
  );
  const found = files.map((file) => {
    const keys = [
      join(dirname(file), recoveryKeyName),
      ...globSync(join(root, 'mnt', '*', backupsFolder, recoveryKeyName)),
      join(state, recoveryKeyName),
    ];
    return {
      file,
      revision: Number(backupName.exec(basename(file))?.[1]),
      at: statSync(file).mtime.toISOString(),
      keyFile: keys.find((key) => existsSync(key)),
    };
  });
  return found.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : b.revision - a.revision));
}

/**
 * Moves the files of the state folder into a subfolder and returns its path. With `key`, the key of the machine is
 * moved too.
 */
export function setAside(
  folder: string,
  { key, further = [] }: { readonly key: boolean; readonly further?: readonly string[] },
): string {
  mustBeUnused(folder);
  const aside = join(folder, `aside-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
  mkdirSync(aside, { mode: 0o700 });
  const database = databaseFile(folder);
  if (existsSync(keyFile(folder))) copyFileSync(keyFile(folder), join(aside, basename(keyFile(folder))));
  // The database is moved first: without it, a daemon refuses the remaining files.
  for (const file of [database, `${database}-wal`, `${database}-shm`, markFile(folder), ...further])
    if (existsSync(file)) renameSync(file, join(aside, basename(file)));
  if (key) removeFile(keyFile(folder));
  return aside;
}

/** Accepts the database as it is: its newest revision becomes the expected one. */
export function accept(folder: string, options: StoreOptions): void {
  const store = Store.open(folder, { ...options, reserve: 0, accepts: true });
  try {
    store.settle();
  } finally {
    store.close();
  }
}

/** A backup that was read and validated, as far as possible without the machine. */
export interface ReadBackup {
  readonly configuration: Configuration;
  readonly fresh: Configuration;
}

/** Reads a backup from a pool, or one that `config/backup` returned. */
export async function readAnyBackup(
  file: string,
  resources: readonly Kept[],
  passphrase: string | undefined,
): Promise<ReadBackup> {
  const value: unknown = parsed(file);
  const isOfPool = isObject(value) && value['holdfast_recovery'] === 1;
  const read = async (part: unknown): Promise<Configuration> => {
    const reading = await readBackup(part, { resources, passphrase, trusted: true });
    return reading(new Map(), new Map());
  };
  try {
    return isOfPool
      ? { configuration: await read(value['configuration']), fresh: await read(value['fresh']) }
      : { configuration: await read(value), fresh: new Map() };
  } catch (error) {
    throw new StoreError(`${file} cannot be restored: ${messageOf(error)}`);
  }
}

/** Creates a database from a backup. The state folder must not contain one. */
export function build(
  folder: string,
  { configuration, fresh }: ReadBackup,
  { title, options }: { readonly title: string; readonly options: StoreOptions },
): void {
  replaceDurably(startingFile(folder), '');
  const store = Store.open(folder, { ...options, reserve: 0, accepts: true });
  try {
    const changes = changesTo(configuration);
    const sequences = new Map(
      [...configuration]
        .map(([{ path }, records]) => [path, Math.max(0, ...records.map(({ id }) => id))] as const)
        .filter(([, last]) => last > 0),
    );
    const created = { changes, fresh: changesTo(fresh) };
    store.commit(
      [{ at: new Date().toISOString(), actor: 'holdfast', request: 'recover', title, ...created }],
      changes,
      sequences,
    );
    store.settle();
  } finally {
    store.close();
  }
}

function changesTo(configuration: Configuration): readonly RecordChange[] {
  return [...configuration].flatMap(([resource, records]) =>
    records.map((after) => ({ resource, id: after.id, before: undefined, after })),
  );
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new StoreError(`${file} cannot be read: ${messageOf(error)}`);
  }
}
