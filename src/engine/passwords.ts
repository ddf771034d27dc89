import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ntHash } from '../lib/md4.ts';

/** What the worker is asked and what it answers. */
export type Question = { readonly id: number } & ({ readonly hash: string } | { readonly verify: string; readonly against: string });
export interface Reply {
  readonly id: number;
  readonly answer: string | boolean;
}

export interface PasswordHashes {
  /** SHA-512 crypt text, `$6$…`. */
  readonly unix: string;
  /** 32 upper-case hex digits. */
  readonly nt: string;
}

/** A worker that nobody has needed for so long, in milliseconds, ends and gives its memory back. */
const idle = 10_000;

/** Hashes and checks passwords in a worker thread: each takes about 10 ms of computing that nobody else should wait for. */
export class Passwords {
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #last = 0;
  readonly #asked = new Map<number, { readonly resolve: (answer: string | boolean) => void; readonly reject: (error: Error) => void }>();

  async hash(password: string): Promise<PasswordHashes> {
    return { unix: String(await this.#ask({ hash: password })), nt: ntHash(password) };
  }

  /** False also for hashes that no password opens (`*`, `!…`). */
  async verify(password: string, against: string): Promise<boolean> {
    return against.startsWith('$6$') && (await this.#ask({ verify: password, against })) === true;
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #ask(question: { readonly hash: string } | { readonly verify: string; readonly against: string }): Promise<string | boolean> {
    clearTimeout(this.#timer);
    this.#worker ??= this.#start();
    this.#last += 1;
    const id = this.#last;
    const { promise, resolve, reject } = Promise.withResolvers<string | boolean>();
    this.#asked.set(id, { resolve, reject });
    this.#worker.postMessage({ id, ...question } satisfies Question);
    return promise;
  }

  #start(): Worker {
    const worker = new Worker(workerFile());
    worker.unref();
    worker.on('message', ({ id, answer }: Reply) => {
      this.#asked.get(id)?.resolve(answer);
      this.#asked.delete(id);
      if (this.#asked.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.close(), idle);
      this.#timer.unref();
    });
    worker.on('error', (error) => {
      this.#worker = undefined;
      for (const { reject } of this.#asked.values()) reject(error instanceof Error ? error : new Error(String(error)));
      this.#asked.clear();
    });
    return worker;
  }
}

/** Beside this file while developing, beside the bundle when shipped. */
function workerFile(): string {
  const source = fileURLToPath(new URL('./passwords-worker.ts', import.meta.url));
  return existsSync(source) ? source : fileURLToPath(new URL('./passwords-worker.mjs', import.meta.url));
}
