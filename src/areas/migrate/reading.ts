/** An old database is read in a thread, because it can be large, and SQLite has no pauses. */
import { type Issues, invalid } from '../../engine/declare/errors.ts';
import { inThread, ThreadEnded } from '../../engine/thread.ts';
import { inSlices } from '../../lib/slices.ts';
import { type OldDatabase, openedDatabase, type RawDatabase } from './database.ts';
import type { Upload } from './upload.ts';

/** What was uploaded, in base64. */
export interface DatabaseTask {
  readonly content: string;
  readonly secret: string | undefined;
}

export type DatabaseAnswer = (RawDatabase & Pick<Upload, 'ignored'>) | { readonly issues: Issues };

const limits = { seconds: 60, megabytes: 512 } as const;

export async function readUpload(
  task: DatabaseTask,
): Promise<{ readonly old: OldDatabase; readonly ignored: readonly string[] }> {
  const source = new URL('./database-worker.ts', import.meta.url);
  const answer = await inThread<DatabaseAnswer>(source, task, limits).catch((error: unknown) => {
    throw error instanceof ThreadEnded
      ? invalid({ content: [`The database cannot be read: ${error.message}`] })
      : error;
  });
  if ('issues' in answer) throw invalid(answer.issues);
  return { old: await inSlices(openedDatabase(answer)), ignored: answer.ignored };
}
