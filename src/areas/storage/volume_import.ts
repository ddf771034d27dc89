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
import { encryptionOf, machineBytes, openBy } from './keys.ts';
import { isData } from './layout.ts';
import { giveScrubTask } from './scrub.ts';
import { importPool, volumeFrom, volumeRecord } from './volumes.ts';

/** A nested description of disks; it is only answered. */
const nested = (description: string, type: 'object' | readonly ['object', 'null']) =>
  sometimes(
    live(
      field<unknown>({
        description: `${description} Not in the profile clients.`,
        schema: { type },
        read: () => wrong('It is never sent.'),
      }),
    ),
  );

const word = (description: string) => sometimes(live(text({ description })));

const fields = {
  id: live(text({ description: 'Name and guid of the pool, as tank|1234.' })),
  label: word('Name of the pool. Not in the profile clients.'),
  type: word('Always zfs. Not in the profile clients.'),
  group_type: word('Always none. Not in the profile clients.'),
  disks: nested('The data disks, as a tree of groups.', 'object'),
  log: nested('The log disks.', ['object', 'null']),
  cache: nested('The cache disks.', ['object', 'null']),
  spare: nested('The spare disks.', ['object', 'null']),
  name: word('Name of the pool. Only in the profile clients.'),
  guid: word('What ZFS calls the pool. Only in the profile clients.'),
  status: word('The word of ZFS for the state of the pool. Only in the profile clients.'),
  hostname: word('The machine that had the pool last. Only in the profile clients.'),
};

export const volumeImport = hosted(
  'storage/volume_import',
  {
    title: 'importable volume',
    description: 'A pool on attached disks that is not in use.',
    key: { name: 'id', slashes: false },
    shows: ['disks'],
    fields,
    list: ({ facts }) => facts.importable,
    find: ({ facts }, key) => facts.importable.find((pool) => idOf(pool) === key),
    present,
  },
  [
    action({
      on: 'resource',
      segment: '',
      title: 'Takes up the pool as a volume.',
      fields: { volume_id: required(inputOnly(text({ description: 'The id of an importable volume.', max: 300 }))) },
      // A JSON string (gaps 11.6), which the other actions of volumes do not answer.
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

/** The long form of the document, or the short one of the programs that came after it (gaps 11.6). */
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
  const beside = (kind: GroupKind) => {
    const found = groups.filter((group) => group.kind === kind);
    return found.length === 0 ? null : tree(kind, 'ONLINE', found);
  };
  return {
    id: idOf(pool),
    label: name,
    type: 'zfs',
    group_type: 'none',
    disks: tree(name, health, groups.filter(isData)),
    log: beside('log'),
    cache: beside('cache'),
    spare: beside('spare'),
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
  const { name, guid } = wanted(id, operations.world);
  await operations.work(`import the volume ${name}`, [`pool:${name}`], async (work) => {
    wanted(id, operations.world);
    await work.step(importPool(name, guid));
    if (operations.world.facts.storage.pools.get(name)?.guid !== guid)
      throw failed(`The pool ${name} was imported, but the machine does not show it.`);
    const volume = volumeFrom({ id: 0, vol_name: name, vol_guid: guid }, operations.world);
    const encrypted = encryptionOf(volume);
    // One that was made here opens here; another waits for its passphrase or recovery key.
    if (encrypted?.isLocked)
      await openBy({ kind: 'machine', bytes: machineBytes(operations.world.view) }, encrypted, work, operations.world);
    await work.change((draft) => {
      if (draft.find(volumeRecord, 'vol_guid', guid) === undefined)
        draft.create(volumeRecord, {}, { vol_name: name, vol_guid: guid });
      giveScrubTask(draft, name);
    });
  });
}

/** The pool of this id. It must be there, and its name free. */
function wanted(id: string, { view, facts }: World): ImportablePool {
  const pool = facts.importable.find((one) => idOf(one) === id);
  if (pool === undefined) throw invalid({ volume_id: [`There is no importable volume ${quote(id)}.`] });
  const namesake = view.find(volumeRecord, 'vol_name', pool.name);
  if (facts.storage.pools.has(pool.name) || (namesake !== undefined && namesake.vol_guid !== pool.guid)) {
    throw invalid({ volume_id: [`There is another volume called ${pool.name}.`] });
  }
  return pool;
}
