import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pauses } from '../../lib/slices.ts';
import { HostError } from '../ports/index.ts';
import type { Difference } from '../ports/zfs.ts';
import { differencesOf } from './differences.ts';
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

  /** `disks` has the files that are not mounted; other machines may reach it. */
  constructor(tree: Tree, folder: string, disks = folder) {
    this.#tree = tree;
    this.#away = join(disks, 'unmounted');
    this.#covered = join(folder, 'covered');
    mkdirSync(this.#away, { recursive: true });
    mkdirSync(this.#covered, { recursive: true });
    this.#snapshots = join(disks, 'snapshots');
    mkdirSync(this.#snapshots, { recursive: true });
  }

  /** Makes the files match the stored state, at whatever moment the last process was killed. */
  repair(table: MountTable, known: ReadonlySet<string>, snapshots: () => ReadonlySet<string>): void {
    for (const [guid, path] of table)
      if (this.#isAway(guid) || !lookAt(this.#tree.locate(path))?.isDirectory()) this.#mount(guid, path);
    for (const guid of readdirSync(this.#away)) if (!known.has(guid)) this.forget(guid);
    const captured = readdirSync(this.#snapshots);
    if (captured.length === 0) return;
    const kept = snapshots();
    for (const guid of captured) if (!kept.has(guid)) this.forgetSnapshot(guid);
  }

  /** Unmounts datasets from the files of another machine, which no longer runs. */
  fetch(table: MountTable, files: Tree): void {
    for (const [guid, path] of [...table].reverse()) {
      const location = files.locate(path);
      if (this.#isAway(guid) || lookAt(location)?.isDirectory() !== true) continue;
      try {
        renameSync(location, join(this.#away, guid));
      } catch (error) {
        throw hostError(`cannot take over '${path}'`, error);
      }
    }
  }

  /** Copies the current files of a dataset for a snapshot. */
  async capture(table: MountTable, dataset: string, snapshot: string): Promise<void> {
    const from = this.#locationOf(table, dataset);
    if (from === undefined) return;
    try {
      await copyTree(from, join(this.#snapshots, snapshot), this.#others(table, dataset));
    } catch (error) {
      this.forgetSnapshot(snapshot);
      throw hostError('cannot store the files of a snapshot', error);
    }
  }

  /** Copies the files of a snapshot, to be put in the place of those of its dataset by `restore`. */
  async stage(snapshot: string): Promise<void> {
    const kept = join(this.#snapshots, snapshot);
    if (lookAt(kept) === undefined) return;
    try {
      rmSync(stagedOf(kept), { recursive: true, force: true });
      await copyTree(kept, stagedOf(kept));
    } catch (error) {
      rmSync(stagedOf(kept), { recursive: true, force: true });
      throw hostError('cannot roll back', error);
    }
  }

  /**
   * Replaces the files of a dataset by those that were staged of a snapshot, and stores the change by `keep`. Files are
   * renamed and not copied, so nothing else runs in between. Datasets that are mounted in them are not affected.
   */
  restore(table: MountTable, dataset: string, snapshot: string, keep: () => void): void {
    const location = this.#locationOf(table, dataset);
    const kept = join(this.#snapshots, snapshot);
    const [staged, former] = [stagedOf(kept), `${kept}.former`];
    if (location === undefined || lookAt(staged) === undefined) {
      keep();
      return;
    }
    const others = this.#others(table, dataset);
    rmSync(former, { recursive: true, force: true });
    const undo: (() => void)[] = [];
    try {
      undo.push(() => moveContents(former, location, others));
      moveContents(location, former, others);
      undo.push(() => moveContents(location, staged, others));
      moveContents(staged, location, others);
      keep();
    } catch (error) {
      for (const back of undo.reverse()) back();
      throw hostError('cannot roll back', error);
    } finally {
      rmSync(former, { recursive: true, force: true });
      rmSync(staged, { recursive: true, force: true });
    }
  }

  /** Fills a dataset that is not mounted yet with the files of a snapshot. */
  async seed(dataset: string, snapshot: string): Promise<void> {
    const kept = join(this.#snapshots, snapshot);
    if (lookAt(kept) !== undefined) await copyTree(kept, join(this.#away, dataset));
  }

  /** What differs between the files of a snapshot and those of a later one, or without one those of the dataset. */
  compare(table: MountTable, dataset: string, snapshot: string, later: string | undefined): Promise<Difference[]> {
    const before = this.folderOfSnapshot(snapshot);
    const after = later === undefined ? this.#locationOf(table, dataset) : this.folderOfSnapshot(later);
    return differencesOf(before, after ?? before, this.#others(table, dataset));
  }

  /** The real path of the files of a snapshot. */
  folderOfSnapshot(guid: string): string {
    return join(this.#snapshots, guid);
  }

  forgetSnapshot(guid: string): void {
    rmSync(join(this.#snapshots, guid), { recursive: true, force: true });
  }

  /** The bytes that the files below a mount point occupy, without those below other mount points. */
  bytesIn(path: string, others: ReadonlySet<string>): number {
    const below = (folder: string): number =>
      readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
        const location = join(folder, entry.name);
        if (entry.isDirectory()) return others.has(this.#tree.nameOf(location)) ? sum : sum + below(location);
        const found = lookAt(location);
        return sum + (found === undefined ? 0 : Math.min(found.size, found.blocks * 512));
      }, 0);
    return below(this.#tree.locate(path));
  }

  #locationOf(table: MountTable, dataset: string): string | undefined {
    const path = table.get(dataset);
    const location = path === undefined ? join(this.#away, dataset) : this.#tree.locate(path);
    return lookAt(location) === undefined ? undefined : location;
  }

  /** The mount points of the other datasets that are mounted below the dataset: what its files do not have. */
  #others(table: MountTable, dataset: string): ReadonlySet<string> {
    const own = table.get(dataset);
    const below = own === '/' ? own : `${own}/`;
    return new Set(
      [...table]
        .filter(([guid, path]) => guid !== dataset && own !== undefined && path.startsWith(below))
        .map(([, path]) => this.#tree.locate(path)),
    );
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

  /** Unmounts datasets in pieces, as there can be thousands, and stores that by `keep`. A failure mounts them again. */
  async leave(table: MountTable, keep: () => void): Promise<void> {
    const pause = pauses();
    try {
      for (const [guid, path] of [...table].reverse()) {
        await pause();
        this.#unmount(guid, path);
      }
      keep();
    } catch (error) {
      for (const [guid, path] of table) if (this.#isAway(guid)) this.#mount(guid, path);
      throw error;
    }
  }

  /** Removes the files of a destroyed dataset. */
  forget(guid: string): void {
    rmSync(join(this.#away, guid), { recursive: true, force: true });
  }

  /** Removes the files of destroyed datasets and snapshots, in pieces. What a killed process leaves, `repair` removes. */
  async forgetAll(datasets: readonly string[], snapshots: readonly string[]): Promise<void> {
    const pause = pauses();
    for (const path of [
      ...datasets.map((guid) => join(this.#away, guid)),
      ...snapshots.map((guid) => join(this.#snapshots, guid)),
    ]) {
      await pause();
      await rm(path, { recursive: true, force: true });
    }
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
    if (this.#isAway(guid)) return;
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

const stagedOf = (kept: string) => `${kept}.staged`;

/** Moves all in a folder, but what is mounted there and the folders on the way to it. */
function moveContents(from: string, to: string, without: ReadonlySet<string>): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (without.has(source)) continue;
    const isOnTheWay = [...without].some((other) => other.startsWith(`${source}/`));
    if (entry.isDirectory() && (isOnTheWay || lookAt(target)?.isDirectory() === true))
      moveContents(source, target, without);
    else renameSync(source, target);
  }
}
