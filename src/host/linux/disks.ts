import { readFile } from 'node:fs/promises';
import type { Disk, Disks, Tuning } from '../ports/disks.ts';
import { HostError } from '../ports/index.ts';
import type { Pool } from '../ports/zfs.ts';
import { stablePaths } from './devices.ts';
import { diskColumns, type FoundDisk, hdparmWords, readAbilities, readDisks } from './disks-read.ts';
import { expectSuccess, type Runner, wordsOf } from './runner.ts';
import { readLabel } from './zfs-read.ts';

export class LinuxDisks implements Disks {
  readonly #runner: Runner;
  readonly #pools: () => Promise<readonly Pool[]>;
  /** Labels by what udev knew of their devices when they were read: to read one again could wake a sleeping disk. */
  readonly #labels = new Map<string, { readonly known: string; readonly pool: string | undefined }>();
  /** The pools of that time. The kernel writes labels without udev's knowledge when a pool comes or goes. */
  #labelsUnder = '';

  constructor(options: { runner: Runner; pools: () => Promise<readonly Pool[]> }) {
    this.#runner = options.runner;
    this.#pools = options.pools;
  }

  async list(): Promise<readonly Disk[]> {
    const words = ['lsblk', '--json', '--bytes', '--output', diskColumns.join(',')];
    const [listed, pools, systemPool, paths] = await Promise.all([this.#runner.run(words), this.#pools(), poolOfRoot(), stablePaths()]);
    const poolOf = new Map(pools.flatMap((pool) => pool.groups.flatMap((group) => group.devices.map((device) => [device.disk, pool.name] as const))));
    const under = pools.map(({ name }) => name).join();
    if (under !== this.#labelsUnder) this.#labels.clear();
    this.#labelsUnder = under;
    const disks = readDisks(expectSuccess(listed, words).stdout).filter((one) => !one.system && (systemPool === undefined || poolOf.get(one.disk.name) !== systemPool));
    return Promise.all(
      disks.map(async (found) => {
        const { name } = found.disk;
        return Object.freeze({
          ...found.disk,
          usedBy: await this.#usedBy(found, poolOf.get(name)),
          path: paths.get(name) ?? `/dev/${name}`,
          can: readAbilities(await udevDatabase(name)),
        });
      }),
    );
  }

  async tune(disk: string, tuning: Tuning): Promise<void> {
    if (!/^[a-z0-9-]+$/.test(disk)) throw new HostError(`${disk} is no disk`);
    const words = hdparmWords(tuning);
    if (words.length > 0) await this.#tell(['hdparm', ...words, `/dev/${disk}`], (status) => status === 0);
    const { smart } = tuning;
    // The higher bits tell how the disk is, not how it took this.
    if (smart !== undefined) await this.#tell(['smartctl', '-s', smart.on ? 'on' : 'off', ...(smart.on ? smart.options : []), `/dev/${disk}`], (status) => (status & 7) === 0);
  }

  async #tell(words: readonly string[], content: (status: number) => boolean): Promise<void> {
    const outcome = await this.#runner.run(words);
    // hdparm tells of some refusals, and ends as if there were none.
    if (!content(outcome.status) || /failed:/.test(outcome.stderr)) throw new HostError(wordsOf(outcome) || `${words.join(' ')} ended with the status ${outcome.status}`);
  }

  async #usedBy({ usedBy, labelled }: FoundDisk, pool: string | undefined): Promise<string | undefined> {
    if (pool !== undefined) return `it is part of the pool ${pool}`;
    if (usedBy !== undefined) return usedBy;
    // udev tells that there is a label, not whether its pool was destroyed.
    for (const device of labelled) {
      const label = await this.#labelOn(device);
      if (label !== undefined) return `it is part of the exported pool ${label}`;
    }
    return undefined;
  }

  /** The pool that the label on a device names. udev looks at a device again when somebody has written to it. */
  async #labelOn(device: string): Promise<string | undefined> {
    const known = await udevDatabase(device);
    const before = this.#labels.get(device);
    if (before?.known === known && known !== '') return before.pool;
    const pool = readLabel((await this.#runner.run(['zdb', '-l', `/dev/${device}`])).stdout)?.pool;
    this.#labels.set(device, { known, pool });
    return pool;
  }
}

/** The pool that the machine runs from, if it does. */
async function poolOfRoot(): Promise<string | undefined> {
  const mounts = await readFile('/proc/self/mounts', 'utf8');
  return /^([^/\s]+)\S* \/ zfs /m.exec(mounts)?.[1];
}

/** What udev found out about a disk when it was plugged in. */
async function udevDatabase(disk: string): Promise<string> {
  const number = await readFile(`/sys/class/block/${disk}/dev`, 'utf8').catch(() => '');
  return readFile(`/run/udev/data/b${number.trim()}`, 'utf8').catch(() => '');
}
