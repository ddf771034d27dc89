import { Fault, failed } from '../../engine/declare/errors.ts';
import type { Location } from '../../engine/declare/location.ts';
import type { Draft, Occupant, Operations } from '../../engine/declare/resource.ts';
import { quote, sentenceList } from '../../lib/text.ts';

/**
 * Removes the records that go with what they lie on: the tasks of a volume, and with `cascade` its shares and extents
 * (gaps 11.4). Each resource declares this by `removedWithVolume`.
 */
export function removeOccupants(draft: Draft, of: Location, { cascade }: { readonly cascade: boolean }): void {
  for (const { resource, record } of draft.occupants(of)) {
    if (resource.kind !== 'collection' || draft.get(resource, record.id) === undefined) continue;
    const when = resource.removedWithVolume;
    if (when === 'always' || (when === 'cascade' && cascade)) draft.remove(resource, record.id);
  }
}

/** What users call a record, such as `CIFS share "media"`: by the field that lists are ordered by, or its id. */
export function titleOf({ resource, record }: Occupant): string {
  const values: Readonly<Record<string, unknown>> = record;
  const [first = ''] = resource.kind === 'collection' ? resource.order : [];
  const name = values[first];
  if (typeof name === 'string' && name !== '') return `${resource.title} ${quote(name)}`;
  return resource.kind === 'collection' ? `${resource.title} ${record.id}` : resource.title;
}

/** The path of a record below the root of the interface: `sharing/cifs/3`. */
export function pathOf({ resource, record }: Occupant): string {
  return resource.kind === 'collection' ? `${resource.path}/${record.id}` : resource.path;
}

/** At most this many occupants are named in a message. */
const mostNamed = 10;

/** Titles for a message. */
export function listed(titles: readonly string[]): string {
  const more = titles.length > mostNamed ? [`${titles.length - mostNamed} more`] : [];
  return sentenceList([...titles.slice(0, mostNamed), ...more], 'and');
}

/** ZFS says only that a dataset is busy. This adds what lies on it, which may be the cause. */
export async function namingOccupants<T>(operations: Operations, of: Location, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'failed' || !/\bbusy\b/.test(error.message)) throw error;
    const titles = operations.world.view.occupants(of).map(titleOf);
    if (titles.length === 0) throw error;
    throw failed(`${error.message.replace(/\.$/, '')}. On it: ${listed(titles)}. Stop what uses it first.`, error);
  }
}
