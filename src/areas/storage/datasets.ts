import { invalid, refused } from '../../engine/declare/errors.ts';
import {
  choice,
  createOnly,
  field,
  good,
  inputOnly,
  integer,
  list,
  live,
  nullable,
  required,
  text,
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
import { parseSize } from '../../lib/size.ts';
import { quote } from '../../lib/text.ts';
import {
  blaming,
  changeStep,
  compressions,
  dedups,
  gone,
  newSettings,
  onOff,
  open,
  settingsOf,
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

const limit = (description: string) => size({ description: `${description}, in bytes or as 10G; 0 is none.` });

/** Chosen as a word, answered as bytes. */
const recordSize = field<number | 'inherit'>({
  description: 'Largest block of a file. Chosen as a word, answered in bytes.',
  schema: { type: 'integer' },
  accepts: { enum: [...recordSizes, '8k', '1024K'] },
  read(sent) {
    const reading = choice(recordSizes, { description: '', also: { '8k': '8K', '1024K': '1M' } }).read(sent);
    if (!reading.ok) return reading;
    return reading.value === 'inherit' ? good('inherit') : good(parseSize(reading.value) ?? 0);
  },
});

const fields = {
  name: required(
    createOnly({
      ...text({
        description: 'Name of the dataset: one element of its path when it is made, the path when it is shown.',
        max: 128,
        pattern: /^[a-zA-Z0-9][a-zA-Z0-9_\-:. ]*$/,
        rule: 'A name begins with a letter or digit; letters, digits, blanks and _ - : . may follow.',
      }),
      schema: { type: 'string' },
    }),
  ),
  comments: nullable(text({ description: 'What the dataset is for. It is kept in the pool.', max: 1024 })),
  sync: open(choice(syncs, { description: 'How synchronous writes are treated.' })),
  compression: open(choice(compressions, { description: 'How blocks are compressed.' })),
  atime: open(choice(onOff, { description: 'Whether reading a file notes the time.' })),
  readonly: open(choice(onOff, { description: 'Whether nothing may be changed.' })),
  exec: open(choice(onOff, { description: 'Whether programs in it may be run.' })),
  dedup: open(choice(dedups, { description: 'Whether equal blocks are kept once.' })),
  recordsize: recordSize,
  case_sensitivity: createOnly(
    inputOnly(
      choice(['sensitive', 'insensitive', 'mixed'], {
        description: 'Whether names that differ only in letter case differ.',
      }),
    ),
  ),
  quota: limit('Most that it and all below it may use'),
  refquota: limit('Most that it alone may use'),
  reservation: limit('Space kept for it and all below it'),
  refreservation: limit('Space kept for it alone'),
  pool: live(text({ description: 'Name of the volume.' })),
  mountpoint: live(text({ description: 'Folder it is mounted at.' })),
  used: live(integer({ description: 'Bytes used, with all below it.' })),
  avail: live(integer({ description: 'Bytes that may still be written.' })),
  refer: live(integer({ description: 'Bytes it refers to.' })),
  inherit_props: live(
    list(text({ description: 'Name of a property.' }), {
      description: 'Properties that come from the parent or a default.',
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

/** The datasets of one volume, without the root. */
export const volumeDatasets = hosted('storage/volume/{vol}/datasets', {
  ...common,
  // Part C: a change is answered 201.
  quirks: { invalid: 400, updated: 201 },
  list: (scope) => {
    const pool = poolNameOf(scope, scope.params['vol'] ?? '');
    return filesystems(scope).filter(({ name }) => name.startsWith(`${pool}/`));
  },
  find: (scope, key) => filesystem(scope, `${poolNameOf(scope, scope.params['vol'] ?? '')}/${key}`),
  // A zvol of that name goes as well (clients-need B6).
  findToRemove: ({ facts, ...scope }, key) =>
    facts.storage.datasets.get(`${poolNameOf({ facts, ...scope }, scope.params['vol'] ?? '')}/${key}`),
  present: (dataset, { profile }) => {
    const answer = present(dataset);
    // Programs read the path below the pool, the document shows all of it (clients-need, last section).
    return profile === 'clients' ? { ...answer, name: dataset.name.slice(dataset.name.indexOf('/') + 1) } : answer;
  },
  create: (sent, scope, operations) => create(poolNameOf(scope, scope.params['vol'] ?? ''), sent, operations),
  update: (dataset, sent, _scope, operations) => update(dataset, sent, operations),
  remove: (dataset, _sent, _scope, operations) => remove(dataset, operations),
});

/** All datasets by their full names. */
export const dataset = hosted(
  'storage/dataset',
  {
    ...common,
    list: filesystems,
    find: filesystem,
    present,
    update: (one, sent, _scope, operations) => update(one, sent, operations),
    remove: (one, _sent, _scope, operations) => remove(one, operations),
  },
  [
    action({
      on: 'resource',
      segment: '',
      title: 'Is refused: a dataset is made below another.',
      perform() {
        throw refused('A dataset is made below another one: send this to /storage/dataset/<parent>/.');
      },
    }),
    action({
      segment: '',
      title:
        'Makes a dataset below this one. A body without a name changes this one instead and is answered 202 (Part C).',
      status: 201,
      answers: { $ref: '#/components/schemas/StorageDataset' },
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

function present({ name, properties, inherited, ...one }: Dataset): AnswerOf<typeof fields> {
  const bytes = (property: DatasetProperty) => Number(properties[property] ?? 0);
  return {
    name,
    pool: name.split('/')[0] ?? name,
    mountpoint: one.mountpoint ?? '',
    comments: one.comment ?? null,
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
    used: one.used,
    avail: one.available,
    refer: one.referenced,
    inherit_props: inherited,
  };
}

async function create(parent: string, sent: Sent, operations: Operations): Promise<Dataset> {
  const name = `${parent}/${sent.name ?? ''}`;
  const change = operations.change(`create the dataset ${name}`, (draft) => {
    if (draft.facts.storage.datasets.has(name))
      throw invalid({ name: [`cannot create '${name}': dataset already exists`] });
    const above = draft.facts.storage.datasets.get(parent)?.mountpoint;
    draft.plan.first(createDataset({ name, settings: newSettings(sent), above }));
  });
  await blaming(sent, change);
  return filesystem(operations.world, name) ?? gone('dataset', name);
}

async function update(before: Dataset, sent: Sent, operations: Operations): Promise<Dataset> {
  const change = operations.change(`change the dataset ${before.name}`, (draft) =>
    draft.plan.first(changeStep(before, settingsOf(sent), 'dataset')),
  );
  await blaming(sent, change);
  return filesystem(operations.world, before.name) ?? gone('dataset', before.name);
}

async function remove({ name }: Dataset, operations: Operations): Promise<void> {
  if (!name.includes('/')) throw refused(`${quote(name)} is the root of a volume; remove the volume.`);
  await operations.change(`destroy the dataset ${name}`, (draft) =>
    draft.plan.last(
      destroyDataset({ name, with: 'children', touches: touchedByDestroying(name, draft.facts.storage) }),
    ),
  );
}
