import { missing } from '../../engine/declare/errors.ts';
import { readOnly, text } from '../../engine/declare/fields.ts';
import { volumesFolder } from '../../engine/declare/formats.ts';
import { collection, type Draft, type RecordOf, type World } from '../../engine/declare/resource.ts';
import { everyMinute } from '../../engine/declare/schedule.ts';
import type { Dataset, Pool } from '../../host/ports/zfs.ts';
import { quote } from '../../lib/text.ts';
import { stepIn } from './spares.ts';

/** The API ids of the volumes, which ZFS cannot store. The resource has no path in the API. */
export const volumeRecord = collection('holdfast/volumes', {
  title: 'volume',
  description: 'Ids of the volumes.',
  verbs: [],
  ofMachine: true,
  order: ['vol_name'],
  fields: {
    vol_name: readOnly(text({ description: 'Name of the pool.' })),
    vol_guid: readOnly(text({ description: 'GUID of the pool, which stays the same on every machine.' })),
  },
  // ZFS chooses the GUID of a new pool, so that a transaction knows it only after the step that creates the pool.
  learns: ({ vol_name, vol_guid }, { storage }) => ({ vol_guid: storage.pools.get(vol_name)?.guid ?? vol_guid }),
  follows: { topics: ['storage'], keep: adoptPools },
  scheduled: { when: () => everyMinute, task: stepIn, quiet: true },
});

/** A volume: its record, and the pool when it is imported. */
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

/** A path segment of digits only is an id, anything else a name (gaps 1.2). */
export function findVolume(world: World, key: string): Volume | undefined {
  const { view } = world;
  const record = /^\d{1,15}$/.test(key)
    ? view.get(volumeRecord, Number(key))
    : view.find(volumeRecord, 'vol_name', key);
  return record && volumeFrom(record, world);
}

/** The name of the pool for the segment `{vol}` of a path. */
export function poolNameOf(world: World, key: string): string {
  const volume = findVolume(world, key);
  if (volume?.pool === undefined) throw missing(`The volume ${quote(key)} does not exist or is not imported.`);
  return volume.record.vol_name;
}

/**
 * Gives an id to each pool that is mounted as a volume and has none yet. This lists pools that were created outside of
 * Holdfast, and pools whose record is missing because the daemon ended right after it had created the pool.
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
