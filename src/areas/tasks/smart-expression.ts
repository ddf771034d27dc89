import { cronNumbers } from '../../engine/declare/formats.ts';
import type { Schedule } from '../../engine/declare/schedule.ts';
import { smartdPattern } from '../../lib/smartd.ts';

/** The fields of a test that smartd requires. */
export type TimedTest = { readonly smarttest_type: string; readonly smarttest_disks: readonly string[] } & Readonly<
  Record<`smarttest_${Exclude<keyof Schedule, 'minute'>}`, string>
>;

/** smartd refuses a file with a line of more than 255 bytes; the rest of the line of a disk takes up to 59 bytes. */
export const longestExpression = 196;

/** The tests of one disk as one regular expression, empty when it has none. */
export function expressionFor(identifier: string, tests: readonly TimedTest[]): string {
  return tests
    .filter((test) => test.smarttest_disks.includes(identifier))
    .map(patternOf)
    .join('|');
}

function patternOf(test: TimedTest): string {
  return smartdPattern(test.smarttest_type, {
    months: cronNumbers('month', test.smarttest_month),
    days: cronNumbers('daymonth', test.smarttest_daymonth),
    weekdays: cronNumbers('dayweek', test.smarttest_dayweek),
    hours: cronNumbers('hour', test.smarttest_hour),
    bothDays: [test.smarttest_daymonth, test.smarttest_dayweek].some((part) => part.startsWith('*')),
  });
}
