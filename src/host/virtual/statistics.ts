import type { DiskTraffic, LinkTraffic, PoolTraffic, Reading, Statistics } from '../ports/statistics.ts';
import type { Pool } from '../ports/zfs.ts';

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;
const day = 86_400_000;
/** Bytes of one operation of a program, and of one operation of a disk. */
const operationSize = 128 * 1024;
/** Milliseconds of one operation of a disk without others. */
const operationTime = 4;

export interface VirtualStatisticsOptions {
  readonly now: () => number;
  readonly pools: () => Promise<readonly Pool[]>;
  readonly disks: readonly { readonly name: string }[];
  readonly links: () => Promise<readonly string[]>;
  /** How many sessions each port has. */
  readonly sessions: () => ReadonlyMap<number, number>;
}

/**
 * A machine that serves clients by day and rests by night. What it counts follows from its pools, their disks and the
 * clock alone, so that a test with a clock of its own gets the same numbers again. The counters begin when it starts, as
 * those of a machine that was just booted.
 */
export class VirtualStatistics implements Statistics {
  readonly #options: VirtualStatisticsOptions;
  readonly #start: number;
  #at: number;
  readonly #counted = new Map<string, number>();

  constructor(options: VirtualStatisticsOptions) {
    this.#options = options;
    this.#at = options.now();
    this.#start = this.#at;
  }

  async read(): Promise<Reading> {
    const { now, disks, links, sessions } = this.#options;
    const at = now();
    const seconds = Math.max(0, at - this.#at) / 1000;
    this.#at = at;
    const elapsed = at - this.#start;
    const grow = (key: string, perSecond: number): number => {
      const value = (this.#counted.get(key) ?? 0) + perSecond * seconds;
      this.#counted.set(key, value);
      return Math.floor(value);
    };
    const load = (of: string) => loadAt(at, of);
    const pools = new Map<string, PoolTraffic>();
    const busy = new Map<string, DiskTraffic>();
    for (const { name, groups } of await this.#options.pools()) {
      const used = groups.flatMap(({ devices }) => devices.map(({ disk }) => disk));
      const read = 3 * MiB * used.length * load(name);
      const written = 1 * MiB * used.length * load(`${name} writes`);
      pools.set(name, {
        elapsed,
        reads: grow(`${name} reads`, read / operationSize),
        writes: grow(`${name} writes`, written / operationSize),
        read: grow(`${name} read`, read),
        written: grow(`${name} written`, written),
      });
      for (const disk of used) {
        const share = { read: read / used.length, written: (written * 1.3) / used.length };
        const [reads, writes] = [share.read / operationSize, share.written / operationSize];
        const slow = operationTime * (1 + load(disk));
        busy.set(disk, {
          reads: grow(`${disk} reads`, reads),
          writes: grow(`${disk} writes`, writes),
          read: grow(`${disk} read`, share.read),
          written: grow(`${disk} written`, share.written),
          readTime: grow(`${disk} read time`, reads * slow),
          writeTime: grow(`${disk} write time`, writes * slow * 1.5),
          temperature: undefined,
        });
      }
    }
    const traffic = new Map<string, LinkTraffic>();
    for (const [index, name] of (await links()).entries()) {
      const share = pools.size * 4 * MiB * load(name) * 0.5 ** index;
      traffic.set(name, { received: grow(`${name} received`, share / 3), sent: grow(`${name} sent`, share) });
    }
    return Object.freeze({
      elapsed,
      processor: {
        busy: grow('busy', 100 * (0.02 + 0.2 * load('processor') * Math.min(1, pools.size))),
        total: grow('total', 100),
      },
      memory: { total: 16 * GiB, available: Math.round((12 - 4 * load('memory')) * GiB) },
      cache: {
        size: Math.round((2 + 4 * load('cache')) * Math.min(1, pools.size) * GiB),
        hits: grow('hits', 900 * load('hits') * pools.size),
        misses: grow('misses', 100 * load('misses') * pools.size),
      },
      pools,
      disks: new Map(
        disks.map(({ name }) => [
          name,
          { ...(busy.get(name) ?? idle), temperature: Math.round(28 + (busy.has(name) ? 4 + 6 * load(name) : 0)) },
        ]),
      ),
      links: traffic,
      connections: sessions(),
    });
  }
}

const idle = Object.freeze({ reads: 0, writes: 0, read: 0, written: 0, readTime: 0, writeTime: 0 });

/** Between 0 and 1: a day with its peak in the afternoon, and smaller waves that differ by the name. */
function loadAt(at: number, name: string): number {
  const phase = ([...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 997, 7) / 997) * 2 * Math.PI;
  const wave = (period: number, shift: number) => Math.sin((2 * Math.PI * at) / period + shift);
  const load = 0.45 - 0.3 * wave(day, Math.PI / 4) + 0.15 * wave(day / 37, phase) + 0.08 * wave(day / 331, 2 * phase);
  return Math.min(1, Math.max(0.02, load));
}
