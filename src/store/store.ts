import { existsSync, statfsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type Database from 'better-sqlite3';
import type { Provisional } from '../engine/change/confirm.ts';
import type {
  Backup,
  ConfigurationStore,
  FileSystem,
  JournalChange,
  KeptRetry,
  KeptRevision,
  ReplacedFile,
  Revision,
  RevisionHead,
  WholeRevision,
} from '../engine/configuration/configuration-store.ts';
import { fieldValue, type Kept, type RecordChange } from '../engine/configuration/tables.ts';
import { unavailable } from '../engine/declare/errors.ts';
import type { KeptEvent } from '../engine/declare/events.ts';
import type { Fields } from '../engine/declare/fields.ts';
import { blankRecord, isRecordOf, keptFields } from '../engine/declare/record.ts';
import type { Configuration, RecordOf } from '../engine/declare/resource.ts';
import type { FileSecrets } from '../engine/services.ts';
import { isObject, type JsonObject } from '../lib/json.ts';
import { isSameList } from '../lib/lists.ts';
import { memo } from '../lib/memo.ts';
import { forgetOldest } from '../lib/recent.ts';
import { shapeOf } from '../lib/shape.ts';
import { messageOf } from '../lib/text.ts';
import { AuditLog, type AuditOptions, auditFolder } from './audit-log.ts';
import { ChannelTable } from './channel-table.ts';
import { makeFolder, removeFile, reserveFile, startingFile, syncMark, writeMachineMark, writeMark } from './marks.ts';
import { nameOnNode } from './node-records.ts';
import {
  closeState,
  lastRevision,
  type Opened,
  openState,
  refuseLost,
  StoreError,
  type StoreOptions,
  wayOut,
} from './open.ts';
import { causeOf, type Lack, lackOf, obstacleOf, Reserve } from './reserve.ts';
import { isSealed, type Seal, type Sealed } from './seal.ts';
import { WebhookTable } from './webhook-table.ts';

/** Number of revisions and of ended jobs that are kept. */
const keepRevisions = 10_000;
const keepJobs = 1_000;
/** Number of ended jobs of each task that are kept even if other tasks have many newer ones. */
const keepJobsEach = 10;
const keepBackups = 20;
/** Rows of records that are read at once: a millisecond. */
const rowsAtOnce = 100;
/** Number of events that are kept, and for how many milliseconds. */
const keepEvents = 100_000;
const keepEventsFor = 30 * 86_400_000;
const pruneEventsEach = 1000;
/** Requests whose revision is known in memory. */
const mostNumbers = 1000;

/** Milliseconds after the last commit until the write-ahead log is written back, and until the mark is synced. */
const idle = 2000;
const markAfter = 200;
/** Milliseconds between two attempts to write to a disk that was not writable. */
const patience = 1000;

/** Why nothing can be stored now, and when that was last tried. */
interface Blocked {
  readonly sentence: string;
  readonly since: number;
}

/**
 * The configuration on disk: one SQLite file with WAL and full sync, so that answered changes survive a power cut. The
 * file is locked as long as it is open, so a second daemon with the same folder is refused.
 *
 * A disk that is not writable does not end the daemon. `obstacle` then returns the reason, and writes throw
 * `unavailable`. If the disk is not writable at start, even the database cannot be opened in place, and the daemon
 * reads a copy in memory. The file is opened in place as soon as it is writable.
 */
export class Store implements ConfigurationStore {
  readonly #folder: string;
  readonly #options: StoreOptions;
  readonly #seal: Seal;
  readonly #reserve: Reserve;
  #connection: Connection;
  /** The folder of the copy that is read instead of the file. */
  #copy: string | undefined;
  #blocked: Blocked | undefined;
  /** The newest revisions by their requests, for the audit log. */
  readonly #numbers = new Map<string, number>();
  /** The names of resources that are `ofNode` and were loaded, by their paths. */
  readonly #names = new Map<string, string>();
  /** The plan that ended last; 0 before the first. */
  #ended = 0;
  /** Set while the mark of the last revision is not synced. */
  #marking: NodeJS.Timeout | undefined;
  #settling: NodeJS.Timeout | undefined;
  readonly channels: ChannelTable = new ChannelTable((sql) => this.#connection.prepare(sql));
  readonly webhooks: WebhookTable = new WebhookTable({
    prepare: (sql) => this.#connection.prepare(sql),
    transaction: (work) => this.#transaction(work),
  });

  private constructor(folder: string, options: StoreOptions, opened: Opened) {
    this.#folder = folder;
    this.#options = options;
    this.#seal = opened.seal;
    this.#reserve = new Reserve(reserveFile(folder), options.reserve ?? 0);
    this.#connection = new Connection(opened.database);
    this.#copy = opened.copy;
    if (opened.lack !== undefined) this.#block(opened.lack);
    else if (this.#reserve.size > 0 && (this.#reserve.isMade || !this.#reserve.fits)) this.#tryAgain();
  }

  static open(folder: string, options: StoreOptions = {}): Store {
    try {
      if (options.onlyLooks !== true) makeFolder(resolve(folder), 0o700);
      if (options.accepts !== true) refuseLost(folder, options);
      return new Store(folder, options, openState(folder, options));
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const lack = lackOf(error);
      if (lack !== undefined && existsSync(folder))
        throw new StoreError(
          `The state in ${folder} cannot be used. ${causeOf(folder, lack, options.reserve ?? 0, error)}`,
        );
      throw new StoreError(`The state in ${folder} cannot be used: ${messageOf(error)}`);
    }
  }

  close(): void {
    clearTimeout(this.#settling);
    this.#syncMark();
    closeState({ database: this.#database, copy: this.#copy });
  }

  get #database(): Database.Database {
    return this.#connection.database;
  }

  /** Why changes cannot be stored now; undefined if they can. Checks the disk. */
  obstacle(): string | undefined {
    if (this.#blocked === undefined && this.#isShort()) this.#block('full');
    if (this.#blocked === undefined || performance.now() - this.#blocked.since < patience)
      return this.#blocked?.sentence;
    this.#tryAgain();
    return this.#blocked?.sentence;
  }

  #isShort(): boolean {
    return this.#reserve.size > 0 && this.#reserve.isShort;
  }

  #block(lack: Lack, error?: unknown): void {
    this.#blocked = { sentence: obstacleOf(this.#folder, lack, this.#reserve.size, error), since: performance.now() };
  }

  /** Returns to normal operation if the disk is writable and has enough space. */
  #tryAgain(): void {
    if (!this.#reserve.fits) {
      this.#block('full');
      return;
    }
    try {
      this.#reserve.make();
      if (this.#copy !== undefined) this.#openInPlace();
      this.#blocked = undefined;
    } catch (error) {
      this.#block(lackOf(error) ?? 'unwritable', error);
    }
  }

  /** Nothing was written while the copy was read, so file and copy are equal. */
  #openInPlace(): void {
    const opened = openState(this.#folder, { inPlace: true, key: this.#options.key });
    closeState({ database: this.#database, copy: this.#copy });
    this.#connection = new Connection(opened.database);
    this.#copy = undefined;
  }

  /** Writes, if necessary to the space of the reserve. Throws `unavailable` if the disk is not writable. */
  #write<T>(work: () => T): T {
    if (this.#copy !== undefined)
      throw unavailable(this.obstacle() ?? 'The configuration is being reopened. Send the request again.');
    try {
      return work();
    } catch (error) {
      const lack = lackOf(error);
      if (lack === undefined) throw error;
      if (this.#reserve.release()) {
        const again = this.#once(work);
        this.#block(lack, error);
        if (again !== undefined) return again.result;
      }
      this.#block(lack, error);
      throw unavailable(this.#blocked?.sentence ?? messageOf(error), error instanceof Error ? error : undefined);
    }
  }

  #once<T>(work: () => T): { readonly result: T } | undefined {
    try {
      return { result: work() };
    } catch (error) {
      if (lackOf(error) === undefined) throw error;
      return undefined;
    }
  }

  /**
   * Called at the end of the start: makes the reserve, writes the log back to the main file and marks the machine as
   * configured. The first answer does not wait for a new reserve, which takes a tenth of a start's time to write.
   */
  settle(): void {
    if (!this.#reserve.isMade && this.#blocked === undefined) this.#tryAgain();
    this.#checkpoint();
    if (lastRevision(this.#connection) === undefined) return;
    this.#writeMark({ durably: true });
    try {
      if (this.#options.machineMark !== undefined) writeMachineMark(this.#options.machineMark, this.#folder);
      removeFile(startingFile(this.#folder));
    } catch (error) {
      if (lackOf(error) === undefined)
        throw new StoreError(`The machine cannot be marked as configured: ${messageOf(error)}`);
    }
  }

  /** Writes the log back. SQLite itself waits for many pages, and until then a lost log would mean lost changes. */
  #checkpoint(): void {
    if (this.#copy !== undefined) return;
    try {
      this.#database.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      if (lackOf(error) === undefined)
        throw new StoreError(`The database in ${this.#folder} cannot be written: ${messageOf(error)}`);
    }
  }

  /**
   * The mark has been overwritten, so that it survives the end of the process. It is synced a little later and in another
   * thread, so that neither the change nor other requests wait for the disk.
   */
  #noteCommit(): void {
    this.#marking ??= setTimeout(() => {
      this.#marking = undefined;
      syncMark(this.#folder, (error) => {
        if (error !== null && this.#database.open) this.#writeMark({ durably: true });
      });
    }, markAfter);
    this.#marking.unref();
    this.#settling ??= setTimeout(() => this.#checkpoint(), idle);
    this.#settling.unref().refresh();
  }

  #syncMark(): void {
    if (this.#marking === undefined) return;
    clearTimeout(this.#marking);
    this.#marking = undefined;
    this.#writeMark({ durably: true });
  }

  #writeMark(how: { readonly durably: boolean }): void {
    const last = lastRevision(this.#connection);
    if (last === undefined || this.#copy !== undefined) return;
    try {
      writeMark(this.#folder, { ...last, plan: this.#ended }, how);
    } catch (error) {
      if (lackOf(error) === undefined)
        throw new StoreError(`The newest revision cannot be noted in ${this.#folder}: ${messageOf(error)}`);
    }
  }

  /** The records of a resource. Fields that were added in a later version have their initial values. */
  load<F extends Fields>(resource: Kept<F>): { readonly records: Iterable<RecordOf<F>>; readonly lastId: number } {
    const name = this.#nameOf(resource);
    const last = this.#connection
      .prepare(
        `SELECT max(
           ifnull((SELECT last FROM sequences WHERE resource = ?), 0),
           ifnull((SELECT max(id) FROM documents WHERE resource = ?), 0)
         )`,
      )
      .pluck();
    return { records: this.#recordsIn('documents', resource), lastId: Number(last.get(name, name)) };
  }

  loadFresh<F extends Fields>(resource: Kept<F>): readonly RecordOf<F>[] {
    return [...this.#recordsIn('fresh', resource)];
  }

  noteFresh(records: readonly RecordChange[]): void {
    if (records.length > 0) this.#transaction(() => this.#putFresh(records, new Map()));
  }

  /** `texts` has those of records that were stored before. */
  #putFresh(records: readonly RecordChange[], texts: ReadonlyMap<object, string>): void {
    const put = this.#connection.prepare(
      'INSERT INTO fresh VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
    );
    for (const { resource, id, after } of records)
      if (after !== undefined)
        put.run(this.#nameOf(resource), id, texts.get(after) ?? this.#textOf(resource.fields, after));
  }

  /** The name under which the records of a resource are stored. The store of a pair has those of both machines. */
  #nameOf({ path, ofNode }: Kept): string {
    const { node } = this.#options;
    if (node === undefined || !ofNode) return path;
    const name = nameOnNode(path, node);
    this.#names.set(path, name);
    return name;
  }

  backups(): readonly Backup[] {
    const rows = this.#connection.prepare('SELECT number, at, title FROM backups ORDER BY number DESC').all();
    return rows
      .filter(isObject)
      .map(({ number, at, title }) => ({ number: Number(number), at: String(at), title: String(title) }));
  }

  backup(number: number, resources: readonly Kept[]): Configuration | undefined {
    const body = this.#connection.prepare('SELECT body FROM backups WHERE number = ?').pluck().get(number);
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

  /** Stores everything durably, or nothing. */
  commit(
    revisions: readonly Revision[],
    changes: readonly RecordChange[],
    sequences: ReadonlyMap<string, number>,
    provisional?: Provisional | 'none',
    { ends, begins }: JournalChange = { ends: [], begins: [] },
    events: readonly KeptEvent[] = [],
  ): readonly number[] {
    // A repair of the machine stores nothing, and therefore also works with a full disk.
    const keepsNothing = revisions.length === 0 && changes.length === 0 && sequences.size === 0;
    if (keepsNothing && provisional === undefined && ends.length === 0 && begins.length === 0) return [];
    const dropDocument = this.#connection.prepare('DELETE FROM documents WHERE resource = ? AND id = ?');
    const putDocument = this.#connection.prepare(
      'INSERT INTO documents VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
    );
    const putSequence = this.#connection.prepare(
      'INSERT INTO sequences VALUES (?, ?) ON CONFLICT DO UPDATE SET last = max(last, excluded.last)',
    );
    const addRevision = this.#connection.prepare(
      'INSERT INTO revisions (at, actor, request, title, comment, changes, masked) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    const addReplaced = this.#connection.prepare('INSERT OR IGNORE INTO replaced_files VALUES (?, ?, ?)');
    const numbers = new Map<string, number>();
    const notesFresh = revisions.some(({ fresh }) => fresh !== undefined);
    const texts = new Map<object, string>();
    const begun = this.#transaction(() => {
      for (const id of ends) this.#connection.prepare('DELETE FROM plans WHERE id = ?').run(id);
      if (provisional !== undefined) this.#noteProvisional(provisional);
      for (const { resource, id, after } of changes) {
        if (after === undefined) {
          dropDocument.run(this.#nameOf(resource), id);
          continue;
        }
        const text = this.#textOf(resource.fields, after);
        putDocument.run(this.#nameOf(resource), id, text);
        if (notesFresh) texts.set(after, text);
      }
      for (const [path, last] of sequences) putSequence.run(this.#names.get(path) ?? path, last);
      for (const one of revisions) {
        const { at, actor, request, title, comment = null, changes: listed, backup, isPart, replaced = [] } = one;
        const masked = isPart === true ? null : this.#masked(listed);
        const { lastInsertRowid } = addRevision.run(
          at,
          actor,
          request,
          title,
          comment,
          JSON.stringify(listed.map((change) => withoutSecrets(change, this.#nameOf(change.resource)))),
          masked,
        );
        numbers.set(request, Number(lastInsertRowid));
        for (const { path, kept } of replaced) addReplaced.run(lastInsertRowid, path, kept);
        if (backup !== undefined) this.#addBackup(at, title, backup);
        if (one.fresh !== undefined) this.#putFresh(one.fresh, texts);
      }
      this.#putEvents(events);
      return begins.map((body) => this.#insertPlan(body));
    });
    for (const [request, number] of numbers) {
      this.#numbers.set(request, number);
      forgetOldest(this.#numbers, mostNumbers);
    }
    this.#ended = ends.at(-1) ?? this.#ended;
    if (revisions.length > 0 || ends.length > 0) this.#writeMark({ durably: false });
    this.#noteCommit();
    return begun;
  }

  addEvents(events: readonly KeptEvent[]): void {
    // The reserve on a full disk is for changes of the daemon, not for events.
    if (this.#blocked !== undefined) return;
    this.#tolerant(() => this.#database.transaction(() => this.#putEvents(events)).immediate());
    if (events.some(({ number }) => number % pruneEventsEach === 0)) this.#pruneEvents();
  }

  #putEvents(events: readonly KeptEvent[]): void {
    const put = this.#connection.prepare('INSERT INTO events VALUES (?, ?, ?, ?)');
    for (const { number, at, name, payload } of events) put.run(number, at, name, JSON.stringify(payload));
  }

  eventsAfter(number: number, limit: number): readonly KeptEvent[] {
    const rows = this.#connection.prepare('SELECT * FROM events WHERE number > ? ORDER BY number LIMIT ?');
    return rows.all(number, limit).filter(isObject).map(eventIn);
  }

  progressAfter(job: number, number: number, limit: number): readonly KeptEvent[] {
    const rows = this.#connection.prepare(
      "SELECT * FROM events WHERE name = 'job.progress' AND payload ->> '$.id' = ? AND number > ? ORDER BY number LIMIT ?",
    );
    return rows.all(job, number, limit).filter(isObject).map(eventIn);
  }

  newestEvent(): number {
    return Number(this.#connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'events'").pluck().get() ?? 0);
  }

  #pruneEvents(): void {
    const many = this.#connection.prepare('DELETE FROM events WHERE number <= (SELECT MAX(number) FROM events) - ?');
    const old = this.#connection.prepare('DELETE FROM events WHERE at < ?');
    this.#tolerant(() => {
      many.run(keepEvents);
      old.run(new Date(Date.now() - keepEventsFor).toISOString());
    });
  }

  /** The number of the revision that a request has just made. */
  numberOf(request: string): number | undefined {
    return this.#numbers.get(request);
  }

  addPlan(body: JsonObject): number {
    return this.#transaction(() => this.#insertPlan(body));
  }

  #insertPlan(body: JsonObject): number {
    const sealed = JSON.stringify(this.#seal.close(body));
    return Number(this.#connection.prepare('INSERT INTO plans (body) VALUES (?)').run(sealed).lastInsertRowid);
  }

  putPlan(id: number, body: JsonObject): void {
    const sealed = JSON.stringify(this.#seal.close(body));
    this.#transaction(() => this.#connection.prepare('UPDATE plans SET body = ? WHERE id = ?').run(sealed, id));
  }

  endPlan(id: number): void {
    this.#transaction(() => this.#connection.prepare('DELETE FROM plans WHERE id = ?').run(id));
  }

  plans(): readonly { readonly id: number; readonly body: unknown }[] {
    const rows = this.#connection.prepare('SELECT id, body FROM plans').all().filter(isObject);
    return rows.map(({ id, body }) => {
      const sealed: unknown = JSON.parse(String(body));
      return { id: Number(id), body: isSealed(sealed) ? this.#open(sealed) : undefined };
    });
  }

  #addBackup(at: string, title: string, backup: Configuration): void {
    const bodies = Object.fromEntries(
      [...backup].map(([{ path, fields }, records]) => [
        path,
        records.map((record) => ({ id: record.id, ...this.#bodyOf(fields, record) })),
      ]),
    );
    this.#connection
      .prepare('INSERT INTO backups (at, title, body) VALUES (?, ?, ?)')
      .run(at, title, JSON.stringify(bodies));
    this.#connection
      .prepare('DELETE FROM backups WHERE number <= (SELECT MAX(number) FROM backups) - ?')
      .run(keepBackups);
  }

  /** Reads some rows at a time, because no other statement runs while one is iterated. */
  #recordsIn<F extends Fields>(table: 'documents' | 'fresh', resource: Kept<F>): Iterable<RecordOf<F>> {
    const name = this.#nameOf(resource);
    const sql = `SELECT id, body FROM ${table} WHERE resource = ? AND id > ? ORDER BY id LIMIT ${rowsAtOnce}`;
    const rows = (after: number) => this.#connection.prepare(sql).all(name, after);
    const recordOf = (row: unknown) => {
      if (!isObject(row) || typeof row['body'] !== 'string')
        throw new StoreError(`A row of ${resource.path} has no body.`);
      const id = Number(row['id']);
      return this.#complete(resource, parsedBody(row['body'], `${resource.path}/${id}`), id);
    };
    let read: readonly unknown[] = [];
    let position = 0;
    let last = 0;
    // Not a generator, which would have ended after an error, as if there were no more records.
    return Iterator.from({
      next(): IteratorResult<RecordOf<F>> {
        if (position === read.length) {
          read = rows(last);
          position = 0;
          if (read.length === 0) return { done: true, value: undefined };
        }
        const value = recordOf(read[position]);
        position += 1;
        last = value.id;
        return { done: false, value };
      },
    });
  }

  #complete<F extends Fields>(resource: Kept<F>, body: unknown, id: number): RecordOf<F> {
    const record = this.#revive(resource.fields, body, id);
    if (!isRecordOf(resource.fields, record))
      throw new StoreError(`The record ${id} of ${resource.path} is incomplete.`);
    Object.freeze(record);
    return record;
  }

  provisional(resources: readonly Kept[]): Provisional | undefined {
    const row = this.#connection.prepare('SELECT * FROM provisional').get();
    if (!isObject(row)) return undefined;
    const rows = this.#connection.prepare('SELECT * FROM provisional_records').all().filter(isObject);
    const changes = rows.flatMap(({ resource: path, id, body }): readonly RecordChange[] => {
      const resource = resources.find((one) => this.#nameOf(one) === path);
      if (resource === undefined) return [];
      const before = body === null ? undefined : this.#revive(resource.fields, JSON.parse(String(body)), Number(id));
      if (before !== undefined && !isRecordOf(resource.fields, before))
        throw new StoreError(
          `The record ${String(id)} of ${String(path)} from before an unconfirmed change is incomplete.`,
        );
      return [{ resource, id: Number(id), before: before && Object.freeze(before), after: undefined }];
    });
    return {
      title: String(row['title']),
      request: String(row['request']),
      until: Number(row['until']),
      cuts: row['cuts'] === 1,
      changes,
    };
  }

  #noteProvisional(provisional: Provisional | 'none'): void {
    this.#database.exec('DELETE FROM provisional; DELETE FROM provisional_records');
    if (provisional === 'none') return;
    const { title, request, until, cuts, changes } = provisional;
    this.#connection.prepare('INSERT INTO provisional VALUES (?, ?, ?, ?)').run(title, request, until, cuts ? 1 : 0);
    const add = this.#connection.prepare('INSERT INTO provisional_records VALUES (?, ?, ?)');
    for (const { resource, id, before } of changes)
      add.run(this.#nameOf(resource), id, before === undefined ? null : this.#textOf(resource.fields, before));
  }

  revisions(limit: number, before = Number.MAX_SAFE_INTEGER): readonly KeptRevision[] {
    const rows = this.#connection
      .prepare('SELECT * FROM revisions WHERE number < ? ORDER BY number DESC LIMIT ?')
      .all(before, limit);
    return rows.filter(isObject).map(revisionIn);
  }

  revision(number: number, resources: readonly Kept[]): WholeRevision | undefined {
    const row = this.#connection.prepare('SELECT * FROM revisions WHERE number = ?').get(number);
    if (!isObject(row)) return undefined;
    const parsed: unknown = typeof row['masked'] === 'string' ? JSON.parse(row['masked']) : undefined;
    const secrets = isSealed(parsed) ? this.#open(parsed) : parsed;
    const { changes, ...head } = revisionIn(row);
    // Records of the other machine of a pair are not among these.
    const byPath = new Map(resources.map((resource) => [this.#nameOf(resource), resource]));
    return {
      ...head,
      isRevertible: secrets !== undefined,
      replaced: this.#replacedBy(number),
      changes: changes.filter(isObject).flatMap((change): readonly RecordChange[] => {
        const resource = byPath.get(String(change['resource']));
        const id = Number(change['id']);
        if (resource === undefined) return [];
        const [before, after] = (['before', 'after'] as const).map((when) => {
          if (!isObject(change[when])) return undefined;
          const hidden = isObject(secrets) ? secrets[`${when}/${resource.path}/${id}`] : undefined;
          return this.#complete(resource, { ...change[when], ...(isObject(hidden) ? hidden : {}) }, id);
        });
        return [{ resource, id, before, after }];
      }),
    };
  }

  #replacedBy(revision: number): readonly ReplacedFile[] {
    const rows = this.#connection
      .prepare('SELECT path, kept FROM replaced_files WHERE revision = ? ORDER BY path')
      .all(revision);
    return rows.filter(isObject).map((row) => ({ path: String(row['path']), kept: String(row['kept']) }));
  }

  /** The revisions above a number, without their changes, which can be those of thousands of records. */
  headsAfter(number: number): Iterable<RevisionHead> {
    const columns = 'number, at, actor, request, title, comment';
    return this.#after(number, headIn, `SELECT ${columns} FROM revisions WHERE number > ? ORDER BY number LIMIT 1000`);
  }

  revisionsAfter(number: number): Iterable<KeptRevision> {
    return this.#after(number, revisionIn, 'SELECT * FROM revisions WHERE number > ? ORDER BY number LIMIT 100');
  }

  *#after<T extends RevisionHead>(number: number, read: (row: Row) => T, sql: string): Iterable<T> {
    const rows = this.#connection.prepare(sql);
    for (let last = number; ; ) {
      const found = rows.all(last).filter(isObject).map(read);
      yield* found;
      const end = found.at(-1);
      if (end === undefined) return;
      last = end.number;
    }
  }

  /** The secret values of changed records, which their revision masks: sealed, because a revert needs them. */
  #masked(changes: readonly RecordChange[]): string {
    const secrets = changes.flatMap(({ resource, id, before, after }) =>
      Object.entries({ before, after }).flatMap(([when, record]) => {
        const values = secretsIn(resource, record);
        return values.length === 0 ? [] : [[`${when}/${resource.path}/${id}`, Object.fromEntries(values)] as const];
      }),
    );
    return JSON.stringify(secrets.length === 0 ? {} : this.#seal.close(Object.fromEntries(secrets)));
  }

  /** When, in milliseconds since 1970, and from where each key was last used. */
  keyUses(): readonly { readonly key: number; readonly at: number; readonly address: string }[] {
    const rows = this.#connection.prepare('SELECT key, at, address FROM key_uses').all();
    return rows.filter(isObject).map((row) => ({
      key: Number(row['key']),
      at: Number(row['at']),
      address: String(row['address']),
    }));
  }

  putKeyUses(uses: ReturnType<Store['keyUses']>): void {
    const put = this.#connection.prepare(
      'INSERT INTO key_uses VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at, address = excluded.address',
    );
    this.#transaction(() => {
      for (const { key, at, address } of uses) put.run(key, at, address);
    });
  }

  addJob(subject: string, body: string): number {
    const id = this.#write(() =>
      Number(
        this.#connection.prepare('INSERT INTO jobs (subject, body) VALUES (?, ?)').run(subject, body).lastInsertRowid,
      ),
    );
    if (id % 100 === 0) this.#pruneJobs();
    return id;
  }

  putJob(id: number, subject: string, body: string): void {
    const put = this.#connection.prepare(
      'INSERT INTO jobs (id, subject, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
    );
    this.#write(() => put.run(id, subject, body));
  }

  putJobAnswer(id: number, answer: JsonObject): void {
    const sealed = JSON.stringify(this.#seal.close(answer));
    this.#write(() => this.#connection.prepare('UPDATE jobs SET answer = ? WHERE id = ?').run(sealed, id));
  }

  jobAnswer(id: number): unknown {
    const text = this.#connection.prepare('SELECT answer FROM jobs WHERE id = ?').pluck().get(id);
    const sealed: unknown = typeof text === 'string' ? JSON.parse(text) : undefined;
    return isSealed(sealed) ? this.#open(sealed) : undefined;
  }

  /** Jobs, the newest first; with `subject` only those of that subject. */
  jobs(limit: number, subject?: string): readonly { readonly id: number; readonly body: string }[] {
    const rows =
      subject === undefined
        ? this.#connection.prepare('SELECT id, body FROM jobs ORDER BY id DESC LIMIT ?').all(limit)
        : this.#connection
            .prepare('SELECT id, body FROM jobs WHERE subject = ? ORDER BY id DESC LIMIT ?')
            .all(subject, limit);
    return rows.filter(isObject).map((row) => ({ id: Number(row['id']), body: String(row['body']) }));
  }

  /**
   * Deletes the oldest revisions and jobs, which limits the size of the file. Runs at start, for jobs also after every
   * 100.
   */
  digest(text: string): string {
    return this.#seal.digest(text);
  }

  /** Secrets in files that leave the machine. */
  get fileSecrets(): FileSecrets {
    return {
      seal: (purpose, value) => this.#seal.closeFor(purpose, value),
      open: (purpose, sealed) => this.#seal.openFor(purpose, sealed),
    };
  }

  retry(id: string) {
    const row = this.#connection.prepare('SELECT * FROM retries WHERE id = ?').get(id);
    if (!isObject(row)) return undefined;
    const sealed: unknown = row['answer'] === null ? undefined : JSON.parse(String(row['answer']));
    return {
      fingerprint: String(row['fingerprint']),
      request: String(row['request']),
      at: Number(row['at']),
      answer: isSealed(sealed) ? this.#open(sealed) : undefined,
    };
  }

  beginRetry(id: string, { fingerprint, request, at }: KeptRetry, until: number): void {
    const put = this.#connection.prepare('INSERT OR REPLACE INTO retries VALUES (?, ?, ?, ?, NULL)');
    this.#transaction(() => {
      this.#connection.prepare('DELETE FROM retries WHERE at < ?').run(until);
      put.run(id, fingerprint, request, at);
    });
  }

  endRetry(id: string, answer: JsonObject): void {
    const sealed = JSON.stringify(this.#seal.close(answer));
    this.#transaction(() => this.#connection.prepare('UPDATE retries SET answer = ? WHERE id = ?').run(sealed, id));
  }

  forgetRetry(id: string): void {
    this.#tolerant(() => this.#connection.prepare('DELETE FROM retries WHERE id = ?').run(id));
  }

  revisionOf(request: string): KeptRevision | undefined {
    const rows = this.#connection.prepare('SELECT * FROM revisions WHERE request = ? LIMIT 1').all(request);
    return rows.filter(isObject).map(revisionIn)[0];
  }

  /** Opens the log of requests beside the database. Call it once. */
  openAudit(options: Omit<AuditOptions, 'digest'>): AuditLog {
    return new AuditLog(auditFolder(this.#folder), { ...options, digest: (text) => this.#seal.digest(text) });
  }

  prune(): void {
    const prune = this.#connection.prepare(
      'DELETE FROM revisions WHERE number <= (SELECT MAX(number) FROM revisions) - ?',
    );
    this.#tolerant(() => prune.run(keepRevisions));
    this.#tolerant(() =>
      this.#database.exec('DELETE FROM replaced_files WHERE revision < (SELECT MIN(number) FROM revisions)'),
    );
    this.#pruneEvents();
    this.#pruneJobs();
  }

  /** Runs work that can be postponed if the disk is not writable. */
  #tolerant(work: () => void): void {
    if (this.#copy !== undefined) return;
    try {
      work();
    } catch (error) {
      if (lackOf(error) === undefined) throw error;
    }
  }

  fileSystems(): readonly FileSystem[] {
    const device = (path: string) => statSync(path, { throwIfNoEntry: false })?.dev;
    const others = (this.#options.watched ?? []).filter(
      (path) => device(path) !== undefined && device(path) !== device(this.#folder),
    );
    return [this.#folder, ...others].map((path, index) => {
      const { bavail, blocks, bsize } = statfsSync(path);
      return {
        path,
        holds: index === 0 ? ('configuration' as const) : ('system' as const),
        free: bavail * bsize,
        total: blocks * bsize,
      };
    });
  }

  /** Keeps the last jobs of each subject, because a task that runs every minute would displace those of all others. */
  #pruneJobs(): void {
    const prune = this.#connection.prepare(
      `DELETE FROM jobs WHERE id <= (SELECT MAX(id) FROM jobs) - ?
         AND id NOT IN (SELECT id FROM jobs AS mine WHERE (mine.subject LIKE 'tasks/%' OR mine.subject LIKE 'storage/%') AND
           (SELECT COUNT(*) FROM jobs AS newer WHERE newer.subject = mine.subject AND newer.id > mine.id) < ?)`,
    );
    this.#tolerant(() => prune.run(keepJobs, keepJobsEach));
  }

  #open(value: Sealed): unknown {
    try {
      return this.#seal.open(value);
    } catch {
      throw new StoreError(
        'secret.key in the state folder does not decrypt the secrets stored there: they were encrypted with another key. Restore the original secret.key.',
      );
    }
  }

  #transaction<T>(work: () => T): T {
    return this.#write(() => this.#database.transaction(work).immediate());
  }

  #textOf(fields: Fields, record: Readonly<Record<string, unknown>>): string {
    return JSON.stringify(this.#bodyOf(fields, record));
  }

  #bodyOf(fields: Fields, record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const body = blankBody(fields)();
    for (const { name, field } of keptFields(fields))
      body[name] = field.secret && isSecret(record[name]) ? this.#seal.close(record[name]) : record[name];
    return body;
  }

  #revive(fields: Fields, body: unknown, id: number): Readonly<Record<string, unknown>> {
    const record = blankRecord(fields)();
    record['id'] = id;
    const values: Readonly<Record<string, unknown>> = isObject(body) ? body : {};
    for (const { name, field } of keptFields(fields)) {
      const value = values[name];
      // Only secrets are sealed; an object of a client may look like a sealed value.
      record[name] = field.secret && isSealed(value) ? this.#open(value) : revived(value, field.initial);
    }
    return record;
  }
}

/** A list that is the default one is that list itself, as in new records: most of thousands of records have it. */
function revived(value: unknown, initial: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(initial) && isSameList(value, initial)) return initial;
  return value ?? initial ?? null;
}

function parsedBody(text: string, record: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StoreError(
      `The database is damaged: the record ${record} cannot be read (${messageOf(error)}). To restore a backup, run: ${wayOut}.`,
    );
  }
}

/** An unset secret is not encrypted, and is shown as unset. */
function isSecret(value: unknown): boolean {
  return value !== '' && value !== null && value !== undefined;
}

/** Makes what the database stores of a record, with values that are `null` so far. */
const blankBody = memo((fields: Fields) => shapeOf(keptFields(fields).map(({ name }) => name)));

/** The fields that have secrets. Most resources have none, so that the records of a change need not be searched. */
const secretFields = memo((fields: Fields): readonly string[] =>
  Object.keys(fields).filter((name) => fields[name]?.secret === true),
);

function secretsIn({ fields }: Kept, record: RecordOf<Fields> | undefined): readonly (readonly [string, unknown])[] {
  if (record === undefined) return [];
  return secretFields(fields).flatMap((name) => {
    const value = fieldValue(record, name);
    return isSecret(value) ? [[name, value] as const] : [];
  });
}

function withoutSecrets({ resource, id, before, after }: RecordChange, name: string): unknown {
  const shown = (record: RecordOf<Fields> | undefined) => {
    const secrets = secretsIn(resource, record);
    if (secrets.length === 0) return record;
    return { ...record, ...Object.fromEntries(secrets.map(([secret]) => [secret, '********'])) };
  };
  return { resource: name, id, before: shown(before), after: shown(after) };
}

function eventIn(row: Readonly<Record<string, unknown>>): KeptEvent {
  const payload: unknown = JSON.parse(String(row['payload']));
  return {
    ...{ number: Number(row['number']), at: String(row['at']), name: String(row['name']) },
    payload: isObject(payload) ? payload : {},
  };
}

type Row = Readonly<Record<string, unknown>>;

function revisionIn(row: Row): KeptRevision {
  const changes: unknown = JSON.parse(String(row['changes']));
  return { ...headIn(row), changes: Array.isArray(changes) ? changes : [] };
}

function headIn(row: Row): RevisionHead {
  return {
    number: Number(row['number']),
    at: String(row['at']),
    actor: String(row['actor']),
    request: String(row['request']),
    title: String(row['title']),
    comment: typeof row['comment'] === 'string' ? row['comment'] : null,
  };
}

/** The database and its prepared statements. Replaced when the file is opened in place instead of the copy. */
class Connection {
  readonly database: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();

  constructor(database: Database.Database) {
    this.database = database;
  }

  /** SQLite compiles a statement when it is used first. Compiling it takes longer than running it. */
  prepare(sql: string): Database.Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
