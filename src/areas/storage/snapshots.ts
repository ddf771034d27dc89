import { Fault, refused } from '../../engine/declare/errors.ts';
import {
  choice,
  createOnly,
  flag,
  inputOnly,
  integer,
  live,
  refine,
  required,
  text,
} from '../../engine/declare/fields.ts';
import { type AnswerOf, action, hosted, type Operations, type SentOf } from '../../engine/declare/resource.ts';
import type { KnownSnapshot } from '../../engine/upkeep/snapshot-index.ts';
import { quote } from '../../lib/text.ts';
import { gone } from './properties.ts';
import { cloneSnapshot, createSnapshot } from './steps.ts';

/** The most characters a name has in ZFS, with the dataset before it. */
const longest = 255;

const fields = {
  id: live(text({ description: 'Full name: the dataset, an @, and the name.' })),
  fullname: live(text({ description: 'Full name, once more.' })),
  filesystem: live(text({ description: 'The dataset or zvol it was made of.' })),
  name: required(
    createOnly({
      ...text({
        description: 'What stands behind the @.',
        max: longest,
        pattern: /^[-a-zA-Z0-9_. ]+$/,
        rule: 'Letters, digits, blanks and . - _ only.',
      }),
      schema: { type: 'string' },
    }),
  ),
  parent_type: live(
    choice(['filesystem', 'volume'], { description: 'Whether it was made of a dataset or of a zvol.' }),
  ),
  mostrecent: live(flag(false, { description: 'Whether it is the newest of its dataset.' })),
  refer: live(integer({ description: 'Bytes it refers to.' })),
  used: live(integer({ description: 'Bytes that destroying it would give back.' })),
  dataset: required(createOnly(inputOnly(text({ description: 'Full name of the dataset or zvol.' })))),
  recursive: createOnly(
    inputOnly(
      flag(false, { description: 'Whether all below the dataset gets a snapshot of this name in the same moment.' }),
    ),
  ),
  vmware_sync: createOnly(
    inputOnly(
      refine(
        flag(false, {
          description: 'Whether virtual machines of VMware hold still meanwhile; there is no way to tell them.',
        }),
        (on) => (on ? 'No VMware host is known that could be told to hold still.' : undefined),
      ),
    ),
  ),
};

type Sent = SentOf<typeof fields>;

export const snapshot = hosted(
  'storage/snapshot',
  {
    title: 'snapshot',
    description: 'What a dataset or zvol held at one moment.',
    key: { name: 'id', slashes: true },
    shows: ['storage'],
    // gaps 1.9: `{"error": …}`, and the name under the name that a form once gave it.
    quirks: { invalid: 400, fault: 'error', issueNames: { name: 'ms_name' } },
    fields,
    list: ({ facts }) => facts.storage.snapshots.all,
    find: ({ facts }, key) => facts.storage.snapshots.find(key),
    present,
    create: (sent, _scope, operations) => create(sent, operations),
    // One that has clones goes with the last of them (clients-need B7).
    remove: async ({ id, dataset }, _sent, _scope, operations) => {
      await operations.change(`destroy the snapshot ${id}`, (draft) =>
        draft.plan.last({
          title: `destroy the snapshot ${id}`,
          perform: (host) => host.zfs.destroySnapshot(id, { deferred: true }),
          touches: [{ dataset }],
        }),
      );
    },
  },
  [
    action({
      segment: 'clone',
      title: 'Makes a dataset, or of a zvol a zvol, that begins with the contents of the snapshot.',
      fields: {
        name: required(
          text({
            description: 'Full name of the new dataset, in the same pool.',
            max: longest,
            pattern: /^[-a-zA-Z0-9_./ ]+$/,
            rule: 'Letters, digits, blanks and . - _ / only.',
          }),
        ),
      },
      issueNames: { name: 'cs_name' },
      perform: ({ target, sent, operations }) => clone(target, sent.name ?? '', operations),
    }),
    action({
      segment: 'rollback',
      title: 'Gives the dataset back what it held at the moment of the snapshot. What lies below it stays as it is.',
      fields: {
        force: flag(false, { description: 'Whether newer snapshots are destroyed, which stand in the way otherwise.' }),
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

async function create(
  { dataset = '', name = '', recursive = false }: Sent,
  operations: Operations,
): Promise<KnownSnapshot> {
  const id = `${dataset}@${name}`;
  await operations.change(`create the snapshot ${id}`, (draft) => {
    const { datasets, snapshots } = draft.facts.storage;
    const chosen = [...datasets.keys()].filter(
      (one) => one === dataset || (recursive && one.startsWith(`${dataset}/`)),
    );
    const taken = chosen.find((one) => snapshots.find(`${one}@${name}`) !== undefined);
    if (!datasets.has(dataset)) draft.issues.add('dataset', `There is no dataset or zvol ${quote(dataset)}.`);
    if (taken !== undefined)
      draft.issues.add('name', `cannot create snapshot '${taken}@${name}': dataset already exists`);
    if (chosen.some((one) => one.length + 1 + name.length > longest))
      draft.issues.add('name', `With the dataset before it, a name has at most ${longest} characters.`);
    draft.plan.first(createSnapshot({ dataset, name, scope: recursive ? 'below' : 'one' }));
  });
  return operations.world.facts.storage.snapshots.find(id) ?? gone('snapshot', id);
}

async function clone({ id, dataset }: KnownSnapshot, name: string, operations: Operations): Promise<string> {
  const change = operations.change(`clone ${id} as ${name}`, (draft) => {
    const { datasets } = draft.facts.storage;
    const pool = dataset.split('/')[0] ?? dataset;
    if (!name.startsWith(`${pool}/`))
      draft.issues.add('name', `A clone lies in the pool of its snapshot: its name begins with ${pool}/.`);
    if (datasets.has(name)) throw refused(`cannot create '${name}': dataset already exists`);
    draft.plan.first(cloneSnapshot({ snapshot: id, name, with: 'nothing' }));
  });
  await inWords(change);
  return 'Snapshot cloned.';
}

async function rollback({ id, dataset }: KnownSnapshot, force: boolean, operations: Operations): Promise<string> {
  const change = operations.change(`roll ${dataset} back to ${id}`, (draft) => {
    const all = draft.facts.storage.snapshots.of(dataset);
    const newer = all.length - 1 - all.findIndex((one) => one.id === id);
    if (newer > 0 && !force)
      throw refused(
        `cannot rollback to '${id}': more recent snapshots exist; send force to destroy ${newer === 1 ? 'the one that is newer' : `the ${newer} that are newer`}.`,
      );
    draft.plan.last({
      title: `roll ${dataset} back to ${id}`,
      perform: (host) => host.zfs.rollback(id, { force }),
      touches: [{ dataset, below: true }],
    });
  });
  await inWords(change);
  return 'Snapshot rolled back.';
}

/** Here a failure of the pool is a bare sentence (gaps 13.1). */
async function inWords<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    throw error instanceof Fault && error.kind === 'failed'
      ? new Fault('refused', error.message, { cause: error })
      : error;
  }
}
