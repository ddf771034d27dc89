import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Outcome } from '../ports/commands.ts';
import { HostError } from '../ports/index.ts';
import { type EndOrder, type Order, readReport, type StartOrder } from './protocol.ts';

/** Starts programs. A program is a list of arguments (argv) that no shell interprets. */
export interface Runner {
  /** Answers with any exit status. Rejects when the program is missing, takes too long or prints too much. */
  run(argv: readonly string[], options?: RunOptions): Promise<Outcome>;

  /**
   * Starts a program that runs until it is ended, and reports each line that it writes. Returns a function that ends
   * it.
   */
  follow(argv: readonly string[], listener: Listener): () => void;
}

export interface RunOptions {
  /** Written to its standard input, which is empty otherwise. */
  readonly input?: string;
  /** Milliseconds, a minute by default; `Infinity` for no limit. */
  readonly timeout?: number;
  /** When it fires, the program and its children are ended; the status is then 143. */
  readonly signal?: AbortSignal;
  /**
   * How many bytes from the end of each stream are kept. Without it everything is kept, and too much output is a
   * failure.
   */
  readonly keep?: number;
  /** In addition to PATH and LANG. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The working directory, `/` by default. */
  readonly folder?: string;
  /** The program's umask, by default that of the daemon. */
  readonly umask?: number;
  /** Receives each line of standard output as it comes. */
  readonly heard?: (line: string) => void;
}

export interface Listener {
  /** The lines that are reported; without it, all. */
  readonly only?: RegExp | undefined;
  line(text: string): void;
  /** The program did not start, or ended without having been asked to. */
  ended(reason: string): void;
}

export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A regular expression of every line. */
const everyLine = '';

const minute = 60_000;
const mostOutput = 64 * 1024 ** 2;

/**
 * Options of Node for the helper. Each start of a program is a fork of it, which takes the longer the more memory it has.
 * The output of programs would let its young generation grow to 16 MiB, and it frees what it has sent on by `gc`. It
 * computes too little for what V8's optimizing compilers gain, and they keep some MB in it.
 */
const helperFlags = ['--max-semi-space-size=1', '--expose-gc', '--no-opt', '--no-maglev'];

/** The status of a program that SIGTERM ended, as shells report it. */
export const endedBySignal = 143;

/** A program whose outcome is awaited. */
interface AwaitedProgram {
  readonly argv: readonly string[];
  readonly timeout: number;
  readonly heard: ((line: string) => void) | undefined;
  /** What has come of a long output. */
  readonly stdout: Uint8Array[];
  readonly stderr: Uint8Array[];
  resolve(outcome: Outcome): void;
  reject(error: HostError): void;
}

type Waiting = AwaitedProgram | { readonly argv: readonly string[]; readonly listener: Listener };

/**
 * Runs programs by a small helper process: a process as large as the daemon would block whenever it starts a program.
 */
export class HelperRunner implements Runner {
  readonly #entry: string;
  readonly #waiting = new Map<number, Waiting>();
  #child: ChildProcess | undefined;
  #count = 0;
  #closed = false;

  constructor(options: { entry?: string } = {}) {
    this.#entry = options.entry ?? helperEntry();
  }

  run(argv: readonly string[], options: RunOptions = {}): Promise<Outcome> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const { signal, timeout = minute, heard } = options;
    if (signal?.aborted) return Promise.resolve({ status: endedBySignal, stdout: '', stderr: '' });
    const id = this.#start({ argv, timeout, heard, stdout: [], stderr: [], resolve, reject }, options, {
      lines: heard === undefined ? undefined : everyLine,
      timeout: Number.isFinite(timeout) ? timeout : undefined,
    });
    const abort = () => this.#send({ kind: 'end', id });
    signal?.addEventListener('abort', abort, { once: true });
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  follow(argv: readonly string[], listener: Listener): () => void {
    const id = this.#start(
      { argv, listener },
      { keep: 4096 },
      { lines: listener.only?.source ?? everyLine, timeout: undefined },
    );
    this.#rest();
    return () => {
      if (!this.#waiting.delete(id)) return;
      this.#send({ kind: 'end', id });
      this.#rest();
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    const child = this.#child;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.ref();
    child.channel?.ref();
    // Node never closes a channel that is disconnected while a message is being read, and a program that prints without
    // end keeps it in that state.
    if (child.connected) child.send({ kind: 'close' } satisfies Order, () => {});
    await ended;
  }

  #start(
    waiting: Waiting,
    { input, keep, environment, folder, umask }: RunOptions,
    rest: Pick<StartOrder, 'lines' | 'timeout'>,
  ): number {
    this.#count += 1;
    const id = this.#count;
    this.#waiting.set(id, waiting);
    this.#send({
      kind: 'start',
      id,
      argv: waiting.argv,
      input,
      umask,
      folder: folder ?? '/',
      environment: { PATH: systemPath, LANG: 'C.UTF-8', ...environment },
      most: keep ?? mostOutput,
      tail: keep !== undefined,
      ...rest,
    });
    return id;
  }

  #send(order: StartOrder | EndOrder): void {
    if (this.#closed) {
      this.#fail(order.id, 'the host is closed');
      return;
    }
    if (this.#child === undefined && order.kind === 'end') return;
    this.#child ??= this.#fork();
    this.#child.ref();
    this.#child.channel?.ref();
    this.#child.send(order, (error) => {
      if (error !== null) this.#fail(order.id, `the helper process cannot be reached: ${error.message}`);
    });
  }

  #fork(): ChildProcess {
    const child = fork(this.#entry, [], {
      serialization: 'advanced',
      execArgv: helperFlags,
      env: { PATH: systemPath, LANG: 'C.UTF-8' },
      cwd: '/',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (message) => this.#hear(message));
    const gone = (reason: string) => {
      if (this.#child !== child) return;
      this.#child = undefined;
      for (const id of [...this.#waiting.keys()]) this.#fail(id, reason);
    };
    child.on('error', (error) => gone(`the helper process failed: ${error.message}`));
    child.on('exit', () => gone('the helper process ended'));
    return child;
  }

  #hear(message: unknown): void {
    const report = readReport(message);
    const waiting = report && this.#waiting.get(report.id);
    if (report === undefined || waiting === undefined) return;
    if (report.kind === 'lines') {
      for (const text of report.texts)
        if ('listener' in waiting) waiting.listener.line(text);
        else waiting.heard?.(text);
      return;
    }
    if (report.kind === 'output') {
      if (!('listener' in waiting)) waiting[report.stream].push(report.bytes);
      return;
    }
    if (report.kind === 'failed') {
      this.#fail(report.id, report.code === 'ENOENT' ? 'this machine has no such program' : report.message);
      return;
    }
    const { status, cut } = report;
    const whole = (stream: 'stdout' | 'stderr') =>
      Buffer.concat([...('listener' in waiting ? [] : waiting[stream]), report[stream]]).toString();
    const [stdout, stderr] = [whole('stdout'), whole('stderr')];
    if ('listener' in waiting) this.#fail(report.id, `it ended with the status ${status}${said(stdout, stderr)}`);
    else if (cut === 'time')
      this.#fail(report.id, `it did not end within ${waiting.timeout / 1000} s and was stopped${said(stdout, stderr)}`);
    else if (cut === 'size')
      this.#fail(report.id, `it printed more than ${mostOutput / 1024 ** 2} MiB and was stopped`);
    else {
      this.#waiting.delete(report.id);
      waiting.resolve({ status, stdout, stderr });
      this.#rest();
    }
  }

  #fail(id: number, reason: string): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    const sentence = `cannot run ${shown(waiting.argv)}: ${reason}`;
    if ('listener' in waiting) waiting.listener.ended(sentence);
    else waiting.reject(new HostError(sentence));
    this.#rest();
  }

  /** A helper that only follows programs does not keep the daemon from ending. */
  #rest(): void {
    if ([...this.#waiting.values()].some((waiting) => !('listener' in waiting))) return;
    this.#child?.unref();
    this.#child?.channel?.unref();
  }
}

/** The helper beside this file: its source in development, `helper.mjs` beside the bundle. */
export function helperEntry(): string {
  const source = fileURLToPath(new URL('./helper.ts', import.meta.url));
  return import.meta.url.endsWith('.ts') && existsSync(source)
    ? source
    : fileURLToPath(new URL('./helper.mjs', import.meta.url));
}

/** The outcome of a program that succeeded; otherwise throws the program's own error message. */
export function expectSuccess(outcome: Outcome, argv: readonly string[]): Outcome {
  if (outcome.status === 0) return outcome;
  throw new HostError(messageOfProgram(outcome) || `${shown(argv)} ended with the status ${outcome.status}`, {
    cause: new Error(`${shown(argv)} ended with the status ${outcome.status}${said(outcome.stdout, outcome.stderr)}`),
  });
}

/** A program's error message: its standard error, or else its standard output. */
export function messageOfProgram({ stdout, stderr }: Outcome): string {
  return stderr.trim() || stdout.trim();
}

/** A program with its arguments, for messages. */
function shown(argv: readonly string[]): string {
  const text = argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function said(stdout: string, stderr: string): string {
  const text = `${stderr}\n${stdout}`.trim();
  return text === '' ? '' : `; it said: ${text.slice(-2000)}`;
}
