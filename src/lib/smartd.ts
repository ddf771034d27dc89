/** A schedule's fields as the numbers each of them names; undefined for a star. */
export interface Hours {
  readonly months: readonly number[] | undefined;
  readonly days: readonly number[] | undefined;
  /** 0 is Sunday. */
  readonly weekdays: readonly number[] | undefined;
  readonly hours: readonly number[] | undefined;
  /** Whether a day must fit both its fields; else one of them is enough, as cron has it. */
  readonly bothDays: boolean;
}

/** The regular expression by which smartd knows the hours of a test: `T/MM/DD/d/HH`, where Monday is 1 and Sunday 7. */
export function smartdPattern(type: string, { months, days, weekdays, hours, bothDays }: Hours): string {
  const month = anyOf(months, 2);
  const day = anyOf(days, 2);
  const weekday = anyOf(weekdays?.map((one) => (one === 0 ? 7 : one)).toSorted(), 1);
  const hour = anyOf(hours, 2);
  const both = `${type}/${month}/${day}/${weekday}/${hour}`;
  return bothDays ? both : `${type}/${month}/${day}/./${hour}|${type}/${month}/../${weekday}/${hour}`;
}

/** Short, for smartd reads no long lines: the numbers 1, 2 and 13 of two digits are `(0[12]|13)`. */
function anyOf(numbers: readonly number[] | undefined, digits: number): string {
  if (numbers === undefined) return '.'.repeat(digits);
  if (digits === 1) return oneOf(numbers);
  const tens = Map.groupBy(numbers, (one) => Math.floor(one / 10));
  const texts = [...tens].map(([ten, ones]) => `${ten}${oneOf(ones.map((one) => one % 10))}`);
  return texts.length === 1 ? texts.join('') : `(${texts.join('|')})`;
}

function oneOf(numbers: readonly number[]): string {
  const [first = 0] = numbers;
  const last = numbers.at(-1) ?? first;
  if (numbers.length === 1) return String(first);
  return numbers.length > 2 && last - first === numbers.length - 1 ? `[${first}-${last}]` : `[${numbers.join('')}]`;
}
