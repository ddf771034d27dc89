import type { smartSettings } from '../../areas/services/smart.ts';
import { type DiskSettings, identifierOf } from '../../areas/storage/disks.ts';
import { expressionFor, type TimedTest } from '../../areas/tasks/smart-expression.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { Disk } from '../../host/ports/disks.ts';
import { lines, words } from '../../lib/text.ts';

type Settings = RecordOf<typeof smartSettings.fields>;

/** `/etc/smartd.conf`: a line for each disk with `disk_togglesmart`, with all tests of the disk in one expression. */
export function smartdConf(
  settings: Settings,
  disks: readonly (readonly [Disk, DiskSettings])[],
  tests: readonly TimedTest[],
): string {
  const common = commonDirectives(settings);
  return lines(
    '# Written by Holdfast.',
    disks.map(([disk, { disk_togglesmart, disk_smartoptions }]) => {
      if (!disk_togglesmart) return undefined;
      const expression = expressionFor(identifierOf(disk), tests);
      // `-d removable`: smartd logs a disk that is missing or has no SMART, and continues.
      return [
        `/dev/${disk.name} -a -d removable`,
        ...common,
        ...words(disk_smartoptions),
        ...(expression === '' ? [] : [`-s (${expression})`]),
      ].join(' ');
    }),
  );
}

/** Reports the findings of smartd to the daemon. */
const reportProgram = '/usr/lib/holdfast/disk-report';

/** Directives for every disk. */
function commonDirectives({
  smart_powermode,
  smart_difference,
  smart_informational,
  smart_critical,
}: Settings): readonly string[] {
  const watched = [smart_difference, smart_informational, smart_critical];
  return [
    ...(smart_powermode === 'never' ? [] : [`-n ${smart_powermode},q`]),
    ...(watched.some((degrees) => degrees > 0) ? [`-W ${watched.join(',')}`] : []),
    // smartd sends no mail itself: the daemon does, because it has the settings of the mail server.
    `-m <nomailer> -M exec ${reportProgram}`,
  ];
}

/** `/etc/default/smartmontools`. smartd keeps running without disks, because one may be added. */
export function smartdDefaults({ smart_interval }: Settings): string {
  return lines('# Written by Holdfast.', `smartd_opts="--quit=never --interval=${smart_interval * 60}"`);
}

/** Debian's unit does not start in virtual machines, but these can have physical disks passed through. */
export const smartdUnit: string = lines('# Written by Holdfast.', '[Unit]', 'ConditionVirtualization=');
