import { readFile } from 'node:fs/promises';
import type { BootEnvironment, BootEnvironments } from '../ports/boot-environments.ts';
import { HostError } from '../ports/index.ts';
import { expectSuccess, type Runner } from './runner.ts';

const columns = ['name', 'creation', 'used'];

/** Where the environments lie: `rpool/ROOT` for a machine that runs from `rpool/ROOT/default`. */
interface Place {
  readonly pool: string;
  readonly folder: string;
  readonly running: string;
}

/**
 * Siblings of the file system that the machine runs from. The pool's `bootfs` names the one that is booted, as boot
 * loaders that know ZFS understand it; each has its mount point `/` and is mounted by whoever boots it.
 */
export class LinuxBootEnvironments implements BootEnvironments {
  readonly #runner: Runner;

  constructor({ runner }: { runner: Runner }) {
    this.#runner = runner;
  }

  async list(): Promise<readonly BootEnvironment[] | undefined> {
    const place = await placeOf();
    if (place === undefined) return undefined;
    const [listed, booted] = await Promise.all([
      this.#run('zfs', 'list', '-Hp', '-d', '1', '-t', 'filesystem', '-o', columns.join(','), '-s', 'creation', place.folder),
      this.#run('zpool', 'get', '-Hp', '-o', 'value', 'bootfs', place.pool),
    ]);
    return readEnvironments(listed, { folder: place.folder, running: place.running, booted: booted.trim() });
  }

  async create(name: string, source: string): Promise<void> {
    const { folder } = await this.#place();
    const snapshot = `${folder}/${source}@${name}`;
    await this.#run('zfs', 'snapshot', '--', snapshot);
    try {
      await this.#run('zfs', 'clone', '-o', 'canmount=noauto', '-o', 'mountpoint=/', '--', snapshot, `${folder}/${name}`);
    } catch (error) {
      await this.#run('zfs', 'destroy', '--', snapshot);
      throw error;
    }
  }

  async rename(name: string, to: string): Promise<void> {
    const { folder } = await this.#place();
    // Without unmounting: the machine may run from it.
    await this.#run('zfs', 'rename', '-u', '--', `${folder}/${name}`, `${folder}/${to}`);
  }

  async activate(name: string): Promise<void> {
    const { pool, folder } = await this.#place();
    await this.#run('zpool', 'set', `bootfs=${folder}/${name}`, pool);
  }

  async destroy(name: string): Promise<void> {
    const { folder } = await this.#place();
    const dataset = `${folder}/${name}`;
    // What was cloned from it takes over the snapshots that both need.
    for (const clone of await this.#clonesOf(dataset)) await this.#run('zfs', 'promote', '--', clone);
    const origin = (await this.#run('zfs', 'get', '-Hp', '-o', 'value', 'origin', dataset)).trim();
    await this.#run('zfs', 'destroy', '-r', '--', dataset);
    if (/^[^@]+@[^@,%]+$/.test(origin) && (await this.#clones(origin)).length === 0) await this.#run('zfs', 'destroy', '--', origin);
  }

  /** One clone of each snapshot that has any, the newest snapshot first: the promoted one takes the older ones along. */
  async #clonesOf(dataset: string): Promise<readonly string[]> {
    const snapshots = (await this.#run('zfs', 'list', '-Hp', '-d', '1', '-t', 'snapshot', '-o', 'name,clones', '-S', 'creation', dataset)).split('\n');
    const clones = snapshots.map((line) => line.split('\t')[1]?.split(',')[0] ?? '');
    return clones.filter((clone) => clone !== '' && clone !== '-').slice(0, 1);
  }

  async #clones(snapshot: string): Promise<readonly string[]> {
    const clones = (await this.#run('zfs', 'get', '-Hp', '-o', 'value', 'clones', snapshot)).trim();
    return clones === '' || clones === '-' ? [] : clones.split(',');
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
  return readPlace(await readFile('/proc/self/mounts', 'utf8'));
}

/** From `/proc/self/mounts`, which writes a blank as `\040`; no name of a boot environment has one. */
export function readPlace(mounts: string): Place | undefined {
  const [, running, folder, pool] = /^((([^/\s]+)\/\S+)\/[^/\s]+) \/ zfs /m.exec(mounts) ?? [];
  return running === undefined || folder === undefined || pool === undefined ? undefined : { pool, folder, running };
}

/** From `zfs list -Hp` with the columns above. */
export function readEnvironments(listed: string, { folder, running, booted }: { folder: string; running: string; booted: string }): readonly BootEnvironment[] {
  const rows = listed.split('\n').map((line) => line.split('\t'));
  return Object.freeze(
    rows
      .filter(([name = '']) => name.startsWith(`${folder}/`))
      .map(([name = '', creation, used]) =>
        Object.freeze({ name: name.slice(folder.length + 1), now: name === running, onReboot: name === booted, created: Number(creation), space: Number(used) }),
      ),
  );
}
