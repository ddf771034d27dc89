import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ntHash } from '../lib/md4.ts';
import { inSlices } from '../lib/slices.ts';
import { hashedPassword, isPassword } from './sha-crypt.ts';

/** A request to the worker and its response. */
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

/** Checks that this thread makes at once, and milliseconds after which it may make one more. */
const mostHere = 3;
const rest = 1000;

/**
 * Milliseconds that other requests wait for a check in this thread at most. With shorter ones, a check would last long
 * beside other work, which has ten in each turn of the event loop.
 */
const slice = 4;

/** Milliseconds after which an idle worker is stopped to free its memory. */
const idle = 10_000;

/**
 * Bytes of the longest password: the fields accept 256 characters, each of at most four bytes in UTF-8. The duration of
 * a check grows with the length, so longer passwords are refused before they are hashed.
 */
export const longestPassword = 1024;

/** Characters of the shortest password for an account that opens the interface. */
export const shortestPassword = 8;

/** The maximum number of pending checks. Each takes about 10 ms, so a full queue takes about five seconds. */
const mostWaiting = 512;

/** Too many checks are pending: this one was not made, so it is unknown whether the password is correct. */
export class ChecksBusy extends Error {
  override readonly name = 'ChecksBusy';
}

/** The priority of a pending check. */
export interface Waiting {
  /** The check with the lowest rank is made next. The rank may change, so it is evaluated for each choice. */
  readonly rank: () => number;
  /** Whether a caller still waits for the result. Otherwise the check is dropped. */
  readonly isWanted?: () => boolean;
}

interface Task extends Waiting {
  readonly question: { readonly hash: string } | { readonly verify: string; readonly against: string };
  readonly resolve: (answer: string | boolean) => void;
  readonly reject: (error: Error) => void;
}

/** Checks of the daemon itself come before every login. */
const first: Waiting = { rank: () => Number.NEGATIVE_INFINITY };

/**
 * Hashes and checks passwords: each takes about 10 ms of processor time. A single one is made in this thread, with pauses
 * in which requests are answered, because starting a worker takes longer and 10 MB: after a start, the first request waits
 * for it. When more are needed than one a second, a worker makes them, so that wrong passwords do not slow down other
 * requests. One is made at a time; the others are queued here, where they can be ordered, limited and dropped.
 */
export class Passwords {
  /** When this thread may make the next one, if it had made as few as possible until then. */
  #mayMake = 0;
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #last = 0;
  #running: Task | undefined;
  /** In order of arrival. */
  readonly #waiting: Task[] = [];
  readonly #mostWaiting: number;

  constructor(options: { readonly mostWaiting?: number } = {}) {
    this.#mostWaiting = options.mostWaiting ?? mostWaiting;
  }

  /** Whether a check is being made in this thread, which takes several turns of the event loop. */
  get isChecking(): boolean {
    return this.#running !== undefined && this.#worker === undefined;
  }

  async hash(password: string): Promise<PasswordHashes> {
    if (isTooLong(password)) throw new RangeError(`Expected a password of at most ${longestPassword} bytes.`);
    return { unix: String(await this.#ask({ hash: password }, first)), nt: ntHash(password) };
  }

  /**
   * Also false for hashes that match no password (`*`, `!…`). Throws `ChecksBusy` if too many checks with a lower rank
   * are pending, and if no caller waits for the result any more.
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
    // A question that comes while the worker ends would never be answered by it: it starts another one.
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
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

  /** Refuses the oldest check among those with the highest rank: its caller is the most likely to have given up. */
  #refuseWorst(): void {
    const { index, rank } = this.#waiting
      .map((task, index) => ({ index, rank: task.rank() }))
      .reduce((worst, one) => (one.rank > worst.rank ? one : worst));
    // Checks of the daemon itself are never refused.
    if (rank === Number.NEGATIVE_INFINITY) return;
    const [task] = this.#waiting.splice(index, 1);
    task?.reject(new ChecksBusy('Too many password checks are pending.'));
  }

  /**
   * Takes the newest check among those with the lowest rank. Under overload some checks time out in any order; with the
   * newest first, the others are answered immediately instead of just before their timeout. Checks of the daemon itself
   * keep their order.
   */
  #next(): void {
    if (this.#running !== undefined) return;
    this.#dropUnwanted();
    if (this.#waiting.length === 0) return;
    const { index } = this.#waiting
      .map((task, index) => ({ index, rank: task.rank() }))
      .reduce((best, one) =>
        one.rank < best.rank || (one.rank === best.rank && Number.isFinite(one.rank)) ? one : best,
      );
    const [task] = this.#waiting.splice(index, 1);
    if (task === undefined) return;
    this.#running = task;
    const now = performance.now();
    if (this.#worker === undefined && this.#waiting.length === 0 && this.#mayMake <= now + (mostHere - 1) * rest) {
      this.#mayMake = Math.max(now, this.#mayMake) + rest;
      void this.#makeHere(task);
      return;
    }
    this.#last += 1;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ id: this.#last, ...task.question } satisfies Question);
  }

  async #makeHere(task: Task): Promise<void> {
    const { question } = task;
    const work: Generator<void, string | boolean> =
      'hash' in question ? hashedPassword(question.hash) : isPassword(question.verify, question.against);
    const answer = await inSlices(work, slice);
    // Refused meanwhile: the daemon is stopping.
    if (this.#running !== task) return;
    this.#finish(({ resolve }) => resolve(answer));
  }

  #start(): Worker {
    const worker = new Worker(workerFile());
    worker.unref();
    worker.on('message', ({ answer }: Reply) => {
      if (this.#worker !== worker) return;
      this.#finish((task) => task.resolve(answer));
      if (this.#running !== undefined) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.close(), idle);
      this.#timer.unref();
    });
    worker.on('error', (error) => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#finish((task) => task.reject(error instanceof Error ? error : new Error(String(error))));
    });
    worker.on('exit', (status) => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#finish((task) => task.reject(new Error(`The thread that checks passwords ended with ${status}.`)));
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
  // Every character has at least one byte, so most long passwords are found without encoding them.
  return password.length > longestPassword || Buffer.byteLength(password) > longestPassword;
}

/** Next to this file during development, next to the bundle in a package. */
function workerFile(): string {
  const source = fileURLToPath(new URL('./passwords-worker.ts', import.meta.url));
  return existsSync(source) ? source : fileURLToPath(new URL('./passwords-worker.mjs', import.meta.url));
}
