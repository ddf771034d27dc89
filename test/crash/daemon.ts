import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isObject } from '../../src/lib/json.ts';
import { Api } from '../support/api.ts';
import { holdfast, quickStart } from '../support/programs.ts';

export const daemonPassword = 'a test password';

export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

/** The daemon as a separate process, on the virtual host. */
export interface Daemon {
  readonly api: Api;
  readonly pid: number;
  /** Lines of its log so far. */
  readonly log: readonly string[];
  /** Waits for the first line of the log that matches. */
  logLine(pattern: RegExp): Promise<string>;
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<Ending>;
}

/** A state folder that is removed after the test. */
export async function stateFolder(): Promise<{ readonly path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-crash-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The environment of a program whose home is the state folder, so that it finds no file of the person who runs it. */
export function environmentIn(state: string): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, NODE_COMPILE_CACHE, HOME: state, XDG_CONFIG_HOME: state };
}

/** `within` is a command prefix, such as one that enters a mount namespace; `options` are further options of the daemon. */
export async function startDaemon(
  state: string,
  within: readonly string[] = [],
  options: readonly string[] = [],
): Promise<Daemon> {
  const { child, ended } = launch(state, within, options);
  const log: string[] = [];
  const lines = createInterface({ input: child.stdout ?? nothing() });
  const found = Promise.withResolvers<string>();
  lines.on('line', (line) => {
    log.push(line);
    const url = /serving on (http:\S+?)\/?"/.exec(line)?.[1];
    if (url !== undefined) found.resolve(url);
  });
  const died = ended.then(({ code, stderr }) => {
    throw new Error(`the daemon ended with ${code} before it served: ${stderr}`);
  });
  died.catch(() => {});
  const url = await Promise.race([found.promise, died]);
  return {
    api: new Api(url, { user: 'root', password: daemonPassword }),
    pid: child.pid ?? nothing(),
    log,
    async logLine(pattern) {
      for (;;) {
        const found = log.find((line) => pattern.test(line));
        if (found !== undefined) return found;
        await once(lines, 'line');
      }
    },
    async end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** Runs a daemon that is expected to exit. */
export async function runDaemon(state: string, within: readonly string[] = []): Promise<Ending> {
  const { child, ended } = launch(state, within, []);
  // A daemon that serves instead must not block the test.
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  try {
    return await ended;
  } finally {
    clearTimeout(timer);
  }
}

function launch(
  state: string,
  within: readonly string[],
  options: readonly string[],
): { readonly child: ChildProcess; readonly ended: Promise<Ending> } {
  const [program = '', ...words] = [
    ...within,
    process.execPath,
    ...quickStart,
    holdfast,
    '--listen',
    '127.0.0.1:0',
    '--state',
    state,
    '--disks',
    '24x256M',
    '--log-level',
    'info',
    ...options,
  ];
  const child = spawn(program, words, {
    env: { ...environmentIn(state), HOLDFAST_ROOT_PASSWORD: daemonPassword },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: typeof code === 'number' ? code : null,
    signal: typeof signal === 'string' ? signal : null,
    stderr,
  }));
  return { child, ended };
}

function nothing(): never {
  throw new Error('the daemon has no output');
}

/** Subsystems that differ from the configuration. */
export async function drift(api: Api): Promise<readonly unknown[]> {
  const report = await api.list('/api/holdfast/v1/drift');
  return report.filter(
    (subsystem) =>
      isObject(subsystem) &&
      (subsystem['degraded'] !== null || !Array.isArray(subsystem['drift']) || subsystem['drift'].length > 0),
  );
}

/** Pseudo-random numbers in [0, 1), reproducible by the seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
