import type { Problem } from '../../engine/declare/problem.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import type { Disk } from '../../host/ports/disks.ts';
import { identifierOf } from './disks.ts';

/** Percent of the rated writes from which there is a problem. */
const wearFrom = { warning: 90, critical: 100 } as const;

/** Degrees Celsius that a disk bears which does not report its own limit. */
const bearable = { rotational: 55, flash: 70 } as const;

/** The path of a disk, by its device name. */
export function aboutDisk(name: string, { disks }: Pick<Facts, 'disks'>): string {
  return pathOf(
    name,
    disks.find((one) => one.name === name),
  );
}

function pathOf(name: string, disk: Disk | undefined): string {
  return `storage/disk/${disk === undefined ? name : identifierOf(disk)}`;
}

/** What the disks report by SMART: a predicted failure, sectors that cannot be read, wear, and heat. */
export function diskProblems({ condition, disks }: Facts): readonly Problem[] {
  const byName = new Map(disks.map((disk) => [disk.name, disk]));
  return condition.health.flatMap(
    ({ name, failing, badSectors, wear = 0, temperature, hottest }): readonly Problem[] => {
      const disk = byName.get(name);
      const path = pathOf(name, disk);
      const limit = hottest ?? (disk?.rotational === true ? bearable.rotational : bearable.flash);
      return [
        ...(failing
          ? [
              {
                ...{ kind: 'smart', about: path, severity: 'critical' as const },
                message: `The disk ${name} reports by SMART that it is failing. Replace it.`,
              },
            ]
          : []),
        ...(badSectors > 0
          ? [
              {
                ...{ kind: 'bad sectors', about: path, severity: 'warning' as const },
                message: `The disk ${name} has ${badSectors} ${badSectors === 1 ? 'sector' : 'sectors'} that it could not read. Disks with such sectors often fail within weeks: have a replacement ready.`,
              },
            ]
          : []),
        ...(wear >= wearFrom.warning
          ? [
              {
                ...{
                  kind: 'wear',
                  about: path,
                  severity: wear >= wearFrom.critical ? ('critical' as const) : ('warning' as const),
                },
                message: `The disk ${name} has used up ${wear} % of the writes that it is rated for. Plan its replacement.`,
              },
            ]
          : []),
        ...(temperature !== undefined && temperature >= limit
          ? [
              {
                ...{ kind: 'temperature', about: path, severity: 'critical' as const },
                message: `The disk ${name} has ${temperature} °C; it was made for less than ${limit} °C. Check the fans and the air flow.`,
              },
            ]
          : []),
      ];
    },
  );
}
