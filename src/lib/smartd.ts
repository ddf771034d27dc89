/** The numbers that each field of a schedule selects; undefined for `*`. */
export interface Hours {
  readonly months: readonly number[] | undefined;
  readonly days: readonly number[] | undefined;
  /** 0 is Sunday. */
  readonly weekdays: readonly number[] | undefined;
  readonly hours: readonly number[] | undefined;
  /** Whether a day must match both day fields. Otherwise one match is enough, as in cron. */
  readonly bothDays: boolean;
}

/**
 * The regular expression of smartd's `-s` for the hours of a test. It matches `T/MM/DD/d/HH`; Monday is 1, Sunday 7.
 */
export function smartdPattern(type: string, { months, days, weekdays, hours, bothDays }: Hours): string {
  const month = anyOf(months, 2);
  const day = anyOf(days, 2);
  const weekday = anyOf(weekdays?.map((day) => (day === 0 ? 7 : day)).toSorted(), 1);
  const hour = anyOf(hours, 2);
  const both = `${type}/${month}/${day}/${weekday}/${hour}`;
  return bothDays ? both : `${type}/${month}/${day}/./${hour}|${type}/${month}/../${weekday}/${hour}`;
}

/** A compact pattern, because smartd limits the length of lines: 1, 2 and 13 with two digits are `(0[12]|13)`. */
function anyOf(numbers: readonly number[] | undefined, digits: number): string {
  if (numbers === undefined) return '.'.repeat(digits);
  if (digits === 1) return oneOf(numbers);
  const tens = Map.groupBy(numbers, (number) => Math.floor(number / 10));
  const texts = [...tens].map(([ten, ones]) => `${ten}${oneOf(ones.map((number) => number % 10))}`);
  return texts.length === 1 ? texts.join('') : `(${texts.join('|')})`;
}

function oneOf(numbers: readonly number[]): string {
  const [first = 0] = numbers;
  const last = numbers.at(-1) ?? first;
  if (numbers.length === 1) return String(first);
  return numbers.length > 2 && last - first === numbers.length - 1 ? `[${first}-${last}]` : `[${numbers.join('')}]`;
}
