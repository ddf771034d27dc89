import { type DiskSettings, tuningOf } from '../../areas/storage/disks.ts';
import type { Disk } from '../../host/ports/disks.ts';
import { standbyCode } from '../../lib/disk.ts';
import { lines } from '../../lib/text.ts';

/** `/etc/hdparm.conf`. udev applies it whenever a disk appears, because a disk loses these settings without power. */
export function hdparmConf(disks: readonly (readonly [Disk, DiskSettings])[]): string {
  return lines(
    '# Written by Holdfast.',
    disks.flatMap(([disk, settings]) => section(disk, settings)),
  );
}

function section(disk: Disk, settings: DiskSettings): readonly string[] {
  const decided: Readonly<Record<string, boolean>> = {
    disk_hddstandby: settings.disk_hddstandby !== 'Always On',
    disk_advpowermgmt: settings.disk_advpowermgmt !== 'Disabled',
    disk_acousticlevel: settings.disk_acousticlevel !== 'Disabled',
  };
  const { standby, power, acoustics } = tuningOf(disk, settings, (name) => decided[name] === true);
  const settingLines = [
    ...(standby === undefined ? [] : [`spindown_time = ${standbyCode(standby)}`]),
    ...(power === undefined ? [] : [`apm = ${power}`]),
    ...(acoustics === undefined ? [] : [`acoustic_management = ${acoustics}`]),
  ];
  return settingLines.length === 0 ? [] : [`${disk.path} {`, ...settingLines.map((line) => `\t${line}`), '}'];
}
