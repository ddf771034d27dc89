import { memo } from '../../lib/memo.ts';
import type { Fields } from '../declare/fields.ts';
import type { Kept } from '../declare/kept.ts';
import { isIn, type Location, volumesFolder } from '../declare/location.ts';
import { keptFields } from '../declare/record.ts';
import type { Occupant, RecordOf, Resource, View } from '../declare/resource.ts';

/**
 * What lies on a path, dataset or volume, found by the declarations of fields and resources alone: a field with a format
 * such as `volumePath` needs nothing else.
 */
export function occupantsOf(view: View, resources: readonly Kept[], of: Location): readonly Occupant[] {
  const found: Occupant[] = [];
  // Loops, because ten thousand records are asked for whenever problems are looked for.
  for (const resource of resources.filter(namesPlaces))
    for (const record of resource.kind === 'collection' ? view.all(resource) : [view.only(resource)]) {
      const all = locationsOf(resource, record, view);
      const locations = all.every((location) => isIn(location, of))
        ? all
        : all.filter((location) => isIn(location, of));
      if (locations.length === 0) continue;
      const occupant = occupantInFields(record, resource);
      found.push(locations === occupant.locations ? occupant : { ...occupant, locations });
    }
  return found;
}

/** All places on volumes that a record names. */
export function locationsOf(resource: Kept, record: RecordOf<Fields>, view: View): readonly Location[] {
  const { locations } = occupantInFields(record, resource);
  const further = resource.locate?.(record, view);
  return further === undefined || further.length === 0 ? locations : [...locations, ...further];
}

/**
 * The record with the places that its fields name. Cached, because a record never changes, and all of thousands are asked
 * for after each change.
 */
const occupantInFields = memo((record: RecordOf<Fields>, resource: Kept): Occupant => {
  const values: Readonly<Record<string, unknown>> = record;
  const locations = fieldsWithPlaces(resource.fields).flatMap(({ name, field }) => {
    const value = values[name] ?? null;
    return value === null ? [] : (field.locate?.(value) ?? []);
  });
  // A copy, because what `flatMap` returns has room for seventeen.
  return { resource, record, locations: [...locations] };
});

const fieldsWithPlaces = memo((fields: Fields) => keptFields(fields).filter(({ field }) => field.locate !== undefined));

function namesPlaces(resource: Kept): boolean {
  return resource.locate !== undefined || fieldsWithPlaces(resource.fields).length > 0;
}

const keptByPath = memo(
  (resources: readonly Resource[]): ReadonlyMap<string, Kept> =>
    new Map(resources.flatMap((one) => (one.kind === 'hosted' ? [] : [[one.path, one] as const]))),
);

/** The paths on volumes that one record names. */
export function pathsOfRecord(
  resources: readonly Resource[],
  view: View,
  { resource: path, id }: { readonly resource: string; readonly id: number },
): readonly string[] {
  const resource = keptByPath(resources).get(path);
  const record = resource?.kind === 'collection' ? view.get(resource, id) : resource && view.only(resource);
  return resource === undefined || record === undefined ? [] : locationsOf(resource, record, view).flatMap(pathIn);
}

/** All paths on volumes that records name, except those that the program that uses them makes itself. */
export function pathsNamed(view: View): readonly string[] {
  return view.occupants({ path: volumesFolder }).flatMap(({ locations }) => locations.flatMap(pathIn));
}

const pathIn = (location: Location) => ('path' in location && location.isMade !== true ? [location.path] : []);
