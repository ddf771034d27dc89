/** The database of an old appliance as tables of frozen rows. */
import Database from 'better-sqlite3';
import { invalid } from '../../engine/declare/errors.ts';
import { messageOf, quote } from '../../lib/text.ts';
import { checkText, decrypted, secretColumns, secretIn, unreadable } from './secrets.ts';

export type Cell = string | number | null;

export interface Row {
  readonly table: string;
  /** What identifies the row in its table. */
  readonly id: string;
  readonly columns: readonly string[];
  has(column: string): boolean;
  cell(column: string): Cell | typeof unreadable;
  /** The text of a column; empty for none and for what cannot be read. */
  text(column: string): string;
  flag(column: string): boolean;
  number(column: string): number | undefined;
}

export interface OldDatabase {
  /** `9.3 to 9.10`, `11.0`, …, `13.0`. */
  readonly version: string;
  readonly hasKey: boolean;
  readonly tables: ReadonlyMap<string, readonly Row[]>;
  rows(table: string): readonly Row[];
}

/** Rows of all tables together. A real configuration has a few thousand. */
const mostRows = 50_000;
const mostTables = 1000;
const mostCellBytes = 1024 * 1024;

/** Tables of the programs with which the old appliance was written, and of SQLite. They are not read. */
const machinery = /^(?:sqlite_|django_|auth_|south_|alembic_)/;

const refuse = (sentence: string): never => {
  throw invalid({ content: [sentence] });
};

/** The tables of a database, as values that can be sent between threads. */
export interface RawDatabase {
  readonly version: string;
  readonly key: Uint8Array | undefined;
  readonly tables: readonly RawTable[];
}

interface RawTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** Each some rows as JSON: an id, and the cells in the order of the columns. */
  readonly rows: readonly string[];
}

type RawRow = readonly [id: string, cells: readonly Cell[]];

/** Rows that are sent as one text. */
const rowsAtOnce = 100;

/** Reads everything. The file stays in memory, and is never written. */
export function readTables(bytes: Buffer, key: Buffer | undefined): RawDatabase {
  // A database whose journal was a log beside it cannot be opened without that file, which an export never has.
  const whole = Buffer.from(bytes);
  whole[18] = 1;
  whole[19] = 1;
  let database: Database.Database;
  try {
    database = new Database(whole, { readonly: true });
  } catch (error) {
    return refuse(`The database cannot be opened: ${messageOf(error)}.`);
  }
  try {
    database.pragma('foreign_keys = OFF');
    database.pragma('trusted_schema = OFF');
    refuseComputed(database);
    database.pragma('ignore_check_constraints = ON');
    if (database.pragma('integrity_check(1)', { simple: true }) !== 'ok')
      return refuse('The database is damaged: its check of integrity fails. Export it from the old appliance again.');
    return reading(database, key);
  } catch (error) {
    if (error instanceof Database.SqliteError) return refuse(`The database cannot be read: ${messageOf(error)}.`);
    throw error;
  } finally {
    database.close();
  }
}

/** No appliance has what SQLite computes while it reads. A hostile file could make that take for ever. */
function refuseComputed(database: Database.Database): void {
  const all = database.prepare('SELECT type, name, sql FROM sqlite_master').all().map(asRow);
  if (all.length > mostTables * 4) refuse(`The database has ${all.length} tables and indexes.`);
  for (const { type, name, sql } of all) {
    const named = quote(String(name));
    if (/^\s*CREATE\s+VIRTUAL/i.test(String(sql))) refuse(`${named} is a virtual table, which no appliance has.`);
    const argument = `"${String(name).replaceAll('"', '""')}"`;
    // A computed column of a table is hidden; an index of an expression has a column without a name.
    const found =
      type === 'table'
        ? database.pragma(`table_xinfo(${argument})`)
        : type === 'index'
          ? database.pragma(`index_info(${argument})`)
          : [];
    const columns = Array.isArray(found) ? found.map(asRow) : [];
    if (columns.some((column) => Number(column['hidden'] ?? 0) !== 0 || column['name'] === null))
      refuse(`${named} has a column that is computed, which no appliance has.`);
    if (type === 'index' && /\bWHERE\b/i.test(String(sql)))
      refuse(`The index ${named} has a condition, which no appliance has.`);
  }
}

function reading(database: Database.Database, key: Buffer | undefined): RawDatabase {
  const named = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  const names = named.map((one) => (isRow(one) ? String(one['name']) : ''));
  if (names.length > mostTables) return refuse(`The database has ${names.length} tables: no appliance has that many.`);
  const version = versionOf(database, new Set(names));
  const tables: RawTable[] = [];
  let total = 0;
  for (const table of names.filter((name) => !machinery.test(name))) {
    const quoted = `"${table.replaceAll('"', '""')}"`;
    const columns = database
      .prepare(`PRAGMA table_info(${quoted})`)
      .all()
      .map((one) => (isRow(one) ? { name: String(one['name']), isKey: one['pk'] === 1 } : { name: '', isKey: false }));
    const { count } = { count: 0, ...asRow(database.prepare(`SELECT count(*) AS count FROM ${quoted}`).get()) };
    total += Number(count);
    if (total > mostRows) return refuse(`The database has more than ${mostRows} rows: no appliance has that many.`);
    const identity = columns.find(({ name }) => name === 'id') ?? columns.find(({ isKey }) => isKey);
    const rows = database
      .prepare(`SELECT * FROM ${quoted}`)
      .all()
      .map(asRow)
      .map((members, index): RawRow => {
        const id = identity === undefined ? index + 1 : (members[identity.name] ?? index + 1);
        return [String(id).slice(0, 100), columns.map(({ name }) => cellOf(table, name, members[name]))];
      })
      .toSorted(byNumber);
    const parts = Array.from({ length: Math.ceil(rows.length / rowsAtOnce) }, (_, index) =>
      JSON.stringify(rows.slice(index * rowsAtOnce, (index + 1) * rowsAtOnce)),
    );
    tables.push({ name: table, columns: columns.map(({ name }) => name), rows: parts });
  }
  if (key !== undefined) refuseWrongKey(database, new Set(names), key);
  return { version, key, tables };
}

const byNumber = ([a]: RawRow, [b]: RawRow) => Number(a) - Number(b) || (a < b ? -1 : a > b ? 1 : 0);

/** The database with its secrets in clear, in pieces. */
export function* openedDatabase({ version, key: bytes, tables: raw }: RawDatabase): Generator<undefined, OldDatabase> {
  const key = bytes && Buffer.from(bytes);
  const tables = new Map<string, readonly Row[]>();
  for (const { name, columns, rows: parts } of raw) {
    const rows: Row[] = [];
    for (const part of parts) {
      const some: readonly RawRow[] = JSON.parse(part);
      for (const one of some) rows.push(rowOf(name, columns, one, key));
      yield;
    }
    tables.set(name, Object.freeze(rows));
  }
  return Object.freeze({
    ...{ version, hasKey: key !== undefined, tables },
    rows: (table: string) => tables.get(table) ?? [],
  });
}

type Members = Readonly<Record<string, unknown>>;
const isRow = (value: unknown): value is Members => typeof value === 'object' && value !== null;
const asRow = (value: unknown): Members => (isRow(value) ? value : {});

function rowOf(table: string, columns: readonly string[], [id, raw]: RawRow, key: Buffer | undefined): Row {
  const cells = new Map(
    columns.map((name, index) => {
      const cell = raw[index] ?? null;
      const isSecret = secretColumns[table]?.includes(name) === true && typeof cell === 'string';
      return [name, isSecret ? secretIn(cell, key) : cell] as const;
    }),
  );
  const text = (column: string) => {
    const cell = cells.get(column) ?? '';
    return cell === unreadable ? '' : String(cell);
  };
  return Object.freeze({
    ...{ table, id, columns },
    has: (column: string) => cells.has(column),
    cell: (column: string) => cells.get(column) ?? null,
    text,
    flag: (column: string) => isFlagSet(text(column)),
    number: (column: string) => (/^-?\d{1,15}$/.test(text(column).trim()) ? Number(text(column)) : undefined),
  });
}

export const isFlagSet = (text: string) => /^(?:1|true)$/i.test(text.trim());

function cellOf(table: string, column: string, value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return value.toString();
  const text = Buffer.isBuffer(value) ? value.toString('utf8') : String(value);
  if (text.length > mostCellBytes)
    return refuse(`A row of ${table} has ${text.length} characters in ${column}: no appliance has that many.`);
  return text;
}

// Versions -----------------------------------------------------------------------------------------------------------

const madeFor13: readonly string[] = ['7132a60093ce', 'cd7569a7b973', '99aef90c4cd6', '88bfe11b5be5'];

function versionOf(database: Database.Database, tables: ReadonlySet<string>): string {
  const ofScale = ['services_kubernetes', 'services_container', 'account_privilege'].find((name) => tables.has(name));
  if (ofScale !== undefined)
    return refuse(
      `This is the database of TrueNAS SCALE: it has the table ${ofScale}. Versions 9.3 to 13.0 of FreeNAS and TrueNAS CORE are read.`,
    );
  const valueIn = (query: string) => Object.values(asRow(database.prepare(query).get()))[0];
  if (tables.has('alembic_version')) {
    const number = String(valueIn('SELECT version_num FROM alembic_version'));
    const disk = database.prepare("SELECT name FROM pragma_table_info('storage_disk')").all();
    return madeFor13.includes(number) || disk.some((one) => asRow(one)['name'] === 'disk_bus') ? '13.0' : '12.0';
  }
  if (tables.has('django_migrations')) {
    const last = String(valueIn("SELECT max(name) FROM django_migrations WHERE app = 'system'") ?? '').slice(0, 4);
    return last >= '0046' ? '11.3' : last >= '0028' ? '11.2' : last >= '0009' ? '11.1' : '11.0';
  }
  if (tables.has('south_migrationhistory')) {
    const last = String(
      valueIn("SELECT max(migration) FROM south_migrationhistory WHERE app_name = 'system'") ?? '',
    ).slice(0, 4);
    if (last < '0092')
      return refuse(
        'This database is of a version before 9.3. Update the old appliance to 9.3 or later first, and export again.',
      );
    return last >= '0101' ? '9.10' : '9.3';
  }
  return refuse('This is an SQLite database, and not that of a FreeNAS or TrueNAS CORE appliance.');
}

function refuseWrongKey(database: Database.Database, tables: ReadonlySet<string>, key: Buffer): void {
  if (!tables.has('system_settings')) return;
  const query = 'SELECT stg_pwenc_check AS value FROM system_settings ORDER BY id DESC LIMIT 1';
  const columns = database.prepare("SELECT name FROM pragma_table_info('system_settings')").all();
  if (!columns.some((one) => asRow(one)['name'] === 'stg_pwenc_check')) return;
  const check = String(asRow(database.prepare(query).get())['value'] ?? '');
  if (check !== '' && decrypted(check, key) !== checkText)
    throw invalid({
      secret: ['The key does not belong to this database: its check value could not be decrypted with it.'],
    });
}
