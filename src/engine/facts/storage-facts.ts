import { setTimeout as wait } from 'node:timers/promises';
import {
  type Dataset,
  type DatasetScope,
  isHidden,
  isInBin,
  type Named,
  type Pool,
  type Zfs,
  type ZfsEvent,
  type ZfsSubject,
} from '../../host/ports/zfs.ts';
import { isWithin } from '../../lib/path.ts';
import { inSlices } from '../../lib/slices.ts';
import { SharedLook } from './shared-look.ts';
import type { SnapshotColumns } from './snapshot-columns.ts';
import { columnsOf, type Listing, SnapshotIndex, type SnapshotPart } from './snapshot-index.ts';

export interface Storage {
  readonly pools: ReadonlyMap<string, Pool>;
  /** By full name, parents before children. */
  readonly datasets: ReadonlyMap<string, Dataset>;
  /** The same for the bins of the pools and what is in them, which is nowhere else. */
  readonly binned: ReadonlyMap<string, Dataset>;
  readonly snapshots: SnapshotIndex;
  /** Paths that records name and where nothing is, although what they lie on is mounted. */
  readonly missing: ReadonlySet<string>;
}

export const noStorage: Storage = Object.freeze({
  pools: new Map(),
  datasets: new Map(),
  binned: new Map(),
  snapshots: SnapshotIndex.empty,
  missing: new Set<string>(),
});

/** When a look began: its number among all looks, and the time in milliseconds since 1970. */
interface Mark {
  readonly look: number;
  readonly at: number;
}

/** For more subjects than this, one look at everything is cheaper. */
const mostSubjects = 200;

/** Datasets whose snapshots are listed at once: a list and its text take ten times the memory of the columns made of it. */
const mostListed = 200;

/**
 * For more snapshots by name than this, all those of their datasets are listed, and so are those of a dataset after so many
 * looks at single ones.
 */
const mostNamed = 200;

/** What one look at recalled snapshots lists at most, unless a dataset has more: a second's work for slow disks. */
const mostVerified = { datasets: 100, snapshots: 1000 } as const;

/**
 * In a stream of events, a look that they cause is followed by a pause of this many times its duration, up to these
 * milliseconds.
 */
const restAfterEvents = 3;
const longestRest = 5_000;

/**
 * Milliseconds for which events have to go on until they are a stream, and without one until the next is not part of it.
 * What a single program does, such as a replication, is seen without a pause.
 */
const streamAfter = 30_000;
const streamEndsAfter = 10_000;

/** Milliseconds that a look waits for changes that are being applied. */
const longestWait = 2_000;

const pause = (milliseconds: number) => wait(milliseconds, undefined, { ref: false });

/** Waits until no change is being applied, but not for ever: changes can follow each other without end. */
export async function untilRest(atRest: () => Promise<void>): Promise<void> {
  await Promise.race([atRest(), pause(longestWait)]);
}

/**
 * The facts about pools, datasets and snapshots, read by subject. A change of `tank/media` reads that dataset and its
 * parents, whose space it shares, but not the 450 other datasets. A look at everything is made at the start, after an
 * import, and in the background when the facts are old, because some changes send no event.
 *
 * Both kinds of looks run in parallel, so that a change never waits for a look at everything. That look may then end
 * with outdated results. For example, it lists the datasets, then `tank/a` is created and read, and then it ends with a
 * list that lacks `tank/a`. Therefore each name has the mark of the look that it comes from, and only a look that began
 * later replaces it.
 */
export class StorageLooks {
  #storage: Storage = noStorage;
  /** With those in the bins. */
  #datasets: Storage['datasets'] = noStorage.datasets;
  #snapshots = SnapshotIndex.empty;
  #isPartial = false;
  #count = 0;
  /** The last look at everything that has ended. */
  #whole: Mark = { look: 0, at: 0 };
  /** The looks that names come from, if they began after the last look at everything; also for removed names. */
  readonly #marks = new Map<string, Mark>();
  readonly #poolMarks = new Map<string, Mark>();
  /** The same for datasets that were looked at with everything below them. */
  readonly #treeMarks = new Map<string, Mark>();
  /**
   * For datasets of which only some snapshots were looked at: the last look at all of them, and the looks at these
   * snapshots since. They do not cover the event of a snapshot that another program made meanwhile.
   */
  readonly #partly = new Map<string, { readonly since: Mark; readonly seen: ReadonlyMap<string, Mark> }>();
  #underWay = 0;
  readonly #zfs: Zfs;
  readonly #now: () => number;
  readonly #changed: () => void;
  readonly #atRest: () => Promise<void>;
  readonly #everything = new SharedLook<void>(
    () => this.#counted(() => this.#lookAtEverything()),
    () => {},
  );
  readonly #subjects = new SharedLook<readonly ZfsSubject[]>(
    (subjects) => this.#lookAt(subjects),
    (a, b) => [...a, ...b],
  );
  readonly #events = new SharedLook<readonly ZfsEvent[]>(
    (events) => this.#lookAfter(events),
    (a, b) => [...a, ...b],
  );
  /** Until when, in milliseconds since 1970, no look is made because of events. */
  #restsUntil = 0;
  /** When the first of the events that go on now was looked at, and when the last look at them ended. */
  #stream = { since: 0, until: 0 };

  /** `atRest` resolves when no change of Holdfast itself is being applied. */
  constructor(zfs: Zfs, options: { now: () => number; changed: () => void; atRest: () => Promise<void> }) {
    this.#zfs = zfs;
    this.#now = options.now;
    this.#changed = options.changed;
    this.#atRest = options.atRest;
  }

  get storage(): Storage {
    return this.#storage;
  }

  /** Whether parts were read since everything was: the free space of other datasets of the pool changed as well. */
  get isPartial(): boolean {
    return this.#isPartial;
  }

  /** Keeps what looks at paths have found. */
  keepMissing(missing: Storage['missing']): void {
    this.#storage = Object.freeze({ ...this.#storage, missing });
    this.#changed();
  }

  /** Before the first look: the snapshots that an earlier run knew, which are not listed if their datasets are as then. */
  recall(parts: readonly SnapshotPart[]): void {
    this.#snapshots = SnapshotIndex.recalling(parts);
  }

  /**
   * Returns some datasets whose snapshots are recalled; the next look at them lists those again. When there are none, what
   * was recalled for datasets that have not been seen is forgotten.
   */
  doubtRecalled(): readonly string[] {
    const names = this.#snapshots.someRecalled(mostVerified);
    this.#snapshots = names.length === 0 ? this.#snapshots.forgetting : this.#snapshots.doubting(names);
    return names;
  }

  /** Reads everything. */
  renewAll(): Promise<void> {
    return this.#everything.ask();
  }

  /** Reads what was changed, and its parents, whose space changes with it. */
  renew(subjects: readonly ZfsSubject[]): Promise<void> {
    return this.#subjects.ask(subjects);
  }

  /**
   * Reads what events name, unless a look that began after the event has read it: most events are of our own changes.
   *
   * Other programs can cause events without end, such as `zfs receive` of many datasets. The looks at them have pauses,
   * so that they do not use up the processor, and changes do not wait for them. A look waits for changes that are being
   * applied, because the events come before those have ended, and each of them ends with a look of its own.
   */
  heed(events: readonly ZfsEvent[]): Promise<void> {
    return events.every((event) => this.#hasSeen(event)) ? Promise.resolve() : this.#events.ask(events);
  }

  async #lookAfter(events: readonly ZfsEvent[]): Promise<void> {
    const rest = this.#restsUntil - this.#now();
    if (rest > 0) await pause(rest);
    await untilRest(this.#atRest);
    const unseen = events.filter((event) => !this.#hasSeen(event)).map(({ subject }) => subject);
    if (unseen.length === 0) return;
    const begun = this.#now();
    const since = begun - this.#stream.until > streamEndsAfter ? begun : this.#stream.since;
    const subjects = unseen.filter((subject) => subject !== 'everything');
    try {
      await (subjects.length < unseen.length ? this.renewAll() : this.#lookAt(unique(subjects)));
    } finally {
      const until = this.#now();
      this.#stream = { since, until };
      if (until - since > streamAfter)
        this.#restsUntil = until + Math.min(longestRest, restAfterEvents * (until - begun));
    }
  }

  /** After the clock was set back, looks from before have times that are still to come, and say nothing about an event. */
  #hasSeen({ subject, at: happened }: ZfsEvent): boolean {
    const now = this.#now();
    const isLater = ({ at }: Mark) => at > happened && at <= now;
    if (subject === 'everything') return isLater(this.#whole);
    if ('pool' in subject) return isLater(this.#markOf(this.#poolMarks, subject.pool));
    const { dataset, below = false, snapshot } = subject;
    const isSeen = (name: string) => isLater(this.#markOf(this.#marks, name));
    if (snapshot !== undefined) {
      const partly = this.#partly.get(dataset);
      if (partly !== undefined) return isLater(partly.seen.get(snapshot) ?? partly.since);
      if (isSeen(dataset)) return true;
    } else if (below === false) return isSeen(dataset);
    if (isLater(this.#whole)) return true;
    // What destroys a dataset destroys its snapshots first.
    if ([...this.#treeMarks].some(([root, mark]) => isWithin(dataset, root) && isLater(mark))) return true;
    // Others below it have events of their own.
    return below === 'known' && isSeen(dataset) && this.#knownIn(dataset).every(isSeen);
  }

  #knownIn(root: string): readonly string[] {
    return [...this.#datasets.keys()].filter((name) => isWithin(name, root));
  }

  #markOf(marks: ReadonlyMap<string, Mark>, name: string): Mark {
    return marks.get(name) ?? this.#whole;
  }

  #begin(): Mark {
    this.#count += 1;
    return { look: this.#count, at: this.#now() };
  }

  async #lookAtEverything(): Promise<void> {
    this.#isPartial = false;
    const mark = this.#begin();
    const [pools, datasets] = await Promise.all([this.#zfs.pools(), this.#zfs.datasets()]);
    const listed = await this.#listed(datasets, 'all');
    const old = this.#storage;
    const wholePools = new Map(pools.map((pool) => [pool.name, pool]));
    const wholeDatasets = new Map(datasets.map((one) => [one.name, one]));
    for (const one of this.#hidden(pools, datasets)) wholeDatasets.set(one.name, one);
    this.#dropRemoved(mark, wholeDatasets);
    keepNewer(this.#poolMarks, mark, wholePools, old.pools);
    keepNewer(this.#marks, mark, wholeDatasets, this.#datasets);
    this.#whole = mark;
    const seen = datasets.filter((one) => wholeDatasets.get(one.name) === one);
    for (const { name } of seen) this.#partly.delete(name);
    this.#keep(inOrder(wholePools), inOrder(wholeDatasets), seen, listed);
  }

  /** The datasets of suspended pools, which ZFS leaves out of its list until it can read the pool again. */
  #hidden(pools: readonly Pool[], found: readonly Dataset[]): readonly Dataset[] {
    const suspended = pools.filter(
      ({ health, name }) => health === 'SUSPENDED' && !found.some((one) => one.name === name),
    );
    return [...this.#datasets.values()].filter((one) => suspended.some(({ name }) => isWithin(one.name, name)));
  }

  async #lookAt(subjects: readonly ZfsSubject[]): Promise<void> {
    const holders = new Set(subjects.map((subject) => ('pool' in subject ? subject.pool : subject.dataset)));
    if (holders.size > mostSubjects) return await this.#everything.ask();
    return await this.#counted((isAlone) => this.#lookByName(subjects, isAlone));
  }

  /**
   * Counts the looks under way. Only a look that is alone at its start may be at single snapshots, and those that begin
   * before its end are not: otherwise one of two looks would replace what the other found about other snapshots.
   */
  async #counted(look: (isAlone: boolean) => Promise<void>): Promise<void> {
    this.#underWay += 1;
    try {
      await look(this.#underWay === 1);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #lookByName(subjects: readonly ZfsSubject[], isAlone: boolean): Promise<void> {
    const mark = this.#begin();
    const ofDatasets = subjects.filter((subject) => 'dataset' in subject);
    const left = ofDatasets.filter(({ isGone }) => isGone !== true);
    // Unless something of their names was made since, it is known what a look at them finds.
    const destroyed = ofDatasets
      .map(({ dataset }) => dataset)
      .filter((name) => !left.some(({ dataset }) => isWithin(dataset, name)));
    const knownBelow = ofDatasets
      .filter(({ below }) => below === 'known')
      .map(({ dataset }) => ({ dataset, all: this.#knownIn(dataset) }));
    // By name they are part of one look with those above.
    const few = knownBelow.filter(({ all }) => all.length <= mostSubjects);
    const names = [...ofDatasets.map(({ dataset }) => dataset), ...few.flatMap(({ all }) => all)];
    const isDestroyed = (name: string) => destroyed.some((root) => isWithin(name, root));
    const trees = outermost([
      ...ofDatasets
        .filter(({ dataset, below }) => below === true && !destroyed.includes(dataset))
        .map(({ dataset }) => dataset),
      ...knownBelow.filter(({ all }) => all.length > mostSubjects).map(({ dataset }) => dataset),
    ]);
    const poolNames = [...new Set(subjects.flatMap((subject) => ('pool' in subject ? [subject.pool] : [])))];
    const alone = [...new Set([...names, ...poolNames].flatMap(withThoseAbove))].filter(
      (name) => !trees.some((root) => isWithin(name, root)) && !isDestroyed(name),
    );
    const known = new Set(few.flatMap(({ all }) => all));
    const isWhole = (name: string) =>
      !isAlone || known.has(name) || !alone.includes(name) || (this.#partly.get(name)?.seen.size ?? 0) > mostNamed;
    const asked = this.#askedByName(ofDatasets, isWhole);
    const [pools, { datasets: found, snapshots }] = await Promise.all([
      poolNames.length === 0 ? [] : this.#zfs.pools(poolNames),
      this.#read({ names: alone, trees }, asked),
    ]);
    const made = new Set(subjects.flatMap((one) => ('dataset' in one && one.isNew === true ? [one.dataset] : [])));
    const named = new Map(
      [...asked].map(([name, names]) => [
        name,
        { asked: names, found: snapshots.filter(({ dataset }) => dataset === name) },
      ]),
    );
    // A new mount point changes the folder that it is in, and so the space that only the snapshots of the dataset above use.
    // The answer does not wait for a list of them: the next look at everything makes it.
    const itself = new Set(names);
    const above = new Set(alone.filter((name) => !itself.has(name)));
    const listing = found.filter((one) => !above.has(one.name) || !this.#snapshots.hasOtherSpace(one));
    const listed = await this.#listed(listing, made, named);
    const before = new Map([...asked.keys()].map((name) => [name, this.#markOf(this.#marks, name)]));
    const newPools = this.#merged(this.#poolMarks, mark, this.#storage.pools, pools, poolNames);
    // The children of a removed dataset were removed with it.
    const there = new Set(found.map(({ name }) => name));
    const gone = alone.filter((name) => !there.has(name));
    const roots = [...trees, ...gone];
    const below = [...this.#datasets.keys(), ...there].filter((name) => roots.some((root) => isWithin(name, root)));
    // A later look at a tree does not mark each name that it did not find.
    const isOvertaken = (name: string) =>
      [...this.#treeMarks].some(([root, { look }]) => look > mark.look && isWithin(name, root));
    const looked = [...alone, ...below].filter((name) => !isOvertaken(name));
    const merged = this.#merged(this.#marks, mark, this.#datasets, found, looked);
    const datasets = destroyed.length === 0 ? merged : this.#without(merged, destroyed, mark);
    for (const root of [...roots, ...destroyed])
      if (this.#markOf(this.#treeMarks, root).look < mark.look) this.#treeMarks.set(root, mark);
    this.#isPartial = true;
    const seen = found.filter((one) => datasets.get(one.name) === one);
    for (const { name } of seen) this.#notePartly(name, asked.get(name), mark, before.get(name) ?? mark);
    this.#keep(newPools, datasets, seen, listed);
  }

  /** Notes that a look was at these snapshots of a dataset, or at all. `before` is of the look before. */
  #notePartly(name: string, snapshots: readonly string[] | undefined, mark: Mark, before: Mark): void {
    if (snapshots === undefined) {
      this.#partly.delete(name);
      return;
    }
    const { since, seen } = this.#partly.get(name) ?? { since: before, seen: new Map<string, Mark>() };
    const now = snapshots.map((snapshot) => [snapshot, mark] as const);
    this.#partly.set(name, { since, seen: new Map([...seen, ...now]) });
  }

  /** The snapshots to look at by name, with their datasets: those of which a look concerns only some, and is not `isWhole`. */
  #askedByName(
    subjects: readonly { readonly dataset: string; readonly snapshot?: string }[],
    isWhole: (dataset: string) => boolean,
  ): ReadonlyMap<string, readonly string[]> {
    const names = Map.groupBy(subjects, ({ dataset }) => dataset);
    const asked = new Map<string, readonly string[]>();
    for (const [dataset, own] of names) {
      const some = own.flatMap(({ snapshot }) => snapshot ?? []);
      const all = some.length < own.length || isWhole(dataset) ? undefined : this.#snapshots.around(dataset, some);
      if (all !== undefined) asked.set(dataset, all);
    }
    const count = [...asked.values()].reduce((sum, all) => sum + all.length, 0);
    return count > mostNamed ? new Map() : asked;
  }

  /** What is there of these datasets, and of these snapshots by dataset, in as few programs as possible. */
  async #read(
    { names = [], trees = [] }: DatasetScope,
    snapshots: ReadonlyMap<string, readonly string[]>,
  ): Promise<Named> {
    if (names.length + trees.length === 0) return { datasets: [], snapshots: [] };
    if (snapshots.size === 0) return { datasets: await this.#zfs.datasets({ names, trees }), snapshots: [] };
    const ids = [...snapshots].flatMap(([dataset, own]) => own.map((name) => `${dataset}@${name}`));
    const [some, below] = await Promise.all([
      this.#zfs.named([...names, ...ids]),
      trees.length === 0 ? [] : this.#zfs.datasets({ trees }),
    ]);
    return { ...some, datasets: [...some.datasets, ...below] };
  }

  /** The snapshots of the datasets whose snapshots changed: of all that there are, or of some, these of them new. */
  async #listed(
    found: readonly Dataset[],
    made: ReadonlySet<string> | 'all',
    named: Listing['named'] = new Map(),
  ): Promise<Listing> {
    const datasets = found.filter(({ name }) => !isHidden(name) && !named.has(name));
    const fitting = this.#snapshots.fitting(datasets);
    const stale = datasets.map(({ name }) => name).filter((name) => !fitting.has(name));
    const without = new Set(
      made === 'all'
        ? []
        : datasets.filter((one) => one.isUntouched === true && made.has(one.name)).map((one) => one.name),
    );
    const asked = stale.filter((name) => !without.has(name));
    const isWhole = made === 'all' && asked.length === datasets.length && asked.length <= mostListed;
    const columns = new Map<string, SnapshotColumns>();
    for (let from = 0; from < asked.length; from += mostListed) {
      const some = isWhole ? undefined : asked.slice(from, from + mostListed);
      const listed = await inSlices(columnsOf(await this.#zfs.snapshots(some)));
      for (const [name, own] of listed) columns.set(name, own);
    }
    return { of: new Set(stale), columns, named, fitting };
  }

  /**
   * The old values, replaced by the results of this look for these names. A name that is neither old nor found is marked
   * too, because a look at everything that began earlier may have seen it.
   */
  #merged<T extends { readonly name: string }>(
    marks: Map<string, Mark>,
    mark: Mark,
    old: ReadonlyMap<string, T>,
    found: readonly T[],
    names: readonly string[],
  ): ReadonlyMap<string, T> {
    const merged = new Map(old);
    const there = new Map(found.map((one) => [one.name, one]));
    for (const name of new Set(names)) {
      if (this.#markOf(marks, name).look > mark.look) continue;
      const one = there.get(name);
      if (one === undefined) merged.delete(name);
      else merged.set(name, one);
      marks.set(name, mark);
    }
    return merged.size === old.size && [...there.keys()].every((name) => old.has(name)) ? merged : inOrder(merged);
  }

  /** The datasets without those that were destroyed, unless a later look has found them. */
  #without(all: Storage['datasets'], destroyed: readonly string[], mark: Mark): Storage['datasets'] {
    const left = new Map(all);
    const below = [...all.keys()].filter((name) => destroyed.some((root) => isWithin(name, root)));
    for (const name of new Set([...destroyed, ...below])) {
      const { look, at } = this.#markOf(this.#marks, name);
      if (look > mark.look) continue;
      left.delete(name);
      // They were not looked at: the event of a dataset that is made of this name since then is heeded.
      this.#marks.set(name, { look: mark.look, at });
    }
    return left;
  }

  /** Drops from a look at everything what later looks at trees did not find any more. */
  #dropRemoved(mark: Mark, found: Map<string, Dataset>): void {
    for (const [root, { look }] of this.#treeMarks) {
      if (look < mark.look) {
        this.#treeMarks.delete(root);
        continue;
      }
      for (const name of [...found.keys()]) if (isWithin(name, root) && !this.#datasets.has(name)) found.delete(name);
    }
  }

  #keep(pools: Storage['pools'], all: Storage['datasets'], looked: readonly Dataset[], listed: Listing): void {
    this.#datasets = all;
    for (const name of this.#partly.keys()) if (!all.has(name)) this.#partly.delete(name);
    const hidesSome = [...all.keys()].some(isHidden);
    const datasets = hidesSome ? new Map([...all].filter(([name]) => !isHidden(name))) : all;
    const seen = hidesSome ? looked.filter(({ name }) => !isHidden(name)) : looked;
    this.#snapshots = this.#snapshots.renewed(datasets, seen, listed);
    this.#storage = Object.freeze({
      pools,
      datasets,
      binned: hidesSome ? new Map([...all].filter(([name]) => isInBin(name))) : noStorage.binned,
      snapshots: this.#snapshots,
      missing: this.#storage.missing,
    });
    this.#changed();
  }
}

/**
 * Replaces results of this look at everything with those of looks that began later, and drops the marks of earlier
 * ones.
 */
function keepNewer<T>(marks: Map<string, Mark>, mark: Mark, found: Map<string, T>, old: ReadonlyMap<string, T>): void {
  for (const [name, { look }] of marks) {
    if (look < mark.look) {
      marks.delete(name);
      continue;
    }
    const newer = old.get(name);
    if (newer === undefined) found.delete(name);
    else found.set(name, newer);
  }
}

/** Sorted like `zfs list`: by bytes, so that parents come before children. */
function inOrder<T>(named: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  return new Map([...named].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** `tank/a/b` with `tank/a` and `tank`. */
function withThoseAbove(name: string): readonly string[] {
  const parts = name.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function unique(subjects: readonly ZfsSubject[]): readonly ZfsSubject[] {
  return [...new Map(subjects.map((subject) => [JSON.stringify(subject), subject])).values()];
}

/** The names that are not below another one of these names. */
function outermost(names: readonly string[]): readonly string[] {
  const all = [...new Set(names)];
  return all.filter((name) => !all.some((other) => other !== name && isWithin(name, other)));
}
