import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Turns } from '../lib/turns.ts';

export interface ThreadLimits {
  readonly seconds: number;
  /** Of the values that JavaScript allocates. */
  readonly megabytes: number;
}

/** A computation that was ended because it took too long or too much memory. */
export class ThreadEnded extends Error {
  override readonly name = 'ThreadEnded';
}

const turns = new Turns();

/**
 * Computes in a thread of its own, so that no request waits for it meanwhile. The module at `source` gets `input` as its
 * first message and answers with one message. One computation of a module runs at a time.
 */
export function inThread<Result>(source: URL, input: unknown, limits: ThreadLimits): Promise<Result> {
  return turns.take(source.href, () => computed<Result>(source, input, limits));
}

async function computed<Result>(source: URL, input: unknown, { seconds, megabytes }: ThreadLimits): Promise<Result> {
  const worker = new Worker(fileOf(source), { resourceLimits: { maxOldGenerationSizeMb: megabytes } });
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const timer = setTimeout(() => reject(new ThreadEnded(`It took longer than ${seconds} seconds.`)), seconds * 1000);
  worker.on('message', (result: Result) => resolve(result));
  worker.on('error', (error) =>
    reject(
      error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? new ThreadEnded(`It needed more than ${megabytes} MB.`)
        : error,
    ),
  );
  worker.on('exit', (status) => reject(new Error(`A thread ended with ${status} and without a result.`)));
  worker.postMessage(input);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

/** The source itself during development, and the file of its name beside the bundle in a package. */
function fileOf(source: URL): string {
  const file = fileURLToPath(source);
  return existsSync(file) ? file : file.replace(/\.ts$/, '.mjs');
}
