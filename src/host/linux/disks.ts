import { readFile } from 'node:fs/promises';
import type { Disk, Disks } from '../ports/disks.ts';
import type { Pool } from '../ports/zfs.ts';
import { diskColumns, type FoundDisk, readDisks } from './disks-read.ts';
import { expectSuccess, type Runner } from './runner.ts';
import { readLabel } from './zfs-read.ts';

export class LinuxDisks implements Disks {
  readonly #runner: Runner;
  readonly #pools: () => Promise<readonly Pool[]>;

  constructor(options: { runner: Runner; pools: () => Promise<readonly Pool[]> }) {
    this.#runner = options.runner;
    this.#pools = options.pools;
  }

  async list(): Promise<readonly Disk[]> {
    const words = ['lsblk', '--json', '--bytes', '--output', diskColumns.join(',')];
    const [listed, pools, systemPool] = await Promise.all([this.#runner.run(words), this.#pools(), poolOfRoot()]);
    const poolOf = new Map(pools.flatMap((pool) => pool.groups.flatMap((group) => group.devices.map((device) => [device.disk, pool.name] as const))));
    const disks = readDisks(expectSuccess(listed, words).stdout).filter((one) => !one.system && (systemPool === undefined || poolOf.get(one.disk.name) !== systemPool));
    return Promise.all(disks.map(async (found) => Object.freeze({ ...found.disk, usedBy: await this.#usedBy(found, poolOf.get(found.disk.name)) })));
  }

  async #usedBy({ usedBy, labelled }: FoundDisk, pool: string | undefined): Promise<string | undefined> {
    if (pool !== undefined) return `it is part of the pool ${pool}`;
    if (usedBy !== undefined) return usedBy;
    // udev tells that there is a label, not whether its pool was destroyed.
    for (const device of labelled) {
      const label = readLabel((await this.#runner.run(['zdb', '-l', `/dev/${device}`])).stdout);
      if (label !== undefined) return `it is part of the exported pool ${label.pool}`;
    }
    return undefined;
  }
}

/** The pool that the machine runs from, if it does. */
async function poolOfRoot(): Promise<string | undefined> {
  const mounts = await readFile('/proc/self/mounts', 'utf8');
  return /^([^/\s]+)\S* \/ zfs /m.exec(mounts)?.[1];
}
