import { constants, type Stats } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  open,
  opendir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { isWithin, lastElement, normalPath, parentOf } from '../../lib/path.ts';
import {
  type Encoding,
  type EntriesOptions,
  type Exposure,
  type ExposureOptions,
  entryOf,
  type FileOptions,
  type Files,
  type FolderEntry,
  isExposed,
  isListed,
  type Permissions,
  type RestoreOptions,
  tooMany,
  type Within,
} from '../ports/files.ts';
import { HostError } from '../ports/index.ts';
import { copyFileOrLink } from './copy.ts';
import { codeOf, hostError, isAbsence } from './failure.ts';
import { give, type PermissionOrder, permissionsWord } from './permissions.ts';
import { readPrivateFile, removePrivateFile, writePrivateFile } from './private-files.ts';
import { type RestoreOrder, restoreWord } from './restore.ts';
import { endedBySignal, expectSuccess, helperEntry, type Runner, type RunOptions } from './runner.ts';
import { type Border, byHandle, walk } from './walk.ts';

const mostLinks = 40;

const machineRoot = { uid: 0, gid: 0 };

/** Where checkers find files that are not yet installed. Only root may read it: some files hold secrets. */
const stagedFolder = '/run/holdfast/staged';

/** The machine's files, below a root that is `/` except in tests. */
export class Tree implements Files {
  readonly root: string;
  readonly #runner: Runner;
  readonly #staged: string;
  readonly #writing = new Map<string, Promise<void>>();
  #stagedReady: Promise<void> | undefined;
  #count = 0;

  constructor(options: { root: string; runner: Runner }) {
    this.root = normalPath(options.root);
    this.#runner = options.runner;
    this.#staged = join(this.root, stagedFolder);
  }

  async read(path: string, { encoding = 'utf8' }: { readonly encoding?: Encoding } = {}): Promise<string | undefined> {
    try {
      return await readFile(await this.locate(path), encoding);
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw hostError(`cannot read ${path}`, error);
    }
  }

  async beginning(path: string): Promise<readonly string[]> {
    const folder = parentOf(path);
    const name = lastElement(path);
    try {
      const entries = await readdir(await this.locate(folder), { withFileTypes: true });
      return entries
        .filter((entry) => !entry.isDirectory() && entry.name.startsWith(name))
        .map((entry) => `${folder}/${entry.name}`)
        .sort();
    } catch (error) {
      if (isAbsence(error)) return [];
      throw hostError(`cannot list ${path}*`, error);
    }
  }

  async entries(path: string, { within, foldersOnly, most }: EntriesOptions): Promise<readonly FolderEntry[]> {
    const what = `cannot list ${path}`;
    const parts = partsBelow(path, within, what);
    try {
      const { end, stats, close } = await walk(await this.#border(within), parts);
      try {
        if (!stats.isDirectory()) throw new HostError(`${parts.at(-1) ?? path} is not a folder`);
        const names: string[] = [];
        // Read piece by piece, so that a folder of millions of files is not held in memory to find its few folders.
        for await (const entry of await opendir(byHandle(end.fd))) {
          if (!isListed(entry.name) || (foldersOnly && !entry.isDirectory())) continue;
          if (names.length === most) throw new HostError(tooMany(most));
          names.push(entry.name);
        }
        const found: FolderEntry[] = [];
        for (const name of names.sort()) {
          const status = await lookIn(byHandle(end.fd, name));
          // It can be removed or replaced while the folder is read.
          if (status !== undefined && (!foldersOnly || status.isDirectory())) found.push(entryOf(name, status));
        }
        return found;
      } finally {
        await close();
      }
    } catch (error) {
      throw hostError(what, error);
    }
  }

  async write(path: string, content: string, options: FileOptions = {}): Promise<void> {
    try {
      const location = await this.locate(path, { follow: false });
      const earlier = this.#writing.get(location) ?? Promise.resolve();
      const writing = earlier.then(() =>
        replaceFile(location, Buffer.from(content, options.encoding), options.mode ?? 0o644),
      );
      const settled = writing.catch(() => {});
      this.#writing.set(location, settled);
      await writing.finally(() => {
        if (this.#writing.get(location) === settled) this.#writing.delete(location);
      });
    } catch (error) {
      throw hostError(`cannot write ${path}`, error);
    }
  }

  async remove(path: string): Promise<void> {
    try {
      await unlink(await this.locate(path, { follow: false }));
    } catch (error) {
      if (!isAbsence(error)) throw hostError(`cannot remove ${path}`, error);
    }
  }

  async copy(path: string, to: string, { isPrivate }: { readonly isPrivate: boolean }): Promise<boolean> {
    try {
      return await copyFileOrLink(
        await this.locate(path, { follow: false }),
        await this.locate(to, { follow: false }),
        isPrivate ? 0o700 : 0o755,
      );
    } catch (error) {
      throw hostError(`cannot copy ${path} to ${to}`, error);
    }
  }

  async restore(path: string, to: string, { within, replaces, signal, told }: RestoreOptions): Promise<void> {
    const what = `cannot restore ${path} to ${to}`;
    const [from, target] = [partsBelow(path, within, what), partsBelow(to, within, what)];
    const argv = [process.execPath, helperEntry(), restoreWord];
    const run = async (clears: boolean, options: RunOptions) => {
      const order: RestoreOrder = { border: await this.#border(within), from, to: target, replaces, clears };
      const limits = { input: JSON.stringify(order), timeout: Number.POSITIVE_INFINITY };
      return await this.#runner.run(argv, { ...options, ...limits });
    };
    try {
      const outcome = await run(false, {
        heard: (line) => told?.(Number(line)),
        ...(signal === undefined ? {} : { signal }),
      });
      if (outcome.status === endedBySignal) {
        await run(true, {});
        throw new HostError('aborted');
      }
      expectSuccess(outcome, argv);
    } catch (error) {
      throw hostError(what, error);
    }
  }

  async stage(path: string, content: string, encoding: Encoding = 'utf8'): Promise<string> {
    try {
      this.#stagedReady ??= this.#prepareStaged();
      await this.#stagedReady;
      this.#count += 1;
      const staged = join(this.#staged, `${this.#count}-${lastElement(path).slice(-100)}`);
      await writeFile(staged, content, { mode: 0o600, flag: 'wx', encoding });
      return staged;
    } catch (error) {
      this.#stagedReady = undefined;
      throw hostError(`cannot stage ${path}`, error);
    }
  }

  async discard(staged: string): Promise<void> {
    const location = normalPath(staged);
    if (location === this.#staged || !isWithin(location, this.#staged))
      throw new HostError(`${staged} is not a staged file`);
    try {
      await rm(location, { force: true });
    } catch (error) {
      throw hostError(`cannot discard ${staged}`, error);
    }
  }

  async makeFolder(path: string, options: Within & { readonly mode: number }): Promise<readonly string[]> {
    const parts = partsBelow(path, options.within, `cannot make ${path}`);
    try {
      const { made, close } = await walk(await this.#border(options.within), parts, {
        make: options.mode,
        links: options.links,
      });
      await close();
      return parts
        .slice(parts.length - made)
        .map((_, index) => join(normalPath(options.within), ...parts.slice(0, parts.length - made + index + 1)));
    } catch (error) {
      throw hostError(`cannot make ${path} below ${options.within}`, error);
    }
  }

  async makeFile(path: string, { within, size, mode }: { within: string; size: number; mode: number }): Promise<void> {
    const what = `cannot make ${path} within ${within}`;
    const parts = partsBelow(path, within, what);
    try {
      const { end, close } = await walk(await this.#border(within), parts.slice(0, -1));
      try {
        const location = byHandle(end.fd, parts.at(-1));
        const file = await open(
          location,
          constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
          0o600,
        );
        try {
          await file.truncate(size);
          await file.chmod(mode);
        } catch (error) {
          await unlink(location);
          throw error;
        } finally {
          await file.close();
        }
      } finally {
        await close();
      }
    } catch (error) {
      throw hostError(what, error);
    }
  }

  async resizeFile(path: string, { within, from, to }: { within: string; from: number; to: number }): Promise<void> {
    const what = `cannot resize ${path} within ${within}`;
    const parts = partsBelow(path, within, what);
    try {
      const { end, close } = await walk(await this.#border(within), parts);
      try {
        const file = await open(byHandle(end.fd), constants.O_WRONLY);
        try {
          const { size } = await file.stat();
          if (size !== from) throw new HostError(`it has ${size} bytes, not ${from}`);
          await file.truncate(to);
        } finally {
          await file.close();
        }
      } finally {
        await close();
      }
    } catch (error) {
      throw hostError(what, error);
    }
  }

  async size(path: string): Promise<number | undefined> {
    try {
      const found = await stat(await this.locate(path));
      return found.isFile() ? found.size : undefined;
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw hostError(`cannot look at ${path}`, error);
    }
  }

  async removeEmptyFolder(path: string, options?: Within): Promise<void> {
    try {
      if (options !== undefined) await this.#removeBelow(path, options);
      else await rmdir(await this.locate(path, { follow: false }));
    } catch (error) {
      const code = codeOf(error);
      if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST')
        throw hostError(`cannot remove ${path}`, error);
    }
  }

  async #removeBelow(path: string, { within, links }: Within): Promise<void> {
    const parts = partsBelow(path, within, `cannot remove ${path}`);
    if ((await this.kind(parentOf(path))) === undefined) return;
    const { end, close } = await walk(await this.#border(within), parts.slice(0, -1), { links });
    try {
      await rmdir(byHandle(end.fd, parts.at(-1)));
    } finally {
      await close();
    }
  }

  async setPermissions(path: string, permissions: Permissions): Promise<void> {
    const { within, recursive, told, ...given } = permissions;
    const what = `cannot set the permissions of ${path} within ${within}`;
    const parts = partsBelow(path, within, what);
    try {
      const border = await this.#border(within);
      if (recursive) {
        const argv = [process.execPath, helperEntry(), permissionsWord];
        const order: PermissionOrder = { border, parts, given };
        const onLine = (line: string) => told?.(Number(line));
        expectSuccess(
          await this.#runner.run(argv, {
            input: JSON.stringify(order),
            timeout: Number.POSITIVE_INFINITY,
            heard: onLine,
          }),
          argv,
        );
        return;
      }
      const { end, stats, close } = await walk(border, parts);
      try {
        await give(end.fd, stats, given);
      } finally {
        await close();
      }
    } catch (error) {
      throw hostError(what, error);
    }
  }

  async readPrivate(path: string, { within }: { within: string }): Promise<string | undefined> {
    const parts = partsBelow(path, within, `cannot read ${path}`);
    try {
      return await readPrivateFile(await this.#border(within), parts);
    } catch (error) {
      throw hostError(`cannot read ${path}`, error);
    }
  }

  async writePrivate(
    path: string,
    content: string | undefined,
    { within, uid, gid }: { within: string; uid: number; gid: number },
  ): Promise<void> {
    const what = `cannot ${content === undefined ? 'remove' : 'write'} ${path}`;
    const parts = partsBelow(path, within, what);
    try {
      const border = await this.#border(within);
      if (content === undefined) await removePrivateFile(border, parts);
      else await writePrivateFile(border, parts, content, { uid, gid });
    } catch (error) {
      throw hostError(what, error);
    }
  }

  async kind(path: string): Promise<'file' | 'folder' | 'other' | undefined> {
    try {
      const found = await stat(await this.locate(path));
      if (found.isFile()) return 'file';
      return found.isDirectory() ? 'folder' : 'other';
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw hostError(`cannot look at ${path}`, error);
    }
  }

  async mode(path: string): Promise<number | undefined> {
    try {
      return (await stat(await this.locate(path))).mode & 0o7777;
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw hostError(`cannot look at ${path}`, error);
    }
  }

  async exposure(path: string, { within, itself = false }: ExposureOptions): Promise<Exposure | undefined> {
    const parts = partsBelow(path, within, `cannot look at ${path}`);
    try {
      let location = (await this.#border(within)).path;
      let at = normalPath(within);
      for (const part of parts) {
        if (isExposed(await lstat(location), machineRoot)) return { at, kind: 'writable' };
        location = join(location, part);
        at = join(at, part);
        if ((await lstat(location)).isSymbolicLink()) return { at, kind: 'link' };
      }
      return itself && isExposed(await lstat(location), machineRoot) ? { at, kind: 'writable' } : undefined;
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw hostError(`cannot look at ${path}`, error);
    }
  }

  /**
   * The path of the machine's `path` for this process. Below a root other than `/`, links are resolved as on the
   * machine itself, so that neither they nor `..` lead out of the root.
   */
  async locate(path: string, options: { follow: boolean } = { follow: true }): Promise<string> {
    if (!path.startsWith('/') || path.includes('\0'))
      throw new HostError(`${JSON.stringify(path)} is not an absolute path`);
    if (this.root === '/') return path;
    const ahead = path.split('/').reverse();
    let at: string[] = [];
    let links = 0;
    for (let part = ahead.pop(); part !== undefined; part = ahead.pop()) {
      if (part === '' || part === '.') continue;
      if (part === '..') {
        at.pop();
        continue;
      }
      const here = join(this.root, ...at, part);
      const last = ahead.every((name) => name === '');
      if ((last && !options.follow) || !(await isLink(here))) {
        at.push(part);
        continue;
      }
      links += 1;
      if (links > mostLinks) throw new HostError(`${path}: too many symbolic links encountered`);
      const target = await readlink(here);
      if (target.startsWith('/')) at = [];
      ahead.push(...target.split('/').reverse());
    }
    return join(this.root, ...at);
  }

  async #border(within: string): Promise<Border> {
    const location = await realpath(await this.locate(within));
    return { path: location, names: [...new Set([normalPath(within), `/${relative(this.root, location)}`])] };
  }

  /** Removes the files that a killed process left there. */
  async #prepareStaged(): Promise<void> {
    await rm(this.#staged, { recursive: true, force: true });
    await mkdir(this.#staged, { recursive: true });
    await chmod(this.#staged, 0o700);
  }
}

function partsBelow(path: string, within: string, what: string): readonly string[] {
  const wanted = normalPath(path);
  const border = normalPath(within);
  if (!isWithin(wanted, border)) throw new HostError(`${what}: it is not below ${within}`);
  return wanted
    .slice(border.length)
    .split('/')
    .filter((part) => part !== '');
}

/** The status of a path without following a link, or undefined when nothing is there. */
async function lookIn(location: string): Promise<Stats | undefined> {
  try {
    return await lstat(location);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

async function isLink(location: string): Promise<boolean> {
  try {
    return (await lstat(location)).isSymbolicLink();
  } catch (error) {
    if (isAbsence(error)) return false;
    throw error;
  }
}

/**
 * Replaces the file at `location` by `content` in one step, and makes the folders above it. A failure leaves nothing
 * behind.
 */
async function replaceFile(location: string, content: Buffer, mode: number): Promise<void> {
  const made = await mkdir(dirname(location), { recursive: true });
  // The daemon's umask closes new folders, but other programs must be able to reach the file.
  if (made !== undefined && (mode & 0o004) !== 0)
    for (let at = dirname(location); isWithin(at, made); at = dirname(at)) await chmod(at, 0o755);
  // A name that programs which read whole folders ignore: cron, sudo, Samba and proftpd skip it.
  const aside = join(dirname(location), `.${lastElement(location)}.holdfast`);
  try {
    await rm(aside, { force: true });
    const file = await open(
      aside,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    try {
      await file.writeFile(content);
      await file.chmod(mode);
      // Without the sync, a power cut after the rename could leave an empty file under the final name.
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, location);
  } catch (error) {
    await rm(aside, { force: true }).catch(() => {});
    if (made !== undefined) await removeUpTo(dirname(location), made);
    throw error;
  }
}

async function removeUpTo(folder: string, top: string): Promise<void> {
  for (let at = folder; isWithin(at, top); at = dirname(at)) await rmdir(at);
}
