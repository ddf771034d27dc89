import type { Location } from '../../engine/declare/location.ts';
import type { Draft } from '../../engine/declare/resource.ts';

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
