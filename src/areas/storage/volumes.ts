import { missing } from '../../engine/declare/errors.ts';
import { readOnly, text } from '../../engine/declare/fields.ts';
import { volumesFolder } from '../../engine/declare/formats.ts';
import { collection, type Draft, type RecordOf, type Step, type World } from '../../engine/declare/resource.ts';
import type { Dataset, Pool } from '../../host/ports/zfs.ts';
import { quote } from '../../lib/text.ts';

/** What only Holdfast can keep of a pool: the number that the interface calls it by. It has no address of its own. */
export const volumeRecord = collection('holdfast/volumes', {
  title: 'volume',
  description: 'The numbers of the volumes.',
  verbs: [],
  ofMachine: true,
  order: ['vol_name'],
  fields: {
    vol_name: readOnly(text({ description: 'Name of the pool.' })),
    vol_guid: readOnly(text({ description: 'What ZFS calls the pool, wherever it goes.' })),
  },
  follows: { topics: ['storage'], keep: adoptPools },
});

/** A volume: its record, and the pool when the machine has it. */
export interface Volume {
  readonly record: RecordOf<typeof volumeRecord.fields>;
  readonly pool: Pool | undefined;
  /** The pool's root dataset. */
  readonly root: Dataset | undefined;
}

export function volumeFrom(record: Volume['record'], { facts }: World): Volume {
  const pool = facts.storage.pools.get(record.vol_name);
  const present = pool?.guid === record.vol_guid ? pool : undefined;
  return { record, pool: present, root: present && facts.storage.datasets.get(record.vol_name) };
}

/** Takes up a pool and mounts it where volumes are. */
export function importPool(name: string, guid: string): Step {
  return {
    title: `import the pool ${name}`,
    perform: ({ zfs }) => zfs.importPool(guid, { mountpoint: `${volumesFolder}/${name}` }),
    left: async ({ zfs }) => (await zfs.pools()).some((pool) => pool.guid === guid),
    undo: ({ zfs }) => zfs.exportPool(name),
    touches: ['storage', 'disks'],
  };
}

/** A segment of digits only is an id, anything else a name (gaps 1.2). */
export function findVolume(world: World, key: string): Volume | undefined {
  const { view } = world;
  const record = /^\d{1,15}$/.test(key)
    ? view.get(volumeRecord, Number(key))
    : view.find(volumeRecord, 'vol_name', key);
  return record && volumeFrom(record, world);
}

/** The name of the pool that a path's `{vol}` means. */
export function poolNameOf(world: World, key: string): string {
  const volume = findVolume(world, key);
  if (volume?.pool === undefined) throw missing(`There is no volume ${quote(key)}.`);
  return volume.record.vol_name;
}

/**
 * Pools that are mounted where volumes are and have no number yet get one: what the machine has is listed, whoever
 * made it, also when the daemon ended between making a pool and writing its number down.
 */
function adoptPools(draft: Draft): void {
  for (const pool of draft.facts.storage.pools.values()) {
    const mountpoint = draft.facts.storage.datasets.get(pool.name)?.mountpoint;
    const known = draft.find(volumeRecord, 'vol_name', pool.name);
    if (mountpoint !== `${volumesFolder}/${pool.name}` || known?.vol_guid === pool.guid) continue;
    if (known !== undefined) draft.remove(volumeRecord, known.id);
    draft.create(volumeRecord, {}, { vol_name: pool.name, vol_guid: pool.guid });
  }
}
