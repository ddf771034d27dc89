import type { Holder } from '../../engine/declare/error-codes.ts';
import { Fault, failed } from '../../engine/declare/errors.ts';
import type { Location } from '../../engine/declare/location.ts';
import type { Draft, Occupant, Operations } from '../../engine/declare/resource.ts';
import { isWithin } from '../../lib/path.ts';
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

/** ZFS says only that a dataset is busy. This adds what lies on it and who uses it, which may be the cause. */
export async function namingOccupants<T>(
  operations: Operations,
  of: { readonly dataset: string },
  work: Promise<T>,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'failed' || !/\bbusy\b|dependent clones/.test(error.message))
      throw error;
    const occupants = operations.world.view.occupants(of);
    const holders = await holdersOf(operations, of, occupants);
    const titles = occupants.map(titleOf);
    const message =
      titles.length === 0
        ? error.message
        : `${error.message.replace(/\.$/, '')}. On it: ${listed(titles)}. Stop what uses it first.`;
    throw failed(message, error, {
      code: 'busy',
      holders,
      help: { method: 'GET', path: `/api/holdfast/v1/occupants?dataset=${encodeURIComponent(of.dataset)}` },
    });
  }
}

/** What uses a dataset and what is below it: records, their clients, clones and processes. */
function holdersOf(
  operations: Operations,
  { dataset }: { readonly dataset: string },
  occupants: readonly Occupant[],
): Promise<readonly Holder[]> {
  const { view, facts } = operations.world;
  const all = [...facts.storage.datasets.values()];
  const within = (name: string) => isWithin(name, dataset);
  const clones = all.filter(
    ({ name, origin }) => origin !== undefined && within(origin.split('@')[0] ?? '') && !within(name),
  );
  const places = all
    .filter(({ name }) => within(name))
    .flatMap(({ name, kind, mountpoint }) => (kind === 'volume' ? `/dev/zvol/${name}` : (mountpoint ?? [])));
  const snapshots = Array.from(facts.storage.snapshots.among(within), ({ id }) => id);
  return operations.ask(`look at what uses ${dataset}`, async (host) => {
    const used = await Promise.all(
      occupants.map(async (occupant) => {
        const { resource, record } = occupant;
        const users = resource.kind === 'collection' ? ((await resource.usedBy?.(record, view, host)) ?? []) : [];
        return [
          { kind: 'record', title: titleOf(occupant), name: pathOf(occupant) } as const,
          ...users.map(
            (user) => ({ kind: 'session', title: `${user}, by the ${titleOf(occupant)}`, name: user }) as const,
          ),
        ];
      }),
    );
    const processes = await host.machine.processesUsing(places);
    const holds = await host.zfs.holds(snapshots);
    return [
      ...used.flat(),
      ...clones.map(({ name, origin }) => ({ kind: 'clone', title: `clone of ${origin}`, name }) as const),
      ...holds.map(({ snapshot, tag }) => ({ kind: 'hold', title: `hold ${quote(tag)}`, name: snapshot }) as const),
      ...processes.map(({ id, name }) => ({ kind: 'process', title: name, name: String(id) }) as const),
    ];
  });
}
