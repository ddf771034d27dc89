import { readFile } from 'node:fs/promises';
import type { BootEnvironment, BootEnvironments } from '../ports/boot-environments.ts';
import { HostError } from '../ports/index.ts';
import type { Pool } from '../ports/zfs.ts';
import { expectSuccess, type Runner } from './runner.ts';

const columns = ['name', 'creation', 'used'];

/** The parent of the environments: `rpool/ROOT` for a machine that runs from `rpool/ROOT/default`. */
interface Location {
  readonly pool: string;
  readonly folder: string;
  readonly running: string;
  /** The root that the boot loader's own settings name, regardless of `bootfs`. */
  readonly fixed: string | undefined;
}

/**
 * Boot environments: the siblings of the file system that the machine runs from, each with the datasets below it. The
 * pool's `bootfs` names the one that boot loaders with ZFS support start. Each has the mount point `/`, and the boot
 * process mounts it.
 */
export class LinuxBootEnvironments implements BootEnvironments {
  readonly #runner: Runner;
  readonly #pools: () => Promise<readonly Pool[]>;

  constructor(options: { runner: Runner; pools: () => Promise<readonly Pool[]> }) {
    this.#runner = options.runner;
    this.#pools = options.pools;
  }

  async list(): Promise<readonly BootEnvironment[] | undefined> {
    const location = await locate();
    if (location === undefined) return undefined;
    const { pool, folder, running, fixed } = location;
    const [listed, bootfs] = await Promise.all([
      this.#run('zfs', 'list', '-Hp', '-d', '1', '-t', 'filesystem', '-o', columns.join(','), '-s', 'creation', folder),
      this.#run('zpool', 'get', '-Hp', '-o', 'value', 'bootfs', pool),
    ]);
    return readEnvironments(listed, { folder, running, booted: fixed ?? bootfs.trim() });
  }

  async pool(): Promise<Pool | undefined> {
    const location = await locate();
    return location && (await this.#pools()).find(({ name }) => name === location.pool);
  }

  async create(name: string, source: string): Promise<void> {
    const { folder } = await this.#location();
    const origin = `${folder}/${source}`;
    // Environments are renamed and pass snapshots on to one another, so only a time makes the snapshot's name unique.
    const moment = `${name}-${new Date().toISOString()}`;
    const made: string[] = [];
    await this.#run('zfs', 'snapshot', '-r', '--', `${origin}@${moment}`);
    try {
      for (const { dataset, settings } of readMountPoints(
        await this.#run('zfs', 'get', '-Hp', '-r', '-t', 'filesystem', '-o', 'name,value,source', 'mountpoint', origin),
      )) {
        const clone = `${folder}/${name}${dataset.slice(origin.length)}`;
        await this.#run('zfs', 'clone', ...settings, '--', `${dataset}@${moment}`, clone);
        made.unshift(clone);
      }
    } catch (error) {
      for (const clone of made) await this.#run('zfs', 'destroy', '--', clone);
      await this.#run('zfs', 'destroy', '-r', '--', `${origin}@${moment}`);
      throw error;
    }
  }

  async rename(name: string, to: string): Promise<void> {
    const { folder, fixed } = await this.#location();
    if (fixed === `${folder}/${name}`)
      throw new HostError(
        `the boot loader of this machine is configured to start ${name}, and would not find it under another name`,
      );
    // Without unmounting: the machine may run from it. `bootfs` follows.
    await this.#run('zfs', 'rename', '-u', '--', `${folder}/${name}`, `${folder}/${to}`);
  }

  async activate(name: string): Promise<void> {
    const { pool, folder, fixed } = await this.#location();
    if (fixed !== undefined && fixed !== `${folder}/${name}`) {
      throw new HostError(
        `the boot loader of this machine is configured to start ${fixed} and ignores the property bootfs; use a boot loader that reads it, such as ZFSBootMenu`,
      );
    }
    await this.#run('zpool', 'set', `bootfs=${folder}/${name}`, pool);
  }

  async destroy(name: string): Promise<void> {
    const { pool, folder, running, fixed } = await this.#location();
    const top = `${folder}/${name}`;
    const booted = fixed ?? (await this.#run('zpool', 'get', '-Hp', '-o', 'value', 'bootfs', pool)).trim();
    // ZFS destroys a file system that only `bootfs` names, and the machine would not start again.
    if (top === running) throw new HostError(`the machine runs from the boot environment ${name}`);
    if (top === booted) throw new HostError(`the machine starts from the boot environment ${name} next time`);
    const datasets = namesIn(await this.#run('zfs', 'list', '-Hp', '-r', '-t', 'filesystem', '-o', 'name', top));
    // Its clones take over the snapshots that they share with it.
    for (const dataset of datasets) await this.#giveSnapshots(dataset);
    const origins = namesIn(
      await this.#run('zfs', 'get', '-Hp', '-r', '-t', 'filesystem', '-o', 'value', 'origin', top),
    );
    await this.#run('zfs', 'destroy', '-r', '--', top);
    for (const origin of origins) {
      if (/^[^@]+@[^@,%]+$/.test(origin) && (await this.#isUnused(origin)))
        await this.#run('zfs', 'destroy', '--', origin);
    }
  }

  /** Promotes one clone of the newest snapshot that has any; the older snapshots move along with it. */
  async #giveSnapshots(dataset: string): Promise<void> {
    const listed = await this.#run(
      'zfs',
      'list',
      '-Hp',
      '-d',
      '1',
      '-t',
      'snapshot',
      '-o',
      'clones',
      '-S',
      'createtxg',
      dataset,
    );
    const clone = namesIn(listed)
      .find((names) => names !== '-')
      ?.split(',')[0];
    if (clone !== undefined) await this.#run('zfs', 'promote', clone);
  }

  async #isUnused(snapshot: string): Promise<boolean> {
    return namesIn(await this.#run('zfs', 'get', '-Hp', '-o', 'value', 'clones', snapshot)).every(
      (names) => names === '-',
    );
  }

  async #location(): Promise<Location> {
    const location = await locate();
    if (location === undefined)
      throw new HostError('this machine does not run from ZFS, so it has no boot environments');
    return location;
  }

  async #run(...argv: readonly string[]): Promise<string> {
    return expectSuccess(await this.#runner.run(argv), argv).stdout;
  }
}

async function locate(): Promise<Location | undefined> {
  const [mounts, commandLine] = await Promise.all([
    readFile('/proc/self/mounts', 'utf8'),
    readFile('/proc/cmdline', 'utf8'),
  ]);
  return readLocation(mounts, commandLine);
}

/**
 * From `/proc/self/mounts` and `/proc/cmdline`. The first writes a blank as `\040`, but names of boot environments have
 * none.
 */
export function readLocation(mounts: string, commandLine: string): Location | undefined {
  const [, running, folder, pool] = /^((([^/\s]+)\/\S+)\/[^/\s]+) \/ zfs /m.exec(mounts) ?? [];
  return running === undefined || folder === undefined || pool === undefined
    ? undefined
    : { pool, folder, running, fixed: readFixedRoot(commandLine) };
}

/**
 * GRUB (`BOOT_IMAGE=`) and systemd-boot (`initrd=`) pass the root from their own files to the kernel. A boot loader
 * that reads `bootfs` also passes a root, but neither of these parameters.
 */
function readFixedRoot(commandLine: string): string | undefined {
  return /(?:^|\s)(?:BOOT_IMAGE|initrd)=/.test(commandLine)
    ? /(?:^|\s)root=zfs[:=](?!AUTO\b)(\S+)/i.exec(commandLine)?.[1]
    : undefined;
}

/**
 * The settings of a clone of each dataset, from `zfs get -Hp -r -o name,value,source mountpoint`. The boot process
 * mounts it.
 */
export function readMountPoints(
  listed: string,
): readonly { readonly dataset: string; readonly settings: readonly string[] }[] {
  return namesIn(listed).map((line, index) => {
    const [dataset = '', value = '', source] = line.split('\t');
    const mountpoint = index === 0 ? '/' : source === 'local' || source === 'received' ? value : undefined;
    return {
      dataset,
      settings: ['-o', 'canmount=noauto', ...(mountpoint === undefined ? [] : ['-o', `mountpoint=${mountpoint}`])],
    };
  });
}

/** The lines of a program's output. */
function namesIn(printed: string): readonly string[] {
  return printed.split('\n').filter((line) => line !== '');
}

/** From `zfs list -Hp` with the columns above. */
export function readEnvironments(
  listed: string,
  { folder, running, booted }: { folder: string; running: string; booted: string },
): readonly BootEnvironment[] {
  const rows = listed.split('\n').map((line) => line.split('\t'));
  return Object.freeze(
    rows
      .filter(([name = '']) => name.startsWith(`${folder}/`))
      .map(([name = '', creation, used]) =>
        Object.freeze({
          name: name.slice(folder.length + 1),
          now: name === running,
          onReboot: name === booted,
          created: Number(creation),
          space: Number(used),
        }),
      ),
  );
}
