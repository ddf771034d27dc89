/** Measures how many durable commits per second the disk allows: rows like those of a change, one transaction each. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { migrations } from '../src/store/migrations.ts';

export function durableCommits(folder: string, seconds: number, body: string): number {
  const database = new Database(join(folder, `commits-${process.hrtime.bigint()}.sqlite`));
  try {
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    for (const step of migrations) database.exec(step);
    const document = database.prepare('INSERT INTO documents VALUES (?, ?, ?)');
    const sequence = database.prepare(
      'INSERT INTO sequences VALUES (?, ?) ON CONFLICT DO UPDATE SET last = excluded.last',
    );
    const revision = database.prepare(
      'INSERT INTO revisions (at, actor, request, title, changes) VALUES (?, ?, ?, ?, ?)',
    );
    let count = 0;
    const commit = database.transaction(() => {
      document.run('sharing/cifs', count, body);
      sequence.run('sharing/cifs', count);
      revision.run(new Date().toISOString(), 'root', `bench-${count}`, 'create a CIFS share', body);
    });
    const start = performance.now();
    while (performance.now() - start < seconds * 1000) {
      commit();
      count += 1;
    }
    return (count * 1000) / (performance.now() - start);
  } finally {
    database.close();
  }
}
