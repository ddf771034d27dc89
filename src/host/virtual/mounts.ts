import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HostError } from '../ports/index.ts';
import { copyTree } from './sparse.ts';
import { hostError } from './state.ts';
import { lookAt, type Tree } from './tree.ts';

/** The mount point of each mounted dataset: guid to path, parents before children. */
export type MountTable = ReadonlyMap<string, string>;

/**
 * Moves the files of datasets to their mount points and back. Files of unmounted datasets are in a private folder, in a
 * subfolder named by the guid of the dataset. The same holds for files that a mounted dataset covers.
 */
export class Mounts {
  readonly #tree: Tree;
  readonly #away: string;
  readonly #covered: string;
  readonly #snapshots: string;

  constructor(tree: Tree, folder: string) {
    this.#tree = tree;
    this.#away = join(folder, 'unmounted');
    this.#covered = join(folder, 'covered');
    mkdirSync(this.#away, { recursive: true });
    mkdirSync(this.#covered, { recursive: true });
    this.#snapshots = join(folder, 'snapshots');
    mkdirSync(this.#snapshots, { recursive: true });
  }

  /** Makes the files match the stored state, at whatever moment the last process was killed. */
  repair(table: MountTable, known: ReadonlySet<string>, snapshots: ReadonlySet<string>): void {
    for (const [guid, path] of table)
      if (this.#isAway(guid) || !lookAt(this.#tree.locate(path))?.isDirectory()) this.#mount(guid, path);
    for (const guid of readdirSync(this.#away)) if (!known.has(guid)) this.forget(guid);
    for (const guid of readdirSync(this.#snapshots)) if (!snapshots.has(guid)) this.forgetSnapshot(guid);
  }

  /** Copies the current files of a dataset for a snapshot. */
  capture(table: MountTable, dataset: string, snapshot: string): void {
    const from = this.#locationOf(table, dataset);
    if (from === undefined) return;
    try {
      copyTree(from, join(this.#snapshots, snapshot), this.#others(table, dataset));
    } catch (error) {
      this.forgetSnapshot(snapshot);
      throw hostError('cannot store the files of a snapshot', error);
    }
  }

  /**
   * Replaces the files of a dataset by those of a snapshot, and stores the change by `keep`. Datasets that are mounted
   * in them are not affected.
   */
  restore(table: MountTable, dataset: string, snapshot: string, keep: () => void): void {
    const location = this.#locationOf(table, dataset);
    const kept = join(this.#snapshots, snapshot);
    if (location === undefined || lookAt(kept) === undefined) {
      keep();
      return;
    }
    const others = this.#others(table, dataset);
    const former = `${kept}.former`;
    copyTree(location, former, others);
    try {
      replaceContents(kept, location, others);
      keep();
    } catch (error) {
      replaceContents(former, location, others);
      throw hostError('cannot roll back', error);
    } finally {
      rmSync(former, { recursive: true, force: true });
    }
  }

  /** Fills a dataset that is not mounted yet with the files of a snapshot. */
  seed(dataset: string, snapshot: string): void {
    const kept = join(this.#snapshots, snapshot);
    if (lookAt(kept) !== undefined) copyTree(kept, join(this.#away, dataset));
  }

  forgetSnapshot(guid: string): void {
    rmSync(join(this.#snapshots, guid), { recursive: true, force: true });
  }

  #locationOf(table: MountTable, dataset: string): string | undefined {
    const path = table.get(dataset);
    const location = path === undefined ? join(this.#away, dataset) : this.#tree.locate(path);
    return lookAt(location) === undefined ? undefined : location;
  }

  /** The mount points of the other datasets. */
  #others(table: MountTable, dataset: string): ReadonlySet<string> {
    return new Set([...table].filter(([guid]) => guid !== dataset).map(([, path]) => this.#tree.locate(path)));
  }

  /**
   * Changes the mounts from one table to another, and stores the change by `keep` in between. A failure undoes
   * everything.
   */
  change(before: MountTable, after: MountTable, record: { keep: () => void; restore: () => void }): void {
    const leaving = [...before].filter(([guid, path]) => after.get(guid) !== path).reverse();
    const coming = [...after].filter(([guid, path]) => before.get(guid) !== path);
    const undo: (() => void)[] = [];
    try {
      for (const [guid, path] of leaving) {
        this.#unmount(guid, path);
        undo.push(() => this.#mount(guid, path));
      }
      // Unmounts happen before `keep` and mounts after it: a process that is killed in between leaves only missing
      // mounts, which `repair` makes.
      record.keep();
      undo.push(record.restore);
      for (const [guid, path] of coming) {
        const fresh = !this.#isAway(guid);
        this.#mount(guid, path);
        undo.push(() => {
          this.#unmount(guid, path);
          if (fresh) this.forget(guid);
        });
      }
    } catch (error) {
      for (const back of undo.reverse()) back();
      throw error;
    }
  }

  /** Removes the files of a destroyed dataset. */
  forget(guid: string): void {
    rmSync(join(this.#away, guid), { recursive: true, force: true });
  }

  #isAway(guid: string): boolean {
    return lookAt(join(this.#away, guid)) !== undefined;
  }

  #mount(guid: string, path: string): void {
    try {
      const location = this.#tree.locate(path);
      const found = lookAt(location);
      if (found !== undefined && !found.isDirectory()) throw new HostError('not a directory');
      if (found === undefined) mkdirSync(dirname(location), { recursive: true });
      else if (readdirSync(location).length > 0) renameSync(location, join(this.#covered, guid));
      else rmdirSync(location);
      if (this.#isAway(guid)) renameSync(join(this.#away, guid), location);
      else mkdirSync(location);
    } catch (error) {
      throw hostError(`cannot mount '${path}'`, error);
    }
  }

  #unmount(guid: string, path: string): void {
    try {
      const location = this.#tree.locate(path);
      renameSync(location, join(this.#away, guid));
      const covered = join(this.#covered, guid);
      if (lookAt(covered) !== undefined) renameSync(covered, location);
    } catch (error) {
      throw hostError(`cannot unmount '${path}'`, error);
    }
  }
}

function replaceContents(from: string, to: string, without: ReadonlySet<string>): void {
  clear(to, without);
  copyTree(from, to);
}

/** Removes all in a folder, but what is mounted there and the folders on the way to it. */
function clear(folder: string, without: ReadonlySet<string>): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const location = join(folder, entry.name);
    if (without.has(location)) continue;
    if (entry.isDirectory() && [...without].some((other) => other.startsWith(`${location}/`))) clear(location, without);
    else rmSync(location, { recursive: true, force: true });
  }
}
