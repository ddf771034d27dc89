import { identifierOf } from '../../areas/storage/disk.ts';
import type { SmartTest } from '../../areas/tasks/smarttest.ts';
import { cronNumbers } from '../../engine/formats.ts';
import type { Disk } from '../../host/ports/disks.ts';
import { smartdPattern } from '../../lib/smartd.ts';
import { lines } from '../../lib/text.ts';

/** `/etc/smartd.conf`: every disk is watched, each with all its tests in one expression. */
export function smartdConf(disks: readonly Disk[], tests: readonly SmartTest[]): string {
  return lines(
    '# Written by Holdfast.',
    disks.map((disk) => {
      const identifier = identifierOf(disk);
      const patterns = tests.filter((test) => test.smarttest_disks.includes(identifier)).map(patternOf);
      // A disk without SMART, or one that is gone when smartd starts, must not end it; it says so in its log.
      return [`/dev/${disk.name} -a -d removable`, ...(patterns.length === 0 ? [] : [`-s (${patterns.join('|')})`])].join(' ');
    }),
  );
}

function patternOf(test: SmartTest): string {
  return smartdPattern(test.smarttest_type, {
    months: cronNumbers('month', test.smarttest_month),
    days: cronNumbers('daymonth', test.smarttest_daymonth),
    weekdays: cronNumbers('dayweek', test.smarttest_dayweek),
    hours: cronNumbers('hour', test.smarttest_hour),
    bothDays: [test.smarttest_daymonth, test.smarttest_dayweek].some((part) => part.startsWith('*')),
  });
}

/** `/etc/default/smartmontools`. smartd goes on when there is no disk it could watch: one may come. */
export const smartdDefaults: string = lines('# Written by Holdfast.', 'smartd_opts="--quit=never"');
