import { invalid, refused } from '../../engine/declare/errors.ts';
import {
  advanced,
  alsoNamed,
  basic,
  choice,
  createOnly,
  field,
  good,
  inputOnly,
  list,
  live,
  nullable,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { size } from '../../engine/declare/formats.ts';
import {
  ActionAnswer,
  type AnswerOf,
  action,
  hosted,
  type Operations,
  type SentOf,
  type World,
} from '../../engine/declare/resource.ts';
import type { Dataset, DatasetProperty } from '../../host/ports/zfs.ts';
import { lastElement, parentOf } from '../../lib/path.ts';
import { parseSize } from '../../lib/size.ts';
import { quote, sentenceList } from '../../lib/text.ts';
import { putDatasetAway, refuseBinIn } from './binned-datasets.ts';
import { datasetEncryption, protectionOf, throwIfProtected } from './dataset-encryption.ts';
import { forgetKeysOf } from './encryption-roots.ts';
import { namingOccupants } from './occupants.ts';
import {
  changedSettings,
  changeStep,
  compressions,
  dedups,
  gone,
  newSettings,
  onOff,
  openChoice,
  reportUnderField,
  syncs,
} from './properties.ts';
import { createDataset, destroyDataset } from './steps.ts';
import { touchedByDestroying } from './tree.ts';
import { poolNameOf } from './volumes.ts';

const recordSizes = [
  'inherit',
  '512',
  '1K',
  '2K',
  '4K',
  '8K',
  '16K',
  '32K',
  '64K',
  '128K',
  '256K',
  '512K',
  '1M',
] as const;

/** The largest record size of OpenZFS, which an imported pool may have: 16 MiB. */
const largestRecord = 2 ** 24;

const limit = (description: string) =>
  size({ description: `${description}, in bytes or with a unit, such as 10G; 0 means none.` });

/** Requests send one of `recordSizes`, or bytes as in answers. */
const recordSize = field<number | 'inherit'>({
  description: `Maximum block size of files in bytes: a power of two from 512. Requests may send ${sentenceList(recordSizes, 'or')} as well.`,
  schema: { type: 'integer' },
  read(sent) {
    const bytes = typeof sent === 'number' || typeof sent === 'string' ? Number(sent) : Number.NaN;
    if (bytes >= 512 && bytes <= largestRecord && Number.isInteger(Math.log2(bytes))) return good(bytes);
    const reading = choice(recordSizes, { description: '', also: { '8k': '8K', '1024K': '1M' } }).read(sent);
    if (!reading.ok) return reading;
    return reading.value === 'inherit' ? good('inherit') : good(parseSize(reading.value) ?? 0);
  },
});

const fields = {
  ...basic('Dataset', {
    name: required(
      createOnly({
        ...text({
          description: 'Name of the dataset: the last path element on create, the full path in answers.',
          max: 128,
          pattern: /^[a-zA-Z0-9][a-zA-Z0-9_\-:. ]*$/,
          rule: 'The name must begin with a letter or digit and may contain letters, digits, spaces and _ - : . only.',
        }),
        schema: { type: 'string' },
      }),
    ),
    comments: titled(
      'Comment',
      alsoNamed(
        nullable(text({ description: 'Comment, stored in the pool as a user property.', max: 1024 })),
        'comment',
      ),
    ),
  }),
  ...advanced('Encryption', datasetEncryption),
  ...advanced('Writing', {
    sync: titled(
      'Synchronous writes',
      openChoice(choice(syncs, { description: 'How ZFS treats synchronous writes.' })),
    ),
  }),
  ...basic('Data', {
    compression: openChoice(choice(compressions, { description: 'Compression algorithm for new blocks.' })),
  }),
  ...advanced('Reading', {
    atime: titled(
      'Access times',
      openChoice(choice(onOff, { description: 'Whether reading a file updates its access time.' })),
    ),
  }),
  ...basic('Data', {
    readonly: titled('Read-only', openChoice(choice(onOff, { description: 'Whether the dataset is read-only.' }))),
  }),
  ...advanced('Reading', {
    exec: titled(
      'Run programs',
      openChoice(choice(onOff, { description: 'Whether programs in the dataset may be executed.' })),
    ),
  }),
  ...advanced('Writing', {
    dedup: titled(
      'Deduplication',
      openChoice(choice(dedups, { description: 'Whether identical blocks are stored only once.' })),
    ),
    recordsize: titled('Record size', recordSize),
    case_sensitivity: titled(
      'Letter case',
      createOnly(
        inputOnly(
          choice(['sensitive', 'insensitive', 'mixed', 'inherit'], {
            description: 'Whether file names are case-sensitive.',
            also: { on: 'sensitive', off: 'insensitive' },
          }),
        ),
      ),
    ),
  }),
  ...basic('Space', {
    quota: limit('Maximum space for the dataset and its descendants'),
    refquota: titled('Quota without children', limit('Maximum space for the dataset without its descendants')),
  }),
  ...advanced('Space', {
    reservation: limit('Space reserved for the dataset and its descendants'),
    refreservation: titled(
      'Reservation without children',
      limit('Space reserved for the dataset without its descendants'),
    ),
  }),
  pool: live(text({ description: 'Name of the volume.' })),
  mountpoint: titled('Mount point', live(text({ description: 'Mount point.' }))),
  used: live(size({ description: 'Bytes used, including descendants.' })),
  avail: titled('Available', live(size({ description: 'Bytes available.' }))),
  refer: titled('Referenced', live(size({ description: 'Bytes referenced.' }))),
  inherit_props: titled(
    'Inherited properties',
    list(text({ description: 'Property name.' }), {
      description:
        'Properties whose value is inherited from the parent or is the default. A request that sends this list back with ' +
        'the values that were read leaves these properties inherited.',
    }),
  ),
};

type Sent = SentOf<typeof fields>;

const common = {
  title: 'dataset',
  description: 'A file system in a volume.',
  key: { name: 'name', slashes: true },
  shows: ['storage'] as const,
  fields,
  quirks: { invalid: 400 as const },
};

/** The datasets of one volume, without the root dataset. */
export const volumeDatasets = hosted('storage/volume/{vol}/datasets', {
  shortName: 'dataset',
  nameField: 'name',
  ...common,
  // Part C: an update is answered 201.
  quirks: { invalid: 400, updated: 201 },
  list: (scope) => {
    const pool = poolNameOf(scope, scope.params['vol'] ?? '');
    return filesystems(scope).filter(({ name }) => name.startsWith(`${pool}/`));
  },
  find: (scope, key) => filesystem(scope, `${poolNameOf(scope, scope.params['vol'] ?? '')}/${key}`),
  // This path also removes a zvol of that name (clients-need B6).
  findToRemove: ({ facts, ...scope }, key) =>
    facts.storage.datasets.get(`${poolNameOf({ facts, ...scope }, scope.params['vol'] ?? '')}/${key}`),
  present: (dataset, { profile }) => {
    const answer = present(dataset);
    // Existing clients expect the path below the pool; the document shows the full path (clients-need, last section).
    return profile === 'clients' ? { ...answer, name: dataset.name.slice(dataset.name.indexOf('/') + 1) } : answer;
  },
  async create(sent, scope, operations) {
    await create(poolNameOf(scope, scope.params['vol'] ?? ''), sent, operations);
    return sent.name ?? '';
  },
  update: (dataset, sent, _scope, operations) => update(dataset, sent, operations),
  remove: (dataset, _sent, _scope, operations) => remove(dataset, operations),
  putAway: (dataset, _sent, _scope, operations) => putAway(dataset, operations),
});

/** All datasets by their full names. */
export const dataset = hosted(
  'storage/dataset',
  {
    shortName: 'dataset',
    columns: ['name', 'used', 'avail', 'quota', 'compression', 'mountpoint'],
    nameField: 'name',
    ...common,
    list: filesystems,
    find: filesystem,
    present,
    update: (before, sent, _scope, operations) => update(before, sent, operations),
    remove: (target, _sent, _scope, operations) => remove(target, operations),
    putAway: (target, _sent, _scope, operations) => putAway(target, operations),
  },
  [
    action({
      on: 'resource',
      segment: '',
      verb: '',
      title: 'Always refused: create a dataset with a POST to the path of its parent.',
      perform() {
        throw refused('A dataset needs a parent. Send this request to /storage/dataset/<parent>/.');
      },
    }),
    action({
      segment: '',
      verb: '',
      title:
        'Creates a child dataset. A body without a name updates this dataset instead and is answered 202 (Part C).',
      status: 201,
      answers: { $ref: '#/components/schemas/Dataset' },
      fields: { ...fields, name: createOnly({ ...fields.name, required: false }) },
      perform: async ({ target, sent, operations }) =>
        sent.name === undefined
          ? new ActionAnswer(202, present(await update(target, sent, operations)))
          : present(await create(target.name, sent, operations)),
    }),
  ],
);

function filesystems({ facts }: World): readonly Dataset[] {
  return [...facts.storage.datasets.values()].filter(({ kind }) => kind === 'filesystem');
}

function filesystem({ facts }: World, name: string): Dataset | undefined {
  const found = facts.storage.datasets.get(name);
  return found?.kind === 'filesystem' ? found : undefined;
}

function present({ name, properties, inherited, ...rest }: Dataset): AnswerOf<typeof fields> {
  const bytes = (property: DatasetProperty) => Number(properties[property] ?? 0);
  return {
    name,
    pool: name.split('/')[0] ?? name,
    mountpoint: rest.mountpoint ?? '',
    comments: rest.comment ?? null,
    sync: properties.sync ?? 'standard',
    compression: properties.compression ?? 'off',
    atime: properties.atime ?? 'on',
    readonly: properties.readonly ?? 'off',
    exec: properties.exec ?? 'on',
    dedup: properties.dedup ?? 'off',
    recordsize: bytes('recordsize'),
    quota: bytes('quota'),
    refquota: bytes('refquota'),
    reservation: bytes('reservation'),
    refreservation: bytes('refreservation'),
    used: rest.used,
    avail: rest.available,
    refer: rest.referenced,
    inherit_props: inherited,
  };
}

/** Creates a dataset for a request that names it whole. */
export async function createDatasetCalled(name: string, sent: Sent, operations: Operations): Promise<void> {
  const reading = fields.name.read(lastElement(name));
  if (!reading.ok) throw invalid({ dataset: [reading.wrong] });
  await create(parentOf(name), { ...sent, name: reading.value }, operations);
}

async function create(parent: string, sent: Sent, operations: Operations): Promise<Dataset> {
  const name = `${parent}/${sent.name ?? ''}`;
  const { settings, steps } = await protectionOf(name, sent, operations.world);
  const change = operations.change(`create the dataset ${name}`, (draft) => {
    if (draft.facts.storage.datasets.has(name))
      throw invalid({ name: [`cannot create '${name}': dataset already exists`] });
    const above = draft.facts.storage.datasets.get(parent)?.mountpoint;
    for (const step of steps) draft.plan.first(step);
    draft.plan.first(createDataset({ name, settings: { ...newSettings(sent), ...settings }, above }));
  });
  await reportUnderField(sent, change);
  return filesystem(operations.world, name) ?? gone('dataset', name);
}

async function update(before: Dataset, sent: Sent, operations: Operations): Promise<Dataset> {
  throwIfProtected(before, sent);
  const change = operations.change(`change the dataset ${before.name}`, (draft) =>
    draft.plan.first(changeStep(before, changedSettings(before, sent, sent.inherit_props ?? []), 'dataset')),
  );
  await reportUnderField(sent, change);
  return filesystem(operations.world, before.name) ?? gone('dataset', before.name);
}

async function remove({ name }: Dataset, operations: Operations): Promise<void> {
  refuseRoot(name);
  refuseBinIn(name, operations.world);
  const removal = operations.change(`destroy the dataset ${name}`, (draft) => {
    for (const step of forgetKeysOf(name, draft.facts)) draft.plan.first(step);
    draft.plan.last(
      destroyDataset({ name, with: 'children', touches: touchedByDestroying(name, draft.facts.storage) }),
    );
  });
  await namingOccupants(operations, { dataset: name }, removal);
}

/** Moves a dataset to the bin with its children, and with the shares and tasks that lie on them. */
async function putAway(dataset: Dataset, operations: Operations): Promise<void> {
  refuseRoot(dataset.name);
  await putDatasetAway(dataset, operations);
}

function refuseRoot(name: string): void {
  if (name.includes('/')) return;
  throw refused(
    `${quote(name)} is the root dataset of a volume and cannot be removed alone. Remove the volume instead.`,
  );
}
