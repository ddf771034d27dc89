import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
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
import { snapshotsFolder } from '../ports/zfs.ts';
import { copyEntry } from './sparse.ts';
import { codeOf, hostError, replaceFile } from './state.ts';
import { lookAt, type Tree, withParents } from './tree.ts';

/**
 * Real files in a private folder. File system calls are synchronous, because each is shorter than a turn of the event
 * loop.
 */
export class VirtualFiles implements Files {
  readonly #whole: Tree;
  readonly #mount: () => void;
  readonly #staged: string;
  readonly #isMounted: (path: string) => boolean;
  readonly #inSnapshot: (path: string) => string | undefined;
  readonly #writeProblem: (path: string, more: number) => string | undefined;
  #count = 0;

  constructor(
    tree: Tree,
    options: {
      staged: string;
      /** Puts the files of datasets where they are mounted, which the first use of the files waits for. */
      mount: () => void;
      isMounted: (path: string) => boolean;
      inSnapshot: (path: string) => string | undefined;
      writeProblem: (path: string, more: number) => string | undefined;
    },
  ) {
    this.#whole = tree;
    this.#mount = options.mount;
    this.#staged = options.staged;
    this.#isMounted = options.isMounted;
    this.#inSnapshot = options.inSnapshot;
    this.#writeProblem = options.writeProblem;
    // Removes staged files that a killed process left behind.
    mkdirSync(this.#staged, { recursive: true });
    for (const name of readdirSync(this.#staged)) rmSync(join(this.#staged, name), { recursive: true, force: true });
  }

  get #tree(): Tree {
    this.#mount();
    return this.#whole;
  }

  async read(path: string, { encoding = 'utf8' }: { readonly encoding?: Encoding } = {}): Promise<string | undefined> {
    try {
      return readFileSync(this.#tree.locate(path), encoding);
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw hostError(`cannot read ${path}`, error);
    }
  }

  async beginning(path: string): Promise<readonly string[]> {
    const folder = parentOf(path);
    const name = lastElement(path);
    try {
      const entries = readdirSync(this.#tree.locate(folder), { withFileTypes: true });
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
    try {
      const location = this.#locationWithin(path, { within }, { follow: true });
      const folder = lookAt(location);
      if (folder === undefined) throw new HostError(`there is no ${lastElement(normalPath(path))}`);
      if (!folder.isDirectory()) throw new HostError(`${lastElement(normalPath(path))} is not a folder`);
      const entries = readdirSync(location, { withFileTypes: true }).filter(
        (entry) => isListed(entry.name) && (!foldersOnly || entry.isDirectory()),
      );
      if (entries.length > most) throw new HostError(tooMany(most));
      return entries
        .map(({ name }) => name)
        .sort()
        .flatMap((name) => {
          const found = lookAt(join(location, name));
          return found === undefined ? [] : [entryOf(name, found)];
        });
    } catch (error) {
      throw hostError(`cannot list ${path}`, error);
    }
  }

  async write(path: string, content: string, options: FileOptions = {}): Promise<void> {
    try {
      const location = this.#tree.locate(path, { follow: false });
      const bytes = Buffer.from(content, options.encoding);
      if (location === this.#tree.root) throw new HostError('illegal operation on a directory');
      this.#mayWrite(location, bytes.length);
      // The folder almost always exists, so it is created only after a failure.
      try {
        replaceFile(location, this.#aside(path), bytes, options.mode ?? 0o644);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error;
        withParents(location, () => replaceFile(location, this.#aside(path), bytes, options.mode ?? 0o644));
      }
    } catch (error) {
      throw hostError(`cannot write ${path}`, error);
    }
  }

  async remove(path: string): Promise<void> {
    try {
      const location = this.#tree.locate(path, { follow: false });
      if (lookAt(location) !== undefined) this.#mayWrite(location);
      unlinkSync(location);
    } catch (error) {
      if (!isAbsence(error)) throw hostError(`cannot remove ${path}`, error);
    }
  }

  async copy(path: string, to: string, { isPrivate }: { readonly isPrivate: boolean }): Promise<boolean> {
    try {
      const [from, location] = [this.#tree.locate(path, { follow: false }), this.#tree.locate(to, { follow: false })];
      const found = lookAt(from);
      if (found === undefined) return false;
      if (!found.isFile() && !found.isSymbolicLink()) throw new HostError('it is neither a file nor a link');
      this.#mayWrite(location, found.size);
      mkdirSync(dirname(location), { recursive: true, mode: isPrivate ? 0o700 : 0o755 });
      const aside = this.#aside(to);
      if (found.isSymbolicLink()) symlinkSync(readlinkSync(from), aside);
      else {
        copyFileSync(from, aside);
        chmodSync(aside, found.mode & 0o7777);
        utimesSync(aside, found.atime, found.mtime);
      }
      renameSync(aside, location);
      return true;
    } catch (error) {
      throw hostError(`cannot copy ${path} to ${to}`, error);
    }
  }

  async restore(path: string, to: string, { within, replaces, told }: RestoreOptions): Promise<void> {
    const aside = this.#aside(to);
    try {
      const from = this.#locationWithin(path, { within }, { follow: false });
      const location = this.#locationWithin(to, { within }, { follow: false });
      const found = lookAt(from);
      if (found === undefined) throw new HostError(`there is no ${lastElement(path)}`);
      if (!replaces && lookAt(location) !== undefined) throw new HostError(`${lastElement(to)} exists`);
      if (!lookAt(dirname(location))?.isDirectory())
        throw new HostError(`there is no ${lastElement(dirname(location))}`);
      this.#mayWrite(location, found.isFile() ? found.size : 0);
      await copyEntry(from, aside);
      // The copy let other requests run, and the rest does not.
      const before = lookAt(location);
      if (!replaces && before !== undefined) throw new HostError(`${lastElement(to)} exists`);
      const former = `${aside}.former`;
      if (before !== undefined) renameSync(location, former);
      try {
        renameSync(aside, location);
      } catch (error) {
        if (before !== undefined) renameSync(former, location);
        throw error;
      }
      rmSync(former, { recursive: true, force: true });
      told?.(1);
    } catch (error) {
      rmSync(aside, { recursive: true, force: true });
      throw hostError(`cannot restore ${path} to ${to}`, error);
    }
  }

  async stage(path: string, content: string, encoding: Encoding = 'utf8'): Promise<string> {
    const staged = this.#aside(path);
    try {
      writeFileSync(staged, content, { mode: 0o600, encoding });
    } catch (error) {
      rmSync(staged, { force: true });
      throw hostError(`cannot stage ${path}`, error);
    }
    return staged;
  }

  async discard(staged: string): Promise<void> {
    if (!isWithin(normalPath(staged), this.#staged)) throw new HostError(`${staged} is not a staged file`);
    try {
      rmSync(staged, { force: true });
    } catch (error) {
      throw hostError(`cannot discard ${staged}`, error);
    }
  }

  async makeFolder(path: string, options: Within & { readonly mode: number }): Promise<readonly string[]> {
    const target = normalPath(path);
    const within = normalPath(options.within);
    if (!isWithin(target, within)) throw new HostError(`cannot make ${path}: it is not below ${options.within}`);
    const border = this.#tree.locate(within);
    if (!lookAt(border)?.isDirectory())
      throw new HostError(`cannot make ${path}: there is no folder ${options.within}`);
    const made: { name: string; location: string }[] = [];
    let name = within;
    let location = border;
    try {
      for (const part of target.slice(within.length).split('/')) {
        if (part === '') continue;
        name = name === '/' ? `/${part}` : `${name}/${part}`;
        location = join(location, part);
        let found = lookAt(location);
        if (found?.isSymbolicLink()) {
          if (options.links !== 'followed') throw new HostError(`${name} is a link`);
          location = this.#tree.locate(name);
          found = lookAt(location);
          if (!isWithin(location, border)) throw new HostError(`${name} is a link that leads out of ${options.within}`);
          if (found === undefined) throw new HostError(`${name} is a link that leads nowhere`);
        }
        if (found?.isDirectory()) continue;
        if (found !== undefined) throw new HostError(`${name} is not a folder`);
        this.#mayWrite(location);
        mkdirSync(location);
        made.push({ name, location });
        chmodSync(location, forFolder(options.mode));
      }
    } catch (error) {
      for (const { location } of made.reverse()) rmdirSync(location);
      throw hostError(`cannot make ${path}`, error);
    }
    return made.map((folder) => folder.name);
  }

  async makeFile(path: string, { within, size, mode }: { within: string; size: number; mode: number }): Promise<void> {
    try {
      const location = this.#locationWithin(path, { within }, { follow: false });
      this.#mayWrite(location);
      writeFileSync(location, '', { flag: 'wx', mode });
      try {
        truncateSync(location, size);
        chmodSync(location, mode | 0o600);
      } catch (error) {
        unlinkSync(location);
        throw error;
      }
    } catch (error) {
      throw hostError(`cannot make ${path}`, error);
    }
  }

  async resizeFile(path: string, { within, from, to }: { within: string; from: number; to: number }): Promise<void> {
    try {
      const location = this.#locationWithin(path, { within }, { follow: true });
      const bytes = lookAt(location)?.size;
      if (bytes !== from) throw new HostError(`it has ${bytes ?? 'no'} bytes, not ${from}`);
      this.#mayWrite(location);
      truncateSync(location, to);
    } catch (error) {
      throw hostError(`cannot resize ${path}`, error);
    }
  }

  async size(path: string): Promise<number | undefined> {
    try {
      const found = lookAt(this.#tree.locate(path));
      return found?.isFile() ? found.size : undefined;
    } catch (error) {
      throw hostError(`cannot look at ${path}`, error);
    }
  }

  async removeEmptyFolder(path: string, options?: Within): Promise<void> {
    try {
      const location =
        options === undefined
          ? this.#tree.locate(path, { follow: false })
          : this.#locationWithin(path, options, { follow: false });
      if (lookAt(location) === undefined) return;
      if (this.#isMounted(this.#tree.nameOf(location))) throw new HostError('resource busy or locked');
      this.#mayWrite(location);
      rmdirSync(location);
    } catch (error) {
      if (codeOf(error) !== 'ENOTEMPTY') throw hostError(`cannot remove ${path}`, error);
    }
  }

  /** Sets permission bits only: changing owners requires root privileges, which this process does not need. */
  async setPermissions(path: string, { within, folderMode, fileMode, recursive, told }: Permissions): Promise<void> {
    try {
      const location = this.#locationWithin(path, { within }, { follow: true });
      const found = lookAt(location);
      if (found === undefined) throw new HostError('no such file or directory');
      this.#mayWrite(location);
      const folders = found.isDirectory() ? [location] : [];
      const files = found.isFile() ? [location] : [];
      // The list grows during this loop.
      if (recursive) for (const folder of folders) this.#collect(folder, folders, files);
      if (folderMode !== undefined) for (const folder of folders) chmodSync(folder, forFolder(folderMode));
      if (fileMode !== undefined) for (const file of files) chmodSync(file, fileMode | 0o600);
      if (recursive) told?.(folders.length + files.length);
    } catch (error) {
      throw hostError(`cannot set the permissions of ${path}`, error);
    }
  }

  /** Collects the content of a folder, without links and mounted datasets. */
  #collect(folder: string, folders: string[], files: string[]): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const location = join(folder, entry.name);
      if (entry.isFile()) files.push(location);
      else if (entry.isDirectory() && !this.#isMounted(this.#tree.nameOf(location))) folders.push(location);
    }
  }

  async readPrivate(path: string, { within }: { within: string }): Promise<string | undefined> {
    try {
      const { location } = this.#withoutLinks(path, within);
      return lookAt(location) === undefined ? undefined : readFileSync(location, 'utf8');
    } catch (error) {
      throw hostError(`cannot read ${path}`, error);
    }
  }

  async writePrivate(
    path: string,
    content: string | undefined,
    { within }: { within: string; uid: number; gid: number },
  ): Promise<void> {
    try {
      const { folder, location } = this.#withoutLinks(path, within);
      this.#mayWrite(location, content?.length);
      if (content === undefined) {
        rmSync(location, { force: true });
        if (lookAt(folder) !== undefined && readdirSync(folder).length === 0) rmdirSync(folder);
        return;
      }
      const made = lookAt(folder) === undefined;
      if (made) mkdirSync(folder, 0o700);
      try {
        chmodSync(folder, 0o700);
        replaceFile(location, this.#aside(path), content, 0o600);
      } catch (error) {
        if (made) rmdirSync(folder);
        throw error;
      }
    } catch (error) {
      throw hostError(`cannot ${content === undefined ? 'remove' : 'write'} ${path}`, error);
    }
  }

  /**
   * The real paths of a file and its folder. Refuses links on the path below `within`. The folder may be missing.
   */
  #withoutLinks(path: string, within: string): { folder: string; location: string } {
    const border = normalPath(within);
    const target = normalPath(path);
    if (!isWithin(target, border)) throw new HostError(`it is not below ${within}`);
    const parts = target
      .slice(border.length)
      .split('/')
      .filter((part) => part !== '');
    const locations = parts.map((_, index) => join(this.#tree.locate(border), ...parts.slice(0, index + 1)));
    for (const [index, location] of locations.entries()) {
      const found = lookAt(location);
      const name = parts[index] ?? '';
      if (found?.isSymbolicLink()) throw new HostError(`${name} is a link`);
      if (index === locations.length - 1) {
        if (found !== undefined && !found.isFile()) throw new HostError(`${name} is not a file`);
      } else if (found === undefined ? index < locations.length - 2 : !found.isDirectory()) {
        throw new HostError(found === undefined ? `there is no ${name}` : `${name} is not a folder`);
      }
    }
    const [folder = '', location = ''] = locations.slice(-2);
    return { folder, location };
  }

  async kind(path: string): Promise<'file' | 'folder' | 'other' | undefined> {
    try {
      const found = lookAt(this.#inSnapshot(normalPath(path)) ?? this.#tree.locate(path));
      if (found === undefined) return undefined;
      if (found.isFile()) return 'file';
      return found.isDirectory() ? 'folder' : 'other';
    } catch (error) {
      throw hostError(`cannot look at ${path}`, error);
    }
  }

  async mode(path: string): Promise<number | undefined> {
    try {
      const found = lookAt(this.#tree.locate(path));
      return found === undefined ? undefined : found.mode & 0o7777;
    } catch (error) {
      throw hostError(`cannot look at ${path}`, error);
    }
  }

  async exposure(path: string, { within, itself = false }: ExposureOptions): Promise<Exposure | undefined> {
    // This process has the place of root.
    const root = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    let location = this.#tree.locate(within);
    let at = normalPath(within);
    for (const part of normalPath(path).slice(at.length).split('/')) {
      if (part === '') continue;
      const folder = lookAt(location);
      if (folder !== undefined && isExposed(folder, root)) return { at, kind: 'writable' };
      location = join(location, part);
      at = `${at}/${part}`;
      if (lookAt(location)?.isSymbolicLink()) return { at, kind: 'link' };
    }
    const found = lookAt(location);
    return itself && found !== undefined && isExposed(found, root) ? { at, kind: 'writable' } : undefined;
  }

  /** Refuses a write in a read-only dataset, or one that exceeds a quota. Sparse files occupy nothing at first. */
  #mayWrite(location: string, more = 0): void {
    const problem = this.#writeProblem(this.#tree.nameOf(location), more);
    if (problem !== undefined) throw new HostError(problem);
  }

  /** The real path of a file. Refuses links on the path below `within`, or with `followed` those that lead out of it. */
  #locationWithin(path: string, { within, links }: Within, options: { follow: boolean }): string {
    const snapshot = this.#inSnapshot(normalPath(path));
    if (snapshot !== undefined) return this.#withoutLinksInSnapshot(path, snapshot);
    const border = this.#tree.locate(within);
    const location = this.#tree.locate(normalPath(path), options);
    if (!isWithin(location, border)) throw new HostError(`it is not in ${within}`);
    if (links !== 'followed' && location !== join(border, normalPath(path).slice(normalPath(within).length)))
      throw new HostError(`${path} contains a link`);
    return location;
  }

  /** The files of snapshots are outside the tree, so links on the way are looked for here. */
  #withoutLinksInSnapshot(path: string, location: string): string {
    const [, below = ''] = normalPath(path).split(`/${snapshotsFolder}/`);
    for (let at = dirname(location), left = below.split('/').length - 2; left > 0; at = dirname(at), left -= 1)
      if (lookAt(at)?.isSymbolicLink()) throw new HostError(`${path} contains a link`);
    return location;
  }

  #aside(path: string): string {
    this.#count += 1;
    return join(this.#staged, `${this.#count}-${lastElement(path).slice(-100)}`);
  }
}

/** Adds full permissions of the owner: this process does not run as root, and must be able to access the folder. */
function forFolder(mode: number): number {
  return mode | 0o700;
}

/** Whether a call failed because nothing is at the path, or because a parent is not a folder. */
function isAbsence(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}
