import { failed, invalid } from '../../engine/declare/errors.ts';
import { field, inputOnly, live, required, sometimes, text, wrong } from '../../engine/declare/fields.ts';
import {
  type AnswerOf,
  action,
  hosted,
  type Operations,
  type Scope,
  type World,
} from '../../engine/declare/resource.ts';
import type { GroupKind, ImportableGroup, ImportablePool } from '../../host/ports/zfs.ts';
import { quote } from '../../lib/text.ts';
import { encryptionOf, machineBytes, openBelow, openBy } from './keys.ts';
import { isData } from './layout.ts';
import { giveScrubTask } from './scrub.ts';
import { importPool } from './steps.ts';
import { volumeFrom, volumeRecord } from './volumes.ts';

/** A tree of disks, only in answers. */
const nested = (description: string, type: 'object' | readonly ['object', 'null']) =>
  sometimes(
    live(
      field<unknown>({
        description: `${description} Not in the profile clients.`,
        schema: { type },
        read: () => wrong('This field is read-only.'),
      }),
    ),
  );

const answeredText = (description: string) => sometimes(live(text({ description })));

const fields = {
  id: live(text({ description: 'Name and guid of the pool, such as tank|1234.' })),
  label: answeredText('Name of the pool. Not in the profile clients.'),
  type: answeredText('Always zfs. Not in the profile clients.'),
  group_type: answeredText('Always none. Not in the profile clients.'),
  disks: nested('The data disks, as a tree of groups.', 'object'),
  log: nested('The log disks.', ['object', 'null']),
  cache: nested('The cache disks.', ['object', 'null']),
  spare: nested('The spare disks.', ['object', 'null']),
  name: answeredText('Name of the pool. Only in the profile clients.'),
  guid: answeredText('GUID of the pool. Only in the profile clients.'),
  status: answeredText('State of the pool that ZFS reports. Only in the profile clients.'),
  hostname: answeredText('Host that last imported the pool. Only in the profile clients.'),
};

export const volumeImport = hosted(
  'storage/volume_import',
  {
    shortName: 'pool/importable',
    nameField: 'id',
    title: 'importable volume',
    description: 'A pool on attached disks that is not imported.',
    key: { name: 'id', slashes: false },
    shows: ['disks', 'storage'],
    fields,
    list: importableIn,
    find: (world, key) => importableIn(world).find((pool) => idOf(pool) === key),
    present,
  },
  [
    action({
      on: 'resource',
      segment: '',
      verb: 'import',
      title: 'Imports the pool as a volume.',
      fields: { volume_id: required(inputOnly(text({ description: 'The id of an importable volume.', max: 300 }))) },
      // A JSON string (gaps 11.6); the other volume actions answer plain text.
      answers: { type: 'string' },
      perform: async ({ sent, operations }) => {
        await importVolume(sent.volume_id ?? '', operations);
        return 'Volume imported.';
      },
    }),
  ],
);

function idOf({ name, guid }: ImportablePool): string {
  return `${name}|${guid}`;
}

/** The long form of the document, or the short form of later clients (gaps 11.6). */
function present(pool: ImportablePool, { profile }: Scope): AnswerOf<typeof fields> {
  const { name, guid, health, hostname, groups } = pool;
  const none = {
    label: undefined,
    type: undefined,
    group_type: undefined,
    disks: undefined,
    log: undefined,
    cache: undefined,
    spare: undefined,
  };
  if (profile === 'clients') return { ...none, id: idOf(pool), name, guid, status: health, hostname };
  const auxiliary = (kind: GroupKind) => {
    const found = groups.filter((group) => group.kind === kind);
    return found.length === 0 ? null : tree(kind, 'ONLINE', found);
  };
  return {
    id: idOf(pool),
    label: name,
    type: 'zfs',
    group_type: 'none',
    disks: tree(name, health, groups.filter(isData)),
    log: auxiliary('log'),
    cache: auxiliary('cache'),
    spare: auxiliary('spare'),
    name: undefined,
    guid: undefined,
    status: undefined,
    hostname: undefined,
  };
}

function tree(name: string, status: string, groups: readonly ImportableGroup[]) {
  return {
    name,
    status,
    numVdevs: groups.length,
    vdevs: groups.map((group) => ({
      name: group.kind === 'stripe' ? 'stripe' : group.name,
      type: group.kind,
      status: group.health,
      numDisks: group.devices.length,
      disks: group.devices.map((device) => ({ name: device.name, status: device.health })),
    })),
  };
}

async function importVolume(id: string, operations: Operations): Promise<void> {
  const { name, guid } = importableBy(id, operations.world);
  await operations.work(`import the volume ${name}`, [`pool:${name}`], async (work) => {
    importableBy(id, operations.world);
    await work.step(importPool({ name, guid, isAsked: 'yes' }));
    if (operations.world.facts.storage.pools.get(name)?.guid !== guid)
      throw failed(`The pool ${name} was imported, but the host does not list it.`);
    const volume = volumeFrom({ id: 0, vol_name: name, vol_guid: guid }, operations.world);
    const encrypted = encryptionOf(volume);
    // The machine key opens a volume that this machine created. Any other volume stays locked until it is unlocked.
    if (encrypted?.isLocked)
      await openBy({ kind: 'machine', bytes: machineBytes(operations.world.view) }, encrypted, work, operations.world);
    await openBelow(name, work, operations);
    await work.change((draft) => {
      if (draft.find(volumeRecord, 'vol_guid', guid) === undefined)
        draft.create(volumeRecord, {}, { vol_name: name, vol_guid: guid });
      giveScrubTask(draft, name);
    });
  });
}

/** Disks and pools are looked at one after the other: between an import or export and the second look, both name a pool. */
export function importableIn({ facts }: Pick<World, 'facts'>): readonly ImportablePool[] {
  return facts.importable.filter(({ name, guid }) => facts.storage.pools.get(name)?.guid !== guid);
}

/** The importable pool with this id. Throws when there is none, when it is imported already or when its name is taken. */
function importableBy(id: string, { view, facts }: World): ImportablePool {
  const pool = facts.importable.find((candidate) => idOf(candidate) === id);
  if (pool === undefined) throw invalid({ volume_id: [`No importable volume has the id ${quote(id)}.`] });
  const imported = facts.storage.pools.get(pool.name);
  if (imported?.guid === pool.guid) throw invalid({ volume_id: [`The pool ${pool.name} is imported already.`] });
  const namesake = view.find(volumeRecord, 'vol_name', pool.name);
  if (imported !== undefined || (namesake !== undefined && namesake.vol_guid !== pool.guid)) {
    throw invalid({ volume_id: [`Another volume already has the name ${pool.name}.`] });
  }
  return pool;
}
