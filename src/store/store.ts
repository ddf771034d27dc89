import { existsSync, mkdirSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { Provisional } from '../engine/confirm.ts';
import type { Fields } from '../engine/fields.ts';
import type { Backup, Keeper, KeptRevision, Revision } from '../engine/keeper.ts';
import { isKept, isRecordOf } from '../engine/record.ts';
import type { Configuration, RecordOf } from '../engine/resource.ts';
import type { Kept, RecordChange } from '../engine/tables.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';
import { migrations } from './migrations.ts';
import { isSealed, Seal, type Sealed } from './seal.ts';

/** Why the state folder cannot be used. The message is for the person who starts the daemon. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** How many revisions and ended jobs are kept. */
const keepRevisions = 10_000;
const keepJobs = 1_000;
/** How many ended jobs of each task are kept even when others had so many more. */
const keepJobsEach = 10;
const keepBackups = 20;

/**
 * The configuration on disk: one SQLite file with WAL and full sync, so that what was answered is there after a power
 * cut. It is locked as long as it is open; a second daemon on the same folder is refused.
 */
export class Store implements Keeper {
  readonly #database: Database.Database;
  readonly #seal: Seal;
  readonly #putDocument: Database.Statement;
  readonly #dropDocument: Database.Statement;
  readonly #putSequence: Database.Statement;
  readonly #addRevision: Database.Statement;

  private constructor(database: Database.Database, seal: Seal) {
    this.#database = database;
    this.#seal = seal;
    this.#putDocument = database.prepare('INSERT INTO documents VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body');
    this.#dropDocument = database.prepare('DELETE FROM documents WHERE resource = ? AND id = ?');
    this.#putSequence = database.prepare('INSERT INTO sequences VALUES (?, ?) ON CONFLICT DO UPDATE SET last = excluded.last');
    this.#addRevision = database.prepare('INSERT INTO revisions (at, actor, request, title, changes) VALUES (?, ?, ?, ?, ?)');
  }

  static open(folder: string): Store {
    const file = join(folder, 'holdfast.sqlite');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    refuseEmptied(file, join(folder, 'secret.key'));
    const database = openDatabase(file);
    try {
      migrate(database, file);
      return new Store(database, sealOf(database, join(folder, 'secret.key')));
    } catch (error) {
      database.close();
      throw error instanceof StoreError ? error : new StoreError(`The state in ${folder} cannot be used: ${messageOf(error)}`);
    }
  }

  close(): void {
    this.#database.close();
  }

  /** The records of a resource. Fields that came with a later version have their initial values. */
  load<F extends Fields>(resource: Kept<F>): { readonly records: readonly RecordOf<F>[]; readonly lastId: number } {
    const records = this.#recordsIn('documents', resource);
    const sequence = this.#database.prepare('SELECT last FROM sequences WHERE resource = ?').pluck().get(resource.path);
    return { records, lastId: typeof sequence === 'number' ? sequence : 0 };
  }

  loadFresh<F extends Fields>(resource: Kept<F>): readonly RecordOf<F>[] {
    return this.#recordsIn('fresh', resource);
  }

  noteFresh(records: readonly RecordChange[]): void {
    const put = this.#database.prepare('INSERT INTO fresh VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body');
    this.#transaction(() => {
      for (const { resource, id, after } of records) if (after !== undefined) put.run(resource.path, id, JSON.stringify(this.#bodyOf(resource.fields, after)));
    });
  }

  backups(): readonly Backup[] {
    const rows = this.#database.prepare('SELECT number, at, title FROM backups ORDER BY number DESC').all();
    return rows.filter(isObject).map(({ number, at, title }) => ({ number: Number(number), at: String(at), title: String(title) }));
  }

  backup(number: number, resources: readonly Kept[]): Configuration | undefined {
    const body = this.#database.prepare('SELECT body FROM backups WHERE number = ?').pluck().get(number);
    if (typeof body !== 'string') return undefined;
    const bodies: unknown = JSON.parse(body);
    return new Map(
      resources.flatMap((resource) => {
        const list = isObject(bodies) ? bodies[resource.path] : undefined;
        if (!Array.isArray(list)) return [];
        return [[resource, list.filter(isObject).map((one) => this.#complete(resource, one, Number(one['id'])))]];
      }),
    );
  }

  /** Keeps everything or nothing, for good. */
  commit(revisions: readonly Revision[], changes: readonly RecordChange[], sequences: ReadonlyMap<string, number>, provisional?: Provisional | 'none'): void {
    this.#transaction(() => {
      if (provisional !== undefined) this.#noteProvisional(provisional);
      for (const { resource, id, after } of changes) {
        if (after === undefined) this.#dropDocument.run(resource.path, id);
        else this.#putDocument.run(resource.path, id, JSON.stringify(this.#bodyOf(resource.fields, after)));
      }
      for (const [path, last] of sequences) this.#putSequence.run(path, last);
      for (const { at, actor, request, title, changes: told, backup } of revisions) {
        this.#addRevision.run(at, actor, request, title, JSON.stringify(told.map(withoutSecrets)));
        if (backup !== undefined) this.#addBackup(at, title, backup);
      }
    });
  }

  #addBackup(at: string, title: string, backup: Configuration): void {
    const bodies = Object.fromEntries([...backup].map(([{ path, fields }, records]) => [path, records.map((record) => ({ id: record.id, ...this.#bodyOf(fields, record) }))]));
    this.#database.prepare('INSERT INTO backups (at, title, body) VALUES (?, ?, ?)').run(at, title, JSON.stringify(bodies));
    this.#database.prepare('DELETE FROM backups WHERE number <= (SELECT MAX(number) FROM backups) - ?').run(keepBackups);
  }

  #recordsIn<F extends Fields>(table: 'documents' | 'fresh', resource: Kept<F>): readonly RecordOf<F>[] {
    const rows = this.#database.prepare(`SELECT id, body FROM ${table} WHERE resource = ? ORDER BY id`);
    const records: RecordOf<F>[] = [];
    for (const row of rows.iterate(resource.path)) {
      if (!isObject(row) || typeof row['body'] !== 'string') throw new StoreError(`A row of ${resource.path} has no body.`);
      records.push(this.#complete(resource, JSON.parse(row['body']), Number(row['id'])));
    }
    return records;
  }

  #complete<F extends Fields>(resource: Kept<F>, body: unknown, id: number): RecordOf<F> {
    const record = this.#revive(resource.fields, body, id);
    if (!isRecordOf(resource.fields, record)) throw new StoreError(`The record ${id} of ${resource.path} is not complete.`);
    Object.freeze(record);
    return record;
  }

  provisional(resources: readonly Kept[]): Provisional | undefined {
    const row = this.#database.prepare('SELECT * FROM provisional').get();
    if (!isObject(row)) return undefined;
    const rows = this.#database.prepare('SELECT * FROM provisional_records').all().filter(isObject);
    const changes = rows.flatMap(({ resource: path, id, body }): readonly RecordChange[] => {
      const resource = resources.find((one) => one.path === path);
      if (resource === undefined) return [];
      const before = body === null ? undefined : this.#revive(resource.fields, JSON.parse(String(body)), Number(id));
      if (before !== undefined && !isRecordOf(resource.fields, before))
        throw new StoreError(`What ${String(path)} ${String(id)} was before an unconfirmed change is not complete.`);
      return [{ resource, id: Number(id), before: before && Object.freeze(before), after: undefined }];
    });
    return { title: String(row['title']), request: String(row['request']), until: Number(row['until']), cuts: row['cuts'] === 1, changes };
  }

  #noteProvisional(provisional: Provisional | 'none'): void {
    this.#database.exec('DELETE FROM provisional; DELETE FROM provisional_records');
    if (provisional === 'none') return;
    const { title, request, until, cuts, changes } = provisional;
    this.#database.prepare('INSERT INTO provisional VALUES (?, ?, ?, ?)').run(title, request, until, cuts ? 1 : 0);
    const add = this.#database.prepare('INSERT INTO provisional_records VALUES (?, ?, ?)');
    for (const { resource, id, before } of changes) add.run(resource.path, id, before === undefined ? null : JSON.stringify(this.#bodyOf(resource.fields, before)));
  }

  revisions(limit: number, before = Number.MAX_SAFE_INTEGER): readonly KeptRevision[] {
    const rows = this.#database.prepare('SELECT * FROM revisions WHERE number < ? ORDER BY number DESC LIMIT ?').all(before, limit);
    return rows.filter(isObject).map((row) => {
      const changes: unknown = JSON.parse(String(row['changes']));
      return {
        number: Number(row['number']),
        at: String(row['at']),
        actor: String(row['actor']),
        request: String(row['request']),
        title: String(row['title']),
        changes: Array.isArray(changes) ? changes : [],
      };
    });
  }

  addJob(subject: string, body: string): number {
    const id = Number(this.#database.prepare('INSERT INTO jobs (subject, body) VALUES (?, ?)').run(subject, body).lastInsertRowid);
    if (id % 100 === 0) this.#pruneJobs();
    return id;
  }

  putJob(id: number, body: string): void {
    this.#database.prepare('UPDATE jobs SET body = ? WHERE id = ?').run(body, id);
  }

  /** The newest jobs, newest first; with `subject`, of that alone. */
  jobs(limit: number, subject?: string): readonly { readonly id: number; readonly body: string }[] {
    const rows =
      subject === undefined
        ? this.#database.prepare('SELECT id, body FROM jobs ORDER BY id DESC LIMIT ?').all(limit)
        : this.#database.prepare('SELECT id, body FROM jobs WHERE subject = ? ORDER BY id DESC LIMIT ?').all(subject, limit);
    return rows.filter(isObject).map((row) => ({ id: Number(row['id']), body: String(row['body']) }));
  }

  /** Forgets the oldest revisions and jobs, so that the file does not grow for ever. Done at start, for jobs also now and then. */
  prune(): void {
    this.#database.prepare('DELETE FROM revisions WHERE number <= (SELECT MAX(number) FROM revisions) - ?').run(keepRevisions);
    this.#pruneJobs();
  }

  space(): { readonly free: number; readonly total: number } {
    const { bavail, blocks, bsize } = statfsSync(dirname(this.#database.name));
    return { free: bavail * bsize, total: blocks * bsize };
  }

  /** A task that runs every minute must not make those of the others forgotten, so the last of each subject stay. */
  #pruneJobs(): void {
    this.#database
      .prepare(
        `DELETE FROM jobs WHERE id <= (SELECT MAX(id) FROM jobs) - ?
         AND id NOT IN (SELECT id FROM jobs AS mine WHERE (mine.subject LIKE 'tasks/%' OR mine.subject LIKE 'storage/%') AND
           (SELECT COUNT(*) FROM jobs AS newer WHERE newer.subject = mine.subject AND newer.id > mine.id) < ?)`,
      )
      .run(keepJobs, keepJobsEach);
  }

  #open(value: Sealed): unknown {
    try {
      return this.#seal.open(value);
    } catch {
      throw new StoreError('The key in the state folder does not open the secrets kept there: it is not the one they were sealed with. Restore secret.key.');
    }
  }

  #transaction(work: () => void): void {
    this.#database.transaction(work).immediate();
  }

  #bodyOf(fields: Fields, record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const body: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(fields)) {
      if (isKept(field)) body[name] = field.secret && isSecret(record[name]) ? this.#seal.close(record[name]) : record[name];
    }
    return body;
  }

  #revive(fields: Fields, body: unknown, id: number): Readonly<Record<string, unknown>> {
    const record: Record<string, unknown> = { id };
    for (const [name, field] of Object.entries(fields)) {
      if (!isKept(field)) continue;
      const value = isObject(body) ? body[name] : undefined;
      // Only a secret is ever sealed: a client's own object may look like it.
      record[name] = field.secret && isSealed(value) ? this.#open(value) : (value ?? field.initial ?? null);
    }
    return record;
  }
}

/** An unset secret needs no seal, and may be seen as unset. */
function isSecret(value: unknown): boolean {
  return value !== '' && value !== null && value !== undefined;
}

function withoutSecrets({ resource, id, before, after }: RecordChange): unknown {
  const shown = (record: RecordOf<Fields> | undefined) =>
    record && Object.fromEntries(Object.entries(record).map(([name, value]) => [name, resource.fields[name]?.secret && isSecret(value) ? '********' : value]));
  return { resource: resource.path, id, before: shown(before), after: shown(after) };
}

/** A key is made for a new database only: a new one would not open what is kept. */
function sealOf(database: Database.Database, key: string): Seal {
  const isNew = database.prepare('SELECT COUNT(*) FROM documents').pluck().get() === 0;
  if (!isNew && !existsSync(key)) throw new StoreError(`${key} is missing, and without it the secrets beside it cannot be read. Restore it.`);
  return Seal.at(key);
}

/** SQLite takes an empty file for a new database. Beside a key it is one that has lost everything, as after a full disk. */
function refuseEmptied(file: string, key: string): void {
  if (!existsSync(key) || !existsSync(file) || statSync(file).size > 0) return;
  throw new StoreError(`${file} is damaged: it is empty. Holdfast does not replace it; restore a backup or move it away.`);
}

function openDatabase(file: string): Database.Database {
  const database = new Database(file, { timeout: 0 });
  try {
    // The lock is held until the process ends, however it ends: the kernel lets go of it, no pid file can be stale.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    // In KiB. Records are read once, at start; what is left is a few pages for each change.
    database.pragma('cache_size = -2000');
    const verdict = database.pragma('quick_check(1)', { simple: true });
    if (verdict !== 'ok') throw new StoreError(`${file} is damaged: ${String(verdict).replaceAll(/\s+/g, ' ')}. Holdfast does not replace it; restore a backup or move it away.`);
    return database;
  } catch (error) {
    database.close();
    if (error instanceof StoreError) throw error;
    const code = error instanceof Database.SqliteError ? error.code : '';
    if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
      throw new StoreError(`Another Holdfast uses ${file}. End it first, or give this one a state folder of its own.`);
    if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
      throw new StoreError(`${file} is damaged: ${messageOf(error)}. Holdfast does not replace it; restore a backup or move it away.`);
    }
    throw new StoreError(`${file} cannot be opened: ${messageOf(error)}`);
  }
}

function migrate(database: Database.Database, file: string): void {
  const version = Number(database.pragma('user_version', { simple: true }));
  if (version > migrations.length) throw new StoreError(`${file} was written by a newer Holdfast (version ${version} of its layout; this one knows ${migrations.length}).`);
  database
    .transaction(() => {
      for (const step of migrations.slice(version)) database.exec(step);
      database.pragma(`user_version = ${migrations.length}`);
    })
    .exclusive();
}
