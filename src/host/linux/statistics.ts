import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DiskTraffic, PoolTraffic, Reading, Statistics, Traffic } from '../ports/statistics.ts';
import {
  readCache,
  readConnections,
  readDisks,
  readLinks,
  readMemory,
  readObjset,
  readProcessor,
} from './statistics-read.ts';

const poolsFolder = 'proc/spl/kstat/zfs';

/** Datasets that are counted in one turn of the event loop. */
const atOnce = 50;

/** Counting the datasets rests for this many times its duration, so that ten thousand of them cost little. */
const restAfter = 1000;

/** Milliseconds between two readings of the temperature of a disk. */
const temperatureEvery = 300_000;

interface Warmth {
  readonly at: number;
  /** The operations of the disk when it was read. */
  readonly operations: number;
  readonly degrees: number | undefined;
}

/**
 * Reads what the kernel shows below /proc and /sys. All of it is in memory, except temperatures: the kernel asks the disk
 * for its temperature, and some disks then begin their timer of standby again. So only disks that were read or written
 * since are asked.
 */
export class LinuxStatistics implements Statistics {
  readonly #root: string;
  readonly #elapsed: () => number;
  /** The last counters of each dataset, and the sums that grew from them, by pool. */
  #datasets = new Map<string, Traffic>();
  #pools = new Map<string, PoolTraffic>();
  #countsAgain = 0;
  readonly #warmth = new Map<string, Warmth>();

  constructor({ root, elapsed = () => performance.now() }: { readonly root: string; readonly elapsed?: () => number }) {
    this.#root = root;
    this.#elapsed = elapsed;
  }

  async read(): Promise<Reading> {
    const elapsed = this.#elapsed();
    const proc = (path: string) => this.#text(join('proc', path));
    const pools = namesIn(join(this.#root, poolsFolder)).filter((name) => this.#objsetsOf(name).length > 0);
    if (elapsed >= this.#countsAgain || pools.some((pool) => !this.#pools.has(pool))) await this.#count(pools, elapsed);
    const disks = new Map<string, DiskTraffic>();
    for (const [name, traffic] of readDisks(proc('diskstats')))
      disks.set(name, { ...traffic, temperature: await this.#temperature(name, traffic.reads + traffic.writes) });
    return Object.freeze({
      elapsed,
      processor: readProcessor(proc('stat')),
      memory: readMemory(proc('meminfo')),
      cache: readCache(proc('spl/kstat/zfs/arcstats')),
      pools: new Map([...this.#pools].filter(([name]) => pools.includes(name))),
      disks,
      links: readLinks(proc('net/dev')),
      connections: readConnections(proc('net/tcp'), proc('net/tcp6')),
    });
  }

  /** Adds up what each dataset did since the last count. The counters of a dataset end when it is unmounted. */
  async #count(names: readonly string[], elapsed: number): Promise<void> {
    const datasets = new Map<string, Traffic>();
    const pools = new Map<string, PoolTraffic>();
    let used = 0;
    let turn = performance.now();
    for (const pool of names) {
      let { reads, writes, read, written } = this.#pools.get(pool) ?? { reads: 0, writes: 0, read: 0, written: 0 };
      for (const [index, name] of this.#objsetsOf(pool).entries()) {
        const key = join(poolsFolder, pool, name);
        const now = readObjset(this.#text(key));
        if (now !== undefined) {
          const before = this.#datasets.get(key) ?? (this.#pools.has(pool) ? none : now);
          datasets.set(key, now);
          reads += Math.max(0, now.reads - before.reads);
          writes += Math.max(0, now.writes - before.writes);
          read += Math.max(0, now.read - before.read);
          written += Math.max(0, now.written - before.written);
        }
        if (index % atOnce !== atOnce - 1) continue;
        used += performance.now() - turn;
        await nextTurn();
        turn = performance.now();
      }
      pools.set(pool, { reads, writes, read, written, elapsed });
    }
    this.#datasets = datasets;
    this.#pools = pools;
    this.#countsAgain = elapsed + (used + performance.now() - turn) * restAfter;
  }

  #objsetsOf(pool: string): readonly string[] {
    return namesIn(join(this.#root, poolsFolder, pool)).filter((name) => name.startsWith('objset-'));
  }

  async #temperature(disk: string, operations: number): Promise<number | undefined> {
    const known = this.#warmth.get(disk);
    const at = this.#elapsed();
    if (known !== undefined && at - known.at < temperatureEvery) return known.degrees;
    // At first it is not known whether the disk rests.
    const isActive = known !== undefined && operations !== known.operations;
    const degrees = isActive ? await this.#sensorOf(disk) : undefined;
    this.#warmth.set(disk, { at, operations, degrees });
    return degrees;
  }

  /** SATA disks have a sensor by the module `drivetemp`, NVMe disks one of their own. */
  async #sensorOf(disk: string): Promise<number | undefined> {
    const device = join(this.#root, 'sys/block', disk, 'device');
    for (const folder of [join(device, 'hwmon'), device])
      for (const name of await readdir(folder).catch(() => []))
        if (/^hwmon\d+$/.test(name)) {
          const text = await readFile(join(folder, name, 'temp1_input'), 'utf8').catch(() => '');
          if (/^-?\d+\s*$/.test(text)) return Number(text) / 1000;
        }
    return undefined;
  }

  #text(path: string): string {
    try {
      return readFileSync(join(this.#root, path), 'utf8');
    } catch {
      // The machine has none, such as one without ZFS or without IPv6.
      return '';
    }
  }
}

const none: Traffic = Object.freeze({ reads: 0, writes: 0, read: 0, written: 0 });

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
