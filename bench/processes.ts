/** The measured processes: the daemon and the bare server. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeEnvironment, nodeOptions } from '../scripts/bundle.ts';
import type { Prepared } from './bare.ts';
import { ask } from './load.ts';

export const password = 'the password of the benchmark';
export const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;

export function request(method: string, path: string, body?: string): Buffer {
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: ${authorization}`,
    'Accept: application/json',
  ];
  if (body !== undefined) head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

export interface Running {
  readonly port: number;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

export interface Daemon extends Running {
  /** Milliseconds from the start of the process to its first answer of 200. */
  readonly startedIn: number;
}

export async function startDaemon(
  state: string,
  options: {
    readonly program: string;
    /** Besides those that the package has. */
    readonly nodeOptions?: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
    /** Whether it gets none of the options that the package has, as earlier versions did. */
    readonly isPlain?: boolean;
    /** Milliseconds until the first answer. */
    readonly patience?: number;
    /** Whether to return at the first answer. Changes are refused until the start ends, which is waited for otherwise. */
    readonly isFirstEnough?: boolean;
  },
): Promise<Daemon> {
  const port = await freePort();
  const log = openSync(join(state, 'log'), 'a');
  const start = performance.now();
  const child = spawn(
    process.execPath,
    [
      ...(options.isPlain === true ? [] : nodeOptions),
      ...(options.nodeOptions ?? []),
      options.program,
      'serve',
      '--listen',
      `127.0.0.1:${port}`,
      '--state',
      state,
    ],
    {
      stdio: ['ignore', log, 'inherit'],
      env: {
        ...process.env,
        ...nodeEnvironment,
        HOLDFAST_ROOT_PASSWORD: password,
        HOLDFAST_LOG_LEVEL: 'info',
        ...options.environment,
      },
    },
  );
  const running = { port, child, stop: () => stopped(child, () => child.kill('SIGTERM')) };
  const answers = async (path: string, isRight: (status: number) => boolean) => {
    for (;;) {
      const answer = await ask(port, request('GET', path)).catch(() => undefined);
      if (answer !== undefined && isRight(answer.status)) return;
      if (child.exitCode !== null || performance.now() - start > (options.patience ?? 30_000))
        throw new Error(`the daemon did not start; its log is ${join(state, 'log')}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  try {
    await answers('/api/v1.0/services/cifs/', (status) => status === 200);
    const startedIn = performance.now() - start;
    if (options.isFirstEnough !== true) await answers('/readyz', (status) => status !== 503);
    return { ...running, startedIn };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** The bare server, with a function that sets an answer. */
export interface Bare extends Running {
  know(method: string, path: string, answer: Prepared): Promise<void>;
}

export async function startBare(): Promise<Bare> {
  const child = fork(fileURLToPath(new URL('./bare.ts', import.meta.url)));
  const [port] = await once(child, 'message');
  return {
    port: Number(port),
    child,
    stop: () => stopped(child, () => child.disconnect()),
    async know(method, path, answer) {
      const known = once(child, 'message');
      child.send([`${method} ${path}`, answer]);
      await known;
    },
  };
}

/** Starts the least server that there is, and resolves once it has answered. */
export async function startLeast(): Promise<Running & { readonly startedIn: number }> {
  const begun = performance.now();
  const child = fork(fileURLToPath(new URL('./bare-start.mjs', import.meta.url)), { execArgv: [] });
  const [message] = await once(child, 'message');
  const port = Number(message);
  await ask(port, request('GET', '/'));
  const startedIn = performance.now() - begun;
  return { port, child, startedIn, stop: () => stopped(child, () => child.disconnect()) };
}

/** Resident memory in MB. */
export function memoryOf({ child }: Running): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

/** Microseconds of processor time of all threads of a process. The scheduler counts nanoseconds. */
export function spentBy({ child }: Running): number {
  const threads = `/proc/${child.pid}/task`;
  return readdirSync(threads).reduce((sum, thread) => {
    try {
      return sum + Number(readFileSync(`${threads}/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000;
    } catch {
      // The thread has ended.
      return sum;
    }
  }, 0);
}

/** Milliseconds of processor time that a process has used; other load on the machine hardly affects it. */
export function computingOf({ child }: Running): number {
  const [, numbers = ''] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ');
  const [user, system] = numbers.split(' ').slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * millisecondsPerTick;
}

/** Linux counts hundredths of a second there on every machine. */
const millisecondsPerTick = 10;

async function stopped(child: ChildProcess, end: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  end();
  await exit;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
