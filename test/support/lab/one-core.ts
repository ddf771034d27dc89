/**
 * A machine has one processor: its kernel and the processes in it take turns. Linux starts the one that is woken on another
 * core when that is idle, which takes longer than most of what it is woken for. On one core, a machine that is alone
 * starts in 2.9 s instead of 5.9, and uses two thirds of the processor time. So each machine stays on one core, and moves
 * to another one when it has to wait for its own and the other is idle.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Milliseconds for which the cores are watched, and a machine that runs. */
const watched = { cores: 100, machine: 700 };

/** It moves if it waited for this part of the time. Alone on its core, its kernel waits for its processes for a seventh. */
const waitsTooMuch = 0.25;
/** To a core that was idle for this part of the time. */
const isIdle = 0.4;

/** For each core that this process may use, the hundredths of a second for which it was busy and idle. */
type Times = ReadonlyMap<number, { readonly busy: number; readonly idle: number }>;

/** Each run of tests counts its machines from 0 on. */
const first = Math.floor(Math.random() * 1000);

/** The core that is idle most. Among similar ones, machines that start together take them by turns. */
export async function coreFor(number: number): Promise<number> {
  const idle = await idleParts();
  const most = Math.max(...idle.values());
  const cores = [...idle].flatMap(([core, part]) => (part > most - isIdle ? core : []));
  return cores[(first + number) % cores.length] ?? 0;
}

/** The words that start a program on this core. */
export function onCore(core: number, words: readonly string[]): readonly [string, ...string[]] {
  return ['taskset', '--cpu-list', `${core}`, ...words];
}

/** Lets a machine that was started on this core move, until it ends. Does nothing where Linux counts no waiting. */
export function balance(kernel: ChildProcess, core: number): void {
  const ended = new AbortController();
  kernel.once('exit', () => ended.abort());
  follow(kernel.pid ?? 0, core, ended.signal).catch(() => {
    // It ended during a look, or Linux does not count for how long it waits.
  });
}

async function follow(kernel: number, start: number, signal: AbortSignal): Promise<void> {
  let core = start;
  for (;;) {
    const [waited, began] = [await waitOf(kernel), performance.now()];
    // At random, so that one of two machines that wait for the same core moves before the other one looks.
    await pause(watched.machine * (1 + Math.random()), undefined, { signal, ref: false });
    if (((await waitOf(kernel)) - waited) / (performance.now() - began) < waitsTooMuch) continue;
    const [other, idle] = [...(await idleParts())].reduce((a, b) => (b[1] > a[1] ? b : a));
    if (idle < isIdle || other === core) continue;
    await move(kernel, other);
    core = other;
  }
}

/** Its processes inherit the core from the kernel, which begins, so that none is missing in the list. */
async function move(kernel: number, core: number): Promise<void> {
  const place = (process: number) => run('taskset', ['--all-tasks', '--cpu-list', '--pid', `${core}`, `${process}`]);
  await place(kernel);
  for (const process of await processesOf(kernel)) await place(process).catch(() => 'it has ended');
}

/** The processes of a group that still run. Those that have ended may wait for a parent that never asks for them. */
export async function processesOf(group: number): Promise<readonly number[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')));
  return stats.flatMap((stat, index) => {
    const [state, , its] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(its) === group && state !== 'Z' && state !== 'X' ? Number(names[index]) : [];
  });
}

/** The cores on which a process may run, such as `0-3,8`; empty when it has ended. */
export async function coresOf(process: number | 'self'): Promise<string> {
  const status = await readFile(`/proc/${process}/status`, 'utf8').catch(() => '');
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '';
}

/** Milliseconds for which the process was ready to run and did not. */
async function waitOf(process: number): Promise<number> {
  const [, nanoseconds] = (await readFile(`/proc/${process}/schedstat`, 'utf8')).split(' ');
  return Number(nanoseconds) / 1e6;
}

async function times(): Promise<Times> {
  const [stat, own] = await Promise.all([readFile('/proc/stat', 'utf8'), coresOf('self')]);
  const allowed = rangesOf(own);
  return new Map(
    [...stat.matchAll(/^cpu(\d+) (.+)$/gm)].flatMap(([, core, rest = '']) => {
      // `guest` and what follows are counted in `user` already.
      const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, ...more] = rest.split(' ').slice(0, 8).map(Number);
      const busy = user + nice + system + more.reduce((sum, one) => sum + one, 0);
      return allowed(Number(core)) ? [[Number(core), { busy, idle: idle + waiting }] as const] : [];
    }),
  );
}

/** Whether a number is in a list such as `0-3,8`. */
function rangesOf(list: string): (number: number) => boolean {
  const ranges = list.split(',').map((range) => range.split('-').map(Number));
  return (number) => ranges.some(([from = 0, to = from]) => from <= number && number <= to);
}

/** The part of the time for which each core is idle now. */
async function idleParts(): Promise<ReadonlyMap<number, number>> {
  const before = await times();
  await pause(watched.cores);
  const after = await times();
  return new Map(
    [...after].map(([core, { busy, idle }]) => {
      const earlier = before.get(core) ?? { busy: 0, idle: 0 };
      const passed = busy - earlier.busy + idle - earlier.idle;
      return [core, passed === 0 ? 1 : (idle - earlier.idle) / passed];
    }),
  );
}
