import Database from 'better-sqlite3';
import { databaseFile } from './marks.ts';

/** The name under which the store of a pair has the records of a resource that each machine has for itself. */
export const nameOnNode = (path: string, node: string): string => `${path}@${node}`;

const tables = ['documents', 'fresh', 'sequences', 'provisional_records'] as const;

/** Gives the records of resources that are `ofNode` to one machine: the one whose configuration becomes that of a pair. */
export function giveToNode(folder: string, paths: readonly string[], node: string): void {
  const database = new Database(databaseFile(folder), { timeout: 0, fileMustExist: true });
  try {
    database
      .transaction(() => {
        for (const table of tables) {
          const rename = database.prepare(`UPDATE ${table} SET resource = ? WHERE resource = ?`);
          for (const path of paths) rename.run(nameOnNode(path, node), path);
        }
      })
      .exclusive();
    database.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
}
