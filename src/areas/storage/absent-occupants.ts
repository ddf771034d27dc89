import { volumesFolder } from '../../engine/declare/location.ts';
import type { Problem } from '../../engine/declare/problem.ts';
import type { Occupant, World } from '../../engine/declare/resource.ts';
import { type Absence, absenceOf } from '../../engine/facts/places.ts';
import { listed, pathOf, titleOf } from './occupants.ts';
import { volumeRecord } from './volumes.ts';

/**
 * Volumes that are missing, and records that name something that cannot be used now. Those that share a cause are one
 * problem: a volume with hundreds of shares that is not imported is not hundreds of alerts.
 */
export function absenceProblems({ view, facts: { storage } }: World): readonly Problem[] {
  const missing = view
    .all(volumeRecord)
    .filter(({ vol_name }) => !storage.pools.has(vol_name))
    .map(({ vol_name }) => ({ absence: { of: 'volume', name: vol_name, state: 'missing' } as const, occupants: [] }));
  const occupied = view.occupants({ path: volumesFolder }).flatMap((occupant) => {
    const absence = occupant.locations.map((place) => absenceOf(place, storage)).find((found) => found !== undefined);
    return absence === undefined ? [] : [{ absence, occupants: [occupant] }];
  });
  const causes = Map.groupBy([...missing, ...occupied], ({ absence }) => Object.values(absence).join(' '));
  return [...causes.values()].flatMap((same) => {
    const absence = same[0]?.absence;
    // A locked volume is a problem already.
    if (absence === undefined || (absence.of === 'volume' && storage.datasets.get(absence.name)?.key === 'unavailable'))
      return [];
    return [
      problemOf(
        absence,
        same.flatMap(({ occupants }) => occupants),
      ),
    ];
  });
}

function problemOf({ of, name, state }: Absence, occupants: readonly Occupant[]): Problem {
  const isAway = of === 'volume' && state === 'missing';
  const unusable = `What lies on it cannot be used: ${listed(occupants.map(titleOf))}.`;
  return {
    kind: 'absent',
    about: `storage/${of}/${name}`,
    detail: state,
    severity: isAway ? 'critical' : 'warning',
    message: `The ${of} ${name} is ${isAway ? 'not imported' : state}.${occupants.length === 0 ? '' : ` ${unusable}`}`,
    affects: occupants.map(pathOf),
  };
}
