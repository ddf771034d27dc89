import { readFile } from 'node:fs/promises';
import type { Disk, DiskHealth, Disks, Tuning } from '../ports/disks.ts';
import { HostError } from '../ports/index.ts';
import type { Pool } from '../ports/zfs.ts';
import { stablePaths } from './devices.ts';
import { diskColumns, type FoundDisk, hdparmArgv, readAbilities, readDisks } from './disks-read.ts';
import { mountsNow, poolOfRoot, readSwaps } from './mounts.ts';
import { oncePerTurn } from './once-per-turn.ts';
import { expectSuccess, messageOfProgram, type Runner } from './runner.ts';
import { readHealth } from './smart-read.ts';
import { type FoundLabel, type Label, readLabel } from './zfs/read-labels.ts';

export class LinuxDisks implements Disks {
  readonly #runner: Runner;
  readonly #pools: () => Promise<readonly Pool[]>;
  /**
   * Labels by the state of udev's record of their device when they were read: another read could wake a sleeping disk.
   */
  readonly #known = new Map<string, { readonly known: string; readonly label: Promise<Label | undefined> }>();
  /** The pools at that time. When a pool comes or goes, the kernel writes labels and udev does not notice. */
  #labelsUnder = '';
  readonly #listed: () => Promise<{ readonly disks: readonly FoundDisk[]; readonly systemPool: string | undefined }>;

  constructor(options: { runner: Runner; pools: () => Promise<readonly Pool[]> }) {
    this.#runner = options.runner;
    this.#pools = options.pools;
    const argv = ['lsblk', '--json', '--bytes', '--output', diskColumns.join(',')];
    this.#listed = oncePerTurn(async () => {
      const outcome = await this.#runner.run(argv);
      const mounts = await mountsNow();
      const swaps = readSwaps(await readFile('/proc/swaps', 'utf8'));
      const disks = readDisks(expectSuccess(outcome, argv).stdout, { mounts, swaps });
      return { disks, systemPool: poolOfRoot(mounts) };
    });
  }

  async list(): Promise<readonly Disk[]> {
    const [{ disks: listed, systemPool }, pools, paths] = await Promise.all([
      this.#listed(),
      this.#pools(),
      stablePaths(),
    ]);
    const poolOf = new Map(
      pools.flatMap((pool) =>
        pool.groups.flatMap((group) => group.devices.map((device) => [device.disk, pool.name] as const)),
      ),
    );
    this.#forgetUnless(pools);
    const disks = listed.filter(
      ({ system, disk }) => !system && (systemPool === undefined || poolOf.get(disk.name) !== systemPool),
    );
    return Promise.all(
      disks.map(async (found) => {
        const { name } = found.disk;
        return Object.freeze({
          ...found.disk,
          usedBy: await this.#usedBy(found, poolOf.get(name), pools),
          path: paths.get(name) ?? `/dev/${name}`,
          can: readAbilities(await udevDatabase(name)),
        });
      }),
    );
  }

  /** The labels of pools that are not imported. */
  async labels(): Promise<readonly FoundLabel[]> {
    const [{ disks: listed }, pools] = await Promise.all([this.#listed(), this.#pools()]);
    this.#forgetUnless(pools);
    const used = new Set(
      pools.flatMap((pool) => pool.groups.flatMap((group) => group.devices.map((device) => device.disk))),
    );
    const free = listed.filter(({ disk, system, usedBy }) => !system && usedBy === undefined && !used.has(disk.name));
    const found = await Promise.all(
      free
        .flatMap(({ labelled }) => labelled)
        .map(async (device) => ({ device, label: await this.#labelOn(device, pools) })),
    );
    return found.flatMap(({ device, label }) => (label === undefined ? [] : [{ ...label, device }]));
  }

  async health(): Promise<readonly DiskHealth[]> {
    const asked = (await this.list()).filter(({ can }) => can.includes('smart'));
    const read = await Promise.all(
      asked.map(async ({ name }) => {
        const argv = [
          '--nocheck=standby',
          '--json',
          '--health',
          '--attributes',
          '--log=selftest',
          '--log=error',
          `/dev/${name}`,
        ];
        return readHealth(name, await this.#runner.run(['smartctl', ...argv]));
      }),
    );
    return read.filter((one) => one !== undefined);
  }

  async scramble(disk: string): Promise<void> {
    const usedBy = (await this.list()).find(({ name }) => name === disk)?.usedBy;
    if (!/^[a-z0-9-]+$/.test(disk) || usedBy !== undefined)
      throw new HostError(`cannot write to the disk ${disk}: ${usedBy ?? 'there is no such disk'}`);
    const argv = ['shred', '--iterations=1', `/dev/${disk}`];
    expectSuccess(await this.#runner.run(argv, { timeout: Number.POSITIVE_INFINITY }), argv);
  }

  async tune(disk: string, tuning: Tuning): Promise<void> {
    if (!/^[a-z0-9-]+$/.test(disk)) throw new HostError(`${disk} is not a disk`);
    const argv = hdparmArgv(tuning);
    if (argv.length > 0) await this.#tell(['hdparm', ...argv, `/dev/${disk}`], (status) => status === 0);
    const { smart } = tuning;
    // The higher bits report the disk's health, not whether it accepted the command.
    if (smart !== undefined)
      await this.#tell(
        ['smartctl', '-s', smart.on ? 'on' : 'off', ...(smart.on ? smart.options : []), `/dev/${disk}`],
        (status) => (status & 7) === 0,
      );
  }

  /** Discards the labels that were read when there were other pools. */
  #forgetUnless(pools: readonly Pool[]): void {
    const under = pools.map(({ name }) => name).join();
    if (under !== this.#labelsUnder) this.#known.clear();
    this.#labelsUnder = under;
  }

  async #tell(argv: readonly string[], content: (status: number) => boolean): Promise<void> {
    const outcome = await this.#runner.run(argv);
    // hdparm prints some refusals and still ends with the status 0.
    if (!content(outcome.status) || /failed:/.test(outcome.stderr))
      throw new HostError(messageOfProgram(outcome) || `${argv.join(' ')} ended with the status ${outcome.status}`);
  }

  async #usedBy(
    { usedBy, labelled }: FoundDisk,
    pool: string | undefined,
    pools: readonly Pool[],
  ): Promise<string | undefined> {
    if (pool !== undefined) return `it is part of the pool ${pool}`;
    if (usedBy !== undefined) return usedBy;
    // udev reports that there is a label, not whether its pool was destroyed.
    for (const device of labelled) {
      const label = await this.#labelOn(device, pools);
      if (label !== undefined) return `it is part of the exported pool ${label.pool}`;
    }
    return undefined;
  }

  /**
   * The label on a device of an exported pool. A device that was removed from an imported pool keeps that pool's label,
   * and is free. udev examines a device again after a program has written to it.
   */
  async #labelOn(device: string, pools: readonly Pool[]): Promise<Label | undefined> {
    const known = await udevDatabase(device);
    const before = this.#known.get(device);
    const isKnown = before?.known === known && known !== '';
    const read = isKnown ? before.label : this.#labelFrom(device);
    if (!isKnown) this.#known.set(device, { known, label: read });
    const label = await read;
    return pools.some(({ guid }) => guid === label?.guid) ? undefined : label;
  }

  async #labelFrom(device: string): Promise<Label | undefined> {
    try {
      return readLabel((await this.#runner.run(['zdb', '-l', `/dev/${device}`])).stdout);
    } catch (error) {
      this.#known.delete(device);
      throw error;
    }
  }
}

/** The record that udev made of a disk when it was plugged in. */
async function udevDatabase(disk: string): Promise<string> {
  const number = await readFile(`/sys/class/block/${disk}/dev`, 'utf8').catch(() => '');
  return readFile(`/run/udev/data/b${number.trim()}`, 'utf8').catch(() => '');
}
