/** What the daemon remembers of its measurements: tallies of series, fine for a day and coarser for longer. */

/** The values of a series in a span of time. */
export interface Tally {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** By the name of the series. */
export type Tallies = ReadonlyMap<string, Tally>;

/** The tallies of the span that begins at this time, in milliseconds since 1970. */
export interface HistoryRow {
  readonly at: number;
  readonly tallies: Tallies;
}

/** How long a span is, in milliseconds, and how many of them are kept. */
export interface Tier {
  readonly number: number;
  readonly step: number;
  readonly rows: number;
}

const minute = 60_000;
const hour = 3_600_000;
const day = 86_400_000;

/** A day by the minute, a month by the quarter of an hour, five years by half days. */
export const finest: Tier = Object.freeze({ number: 1, step: minute, rows: day / minute });
export const middle: Tier = Object.freeze({ number: 2, step: 15 * minute, rows: (31 * day) / (15 * minute) });
export const coarsest: Tier = Object.freeze({ number: 3, step: 12 * hour, rows: (5 * 366 * day) / (12 * hour) });
export const tiers: readonly Tier[] = [finest, middle, coarsest];

export const tallyOf = (value: number): Tally => ({ count: 1, sum: value, min: value, max: value });

export const merged = (a: Tally | undefined, b: Tally): Tally =>
  a === undefined
    ? b
    : { count: a.count + b.count, sum: a.sum + b.sum, min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };

export function mergedTallies(...all: readonly Tallies[]): Tallies {
  const found = new Map<string, Tally>();
  for (const tallies of all) for (const [name, tally] of tallies) found.set(name, merged(found.get(name), tally));
  return found;
}

/** The same values in spans of `step` milliseconds, the earliest first. */
export function rolledUp(rows: Iterable<HistoryRow>, step: number): readonly HistoryRow[] {
  const pieces = rollingUp(rows, step);
  for (;;) {
    const { done, value } = pieces.next();
    if (done === true) return value;
  }
}

/** `rolledUp` in pieces of one row, between which the caller may do other work. */
export function* rollingUp(rows: Iterable<HistoryRow>, step: number): Generator<undefined, readonly HistoryRow[]> {
  const found = new Map<number, Map<string, Tally>>();
  for (const { at, tallies } of rows) {
    const begin = Math.floor(at / step) * step;
    const into = found.get(begin) ?? new Map<string, Tally>();
    found.set(begin, into);
    for (const [name, tally] of tallies) into.set(name, merged(into.get(name), tally));
    yield;
  }
  return [...found].toSorted(([a], [b]) => a - b).map(([at, tallies]) => ({ at, tallies }));
}

/** Where the history is kept. It may lose what it has, but never gets in the way: reading never throws. */
export interface HistoryStore {
  /** Prepares it, so that a store that is damaged is reported soon after the start. */
  open(): void;
  /** Adds to every tier, all or nothing. Throws if that cannot be stored. */
  add(rows: readonly HistoryRow[]): void;
  /**
   * The rows of a tier whose span begins in [from, to), the earliest first, with only these series. They are read a few at a
   * time, so that the caller may do other work between two of them, adding rows included.
   */
  rows(tier: Tier, from: number, to: number, series: ReadonlySet<string>): Iterable<HistoryRow>;
  /** The names of all series, and the day in which each was last added, in milliseconds since 1970. */
  series(): ReadonlyMap<string, number>;
  close(): void;
}
