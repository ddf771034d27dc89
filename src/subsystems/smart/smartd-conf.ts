import type { smartSettings } from '../../areas/services/smart.ts';
import { type DiskSettings, identifierOf } from '../../areas/storage/disks.ts';
import { expressionFor, type TimedTest } from '../../areas/tasks/smart-expression.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { Disk } from '../../host/ports/disks.ts';
import { lines, words } from '../../lib/text.ts';

type Settings = RecordOf<typeof smartSettings.fields>;

/** `/etc/smartd.conf`: every disk is watched that is not left out on purpose, each with all its tests in one expression. */
export function smartdConf(
  settings: Settings,
  disks: readonly (readonly [Disk, DiskSettings])[],
  tests: readonly TimedTest[],
): string {
  const common = commonWords(settings);
  return lines(
    '# Written by Holdfast.',
    disks.map(([disk, { disk_togglesmart, disk_smartoptions }]) => {
      if (!disk_togglesmart) return undefined;
      const expression = expressionFor(identifierOf(disk), tests);
      // A disk without SMART, or one that is gone when smartd starts, must not end it; it says so in its log.
      return [
        `/dev/${disk.name} -a -d removable`,
        ...common,
        ...words(disk_smartoptions),
        ...(expression === '' ? [] : [`-s (${expression})`]),
      ].join(' ');
    }),
  );
}

/** Hands what smartd found to the daemon. */
const reportProgram = '/usr/lib/holdfast/disk-report';

/** What holds for every disk. */
function commonWords({
  smart_powermode,
  smart_difference,
  smart_informational,
  smart_critical,
}: Settings): readonly string[] {
  const watched = [smart_difference, smart_informational, smart_critical];
  return [
    ...(smart_powermode === 'never' ? [] : [`-n ${smart_powermode},q`]),
    ...(watched.some((degrees) => degrees > 0) ? [`-W ${watched.join(',')}`] : []),
    // Who gets a mail is the daemon's affair, which has the mail server's settings.
    `-m <nomailer> -M exec ${reportProgram}`,
  ];
}

/** `/etc/default/smartmontools`. smartd goes on when there is no disk it could watch: one may come. */
export function smartdDefaults({ smart_interval }: Settings): string {
  return lines('# Written by Holdfast.', `smartd_opts="--quit=never --interval=${smart_interval * 60}"`);
}

/** Debian's unit starts on hardware only; a virtual machine may well have been given real disks. */
export const smartdUnit: string = lines('# Written by Holdfast.', '[Unit]', 'ConditionVirtualization=');
