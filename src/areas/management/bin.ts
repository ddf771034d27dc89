import { conflict, missing, refused } from '../../engine/declare/errors.ts';
import { field, good, integer, optional, required, text } from '../../engine/declare/fields.ts';
import type { Kept } from '../../engine/declare/kept.ts';
import { type EngineToRead, operation, section } from '../../engine/declare/operation.ts';
import type { World } from '../../engine/declare/resource.ts';
import { flagOf, integerOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { isObject } from '../../lib/json.ts';
import { type BinEntry, binEntry, binSettings, binSettingsOf, contentOf } from '../bin/bin-entry.ts';
import { endEntry } from '../bin/ending.ts';
import { restoreEntry } from '../bin/restoring.ts';
import { binUse } from '../bin/space.ts';
import { namingOccupants } from '../storage/occupants.ts';
import { refuseForbidden } from './revisions.ts';

const entryAnswer = objectOf('BinEntry', {
  id: integerOf('Id of the entry.'),
  resource: stringOf('Path of the resource of what was removed.'),
  title: stringOf('What it is, such as CIFS share.'),
  name: stringOf('What people call it.'),
  removed: timeOf('When it was removed.'),
  removed_by: stringOf('Account or key that removed it.'),
  ends: timeOf('When it is destroyed.'),
  dataset: orNull(stringOf('Full name that the dataset or zvol had; null for records alone.')),
  kept_as: orNull(stringOf('Full name that the dataset or zvol has in the bin.')),
  used: integerOf('Bytes that it occupies in its volume, with everything below it.'),
  records: listOf(
    objectOf('BinRecord', {
      resource: stringOf('Path of the resource.'),
      id: integerOf('Id of the record, which it has again when it is restored.'),
    }),
    'The removed records: what the request named, and what lay on it.',
  ),
});

const settingsAnswer = objectOf('BinSettings', {
  days: integerOf('Days after which what is in the bin is destroyed.'),
  for_document: flagOf('Whether DELETE requests of the API of the document move what they remove to the bin.'),
});

const params = { id: integer({ description: 'Id of the entry.', min: 1 }) };

export const bin = section('bin', 'What was removed and can be restored.', [
  operation({
    method: 'GET',
    path: 'bin',
    name: 'listBin',
    title: 'Lists what is in the bin, the newest first.',
    answer: listOf(entryAnswer),
    list: { key: ['id'], order: ['-id'] },
    run: ({ operations: { world } }) => newestFirst(world).map((entry) => shown(entry, world)),
  }),
  operation({
    method: 'POST',
    path: 'bin',
    name: 'moveToBin',
    title: 'Removes what a DELETE request with this path would remove, and keeps it in the bin.',
    body: {
      path: required(
        text({
          description: 'Path below /api/v1.0/, such as sharing/cifs/3/ or storage/dataset/tank/media/.',
          max: 4096,
        }),
      ),
      body: field<unknown>({
        description: 'Body of the DELETE request, if it has one.',
        schema: {},
        initial: {},
        read: good,
      }),
      if_match: optional(text({ description: 'Tag of what is removed, as in the header If-Match.' })),
    },
    status: 201,
    answer: entryAnswer,
    example: { body: { path: 'tasks/cronjob/1/' } },
    async run({ engine, body: { path, body, if_match: ifMatch }, context, operations, request }) {
      const removal = { method: 'DELETE', path, body, ...(ifMatch !== undefined && { ifMatch }) };
      await request(removal, { ...context, toBin: true }, operations);
      const entry = newestOf(engine, context.request);
      return entry === undefined ? null : shown(entry, operations.world);
    },
  }),
  operation({
    method: 'GET',
    path: 'bin/settings',
    name: 'getBinSettings',
    title: 'Reads the settings of the bin.',
    answer: settingsAnswer,
    run: ({ operations }) => shownSettings(operations.world),
  }),
  operation({
    method: 'PUT',
    path: 'bin/settings',
    name: 'setBinSettings',
    title: 'Changes the settings of the bin. What is not sent stays.',
    body: {
      days: optional(binSettings.fields.days),
      for_document: optional(binSettings.fields.for_document),
    },
    answer: settingsAnswer,
    example: { body: { days: 14 } },
    async run({ operations, body: { days, for_document } }) {
      await operations.onlyChange('change the settings of the bin', (draft) => {
        const sent = { ...(days !== undefined && { days }), ...(for_document !== undefined && { for_document }) };
        const [present] = draft.all(binSettings);
        if (present === undefined) draft.create(binSettings, sent);
        else draft.update(binSettings, present.id, sent);
      });
      return shownSettings(operations.world);
    },
  }),
  operation({
    method: 'GET',
    path: 'bin/volumes',
    name: 'listBinVolumes',
    title: 'Shows how much space the bin occupies in each volume. Destroying entries frees it.',
    answer: listOf(
      objectOf('BinVolume', {
        volume: stringOf('Name of the volume.'),
        used: integerOf('Bytes that the bin occupies in it.'),
        available: integerOf('Bytes that are available in it.'),
        entries: integerOf('Entries with a dataset or zvol in it.'),
      }),
    ),
    list: { key: ['volume'] },
    run: ({ operations: { world } }) => volumesOf(world),
  }),
  operation({
    method: 'GET',
    path: 'bin/{id}',
    name: 'getBinEntry',
    title: 'Reads one entry of the bin.',
    params,
    answer: entryAnswer,
    run: ({ operations: { world }, params: { id } }) => shown(found(world, id), world),
  }),
  operation({
    method: 'POST',
    path: 'bin/{id}/restore',
    name: 'restoreFromBin',
    title: 'Restores what an entry keeps, with its ids, properties, mount points and shares.',
    params,
    body: {
      name: optional(
        text({
          description:
            'Another name, if the earlier one is taken: of the record, or the full name of the dataset or zvol. Records that name places on the dataset follow it.',
        }),
      ),
    },
    answer: entryAnswer,
    async run({ engine, params: { id }, body: { name }, context, operations }) {
      const { world } = operations;
      const entry = found(world, id);
      const resources = keptOf(engine);
      if (context.access !== undefined) refuseForbidden(context.access, { changes: opposite(entry, resources) });
      const answer = shown(entry, world);
      await operations.change(`restore the ${entry.title} ${entry.name} from the bin`, (draft) => {
        const present = draft.get(binEntry, id);
        if (present === undefined) throw conflict(`The entry ${id} was restored or destroyed meanwhile.`);
        restoreEntry(draft, present, { resources, name });
      });
      return answer;
    },
  }),
  operation({
    method: 'DELETE',
    path: 'bin/{id}',
    name: 'destroyBinEntry',
    title: 'Destroys what an entry keeps, now.',
    params,
    status: 204,
    answer: 'nothing',
    async run({ params: { id }, operations }) {
      const entry = found(operations.world, id);
      const { kept_as, pool, dataset, title, name } = entry;
      const isImported = [...operations.world.facts.storage.pools.values()].some(({ guid }) => guid === pool);
      if (kept_as !== '' && !isImported)
        throw refused(`${dataset} cannot be destroyed: its volume ${dataset.split('/')[0]} is not imported.`);
      const removal = operations.change(`destroy the ${title} ${name} in the bin`, (draft) =>
        endEntry(draft, binEntry, entry),
      );
      await (kept_as === '' ? removal : namingOccupants(operations, { dataset: kept_as }, removal));
    },
  }),
]);

function newestFirst({ view }: World): readonly BinEntry[] {
  return view.all(binEntry).toSorted((a, b) => b.id - a.id);
}

function found({ view }: World, id: number): BinEntry {
  const entry = view.get(binEntry, id);
  if (entry === undefined) throw missing(`The bin has no entry ${id}.`);
  return entry;
}

/** The entry that a request has made. */
function newestOf(engine: EngineToRead, request: string): BinEntry | undefined {
  const made = engine
    .revisionOf(request)
    ?.changes.filter(isObject)
    .find(({ resource, before }) => resource === binEntry.path && before === undefined);
  return engine.table(binEntry).get(Number(made?.['id']));
}

const keptOf = ({ resources }: EngineToRead): readonly Kept[] =>
  resources.filter((resource) => resource.kind !== 'hosted');

/** What removed the records. */
function opposite(entry: BinEntry, resources: readonly Kept[]) {
  return contentOf(entry).flatMap(({ path, id, before, after }) => {
    const resource = resources.find((one) => one.path === path);
    return resource === undefined
      ? []
      : [{ resource, id, before: { id, ...before }, after: after === undefined ? undefined : { id, ...after } }];
  });
}

function shown(entry: BinEntry, { facts }: World) {
  const { record: _, pool: __, content: ___, dataset, kept_as, ...rest } = entry;
  return {
    ...rest,
    dataset: dataset === '' ? null : dataset,
    kept_as: kept_as === '' ? null : kept_as,
    used: facts.storage.binned.get(kept_as)?.used ?? 0,
    records: contentOf(entry).flatMap(({ path: resource, id, after }) =>
      after === undefined ? [{ resource, id }] : [],
    ),
  };
}

function shownSettings({ view }: World) {
  const { days, for_document } = binSettingsOf(view);
  return { days, for_document };
}

function volumesOf({ view, facts: { storage } }: World) {
  const entries = view.all(binEntry);
  return [...storage.pools.values()].map(({ name: volume, guid }) => ({
    volume,
    used: binUse(volume, storage.binned),
    available: storage.datasets.get(volume)?.available ?? 0,
    entries: entries.filter(({ pool }) => pool === guid).length,
  }));
}
