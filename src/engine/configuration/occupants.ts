import type { Fields } from '../declare/fields.ts';
import type { Kept } from '../declare/kept.ts';
import { isIn, type Location } from '../declare/location.ts';
import { isKept } from '../declare/record.ts';
import type { Occupant, RecordOf, View } from '../declare/resource.ts';

/**
 * What lies on a path, dataset or volume, found by the declarations of fields and resources alone: a field with a format
 * such as `volumePath` needs nothing else.
 */
export function occupantsOf(view: View, resources: readonly Kept[], of: Location): readonly Occupant[] {
  return resources.filter(namesPlaces).flatMap((resource) =>
    (resource.kind === 'collection' ? view.all(resource) : [view.only(resource)]).flatMap((record) => {
      const locations = locationsOf(resource, record, view).filter((location) => isIn(location, of));
      return locations.length === 0 ? [] : [{ resource, record, locations }];
    }),
  );
}

/** All places on volumes that a record names. */
export function locationsOf(resource: Kept, record: RecordOf<Fields>, view: View): readonly Location[] {
  const values: Readonly<Record<string, unknown>> = record;
  return [
    ...Object.entries(resource.fields).flatMap(([name, field]) => {
      const value = isKept(field) ? (values[name] ?? null) : null;
      return value === null ? [] : (field.locate?.(value) ?? []);
    }),
    ...(resource.locate?.(record, view) ?? []),
  ];
}

function namesPlaces(resource: Kept): boolean {
  return resource.locate !== undefined || Object.values(resource.fields).some(({ locate }) => locate !== undefined);
}
