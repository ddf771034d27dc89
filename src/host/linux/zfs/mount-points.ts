import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expectSuccess, messageOfProgram } from '../runner.ts';
import type { Tree } from '../tree.ts';
import type { Programs } from './programs.ts';

/**
 * The folders that pools are mounted on. Each is immutable (chattr(1)), so that while its pool is locked or not imported
 * no program writes there in its place, and fills the file system of the root. A mounted pool hides the folder and its
 * flag, so the flag is set before the pool is mounted, and stays.
 */
export class MountPoints {
  readonly #programs: Programs;
  readonly #tree: Tree;

  constructor(programs: Programs, tree: Tree) {
    this.#programs = programs;
    this.#tree = tree;
  }

  /** Makes the folder of a mountpoint where it is missing, and protects it. Returns what takes that back. */
  async protect(path: string): Promise<() => Promise<void>> {
    if (!isOwnFolder(path)) return async () => {};
    const made = await this.#tree.makeFolder(path, { within: '/', links: 'followed', mode: 0o755 });
    const folder = await this.#tree.locate(path);
    if ((await isMountedOn(folder)) || (await this.#isProtected(folder))) return async () => {};
    await this.#change('+i', folder);
    return async () => {
      await this.#change('-i', folder);
      for (const one of made.toReversed()) await this.#tree.removeEmptyFolder(one);
    };
  }

  /** Removes the folder of a pool that is gone from the machine. */
  async remove(path: string): Promise<void> {
    if (!isOwnFolder(path) || (await this.#tree.kind(path)) !== 'folder') return;
    const folder = await this.#tree.locate(path);
    if (await isMountedOn(folder)) return;
    await this.#change('-i', folder);
    await this.#tree.removeEmptyFolder(path);
  }

  async #isProtected(folder: string): Promise<boolean> {
    const { status, stdout } = await this.#programs.run('lsattr', '-d', '--', folder);
    return status === 0 && /^\S*i/.test(stdout);
  }

  async #change(how: '+i' | '-i', folder: string): Promise<void> {
    const argv = ['chattr', how, '--', folder];
    const outcome = await this.#programs.run(...argv);
    // Some file systems have no such flags. Then the folder is as writable as it was without Holdfast.
    if (outcome.status !== 0 && !/not supported|Inappropriate ioctl/.test(messageOfProgram(outcome)))
      expectSuccess(outcome, argv);
  }
}

/** Whether a mountpoint is a folder of its own, and not `none`, `legacy` or the root. */
function isOwnFolder(mountpoint: string): boolean {
  return mountpoint.startsWith('/') && mountpoint !== '/';
}

/** Whether the folder is the root of a file system of its own. */
async function isMountedOn(folder: string): Promise<boolean> {
  const [own, above] = await Promise.all([stat(folder), stat(dirname(folder))]);
  return own.dev !== above.dev;
}
