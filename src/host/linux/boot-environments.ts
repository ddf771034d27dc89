import { readFile } from 'node:fs/promises';
import type { BootEnvironment, BootEnvironments } from '../ports/boot-environments.ts';
import { HostError } from '../ports/index.ts';
import type { Pool } from '../ports/zfs.ts';
import { expectSuccess, type Runner } from './runner.ts';

const columns = ['name', 'creation', 'used'];

/** Where the environments lie: `rpool/ROOT` for a machine that runs from `rpool/ROOT/default`. */
interface Place {
  readonly pool: string;
  readonly folder: string;
  readonly running: string;
  /** What the boot loader's own settings name as the root, whatever `bootfs` says. */
  readonly fixed: string | undefined;
}

/**
 * Siblings of the file system that the machine runs from. The pool's `bootfs` names the one that is booted, as boot
 * loaders that know ZFS understand it; each has its mount point `/` and is mounted by whoever boots it. What lies below
 * one belongs to it.
 */
export class LinuxBootEnvironments implements BootEnvironments {
  readonly #runner: Runner;
  readonly #pools: () => Promise<readonly Pool[]>;

  constructor(options: { runner: Runner; pools: () => Promise<readonly Pool[]> }) {
    this.#runner = options.runner;
    this.#pools = options.pools;
  }

  async list(): Promise<readonly BootEnvironment[] | undefined> {
    const place = await placeOf();
    if (place === undefined) return undefined;
    const { pool, folder, running, fixed } = place;
    const [listed, bootfs] = await Promise.all([
      this.#run('zfs', 'list', '-Hp', '-d', '1', '-t', 'filesystem', '-o', columns.join(','), '-s', 'creation', folder),
      this.#run('zpool', 'get', '-Hp', '-o', 'value', 'bootfs', pool),
    ]);
    return readEnvironments(listed, { folder, running, booted: fixed ?? bootfs.trim() });
  }

  async pool(): Promise<Pool | undefined> {
    const place = await placeOf();
    return place && (await this.#pools()).find(({ name }) => name === place.pool);
  }

  async create(name: string, source: string): Promise<void> {
    const { folder } = await this.#place();
    const origin = `${folder}/${source}`;
    // Environments are renamed and give their snapshots to one another: only the moment makes a name that no other has.
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
    const { folder, fixed } = await this.#place();
    if (fixed === `${folder}/${name}`)
      throw new HostError(
        `the boot loader of this machine names ${name} itself and would not find it under another name`,
      );
    // Without unmounting: the machine may run from it. `bootfs` follows.
    await this.#run('zfs', 'rename', '-u', '--', `${folder}/${name}`, `${folder}/${to}`);
  }

  async activate(name: string): Promise<void> {
    const { pool, folder, fixed } = await this.#place();
    if (fixed !== undefined && fixed !== `${folder}/${name}`) {
      throw new HostError(
        `the boot loader of this machine names ${fixed} itself, whatever is chosen here; one that goes by the property bootfs is needed, as ZFSBootMenu`,
      );
    }
    await this.#run('zpool', 'set', `bootfs=${folder}/${name}`, pool);
  }

  async destroy(name: string): Promise<void> {
    const { folder } = await this.#place();
    const top = `${folder}/${name}`;
    const datasets = namesIn(await this.#run('zfs', 'list', '-Hp', '-r', '-t', 'filesystem', '-o', 'name', top));
    // What was cloned from it takes over the snapshots that both need.
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

  /** One clone of the newest snapshot that has any is promoted, and takes the older ones along. */
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

  async #place(): Promise<Place> {
    const place = await placeOf();
    if (place === undefined) throw new HostError('this machine does not run from ZFS, so it has no boot environments');
    return place;
  }

  async #run(...words: readonly string[]): Promise<string> {
    return expectSuccess(await this.#runner.run(words), words).stdout;
  }
}

async function placeOf(): Promise<Place | undefined> {
  const [mounts, words] = await Promise.all([readFile('/proc/self/mounts', 'utf8'), readFile('/proc/cmdline', 'utf8')]);
  return readPlace(mounts, words);
}

/** From `/proc/self/mounts`, which writes a blank as `\040`; no name of a boot environment has one. And `/proc/cmdline`. */
export function readPlace(mounts: string, words: string): Place | undefined {
  const [, running, folder, pool] = /^((([^/\s]+)\/\S+)\/[^/\s]+) \/ zfs /m.exec(mounts) ?? [];
  return running === undefined || folder === undefined || pool === undefined
    ? undefined
    : { pool, folder, running, fixed: readFixedRoot(words) };
}

/**
 * GRUB (`BOOT_IMAGE=`) and systemd-boot (`initrd=`) give the kernel the root that their files had. One that goes by
 * `bootfs` names a root as well, but says neither of these words.
 */
function readFixedRoot(words: string): string | undefined {
  return /(?:^|\s)(?:BOOT_IMAGE|initrd)=/.test(words)
    ? /(?:^|\s)root=zfs[:=](?!AUTO\b)(\S+)/i.exec(words)?.[1]
    : undefined;
}

/** From `zfs get -Hp -r -o name,value,source mountpoint`: what a clone of each is to have. Whoever boots it mounts it. */
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

/** The lines of what a program printed. */
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
