import { cpSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HostError } from '../ports/index.ts';
import { hostError } from './state.ts';
import { lookAt, type Tree } from './tree.ts';

/** Which dataset is mounted where: guid to path, parents before children. */
export type MountTable = ReadonlyMap<string, string>;

/**
 * Puts the files of datasets where they are mounted and takes them away again. What is not mounted lies in a folder of
 * ours, under its dataset's guid; so does what a mounted dataset covers.
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

  /** Makes the files true to what is remembered, whatever moment the last process was killed in. */
  repair(table: MountTable, known: ReadonlySet<string>, snapshots: ReadonlySet<string>): void {
    for (const [guid, path] of table)
      if (this.#isAway(guid) || !lookAt(this.#tree.locate(path))?.isDirectory()) this.#mount(guid, path);
    for (const guid of readdirSync(this.#away)) if (!known.has(guid)) this.forget(guid);
    for (const guid of readdirSync(this.#snapshots)) if (!snapshots.has(guid)) this.forgetSnapshot(guid);
  }

  /** Keeps a copy of a dataset's files as they are now. */
  capture(table: MountTable, dataset: string, snapshot: string): void {
    const from = this.#placeOf(table, dataset);
    if (from === undefined) return;
    try {
      copyInto(from, join(this.#snapshots, snapshot), this.#others(table, dataset));
    } catch (error) {
      this.forgetSnapshot(snapshot);
      throw hostError('cannot keep the files of a snapshot', error);
    }
  }

  /**
   * Puts a snapshot's files in place of those of a dataset, around `keep`, which remembers it. What is mounted in them
   * stays.
   */
  restore(table: MountTable, dataset: string, snapshot: string, keep: () => void): void {
    const place = this.#placeOf(table, dataset);
    const kept = join(this.#snapshots, snapshot);
    if (place === undefined || lookAt(kept) === undefined) {
      keep();
      return;
    }
    const others = this.#others(table, dataset);
    const former = `${kept}.former`;
    copyInto(place, former, others);
    try {
      replaceContents(kept, place, others);
      keep();
    } catch (error) {
      replaceContents(former, place, others);
      throw hostError('cannot roll back', error);
    } finally {
      rmSync(former, { recursive: true, force: true });
    }
  }

  /** Lets a dataset that is not mounted yet begin with the files of a snapshot. */
  seed(dataset: string, snapshot: string): void {
    const kept = join(this.#snapshots, snapshot);
    if (lookAt(kept) !== undefined) copyInto(kept, join(this.#away, dataset), new Set());
  }

  forgetSnapshot(guid: string): void {
    rmSync(join(this.#snapshots, guid), { recursive: true, force: true });
  }

  #placeOf(table: MountTable, dataset: string): string | undefined {
    const path = table.get(dataset);
    const place = path === undefined ? join(this.#away, dataset) : this.#tree.locate(path);
    return lookAt(place) === undefined ? undefined : place;
  }

  /** Where the other datasets are mounted. */
  #others(table: MountTable, dataset: string): ReadonlySet<string> {
    return new Set([...table].filter(([guid]) => guid !== dataset).map(([, path]) => this.#tree.locate(path)));
  }

  /** Goes from one table to another around `keep`, which remembers it. If anything fails, all is as before. */
  change(before: MountTable, after: MountTable, record: { keep: () => void; restore: () => void }): void {
    const leaving = [...before].filter(([guid, path]) => after.get(guid) !== path).reverse();
    const coming = [...after].filter(([guid, path]) => before.get(guid) !== path);
    const undo: (() => void)[] = [];
    try {
      for (const [guid, path] of leaving) {
        this.#unmount(guid, path);
        undo.push(() => this.#mount(guid, path));
      }
      // What is taken away is taken before, what is put there is put after: both ways `repair` finds what is missing.
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

  /** Removes the files of a dataset that is no more. */
  forget(guid: string): void {
    rmSync(join(this.#away, guid), { recursive: true, force: true });
  }

  #isAway(guid: string): boolean {
    return lookAt(join(this.#away, guid)) !== undefined;
  }

  #mount(guid: string, path: string): void {
    try {
      const place = this.#tree.locate(path);
      const found = lookAt(place);
      if (found !== undefined && !found.isDirectory()) throw new HostError('not a directory');
      if (found === undefined) mkdirSync(dirname(place), { recursive: true });
      else if (readdirSync(place).length > 0) renameSync(place, join(this.#covered, guid));
      else rmdirSync(place);
      if (this.#isAway(guid)) renameSync(join(this.#away, guid), place);
      else mkdirSync(place);
    } catch (error) {
      throw hostError(`cannot mount '${path}'`, error);
    }
  }

  #unmount(guid: string, path: string): void {
    try {
      const place = this.#tree.locate(path);
      renameSync(place, join(this.#away, guid));
      const covered = join(this.#covered, guid);
      if (lookAt(covered) !== undefined) renameSync(covered, place);
    } catch (error) {
      throw hostError(`cannot unmount '${path}'`, error);
    }
  }
}

function copyInto(from: string, to: string, without: ReadonlySet<string>): void {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true, filter: (place) => !without.has(place) });
}

function replaceContents(from: string, to: string, without: ReadonlySet<string>): void {
  clear(to, without);
  copyInto(from, to, new Set());
}

/** Removes all in a folder, but what is mounted there and the folders on the way to it. */
function clear(folder: string, without: ReadonlySet<string>): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const place = join(folder, entry.name);
    if (without.has(place)) continue;
    if (entry.isDirectory() && [...without].some((other) => other.startsWith(`${place}/`))) clear(place, without);
    else rmSync(place, { recursive: true, force: true });
  }
}
