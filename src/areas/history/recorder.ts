import {
  coarsest,
  finest,
  type HistoryRow,
  type HistoryStore,
  mergedTallies,
  rollingUp,
  type Tallies,
  type Tier,
  tallyOf,
  tiers,
} from '../../engine/declare/history.ts';
import type { Log } from '../../engine/declare/log.ts';
import type { World } from '../../engine/declare/resource.ts';
import type { History, HistorySpan } from '../../engine/services.ts';
import type { Reading } from '../../host/ports/statistics.ts';
import { inSlices } from '../../lib/slices.ts';
import { messageOf } from '../../lib/text.ts';
import { type Surroundings, valuesOf } from './samples.ts';

export interface RecorderParts {
  /** Undefined where nothing is kept over a restart. */
  readonly store: HistoryStore | undefined;
  readonly read: () => Promise<Reading>;
  readonly surroundings: (world: World) => Surroundings;
  readonly world: () => World;
  readonly log: Log;
  readonly now: () => number;
}

/** Milliseconds between two samples. */
export const sampleEvery = 30_000;
/** Rows that are stored at once, so that the disk of the system has work every five minutes only. */
const atOnce = 5;
/** Rows that wait while the disk is not writable. Older ones are dropped. */
const mostWaiting = 60;

/** Takes samples, and keeps their tallies. */
export class Recorder implements History {
  readonly #parts: RecorderParts;
  #before: Reading | undefined;
  /** The minute that has not ended, and those that are not stored yet. */
  #current: HistoryRow | undefined;
  #waiting: readonly HistoryRow[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sampling: Promise<void> | undefined;
  #isFailing = false;
  #timesStored = 0;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  /** Opens the file, so that a damaged one is reported soon after the start. */
  open(): void {
    this.#parts.store?.open();
  }

  begin(): void {
    this.#timer = setInterval(() => void this.sample(), sampleEvery);
    this.#timer.unref();
    void this.sample();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sampling;
    this.#end();
    this.#store();
    this.#parts.store?.close();
  }

  /** Takes one sample. Never rejects; a sample that begins while another is taken is that one. */
  sample(): Promise<void> {
    this.#sampling ??= this.#take().finally(() => {
      this.#sampling = undefined;
    });
    return this.#sampling;
  }

  get latest(): ReadonlyMap<string, number> {
    return this.#latest;
  }
  #latest: ReadonlyMap<string, number> = new Map();

  series(): ReadonlyMap<string, number> {
    const known = new Map(this.#parts.store?.series());
    for (const { at, tallies } of this.#unstored())
      for (const name of tallies.keys()) known.set(name, Math.max(at, known.get(name) ?? 0));
    return known;
  }

  async read(series: readonly string[], { from, to, step }: HistorySpan): Promise<readonly HistoryRow[]> {
    const wanted = new Set(series);
    // Rows from before the first span are part of none.
    const begin = Math.floor(from / step) * step;
    const tier = this.tierOf(from, step);
    const rows = function* (this: Recorder): Generator<HistoryRow> {
      yield* this.#parts.store?.rows(tier, begin, to, wanted) ?? [];
      for (const { at, tallies } of this.#unstored())
        if (at >= begin && at < to) yield { at, tallies: only(tallies, wanted) };
    };
    for (;;) {
      const times = this.#timesStored;
      const found = await inSlices(rollingUp(rows.call(this), step));
      // Rows that were stored meanwhile may be missing, or counted twice. That happens every five minutes at most.
      if (times === this.#timesStored) return found;
    }
  }

  /** The coarsest tier that has spans of at most `step` and still knows `from`; the coarsest of all for what is older. */
  tierOf(from: number, step: number) {
    const now = this.#parts.now();
    // Time passes between a request for the last 24 hours and this, and a day is all that the finest tier has.
    const knows = (tier: Tier) => from >= now - (tier.rows + 1) * tier.step;
    return tiers.findLast((tier) => tier.step <= step && knows(tier)) ?? tiers.find(knows) ?? coarsest;
  }

  async #take(): Promise<void> {
    const { read, world, surroundings, now, log } = this.#parts;
    try {
      const reading = await read();
      const values = valuesOf(this.#before, reading, surroundings(world()));
      this.#before = reading;
      this.#latest = values;
      this.#add(now(), new Map([...values].map(([name, value]) => [name, tallyOf(value)])));
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'history: a sample could not be taken');
    }
  }

  #add(time: number, tallies: Tallies): void {
    const at = Math.floor(time / finest.step) * finest.step;
    if (this.#current !== undefined && this.#current.at !== at) this.#end();
    this.#current = { at, tallies: mergedTallies(this.#current?.tallies ?? new Map(), tallies) };
    if (this.#waiting.length >= atOnce) this.#store();
  }

  #end(): void {
    if (this.#current !== undefined) this.#waiting = [...this.#waiting, this.#current];
    this.#current = undefined;
  }

  #store(): void {
    const { store, log } = this.#parts;
    if (this.#waiting.length === 0) return;
    try {
      store?.add(this.#waiting);
      this.#timesStored += 1;
      // Without a store, the last hour is in memory.
      if (store !== undefined) this.#waiting = [];
      if (this.#isFailing) log.info({}, 'history: samples are stored again');
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        log.warn({ error: messageOf(error) }, 'history: samples cannot be stored and will be dropped after an hour');
      this.#isFailing = true;
    }
    this.#waiting = this.#waiting.slice(-mostWaiting);
  }

  #unstored(): readonly HistoryRow[] {
    return this.#current === undefined ? this.#waiting : [...this.#waiting, this.#current];
  }
}

const only = (tallies: Tallies, wanted: ReadonlySet<string>): Tallies =>
  new Map([...tallies].filter(([name]) => wanted.has(name)));
