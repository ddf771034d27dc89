import { invalid, missing, refused } from '../../engine/declare/errors.ts';
import {
  advanced,
  alsoNamed,
  basic,
  choice,
  createOnly,
  flag,
  inputOnly,
  live,
  nullable,
  refine,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { size } from '../../engine/declare/formats.ts';
import { type AnswerOf, hosted, type Operations, type SentOf, type World } from '../../engine/declare/resource.ts';
import type { Dataset } from '../../host/ports/zfs.ts';
import { quote } from '../../lib/text.ts';
import { putDatasetAway } from './binned-datasets.ts';
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
  openChoice,
  reportUnderField,
  syncs,
} from './properties.ts';
import { createVolume, destroyDataset } from './steps.ts';
import { touchedByDestroying } from './tree.ts';
import { poolNameOf } from './volumes.ts';

const blockSizes = ['512', '1K', '2K', '4K', '8K', '16K', '32K', '64K', '128K'] as const;
const lowerCase = {
  '1k': '1K',
  '2k': '2K',
  '4k': '4K',
  '8k': '8K',
  '16k': '16K',
  '32k': '32K',
  '64k': '64K',
  '128k': '128K',
} as const;

/** The share of the free space that a zvol may take without `force`. */
const shareWithoutForce = 0.8;

const fields = {
  ...basic('Volume', {
    name: required(
      createOnly({
        ...text({
          description: 'Path of the zvol, relative to the pool.',
          max: 200,
          pattern: /^[a-zA-Z0-9][a-zA-Z0-9_\-:.]*(\/[a-zA-Z0-9][a-zA-Z0-9_\-:.]*)*$/,
          rule: 'Each element of the name must begin with a letter or digit and may contain letters, digits and _ - : . only. To create the zvol in a dataset, put the path of the dataset and a slash before the name.',
        }),
        schema: { type: 'string' },
      }),
    ),
    comments: titled(
      'Comment',
      alsoNamed(
        nullable(text({ description: 'Comment, stored in the pool as a user property.', max: 120 })),
        'comment',
      ),
    ),
    volsize: titled(
      'Size',
      required(
        refine(
          size({
            description: 'Size, such as 10G or in bytes, rounded up to whole blocks. The size can grow but not shrink.',
          }),
          (bytes) => (bytes === 0 ? 'The size of a zvol must be greater than 0.' : undefined),
        ),
      ),
    ),
    force: titled(
      'Use more than 80 %',
      inputOnly(flag(false, { description: 'Whether the zvol may take more than 80 % of the free space.' })),
    ),
    sparse: inputOnly(createOnly(flag(false, { description: 'Whether the zvol is sparse: no space is reserved.' }))),
  }),
  ...advanced('Encryption', datasetEncryption),
  ...advanced('Blocks', {
    blocksize: titled(
      'Block size',
      inputOnly(
        createOnly(choice(blockSizes, { description: 'Block size; ZFS chooses it when not sent.', also: lowerCase })),
      ),
    ),
    sync: titled(
      'Synchronous writes',
      openChoice(choice(syncs, { description: 'How ZFS treats synchronous writes.' })),
    ),
  }),
  ...basic('Data', {
    compression: openChoice(choice(compressions, { description: 'Compression algorithm for new blocks.' })),
  }),
  ...advanced('Blocks', {
    dedup: titled(
      'Deduplication',
      openChoice(choice(dedups, { description: 'Whether identical blocks are stored only once.' })),
    ),
  }),
  used: live(size({ description: 'Bytes used, including the reservation.' })),
  avail: titled('Available', live(size({ description: 'Bytes available.' }))),
  refer: titled('Referenced', live(size({ description: 'Bytes referenced.' }))),
};

type Sent = SentOf<typeof fields>;

export const zvol = hosted('storage/volume/{vol}/zvols', {
  shortName: 'zvol',
  columns: ['name', 'volsize', 'used', 'avail', 'comments'],
  nameField: 'name',
  title: 'zvol',
  description: 'A block device in a volume, at /dev/zvol/<volume>/<name>.',
  key: { name: 'name', slashes: true },
  shows: ['storage'],
  // Part C and clients-need: create is answered 202, update 201.
  quirks: { invalid: 400, created: 202, updated: 201 },
  fields,
  removal: {
    cascade: flag(false, { description: 'Whether to destroy the snapshots of the zvol and their clones too.' }),
  },
  list: (scope) => {
    const pool = poolNameOf(scope, scope.params['vol'] ?? '');
    return [...scope.facts.storage.datasets.values()].filter(
      ({ kind, name }) => kind === 'volume' && name.startsWith(`${pool}/`),
    );
  },
  find: (scope, key) => zvolCalled(scope, `${poolNameOf(scope, scope.params['vol'] ?? '')}/${key}`),
  present,
  create: (sent, scope, operations) => create(poolNameOf(scope, scope.params['vol'] ?? ''), sent, operations),
  update: (before, sent, _scope, operations) => update(before, sent, operations),
  remove: async ({ name }, { cascade = false }, _scope, operations) => {
    const removal = operations.change(`destroy the zvol ${name}`, (draft) => {
      refuseSnapshots(name, draft.facts, cascade);
      // With cascade, clones of the snapshots are destroyed too, and they can be anywhere in the pool.
      const touches = cascade
        ? [{ dataset: name.split('/')[0] ?? name, below: true }]
        : touchedByDestroying(name, draft.facts.storage);
      for (const step of forgetKeysOf(name, draft.facts)) draft.plan.first(step);
      draft.plan.last(destroyDataset({ name, with: cascade ? 'clones' : 'nothing', touches }));
    });
    await namingOccupants(operations, { dataset: name }, removal);
  },
  async putAway(target, { cascade = false }, { facts }, operations) {
    refuseSnapshots(target.name, facts, cascade);
    await putDatasetAway(target, operations);
  },
});

function refuseSnapshots(name: string, { storage }: World['facts'], cascade: boolean): void {
  const { length } = storage.snapshots.of(name);
  if (length > 0 && !cascade)
    throw refused(
      `cannot destroy '${name}': it has ${length} snapshot${length === 1 ? '' : 's'}; send cascade to destroy them too.`,
    );
}

function zvolCalled({ facts }: Pick<World, 'facts'>, name: string): Dataset | undefined {
  const found = facts.storage.datasets.get(name);
  return found?.kind === 'volume' ? found : undefined;
}

function present({ name, properties, comment, ...rest }: Dataset): AnswerOf<typeof fields> {
  return {
    name: name.slice(name.indexOf('/') + 1),
    comments: comment ?? null,
    volsize: Number(properties.volsize ?? 0),
    sync: properties.sync ?? 'standard',
    compression: properties.compression ?? 'off',
    dedup: properties.dedup ?? 'off',
    used: rest.used,
    avail: rest.available,
    refer: rest.referenced,
  };
}

/** Creates a zvol for a request that names it whole. */
export async function createZvolCalled(name: string, sent: Sent, operations: Operations): Promise<void> {
  const [pool = '', ...path] = name.split('/');
  const reading = fields.name.read(path.join('/'));
  if (!reading.ok) throw invalid({ dataset: [reading.wrong] });
  await create(pool, { ...sent, name: reading.value }, operations);
}

async function create(pool: string, sent: Sent, operations: Operations): Promise<string> {
  const name = `${pool}/${sent.name ?? ''}`;
  const bytes = sent.volsize ?? 0;
  const { properties, ...settings } = newSettings({ ...sent, volsize: undefined });
  const protection = await protectionOf(name, sent, operations.world);
  const change = operations.change(`create the zvol ${name}`, (draft) => {
    const { datasets } = draft.facts.storage;
    const parent = datasets.get(name.slice(0, name.lastIndexOf('/')));
    if (datasets.has(name)) draft.issues.add('name', `cannot create '${name}': dataset already exists`);
    if (parent?.kind !== 'filesystem')
      draft.issues.add('name', `cannot create '${name}': parent does not exist or is not a filesystem`);
    else if (sent.force !== true && bytes > shareWithoutForce * parent.available)
      draft.issues.add('volsize', tooMuch(parent));
    for (const step of protection.steps) draft.plan.first(step);
    draft.plan.first(
      createVolume({
        name,
        bytes,
        settings: {
          ...settings,
          ...protection.settings,
          properties: { ...properties, ...(sent.sparse === true ? { refreservation: '0' } : {}) },
        },
      }),
    );
  });
  await reportUnderField(sent, change);
  return sent.name ?? '';
}

function tooMuch({ name, available }: Dataset): string {
  return `The size is more than 80 % of the ${available} bytes available in ${quote(name)}. Send force as true to allow it.`;
}

async function update(target: Dataset, sent: Sent, operations: Operations): Promise<Dataset> {
  throwIfProtected(target, sent);
  const { name } = target;
  const change = operations.change(`change the zvol ${name}`, (draft) => {
    const before = zvolCalled(draft, name);
    if (before === undefined) throw missing(`The zvol ${quote(name)} was not found: dataset does not exist.`);
    const volsize = sent.volsize === undefined ? undefined : grown(before, sent.volsize);
    const parent = draft.facts.storage.datasets.get(name.slice(0, name.lastIndexOf('/')));
    const more = (volsize ?? 0) - Number(before.properties.volsize ?? 0);
    if (sent.force !== true && parent !== undefined && more > shareWithoutForce * parent.available)
      throw invalid({ volsize: [tooMuch(parent)] });
    draft.plan.first(changeStep(before, changedSettings(before, { ...sent, volsize }, before.inherited), 'zvol'));
  });
  await reportUnderField(sent, change);
  return zvolCalled(operations.world, name) ?? gone('zvol', name);
}

/** The requested size rounded up to whole blocks, as for a new zvol. */
function grown({ properties }: Dataset, bytes: number): number {
  const now = Number(properties.volsize ?? 0);
  const block = Number(properties.volblocksize ?? 16_384);
  const whole = Math.ceil(bytes / block) * block;
  if (whole < now) throw invalid({ volsize: [`A zvol cannot shrink: the current size is ${now} bytes.`] });
  return whole;
}
