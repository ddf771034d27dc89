import { setTimeout as wait } from 'node:timers/promises';
import { isWithin } from '../../../lib/path.ts';
import type { Outcome } from '../../ports/commands.ts';
import { HostError } from '../../ports/index.ts';
import { mountsNow, poolOfRoot } from '../mounts.ts';
import { expectSuccess, messageOfProgram, type Runner, type RunOptions } from '../runner.ts';
import type { PoolStates } from './pool-states.ts';

/** Creating, importing and exporting a pool of many disks takes long. */
const patience = 15 * 60_000;

/** Milliseconds between looks whether a program waits for a pool that serves nothing. */
const looksForPool = 5000;

/**
 * Milliseconds between tries while something is busy, until udev has probed new devices and the last client has ended.
 */
const retries = [100, 200, 400, 800];

/** Runs `zfs` and `zpool`. */
export class Programs {
  readonly #runner: Runner;
  readonly #states: Pick<PoolStates, 'waitOf'>;

  constructor(runner: Runner, states: Pick<PoolStates, 'waitOf'>) {
    this.#runner = runner;
    this.#states = states;
  }

  run(...argv: readonly string[]): Promise<Outcome> {
    return this.#run(argv, {});
  }

  /** Runs a program of which only each line counts, until the signal fires. Output of any length is no failure. */
  heard(argv: readonly string[], line: (line: string) => void, signal: AbortSignal): Promise<Outcome> {
    return this.#run(argv, { keep: 4096, heard: line, signal });
  }

  /** Runs a program that reads a key. */
  runWithKey(key: string, ...argv: readonly string[]): Promise<Outcome> {
    return this.#run(argv, { input: `${key}\n` });
  }

  /** A program waits without end for a pool that serves nothing, and so would all that waits for the program. */
  async #run(argv: readonly string[], options: RunOptions): Promise<Outcome> {
    const ending = new AbortController();
    let reason: string | undefined;
    const looks = setInterval(async () => {
      reason ??= await this.#states.waitOf(argv);
      if (reason !== undefined) ending.abort();
    }, looksForPool);
    looks.unref();
    try {
      const signal = AbortSignal.any([ending.signal, ...(options.signal === undefined ? [] : [options.signal])]);
      const outcome = await this.#runner.run(argv, { ...options, timeout: patience, signal });
      if (reason === undefined || outcome.status === 0) return outcome;
    } finally {
      clearInterval(looks);
    }
    throw new HostError(reason);
  }

  async do(...argv: readonly string[]): Promise<Outcome> {
    return expectSuccess(await this.run(...argv), argv);
  }

  /** Tries again while something is busy. */
  async patiently(...argv: readonly string[]): Promise<void> {
    for (const pause of retries) {
      const outcome = await this.run(...argv);
      if (outcome.status === 0) return;
      if (!/busy/.test(messageOfProgram(outcome))) expectSuccess(outcome, argv);
      await wait(pause);
    }
    await this.do(...argv);
  }
}

/** Read once: it stays the same until the next boot, and the table of a thousand mounts takes long. */
let system: { readonly pool: string | undefined } | undefined;

/** Whether a dataset is in the pool that the machine runs from: it holds boot environments and no data. */
export async function ofSystem(): Promise<(dataset: string) => boolean> {
  system ??= { pool: poolOfRoot(await mountsNow()) };
  const { pool } = system;
  return (dataset) => pool !== undefined && isWithin(dataset, pool);
}

/** Whether zfs reported that a named dataset or pool does not exist. Its output about the others is valid. */
export function isGone({ stderr }: Pick<Outcome, 'stderr'>): boolean {
  return /does not exist|no such pool/.test(stderr);
}

/** Whether nothing else went wrong than that some of the named datasets do not exist. */
export function areGone({ status, stderr }: Outcome): boolean {
  const lines = stderr.split('\n').filter((line) => line !== '');
  return status !== 0 && lines.length > 0 && lines.every((line) => isGone({ stderr: line }));
}
