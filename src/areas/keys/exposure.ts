import { locationsOf } from '../../engine/configuration/occupants.ts';
import type { Effect } from '../../engine/declare/access.ts';
import { isIn, type Location } from '../../engine/declare/location.ts';
import { matches } from '../rights/patterns.ts';

/** What gives clients of the network access to places on volumes. */
const opening = ['sharing/*', 'services/*', 'services/iscsi/extent'];

/**
 * What makes a place as good as root's own: keys of SSH in homes, scripts that root runs, and the programs of jails and
 * plugins. Clients of a share can be given the rights of root in it.
 */
const trusted = ['account/users', 'tasks/initshutdown', 'jails/*', 'plugins/*'];

/** The first record that opens such a place, or a place around it or in it, as a sentence. */
export function exposedBy({ changes, view }: Effect): string | undefined {
  for (const { resource, after } of changes) {
    if (after === undefined || !opening.some((pattern) => matches(pattern, resource.path))) continue;
    for (const location of locationsOf(resource, after, view)) {
      const other = view
        .occupants(volumeOf(location))
        .filter((occupant) => trusted.some((pattern) => matches(pattern, occupant.resource.path)))
        .find(({ locations }) => locations.some((inner) => isIn(inner, location) || isIn(location, inner)));
      if (other !== undefined)
        return `${resource.path} would open a place that ${other.resource.path}/${other.record.id} uses.`;
    }
  }
  return undefined;
}

/** The volume of a place. */
function volumeOf(location: Location): Location {
  return 'dataset' in location
    ? { dataset: location.dataset.split('/')[0] ?? '' }
    : { path: location.path.split('/').slice(0, 3).join('/') };
}
