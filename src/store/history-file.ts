import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import {
  type HistoryRow,
  type HistoryStore,
  mergedTallies,
  rolledUp,
  type Tallies,
  type Tally,
  type Tier,
  tiers,
} from '../engine/declare/history.ts';
import type { Log } from '../engine/declare/log.ts';
import { isObject } from '../lib/json.ts';
import { messageOf } from '../lib/text.ts';

export const historyFile = (folder: string): string => join(folder, 'history.sqlite');

/** The version of the tables. A file of another version is set aside: the history is no configuration. */
const version = 1;

/** Series in one row; further ones are dropped. */
const mostSeries = 400;
/** Names of series. A machine whose disks are replaced has new ones. */
const mostNames = 10_000;
/** Pages of 4 KiB: 160 MiB, which the rows of so many series do not reach. */
const mostPages = 40_960;

/** Rows that one statement reads: of so many series, that takes a few milliseconds. */
const rowsAtOnce = 30;

const day = 86_400_000;
/** Bytes of the tally of one series: two integers of 32 bits and three numbers of 64. */
const entry = 32;

const schema = `
  CREATE TABLE series (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, seen INTEGER NOT NULL) STRICT;
  CREATE TABLE rows (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tier INTEGER NOT NULL,
    at INTEGER NOT NULL,
    tallies BLOB NOT NULL,
    UNIQUE (tier, at)
  ) STRICT;
  CREATE INDEX rows_by_age ON rows (tier, number);
`;

interface Name {
  readonly id: number;
  readonly seen: number;
}

/**
 * The history in a database of its own, so that nothing of it touches the configuration: a row has all series of a span.
 * A tier has a maximum number of rows, and those that were written first are removed first. They are not removed by their
 * time, because a clock that was wrong for a while would otherwise remove what is right.
 *
 * The file is opened by `open` or when it is first used.
 *
 * Commits are not synced. A loss of power loses the last minutes; SQLite's log keeps the file whole.
 */
export class HistoryFile implements HistoryStore {
  readonly #path: string;
  readonly #log: Log;
  #database: Database.Database | undefined;
  #names = new Map<string, Name>();
  #isClosed = false;

  constructor(folder: string, log: Log) {
    this.#path = historyFile(folder);
    this.#log = log;
  }

  open(): void {
    this.#tolerant(() => this.#opened(), undefined);
  }

  add(rows: readonly HistoryRow[]): void {
    this.#whole(() => {
      const database = this.#opened();
      const put = database.prepare('INSERT OR REPLACE INTO rows (tier, at, tallies) VALUES (?, ?, ?)');
      const existing = database.prepare('SELECT tallies FROM rows WHERE tier = ? AND at = ?').pluck();
      const prune = database.prepare(
        'DELETE FROM rows WHERE tier = :tier AND number <= (SELECT number FROM rows WHERE tier = :tier ORDER BY number DESC LIMIT 1 OFFSET :rows)',
      );
      try {
        database.transaction(() => {
          for (const { at, tallies } of rows) for (const name of tallies.keys()) this.#note(database, name, at);
          for (const { number: tier, step, rows: most } of tiers) {
            for (const { at, tallies } of rolledUp(rows, step)) {
              const before = this.#read(existing.get(tier, at));
              put.run(tier, at, this.#written(mergedTallies(before, tallies)));
            }
            prune.run({ tier, rows: most });
          }
        })();
      } catch (error) {
        // Names that the transaction added are not stored.
        this.#names = namesIn(database);
        throw error;
      }
    });
  }

  *rows({ number }: Tier, from: number, to: number, series: ReadonlySet<string>): Generator<HistoryRow> {
    for (let next = from; next < to; ) {
      const page = this.#tolerant(() => this.#page(number, next, to, series), []);
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < rowsAtOnce) return;
      next = last.at + 1;
    }
  }

  /** The first rows of these, as one statement: SQLite refuses to write while a statement is still being read. */
  #page(tier: number, from: number, to: number, series: ReadonlySet<string>): readonly HistoryRow[] {
    const statement = this.#opened().prepare(
      'SELECT at, tallies FROM rows WHERE tier = ? AND at >= ? AND at < ? ORDER BY at LIMIT ?',
    );
    const wanted = new Map<number, string>();
    for (const name of series) {
      const id = this.#names.get(name)?.id;
      if (id !== undefined) wanted.set(id, name);
    }
    if (wanted.size === 0) return [];
    return statement
      .all(tier, from, to, rowsAtOnce)
      .flatMap((row) => (isObject(row) ? [{ at: Number(row['at']), tallies: talliesIn(row['tallies'], wanted) }] : []));
  }

  series(): ReadonlyMap<string, number> {
    this.open();
    return new Map([...this.#names].map(([name, { seen }]) => [name, seen]));
  }

  close(): void {
    this.#isClosed = true;
    this.#database?.close();
    this.#database = undefined;
  }

  #note(database: Database.Database, name: string, at: number): void {
    const seen = Math.floor(at / day) * day;
    const known = this.#names.get(name);
    if (known === undefined && this.#names.size >= mostNames) return;
    if (known?.seen === seen) return;
    const row = database
      .prepare(
        'INSERT INTO series (name, seen) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seen = excluded.seen RETURNING id',
      )
      .pluck()
      .get(name, seen);
    this.#names.set(name, { id: Number(row), seen });
  }

  #written(tallies: Tallies): Buffer {
    const known = [...tallies].flatMap(([name, tally]) => {
      const id = this.#names.get(name)?.id;
      return id === undefined ? [] : [{ id, ...tally }];
    });
    const kept = known.slice(0, mostSeries);
    const buffer = Buffer.alloc(kept.length * entry);
    for (const [index, { id, count, sum, min, max }] of kept.entries()) {
      const at = index * entry;
      buffer.writeUInt32LE(id, at);
      buffer.writeUInt32LE(Math.min(count, 2 ** 32 - 1), at + 4);
      buffer.writeDoubleLE(sum, at + 8);
      buffer.writeDoubleLE(min, at + 16);
      buffer.writeDoubleLE(max, at + 24);
    }
    return buffer;
  }

  #read(blob: unknown): Tallies {
    return talliesIn(blob, new Map([...this.#names].map(([name, { id }]) => [id, name])));
  }

  #opened(): Database.Database {
    if (this.#database !== undefined) return this.#database;
    if (this.#isClosed) throw new Error('The history is closed.');
    const database = new Database(this.#path);
    try {
      database.pragma('journal_mode = WAL');
      database.pragma('synchronous = NORMAL');
      // In KiB. The package's own is 16 MiB, and what was written long ago is hardly read.
      database.pragma('cache_size = -1000');
      database.pragma(`journal_size_limit = ${4 * 1024 ** 2}`);
      database.pragma(`max_page_count = ${mostPages}`);
      const found = Number(database.pragma('user_version', { simple: true }));
      if (found === 0) {
        database.transaction(() => {
          database.exec(schema);
          database.pragma(`user_version = ${version}`);
        })();
        this.#log.info({ file: this.#path }, 'history: a new file begins');
      } else if (found !== version)
        throw new OtherVersion(`Expected version ${version} of the tables, found ${found}.`);
      this.#names = namesIn(database);
    } catch (error) {
      database.close();
      throw error;
    }
    this.#database = database;
    return database;
  }

  /** Runs it again on an empty history if the file is damaged. */
  #whole<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!isDamage(error) || this.#isClosed) throw error;
      this.#setAside(error);
      return work();
    }
  }

  #tolerant<T>(work: () => T, otherwise: T): T {
    try {
      return this.#whole(work);
    } catch (error) {
      if (!this.#isClosed) this.#log.warn({ error: messageOf(error) }, 'history: the file could not be read');
      return otherwise;
    }
  }

  #setAside(error: unknown): void {
    this.#database?.close();
    this.#database = undefined;
    this.#names = new Map();
    const kept = `${this.#path}.damaged`;
    renameSync(this.#path, kept);
    for (const end of ['-wal', '-shm']) rmSync(`${this.#path}${end}`, { force: true });
    this.#log.warn({ error: messageOf(error), kept }, 'history: the file is damaged, an empty history begins');
  }
}

class OtherVersion extends Error {
  override readonly name = 'OtherVersion';
}

/** `SQLITE_ERROR` is a table that lacks: the statements themselves are right. */
function isDamage(error: unknown): boolean {
  return (
    error instanceof OtherVersion ||
    (error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB|ERROR|MISMATCH)/.test(error.code))
  );
}

function namesIn(database: Database.Database): Map<string, Name> {
  const names = new Map<string, Name>();
  for (const row of database.prepare('SELECT * FROM series').iterate())
    if (isObject(row)) names.set(String(row['name']), { id: Number(row['id']), seen: Number(row['seen']) });
  return names;
}

function talliesIn(blob: unknown, names: ReadonlyMap<number, string>): Tallies {
  const found = new Map<string, Tally>();
  if (!Buffer.isBuffer(blob)) return found;
  for (let at = 0; at + entry <= blob.length; at += entry) {
    const name = names.get(blob.readUInt32LE(at));
    if (name === undefined) continue;
    found.set(name, {
      count: blob.readUInt32LE(at + 4),
      sum: blob.readDoubleLE(at + 8),
      min: blob.readDoubleLE(at + 16),
      max: blob.readDoubleLE(at + 24),
    });
  }
  return found;
}
