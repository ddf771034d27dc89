const day = 86_400_000;

/** The pace is that of so many days, and is not known from less than so many. */
export const paceDays = 28;
const leastDays = 5;

/** Further ahead, no pace of some weeks says anything. */
const furthest = 5 * 365 * day;

export interface Forecast {
  /** Bytes by which the pool grows in a day; undefined if too few days are known. */
  readonly perDay: number | undefined;
  /** Days from which it is known. */
  readonly days: number;
  /** When the pool is full at this pace; undefined if it does not grow, or hardly. */
  readonly fullAt: number | undefined;
}

/**
 * The line through the medians of the days with the median of all slopes (Theil and Sen): a large file that came and went
 * and a night of backups hardly change it.
 */
export function forecastOf(
  points: readonly { readonly at: number; readonly value: number }[],
  { used, size, now }: { readonly used: number; readonly size: number; readonly now: number },
): Forecast {
  const recent = points.filter(({ at }) => at > now - paceDays * day && at <= now);
  const days = [...Map.groupBy(recent, ({ at }) => Math.floor(at / day))].map(([number, those]) => ({
    number,
    value: median(those.map(({ value }) => value)),
  }));
  if (days.length < leastDays) return { perDay: undefined, days: days.length, fullAt: undefined };
  const slopes = days.flatMap((a, index) =>
    days.slice(index + 1).map((b) => (b.value - a.value) / (b.number - a.number)),
  );
  const perDay = median(slopes);
  const ahead = (Math.max(0, size - used) / perDay) * day;
  return { perDay, days: days.length, fullAt: perDay > 0 && ahead <= furthest ? now + ahead : undefined };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = 0, high = 0] = [sorted[middle - 1], sorted[middle]];
  return sorted.length % 2 === 1 ? high : (low + high) / 2;
}
