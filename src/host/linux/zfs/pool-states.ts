import { readdir, readFile } from 'node:fs/promises';
import { isWithin } from '../../../lib/path.ts';
import { stuckSentence, suspendedSentence } from '../../shared/zfs-messages.ts';
import { readMounts } from '../mounts.ts';

/**
 * Milliseconds for which one group of transactions (txg) is written before the pool counts as one that does not answer.
 * On a busy pool this takes some seconds, and five are what ZFS aims at.
 */
const longestSync = 60_000;

/** Milliseconds for which a look at all pools is good. */
const freshness = 1000;

interface Sources {
  /** Where ZFS shows the state and the groups of transactions of each pool. To read them never waits for the pool. */
  readonly states: string;
  /** What is mounted, for this process. */
  readonly mounts: string;
}

interface Look {
  readonly at: number;
  /** By pool, why it serves nothing, if so. */
  readonly pools: Promise<ReadonlyMap<string, string | undefined>>;
}

/**
 * Tells which pools block their callers without end. Those are the suspended ones, which have lost the disks that
 * they need, and those that do not get their data to disk: after a disk was pulled out, a pool can stay like that for
 * minutes or for good, and ZFS calls it ONLINE.
 */
export class PoolStates {
  readonly #sources: Sources;
  readonly #now: () => number;
  /** The group of transactions that each pool writes, and since when. */
  readonly #syncing = new Map<string, { readonly txg: string; readonly since: number }>();
  #look: Look | undefined;

  constructor(
    sources: Sources = { states: '/proc/spl/kstat/zfs', mounts: '/proc/self/mountinfo' },
    now = () => performance.now(),
  ) {
    this.#sources = sources;
    this.#now = now;
  }

  /**
   * Why a program of ZFS with these arguments waits without end, if so: because of a pool that they name, or of any if
   * they name none.
   */
  async waitOf(argv: readonly string[]): Promise<string | undefined> {
    const pools = await this.#pools();
    const named = [...pools.keys()].filter((pool) => argv.some((argument) => argument.split(/[/@#]/)[0] === pool));
    return (named.length > 0 ? named : [...pools.keys()]).map((pool) => pools.get(pool)).find(isReason);
  }

  /** Why work on a path waits without end, if so. Links are not followed: to read them may wait for the pool. */
  async waitAt(path: string): Promise<string | undefined> {
    const pools = await this.#pools();
    if (![...pools.values()].some(isReason)) return undefined;
    const [innermost] = readMounts(await readFile(this.#sources.mounts, 'utf8'))
      .filter(({ on }) => isWithin(path, on))
      .toSorted((a, b) => b.on.length - a.on.length);
    return innermost?.kind === 'zfs' ? pools.get(innermost.source.split('/')[0] ?? '') : undefined;
  }

  #pools(): Look['pools'] {
    const now = this.#now();
    if (this.#look === undefined || now - this.#look.at >= freshness) this.#look = { at: now, pools: this.#read(now) };
    return this.#look.pools;
  }

  async #read(now: number): Look['pools'] {
    const entries = await readdir(this.#sources.states, { withFileTypes: true }).catch(() => []);
    const pools = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    for (const pool of this.#syncing.keys()) if (!pools.includes(pool)) this.#syncing.delete(pool);
    return new Map(await Promise.all(pools.map(async (pool) => [pool, await this.#reasonOf(pool, now)] as const)));
  }

  async #reasonOf(pool: string, now: number): Promise<string | undefined> {
    const read = (name: string) => readFile(`${this.#sources.states}/${pool}/${name}`, 'utf8').catch(() => '');
    const [state, txgs] = await Promise.all([read('state'), read('txgs')]);
    if (state.trim() === 'SUSPENDED') return suspendedSentence(pool);
    const txg = syncingTxg(txgs);
    const before = this.#syncing.get(pool);
    if (txg === undefined) this.#syncing.delete(pool);
    else if (before?.txg !== txg) this.#syncing.set(pool, { txg, since: now });
    else if (now - before.since >= longestSync) return stuckSentence(pool);
    return undefined;
  }
}

const isReason = (reason: string | undefined) => reason !== undefined;

/**
 * The group of transactions that a pool writes to its disks, if any, from its file `txgs`. The state is the third column,
 * and S for such a group:
 *
 *     txg      birth            state ndirty       nread        nwritten     reads    writes   otime ...
 *     812      71530224013      C     0            0            0            0        0        5119932371 ...
 *     813      76650156384      S     88576        0            0            0        0        5120002113 ...
 */
function syncingTxg(txgs: string): string | undefined {
  return txgs
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([, , state]) => state === 'S')?.[0];
}
