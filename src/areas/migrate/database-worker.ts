import { parentPort } from 'node:worker_threads';
import { Fault } from '../../engine/declare/errors.ts';
import { readTables } from './database.ts';
import type { DatabaseAnswer, DatabaseTask } from './reading.ts';
import { uploadOf } from './upload.ts';

parentPort?.once('message', (task: DatabaseTask) => parentPort?.postMessage(answerTo(task)));

function answerTo({ content, secret }: DatabaseTask): DatabaseAnswer {
  try {
    const { database, secret: key, ignored } = uploadOf(content, secret);
    return { ...readTables(database, key), ignored };
  } catch (error) {
    if (error instanceof Fault && error.kind === 'invalid') return { issues: error.issues };
    throw error;
  }
}
