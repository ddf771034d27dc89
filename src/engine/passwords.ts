import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ntHash } from '../lib/md4.ts';

/** What the worker is asked and what it answers. */
export type Question = { readonly id: number } & (
  | { readonly hash: string }
  | { readonly verify: string; readonly against: string }
);
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

/**
 * Bytes of the longest password: the fields take 256 characters, each of at most four bytes in UTF-8. The time that a
 * check takes grows with the length, so that a longer one is refused before it is hashed.
 */
export const longestPassword = 1024;

/** Checks that wait for the worker. Each takes about 10 ms, so that a full queue is done in about five seconds. */
const mostWaiting = 512;

/** Too many checks wait: this one was not made, and the password may be right or wrong. */
export class ChecksBusy extends Error {
  override readonly name = 'ChecksBusy';
}

/** How a check waits among others. */
export interface Waiting {
  /** The check of the lowest rank is made next. It is asked again for each choice, for it may grow meanwhile. */
  readonly rank: () => number;
  /** Whether a caller still waits for the result. Otherwise the check is dropped. */
  readonly isWanted?: () => boolean;
}

interface Task extends Waiting {
  readonly question: { readonly hash: string } | { readonly verify: string; readonly against: string };
  readonly resolve: (answer: string | boolean) => void;
  readonly reject: (error: Error) => void;
}

/** What the daemon itself needs comes before every login. */
const first: Waiting = { rank: () => Number.NEGATIVE_INFINITY };

/**
 * Hashes and checks passwords in a worker thread: each takes about 10 ms of computing, which would block the event loop.
 * One is in the worker at a time; the others wait here, where they can be ordered, bounded and dropped.
 */
export class Passwords {
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #last = 0;
  #running: Task | undefined;
  /** In the order in which they came. */
  readonly #waiting: Task[] = [];
  readonly #mostWaiting: number;

  constructor(options: { readonly mostWaiting?: number } = {}) {
    this.#mostWaiting = options.mostWaiting ?? mostWaiting;
  }

  async hash(password: string): Promise<PasswordHashes> {
    if (isTooLong(password)) throw new RangeError(`Expected a password of at most ${longestPassword} bytes.`);
    return { unix: String(await this.#ask({ hash: password }, first)), nt: ntHash(password) };
  }

  /**
   * False also for hashes that no password opens (`*`, `!…`). Throws `ChecksBusy` when too many others wait that come
   * first, and when no caller waits for the result any more.
   */
  async verify(password: string, against: string, waiting: Waiting = first): Promise<boolean> {
    if (isTooLong(password) || !against.startsWith('$6$')) return false;
    return (await this.#ask({ verify: password, against }, waiting)) === true;
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    for (const { reject } of this.#waiting.splice(0)) reject(new ChecksBusy('The daemon is stopping.'));
    this.#running?.reject(new ChecksBusy('The daemon is stopping.'));
    this.#running = undefined;
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #ask(question: Task['question'], waiting: Waiting): Promise<string | boolean> {
    clearTimeout(this.#timer);
    const { promise, resolve, reject } = Promise.withResolvers<string | boolean>();
    this.#waiting.push({ ...waiting, question, resolve, reject });
    if (this.#waiting.length > this.#mostWaiting) {
      this.#dropUnwanted();
      if (this.#waiting.length > this.#mostWaiting) this.#refuseWorst();
    }
    this.#next();
    return promise;
  }

  #dropUnwanted(): void {
    const unwanted = this.#waiting.filter(({ isWanted }) => isWanted?.() === false);
    for (const task of unwanted) {
      this.#waiting.splice(this.#waiting.indexOf(task), 1);
      task.reject(new ChecksBusy('No caller waits for the result.'));
    }
  }

  /** Of those with the highest rank the oldest goes: its caller is the most likely one to have given up. */
  #refuseWorst(): void {
    const { place, rank } = this.#waiting
      .map((task, index) => ({ place: index, rank: task.rank() }))
      .reduce((worst, one) => (one.rank > worst.rank ? one : worst));
    // Of what the daemon itself needs nothing is refused.
    if (rank === Number.NEGATIVE_INFINITY) return;
    const [task] = this.#waiting.splice(place, 1);
    task?.reject(new ChecksBusy('Too many password checks are pending.'));
  }

  /**
   * Of those with the lowest rank the newest is next. When more come than can be checked, some wait in vain whatever
   * the order; in this one the others are answered at once instead of as late as all. What the daemon itself needs
   * keeps its order.
   */
  #next(): void {
    if (this.#running !== undefined) return;
    this.#dropUnwanted();
    if (this.#waiting.length === 0) return;
    const { place } = this.#waiting
      .map((task, index) => ({ place: index, rank: task.rank() }))
      .reduce((best, one) =>
        one.rank < best.rank || (one.rank === best.rank && Number.isFinite(one.rank)) ? one : best,
      );
    const [task] = this.#waiting.splice(place, 1);
    if (task === undefined) return;
    this.#running = task;
    this.#last += 1;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ id: this.#last, ...task.question } satisfies Question);
  }

  #start(): Worker {
    const worker = new Worker(workerFile());
    worker.unref();
    worker.on('message', ({ answer }: Reply) => {
      this.#finish((task) => task.resolve(answer));
      if (this.#running !== undefined) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.close(), idle);
      this.#timer.unref();
    });
    worker.on('error', (error) => {
      this.#worker = undefined;
      this.#finish((task) => task.reject(error instanceof Error ? error : new Error(String(error))));
    });
    return worker;
  }

  #finish(answer: (task: Task) => void): void {
    const task = this.#running;
    this.#running = undefined;
    if (task !== undefined) answer(task);
    this.#next();
  }
}

function isTooLong(password: string): boolean {
  // No character of a text has less than one byte, so most are counted without being encoded.
  return password.length > longestPassword || Buffer.byteLength(password) > longestPassword;
}

/** Beside this file while developing, beside the bundle when shipped. */
function workerFile(): string {
  const source = fileURLToPath(new URL('./passwords-worker.ts', import.meta.url));
  return existsSync(source) ? source : fileURLToPath(new URL('./passwords-worker.mjs', import.meta.url));
}
