/** Databases of old appliances, made from what is known of their tables. No foreign file is needed. */
import { createCipheriv } from 'node:crypto';
import Database from 'better-sqlite3';
import { type OldDatabase, openedDatabase, readTables } from '../../src/areas/migrate/database.ts';
import { Passwords } from '../../src/engine/passwords.ts';

export type OldVersion = '9.3' | '11.2' | '13.0';
export type OldRow = Readonly<Record<string, string | number | null>>;
export type OldTables = Readonly<Record<string, readonly OldRow[]>>;

/** The key of all of them. */
export const oldKey = Buffer.from(Array.from({ length: 32 }, (_, index) => index));

/** A secret as the old appliance stored it. */
export function oldSecret(plain: string, key = oldKey, nonce = Buffer.from('a0a1a2a3a4a5a6a7', 'hex')): string {
  const bytes = Buffer.from(plain, 'utf8');
  const padded = Buffer.concat([bytes, Buffer.alloc(32 - (bytes.length % 32), '{')]);
  const counter = Buffer.concat([nonce, Buffer.from('0000000000000001', 'hex')]);
  const cipher = createCipheriv('aes-256-ctr', key, counter);
  return Buffer.concat([nonce, cipher.update(padded), cipher.final()]).toString('base64');
}

const recognition: Readonly<Record<OldVersion, OldTables>> = {
  '9.3': { south_migrationhistory: [{ id: 1, app_name: 'system', migration: '0092_auto', applied: '' }] },
  '11.2': {
    south_migrationhistory: [{ id: 1, app_name: 'system', migration: '0108_auto', applied: '' }],
    django_migrations: [{ id: 1, app: 'system', name: '0028_auto', applied: '' }],
  },
  '13.0': { alembic_version: [{ version_num: '88bfe11b5be5' }] },
};

/** The hashes for a login and for Windows shares, as both appliances keep them. */
export async function hashesOf(password: string): Promise<{ readonly unix: string; readonly nt: string }> {
  const passwords = new Passwords();
  const hashes = await passwords.hash(password);
  await passwords.close();
  return hashes;
}

export const hashOf = async (password: string): Promise<string> => (await hashesOf(password)).unix;

/** Writes the tables. A table without rows is left out, as a table that a version does not have. */
export function oldDatabase(version: OldVersion, tables: OldTables, options: { readonly check?: string } = {}): Buffer {
  const database = new Database(':memory:');
  const settings = { ...tables['system_settings']?.[0], stg_pwenc_check: options.check ?? oldSecret('Donuts!') };
  const all: OldTables = {
    ...recognition[version],
    ...tables,
    system_settings: [
      { id: 1, stg_pwenc_check: '' },
      { id: 2, ...settings },
    ],
  };
  for (const [table, rows] of Object.entries(all)) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    if (columns.length === 0) continue;
    const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
    database.exec(`CREATE TABLE ${quoted(table)} (${columns.map(quoted).join(', ')})`);
    const insert = database.prepare(`INSERT INTO ${quoted(table)} VALUES (${columns.map(() => '?').join(', ')})`);
    for (const row of rows) insert.run(columns.map((name) => row[name] ?? null));
  }
  const bytes = database.serialize();
  database.close();
  return bytes;
}

/** The archive of an export: members by name, each a text or bytes. */
export function oldArchive(members: Readonly<Record<string, Buffer>>, links: readonly string[] = []): Buffer {
  const parts = Object.entries(members).flatMap(([name, body]) => [
    header(name, body.length, '0'),
    body,
    Buffer.alloc((512 - (body.length % 512)) % 512),
  ]);
  return Buffer.concat([...links.map((name) => header(name, 0, '2')), ...parts, Buffer.alloc(1024)]);
}

function header(name: string, size: number, type: string): Buffer {
  const head = Buffer.alloc(512);
  head.write(name, 0);
  head.write('0000600\0', 100);
  head.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  head.fill(' ', 148, 156);
  head.write(type, 156);
  head.write('ustar\u000000', 257, 'latin1');
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return head;
}

/** The database as it is after its upload, read without a thread. */
export function readDatabase(bytes: Buffer, key: Buffer | undefined): OldDatabase {
  const pieces = openedDatabase(readTables(bytes, key));
  for (;;) {
    const { done, value } = pieces.next();
    if (done === true) return value;
  }
}
