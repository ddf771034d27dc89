import type { Labels, Sample } from './exposition.ts';

/** Durations in seconds, counted by upper limits and by a few labels, since the start of the daemon. */
export class Distribution {
  readonly #limits: readonly number[];
  readonly #series = new Map<string, { readonly labels: Labels; readonly counts: number[]; sum: number }>();

  /** `limits` are upper limits of the buckets in seconds, the lowest first. */
  constructor(limits: readonly number[]) {
    this.#limits = limits;
  }

  /** Counts one duration. The values of the labels must be few: each combination is kept. */
  add(seconds: number, labels: Labels = {}): void {
    this.of(labels)(seconds);
  }

  /** Counts durations with these labels, for callers that keep the function. */
  of(labels: Labels): (seconds: number) => void {
    const key = Object.values(labels).join('\n');
    const series = this.#series.get(key) ?? { labels, counts: [...this.#limits.map(() => 0), 0], sum: 0 };
    this.#series.set(key, series);
    return (seconds) => {
      const index = this.#limits.findIndex((limit) => seconds <= limit);
      const bucket = index === -1 ? this.#limits.length : index;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.sum += seconds;
    };
  }

  /** As samples of a histogram. */
  *samples(): Generator<Sample> {
    for (const { labels, counts, sum } of this.#series.values()) {
      let total = 0;
      for (const [index, count] of counts.entries()) {
        total += count;
        yield { suffix: '_bucket', labels: { ...labels, le: limitText(this.#limits[index]) }, value: total };
      }
      yield { suffix: '_sum', labels, value: sum };
      yield { suffix: '_count', labels, value: total };
    }
  }
}

/** OpenMetrics requires the point of a whole number; the series must have the same name in both formats. */
function limitText(limit: number | undefined): string {
  if (limit === undefined) return '+Inf';
  return Number.isInteger(limit) ? limit.toFixed(1) : String(limit);
}
