import { missing, refused } from '../../engine/declare/errors.ts';
import { createOnly, inputOnly, live, required, text } from '../../engine/declare/fields.ts';
import {
  type AnswerOf,
  action,
  hosted,
  type Operations,
  type SentOf,
  type Step,
  type World,
} from '../../engine/declare/resource.ts';
import type { BootEnvironment, BootEnvironments } from '../../host/ports/boot-environments.ts';
import { showSize } from '../../lib/size.ts';
import { quote } from '../../lib/text.ts';
import { statusTree } from '../storage/status.ts';

/** Gaps 14.3 names the characters that may not be in it; ZFS has fewer. */
const name = (description: string) =>
  text({
    description,
    max: 50,
    pattern: /^[a-zA-Z0-9][a-zA-Z0-9_.:-]*$/,
    rule: 'A name begins with a letter or digit; letters, digits and _ . : - may follow.',
  });

const fields = {
  id: live(text({ description: 'The name.' })),
  name: required(createOnly(name('Name of the boot environment.'))),
  source: inputOnly(name('The boot environment it begins as a copy of; the running one unless sent.')),
  active: live(text({ description: 'N when the machine runs from it, R when it boots into it, - when neither.' })),
  created: live(text({ description: 'When it was made, as 2026-01-31T18:00:00, in universal time.' })),
  space: live(text({ description: 'Space that is its own, as 1.2 GiB.' })),
};

const renaming = { name: required(name('The new name.')) };

export const bootEnvironment = hosted(
  'system/bootenv',
  {
    title: 'boot environment',
    description:
      'A system that the machine can boot into, cloned from another: what an update spoilt is left by booting into the one before.',
    key: { name: 'id', slashes: false },
    shows: ['bootEnvironments'],
    fields,
    // Gaps 1.9: a hand-made path.
    quirks: { invalid: 400, missing: 'told' },
    list: ({ facts }) => facts.bootEnvironments ?? [],
    find: (scope, key) => named(scope, key),
    // Gaps 14.3: whatever keeps it from being deleted is a bare sentence, that it is not there too.
    findToRemove: (scope, key) => named(scope, key) ?? refuse(`There is no boot environment ${quote(key)}.`),
    present,
    create: (sent, scope, operations) => create(sent, scope, operations),
    remove: (one, _sent, _scope, operations) => remove(one, operations),
  },
  [
    // Beyond the document (gaps 14.3). It is a list of one.
    action({
      on: 'resource',
      method: 'GET',
      segment: 'status',
      title: 'Shows the pool that they lie on as a tree of groups and devices.',
      status: 200,
      answers: { type: 'array', items: { type: 'object' } },
      perform({ scope }) {
        const { bootPool: pool } = scope.facts;
        return pool === undefined
          ? []
          : [
              statusTree(
                { record: { id: 1, vol_name: pool.name, vol_guid: pool.guid }, pool, root: undefined },
                pool.name,
              ),
            ];
      },
    }),
    // The manual has the old name behind the word, programs write it before (gaps 14.3).
    action({
      on: 'resource',
      segment: 'rename/{name}',
      title: 'Gives the boot environment of that name another one.',
      fields: renaming,
      perform: ({ sent, scope, operations }) =>
        rename(
          named(scope, scope.params['name'] ?? '') ?? gone(scope.params['name'] ?? ''),
          sent.name ?? '',
          operations,
        ),
    }),
    action({
      segment: 'rename',
      title: 'Gives it another name.',
      fields: renaming,
      perform: ({ target, sent, operations }) => rename(target, sent.name ?? '', operations),
    }),
    action({
      segment: 'activate',
      title: 'Lets the machine boot into it from now on. Beyond the document.',
      perform: ({ target, operations }) => activate(target, operations),
    }),
  ],
);

type Sent = SentOf<typeof fields>;

function present({ name: id, now, onReboot, created, space }: BootEnvironment): AnswerOf<typeof fields> {
  return {
    id,
    name: id,
    active: `${now ? 'N' : ''}${onReboot ? 'R' : ''}` || '-',
    created: new Date(created * 1000).toISOString().slice(0, 19),
    space: showSize(space),
  };
}

function named({ facts }: World, key: string): BootEnvironment | undefined {
  return facts.bootEnvironments?.find((one) => one.name === key);
}

function gone(key: string): never {
  throw missing(`There is no boot environment ${quote(key)}.`);
}

function refuse(sentence: string): never {
  throw refused(sentence);
}

async function create(sent: Sent, world: World, operations: Operations): Promise<BootEnvironment> {
  const wanted = sent.name ?? '';
  await operations.change(`create the boot environment ${wanted}`, (draft) => {
    const all =
      draft.facts.bootEnvironments ?? refuse('This machine does not run from ZFS, so it has no boot environments.');
    const source = sent.source === undefined || sent.source === '' ? all.find((one) => one.now)?.name : sent.source;
    if (all.some((one) => one.name === wanted))
      draft.issues.add('name', 'A boot environment of this name exists already.');
    if (source === undefined || !all.some((one) => one.name === source))
      draft.issues.add('source', `There is no boot environment ${quote(source ?? '')}.`);
    draft.plan.first({
      title: `create the boot environment ${wanted}`,
      perform: ({ bootEnvironments }) => bootEnvironments.create(wanted, source ?? ''),
      left: ({ bootEnvironments }) => isThere(bootEnvironments, wanted),
      undo: ({ bootEnvironments }) => bootEnvironments.destroy(wanted),
      touches: ['bootEnvironments'],
    });
  });
  return (
    named(operations.world, wanted) ??
    named(world, wanted) ??
    refuse(`The boot environment ${quote(wanted)} was removed meanwhile.`)
  );
}

async function rename({ name: old }: BootEnvironment, wanted: string, operations: Operations): Promise<string> {
  await operations.change(`rename the boot environment ${old} to ${wanted}`, (draft) => {
    if (draft.facts.bootEnvironments?.some((one) => one.name === wanted))
      draft.issues.add('name', 'A boot environment of this name exists already.');
    draft.plan.first({
      title: `rename the boot environment ${old} to ${wanted}`,
      perform: ({ bootEnvironments }) => bootEnvironments.rename(old, wanted),
      left: ({ bootEnvironments }) => isThere(bootEnvironments, wanted),
      undo: ({ bootEnvironments }) => bootEnvironments.rename(wanted, old),
      touches: ['bootEnvironments'],
    });
  });
  return 'Boot Environment has been renamed.';
}

async function activate({ name: wanted }: BootEnvironment, operations: Operations): Promise<string> {
  await operations.change(`boot into ${wanted} from now on`, (draft) => {
    const before = draft.facts.bootEnvironments?.find((one) => one.onReboot)?.name;
    const step: Step = {
      title: `boot into ${wanted} from now on`,
      perform: ({ bootEnvironments }) => bootEnvironments.activate(wanted),
      left: async () => true,
      undo: async ({ bootEnvironments }) => {
        if (before !== undefined) await bootEnvironments.activate(before);
      },
      touches: ['bootEnvironments'],
    };
    draft.plan.first(step);
  });
  return 'Boot Environment has been activated.';
}

async function remove({ name: old, now, onReboot }: BootEnvironment, operations: Operations): Promise<void> {
  if (now) throw refused(`The machine runs from ${old}, so it stays.`);
  if (onReboot) throw refused(`The machine boots into ${old}, so it stays; activate another one first.`);
  await operations.change(`remove the boot environment ${old}`, (draft) =>
    draft.plan.last({
      title: `remove the boot environment ${old}`,
      perform: ({ bootEnvironments }) => bootEnvironments.destroy(old),
      touches: ['bootEnvironments'],
    }),
  );
}

async function isThere(environments: BootEnvironments, wanted: string): Promise<boolean> {
  return (await environments.list())?.some((one) => one.name === wanted) ?? false;
}
