import { identifierOf } from '../../areas/storage/disk.ts';
import { expressionFor, type TimedTest } from '../../areas/tasks/smart-expression.ts';
import type { Disk } from '../../host/ports/disks.ts';
import { lines } from '../../lib/text.ts';

/** `/etc/smartd.conf`: every disk is watched, each with all its tests in one expression. */
export function smartdConf(disks: readonly Disk[], tests: readonly TimedTest[]): string {
  return lines(
    '# Written by Holdfast.',
    disks.map((disk) => {
      const expression = expressionFor(identifierOf(disk), tests);
      // A disk without SMART, or one that is gone when smartd starts, must not end it; it says so in its log.
      return [`/dev/${disk.name} -a -d removable`, ...(expression === '' ? [] : [`-s (${expression})`])].join(' ');
    }),
  );
}

/** `/etc/default/smartmontools`. smartd goes on when there is no disk it could watch: one may come. */
export const smartdDefaults: string = lines('# Written by Holdfast.', 'smartd_opts="--quit=never"');
