import { isDeepStrictEqual } from 'node:util';
import type { Files } from '../../host/ports/files.ts';
import { memo } from '../../lib/memo.ts';
import { isWithin } from '../../lib/path.ts';
import { pauses } from '../../lib/slices.ts';
import { absenceOf, poolOf } from './places.ts';
import { SharedLook } from './shared-look.ts';
import type { Storage } from './storage-facts.ts';

/** Milliseconds after which the file system of a path counts as not answering. */
const patience = 10_000;

/** Milliseconds that collect the paths of changed records for one look. */
const collecting = 100;

/**
 * Milliseconds between two looks at all paths while the mounts stay the same: folders are also removed by users. A look at
 * many paths rests for this many times its duration, up to the longest rest, so that it costs an idle machine little.
 */
const restBetween = 60_000;
const restAfter = 1000;
const longestRest = 600_000;

/** A pool that has lost its disks blocks every program that asks for a path on it. */
const answering: ReadonlySet<string> = new Set(['ONLINE', 'DEGRADED']);

interface PathLooksParts {
  readonly files: Files;
  /** The paths on volumes that records name. */
  readonly named: () => readonly string[];
  readonly storage: () => Storage;
  readonly now: () => number;
  readonly changed: () => void;
}

/**
 * Which of the paths that records name are missing, although what they lie on is mounted. ZFS does not report that: the
 * folder of a destroyed dataset looks like any other folder that is not there.
 */
export class PathLooks {
  readonly #parts: PathLooksParts;
  #missing: ReadonlySet<string> = new Set();
  #lookedAt = 0;
  /** Milliseconds that the last look at all paths took. */
  #took = 0;
  #mounts: Mounts = new Map();
  /** A look at a path that has not ended in time. Another one could block the daemon. */
  #stuck: Promise<unknown> | undefined;
  readonly #waiting = new Set<string>();
  #soon: NodeJS.Timeout | undefined;
  readonly #looks = new SharedLook<readonly string[] | 'all'>(
    (paths) => this.#look(paths),
    (a, b) => (a === 'all' || b === 'all' ? 'all' : [...a, ...b]),
  );

  constructor(parts: PathLooksParts) {
    this.#parts = parts;
  }

  get missing(): ReadonlySet<string> {
    return this.#missing;
  }

  /** Looks at these paths. */
  renew(paths: readonly string[]): Promise<void> {
    return this.#looks.ask(paths);
  }

  /** Looks at these paths in a moment. */
  soon(paths: readonly string[]): void {
    for (const path of paths) this.#waiting.add(path);
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      const waiting = [...this.#waiting];
      this.#waiting.clear();
      void this.#looks.ask(waiting).catch(() => {});
    }, collecting).unref();
  }

  /**
   * Called when facts of the storage were read. Resolves when the paths are known for the current mounts: those below a
   * mount point that came or went are looked at, and not the hundreds of others.
   */
  async follow(): Promise<void> {
    const { named, now, storage } = this.#parts;
    const mounts = mountsOf(storage().datasets);
    const changed = changedMounts(this.#mounts, mounts);
    this.#mounts = mounts;
    const rest = Math.max(restBetween, Math.min(longestRest, restAfter * this.#took));
    const isDue = now() - this.#lookedAt >= rest;
    if (this.#lookedAt === 0) return await this.#looks.ask('all');
    const paths =
      changed.length === 0 ? [] : named().filter((path) => changed.some((mountpoint) => isWithin(path, mountpoint)));
    if (paths.length > 0) await this.#looks.ask(paths);
    if (isDue) void this.#looks.ask('all').catch(() => {});
  }

  async #look(scope: readonly string[] | 'all'): Promise<void> {
    const { named, storage, now, changed } = this.#parts;
    if (scope === 'all') this.#lookedAt = now();
    const paths = scope === 'all' ? named() : scope;
    const missing = new Set(scope === 'all' ? [] : this.#missing);
    const pause = pauses();
    for (const path of new Set(paths)) {
      await pause();
      missing.delete(path);
      if (await this.#isMissing(path, storage())) missing.add(path);
    }
    if (scope === 'all') this.#took = now() - this.#lookedAt;
    if (isDeepStrictEqual(missing, this.#missing)) return;
    this.#missing = missing;
    changed();
  }

  async #isMissing(path: string, { pools, datasets }: Storage): Promise<boolean> {
    // What an earlier look found missing must not decide: the path would be missing at every second look only.
    if (this.#stuck !== undefined || absenceOf({ path }, { pools, datasets }) !== undefined) return false;
    // Most shares are of a whole dataset, and a start waits for this look.
    if (mountsOf(datasets).has(path)) return false;
    if (!answering.has(pools.get(poolOf(path))?.health ?? '')) return false;
    const looking = this.#parts.files.kind(path).then(
      (kind) => kind === undefined,
      () => false,
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), patience);
      timer.unref();
    });
    const answer = await Promise.race([looking, late]);
    clearTimeout(timer);
    if (answer !== undefined) return answer;
    this.#stuck = looking.then(() => {
      this.#stuck = undefined;
    });
    return false;
  }
}

/** What is mounted, by mount point. */
type Mounts = ReadonlyMap<string, string>;

const mountsOf = memo(
  (datasets: Storage['datasets']): Mounts =>
    new Map(
      [...datasets.values()].flatMap(({ name, mountpoint }) => (mountpoint === undefined ? [] : [[mountpoint, name]])),
    ),
);

/** The mount points at which something else is mounted than before, or nothing any more. */
function changedMounts(before: Mounts, after: Mounts): readonly string[] {
  if (before === after) return [];
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path));
}
