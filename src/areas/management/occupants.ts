import { invalid } from '../../engine/declare/errors.ts';
import { optional, text } from '../../engine/declare/fields.ts';
import { type Location, volumesFolder } from '../../engine/declare/location.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import type { Occupant, View } from '../../engine/declare/resource.ts';
import { choiceOf, integerOf, listOf, objectOf, stringOf } from '../../engine/declare/schema.ts';
import type { Host } from '../../host/ports/index.ts';
import { isWithin, normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { titleOf } from '../storage/occupants.ts';

export const occupants = section('occupants', 'What lies on a volume.', [
  operation({
    method: 'GET',
    path: 'occupants',
    name: 'listOccupants',
    title:
      'Lists the records that name something on a volume, in a dataset or below a path: see it before removing that.',
    query: {
      path: optional(text({ description: `A path below ${volumesFolder}. Send either path or dataset.`, max: 4096 })),
      dataset: optional(text({ description: 'The full name of a volume, dataset or zvol.' })),
    },
    answer: listOf(
      objectOf('Occupant', {
        resource: stringOf('Path of the resource, such as sharing/cifs.'),
        id: integerOf('Id of the record.'),
        title: stringOf('What the record is, with its name.'),
        locations: listOf(stringOf('A path, or the name of a dataset.'), 'What the record names there.'),
        removed_with_volume: choiceOf(
          ['always', 'cascade', 'never'],
          'Whether removing the volume removes the record: always, only with cascade, or never.',
        ),
        used_by: listOf(
          stringOf('Who uses it, such as an initiator.'),
          'Who uses the record now. Empty where the machine does not know.',
        ),
      }),
    ),
    list: { key: ['resource', 'id'] },
    example: { query: { dataset: 'tank' } },
    run({ engine, query, operations }) {
      const { view } = engine.world;
      const found = view.occupants(locationOf(query));
      return operations.ask('look at what uses the records', (host) =>
        Promise.all(found.map((occupant) => described(occupant, view, host))),
      );
    },
  }),
]);

function locationOf({
  path,
  dataset,
}: {
  readonly path?: string | undefined;
  readonly dataset?: string | undefined;
}): Location {
  if (path !== undefined && dataset !== undefined) throw invalid({ path: ['Expected path or dataset, got both.'] });
  if (dataset !== undefined) return { dataset };
  if (path === undefined || !isWithin(normalPath(path), volumesFolder))
    throw invalid({ path: [`Expected a path below ${volumesFolder}, or dataset, got ${quote(path ?? '')}.`] });
  return { path: normalPath(path) };
}

async function described(occupant: Occupant, view: View, host: Host) {
  const { resource, record, locations } = occupant;
  const ofCollection = resource.kind === 'collection' ? resource : undefined;
  return {
    resource: resource.path,
    id: record.id,
    title: titleOf(occupant),
    locations: locations.map((location) => ('path' in location ? location.path : location.dataset)),
    removed_with_volume: ofCollection?.removedWithVolume ?? 'never',
    used_by: (await ofCollection?.usedBy?.(record, view, host)) ?? [],
  };
}
