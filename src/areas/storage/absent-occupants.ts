import { volumesFolder } from '../../engine/declare/location.ts';
import type { Problem } from '../../engine/declare/problem.ts';
import type { Occupant, World } from '../../engine/declare/resource.ts';
import { type Absence, absenceOf } from '../../engine/facts/places.ts';
import type { ImportablePool } from '../../host/ports/zfs.ts';
import { listed, pathOf, titleOf } from './occupants.ts';
import { volumeRecord } from './volumes.ts';

/**
 * Volumes that are missing, and records that name something that cannot be used now. Those that share a cause are one
 * problem: a volume with hundreds of shares that is not imported is not hundreds of alerts.
 */
export function absenceProblems({ view, facts: { storage, importable } }: World): readonly Problem[] {
  const missing = view
    .all(volumeRecord)
    .filter(({ vol_name }) => !storage.pools.has(vol_name))
    .map(({ vol_name }) => ({ absence: { of: 'volume', name: vol_name, state: 'missing' } as const, occupants: [] }));
  const occupied = view.occupants({ path: volumesFolder }).flatMap((occupant) => {
    for (const place of occupant.locations) {
      const absence = absenceOf(place, storage);
      if (absence !== undefined) return [{ absence, occupants: [occupant] }];
    }
    return [];
  });
  const causes = Map.groupBy([...missing, ...occupied], ({ absence }) => Object.values(absence).join(' '));
  return [...causes.values()].flatMap((same) => {
    const absence = same[0]?.absence;
    // A locked volume is a problem already, and so is a locked dataset, with what it affects.
    if (
      absence === undefined ||
      absence.state === 'locked' ||
      (absence.of === 'volume' && storage.datasets.get(absence.name)?.key === 'unavailable')
    )
      return [];
    return [
      problemOf(
        absence,
        same.flatMap(({ occupants }) => occupants),
        absence.state === 'missing' ? importable.find(({ name }) => name === absence.name) : undefined,
      ),
    ];
  });
}

function problemOf({ of, name, state }: Absence, occupants: readonly Occupant[], pool?: ImportablePool): Problem {
  const isAway = of === 'volume' && state === 'missing';
  const what = of === 'path' ? `Nothing is at ${name}` : `The ${of} ${name} is ${isAway ? 'not imported' : state}`;
  const [only, ...others] = occupants;
  const remedy = only !== undefined && others.length === 0 && of === 'path' ? removalOf(only) : importOf(pool);
  return {
    kind: 'absent',
    about: of === 'path' ? name : `storage/${of}/${name}`,
    detail: state,
    severity: isAway ? 'critical' : 'warning',
    message: `${what}.${elsewhere(pool)}${occupants.length === 0 ? '' : ` This affects: ${listed(occupants.map(titleOf))}.`}`,
    affects: occupants.map(pathOf),
    ...(remedy && { remedy }),
  };
}

function elsewhere(pool: ImportablePool | undefined): string {
  if (pool?.usedBy === undefined) return '';
  return ` The machine ${pool.usedBy} used it last and has not exported it. Shut that machine down or take the disks from it, and then import the volume by name.`;
}

function importOf(pool: ImportablePool | undefined): Problem['remedy'] {
  if (pool === undefined || pool.usedBy !== undefined) return undefined;
  const body = { volume_id: `${pool.name}|${pool.guid}` };
  return { method: 'POST', path: '/api/v1.0/storage/volume_import/', body };
}

/** What only serves a folder goes with it. Other records, such as users, are more than the folder that they name. */
function removalOf(occupant: Occupant): Problem['remedy'] {
  const { resource } = occupant;
  if (resource.kind !== 'collection' || resource.removedWithVolume === undefined) return undefined;
  return { method: 'DELETE', path: `/api/v1.0/${pathOf(occupant)}/` };
}
