import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { Fault } from '../../src/engine/declare/errors.ts';
import { oldDatabase, readDatabase } from '../support/old-appliance.ts';

/** What SQLite would compute while it reads: a second of processor time and 300 MB for each row. */
const costly = 'length(hex(zeroblob(150000000)))';

/** A database that is recognised, and to which the statements were added. */
function withStatements(...statements: readonly string[]): Buffer {
  const database = new Database(oldDatabase('13.0', {}));
  for (const one of statements) database.exec(one);
  const bytes = database.serialize();
  database.close();
  return bytes;
}

const hostile: Readonly<Record<string, readonly string[]>> = {
  'a computed column': [`CREATE TABLE t (a, b AS (${costly}))`],
  'a computed column that is stored': ['CREATE TABLE t (a, b AS (length(a)) STORED)'],
  'an index of an expression': ['CREATE TABLE t (a)', 'CREATE INDEX i ON t (length(a))'],
  'an index with a condition': ['CREATE TABLE t (a)', 'CREATE INDEX i ON t (a) WHERE length(a) > 0'],
  'a virtual table': ['CREATE VIRTUAL TABLE t USING fts5(a)'],
};

for (const [title, statements] of Object.entries(hostile))
  test(`a database with ${title} is refused before anything is computed`, () => {
    const begun = process.cpuUsage().user;
    assert.throws(
      () => readDatabase(withStatements(...statements), undefined),
      (error) => error instanceof Fault && error.kind === 'invalid' && /no appliance has/.test(error.message),
    );
    assert.ok(process.cpuUsage().user - begun < 400_000);
  });

test('a condition on a table, as real databases have, is read and not computed', () => {
  const bytes = withStatements(
    `CREATE TABLE t (id INTEGER PRIMARY KEY, a CHECK (a IN (0, 1) OR ${costly} > 0))`,
    'INSERT INTO t VALUES (1, 1), (2, 0)',
  );
  assert.equal(readDatabase(bytes, undefined).rows('t').length, 2);
});
