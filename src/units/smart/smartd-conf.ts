import { type DiskSettings, identifierOf } from '../../areas/storage/disks.ts';
import { expressionFor, type TimedTest } from '../../areas/tasks/smart-expression.ts';
import type { Disk } from '../../host/ports/disks.ts';
import { lines, words } from '../../lib/text.ts';

/** `/etc/smartd.conf`: every disk is watched that is not left out on purpose, each with all its tests in one expression. */
export function smartdConf(disks: readonly (readonly [Disk, DiskSettings])[], tests: readonly TimedTest[]): string {
  return lines(
    '# Written by Holdfast.',
    disks.map(([disk, { disk_togglesmart, disk_smartoptions }]) => {
      if (!disk_togglesmart) return undefined;
      const expression = expressionFor(identifierOf(disk), tests);
      // A disk without SMART, or one that is gone when smartd starts, must not end it; it says so in its log.
      return [`/dev/${disk.name} -a -d removable`, ...words(disk_smartoptions), ...(expression === '' ? [] : [`-s (${expression})`])].join(' ');
    }),
  );
}

/** `/etc/default/smartmontools`. smartd goes on when there is no disk it could watch: one may come. */
export const smartdDefaults: string = lines('# Written by Holdfast.', 'smartd_opts="--quit=never"');
