import { Fault, refused } from '../../engine/declare/errors.ts';
import {
  choice,
  createOnly,
  flag,
  inputOnly,
  live,
  naming,
  refine,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { size } from '../../engine/declare/formats.ts';
import { type AnswerOf, action, hosted, type Operations, type SentOf } from '../../engine/declare/resource.ts';
import type { KnownSnapshot } from '../../engine/facts/snapshot-index.ts';
import { quote } from '../../lib/text.ts';
import { cloneSnapshot, createSnapshot, destroySnapshot, rollBack } from './steps.ts';

/** The maximum length of a full ZFS name, including the dataset. */
const maxNameLength = 255;

const fields = {
  id: live(text({ description: 'Full name: dataset, @ and name.' })),
  fullname: titled('Full name', live(text({ description: 'Full name, same as id.' }))),
  filesystem: titled('Dataset', live(text({ description: 'Dataset or zvol of the snapshot.' }))),
  name: required(
    createOnly({
      ...text({
        description: 'Name after the @.',
        max: maxNameLength,
        pattern: /^[-a-zA-Z0-9_. ]+$/,
        rule: 'The name may contain letters, digits, spaces and . - _ only.',
      }),
      schema: { type: 'string' },
    }),
  ),
  parent_type: titled(
    'Kind of the dataset',
    live(choice(['filesystem', 'volume'], { description: 'Whether the snapshot is of a dataset or of a zvol.' })),
  ),
  mostrecent: titled(
    'Newest',
    live(flag(false, { description: 'Whether this is the newest snapshot of its dataset.' })),
  ),
  refer: titled('Referenced', live(size({ description: 'Bytes referenced.' }))),
  used: live(size({ description: 'Bytes that are freed when the snapshot is destroyed.' })),
  dataset: required(
    createOnly(
      inputOnly(naming('storage/dataset', text({ description: 'Full name of the dataset or zvol.' }), 'dataset')),
    ),
  ),
  recursive: createOnly(
    inputOnly(flag(false, { description: 'Whether all descendants get a snapshot of this name at the same time.' })),
  ),
  vmware_sync: titled(
    'Quiesce virtual machines',
    createOnly(
      inputOnly(
        refine(
          flag(false, {
            description: 'Whether to quiesce VMware virtual machines; not supported, only false is accepted.',
          }),
          (on) => (on ? 'VMware synchronization is not supported. Send vmware_sync as false.' : undefined),
        ),
      ),
    ),
  ),
};

type Sent = SentOf<typeof fields>;

export const snapshot = hosted(
  'storage/snapshot',
  {
    shortName: 'snapshot',
    columns: ['id', 'used', 'refer', 'mostrecent'],
    nameField: '{dataset}@{name}',
    title: 'snapshot',
    description: 'A snapshot of a dataset or zvol.',
    key: { name: 'id', slashes: true },
    shows: ['storage'],
    // gaps 1.9: faults are answered as `{"error": …}`, and problems of `name` under the old form field `ms_name`.
    quirks: { invalid: 400, fault: 'error', issueNames: { name: 'ms_name' } },
    fields,
    list: ({ facts }) => facts.storage.snapshots.all,
    find: ({ facts }, key) => facts.storage.snapshots.find(key),
    present,
    create: (sent, _scope, operations) => create(sent, operations),
    remove: async ({ id, dataset, name }, _sent, _scope, operations) => {
      await operations.change(`destroy the snapshot ${id}`, (draft) =>
        draft.plan.last(destroySnapshot({ dataset, name })),
      );
    },
  },
  [
    action({
      segment: 'clone',
      title: 'Clones the snapshot to a new dataset or zvol.',
      fields: {
        name: required(
          text({
            description: 'Full name of the new dataset or zvol, in the same pool.',
            max: maxNameLength,
            pattern: /^[-a-zA-Z0-9_./ ]+$/,
            rule: 'The name may contain letters, digits, spaces and . - _ / only.',
          }),
        ),
      },
      issueNames: { name: 'cs_name' },
      perform: ({ target, sent, operations }) => clone(target, sent.name ?? '', operations),
    }),
    action({
      segment: 'rollback',
      title: 'Rolls the dataset back to the snapshot. Descendants stay unchanged.',
      fields: {
        force: flag(false, {
          description: 'Whether to destroy newer snapshots. Without this, newer snapshots prevent the rollback.',
        }),
      },
      perform: ({ target, sent, operations }) => rollback(target, sent.force ?? false, operations),
    }),
  ],
);

function present({ id, dataset, name, kind, newest, used, referenced }: KnownSnapshot): AnswerOf<typeof fields> {
  return {
    id,
    fullname: id,
    filesystem: dataset,
    name,
    parent_type: kind,
    mostrecent: newest,
    refer: referenced,
    used,
  };
}

async function create({ dataset = '', name = '', recursive = false }: Sent, operations: Operations): Promise<string> {
  const id = `${dataset}@${name}`;
  await operations.change(`create the snapshot ${id}`, (draft) => {
    const { datasets, snapshots } = draft.facts.storage;
    const chosen = [...datasets.keys()].filter(
      (candidate) => candidate === dataset || (recursive && candidate.startsWith(`${dataset}/`)),
    );
    const taken = chosen.find((candidate) => snapshots.find(`${candidate}@${name}`) !== undefined);
    if (!datasets.has(dataset)) draft.issues.add('dataset', `The dataset or zvol ${quote(dataset)} does not exist.`);
    if (taken !== undefined)
      draft.issues.add('name', `cannot create snapshot '${taken}@${name}': dataset already exists`);
    if (chosen.some((candidate) => candidate.length + 1 + name.length > maxNameLength))
      draft.issues.add(
        'name',
        `The full name of a snapshot, including the dataset, may have at most ${maxNameLength} characters.`,
      );
    draft.plan.first(createSnapshot({ dataset, name, scope: recursive ? 'below' : 'one' }));
  });
  return id;
}

async function clone({ id, dataset }: KnownSnapshot, name: string, operations: Operations): Promise<string> {
  const change = operations.change(`clone ${id} as ${name}`, (draft) => {
    const { datasets } = draft.facts.storage;
    const pool = dataset.split('/')[0] ?? dataset;
    if (!name.startsWith(`${pool}/`))
      draft.issues.add('name', `A clone must be in the same pool as its snapshot: its name must begin with ${pool}/.`);
    if (datasets.has(name)) throw refused(`cannot create '${name}': dataset already exists`);
    draft.plan.first(cloneSnapshot({ snapshot: id, name, with: 'nothing' }));
  });
  await asRefusal(change);
  return 'Snapshot cloned.';
}

async function rollback({ id, dataset }: KnownSnapshot, force: boolean, operations: Operations): Promise<string> {
  const change = operations.change(`roll ${dataset} back to ${id}`, (draft) => {
    const all = draft.facts.storage.snapshots.of(dataset);
    const newer = all.length - 1 - all.findIndex((one) => one.id === id);
    if (newer > 0 && !force)
      throw refused(
        `cannot rollback to '${id}': more recent snapshots exist; send force to destroy ${newer === 1 ? 'the newer snapshot' : `the ${newer} newer snapshots`}.`,
      );
    draft.plan.last(rollBack({ dataset, id, force }));
  });
  await asRefusal(change);
  return 'Snapshot rolled back.';
}

/** Clone and rollback answer a failure of ZFS as a plain string (gaps 13.1). */
async function asRefusal<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    throw error instanceof Fault && error.kind === 'failed'
      ? new Fault('refused', error.message, { cause: error })
      : error;
  }
}
