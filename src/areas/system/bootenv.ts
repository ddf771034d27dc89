import { missing, refused } from '../../engine/declare/errors.ts';
import { createOnly, inputOnly, live, required, text } from '../../engine/declare/fields.ts';
import {
  type AnswerOf,
  action,
  hosted,
  type Operations,
  type SentOf,
  type World,
} from '../../engine/declare/resource.ts';
import type { BootEnvironment } from '../../host/ports/boot-environments.ts';
import { showSize } from '../../lib/size.ts';
import { quote } from '../../lib/text.ts';
import { statusTree } from '../storage/status.ts';
import { activateEnvironment, createEnvironment, removeEnvironment, renameEnvironment } from './steps.ts';

/** ZFS permits fewer characters than gaps 14.3. */
const name = (description: string) =>
  text({
    description,
    max: 50,
    pattern: /^(?!\.{1,2}$)[a-zA-Z0-9_.:-]+$/,
    rule: 'Expected letters, digits and _ . : -, but not . or .. alone.',
  });

const fields = {
  id: live(text({ description: 'Name of the boot environment.' })),
  name: required(createOnly(name('Name of the boot environment.'))),
  source: inputOnly(name('Boot environment to clone; the running one unless sent.')),
  active: live(
    text({ description: 'N when the machine runs from it, R when it is used at the next boot, - otherwise.' }),
  ),
  created: live(text({ description: 'Time of its creation in UTC, as 2026-01-31T18:00:00.' })),
  space: live(text({ description: 'Space that only this boot environment uses, as 1.2 GiB.' })),
};

const renaming = { name: required(name('The new name.')) };

export const bootEnvironment = hosted(
  'system/bootenv',
  {
    shortName: 'bootenv',
    nameField: 'name',
    title: 'boot environment',
    description: 'A bootable clone of the system. After a failed update, the machine can boot into an earlier one.',
    key: { name: 'id', slashes: false },
    shows: ['bootEnvironments'],
    fields,
    // Gaps 1.9: a hand-made path.
    quirks: { invalid: 400, missing: 'told' },
    list: ({ facts }) => facts.bootEnvironments ?? [],
    find: (scope, key) => named(scope, key),
    // Every refusal of a removal is a plain text, also for a missing boot environment (gaps 14.3).
    findToRemove: (scope, key) => named(scope, key) ?? refuse(`Boot environment ${quote(key)} does not exist.`),
    present,
    create: (sent, _scope, operations) => create(sent, operations),
    remove: (environment, _sent, _scope, operations) => remove(environment, operations),
  },
  [
    // Not part of the document (gaps 14.3). The answer is a list with one element.
    action({
      on: 'resource',
      method: 'GET',
      segment: 'status',
      title: 'Returns the pool of the boot environments as a tree of groups and devices.',
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
    // The manual has the old name after `rename`, clients send it before (gaps 14.3).
    action({
      on: 'resource',
      segment: 'rename/{name}',
      verb: '',
      title: 'Renames the boot environment of that name.',
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
      title: 'Renames the boot environment.',
      fields: renaming,
      perform: ({ target, sent, operations }) => rename(target, sent.name ?? '', operations),
    }),
    action({
      segment: 'activate',
      title: 'Boots the machine into this boot environment from the next boot on. Not part of the document.',
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
  return facts.bootEnvironments?.find(({ name }) => name === key);
}

function gone(key: string): never {
  throw missing(`Boot environment ${quote(key)} does not exist.`);
}

function refuse(sentence: string): never {
  throw refused(sentence);
}

async function create(sent: Sent, operations: Operations): Promise<string> {
  const newName = sent.name ?? '';
  await operations.change(`create the boot environment ${newName}`, (draft) => {
    const all =
      draft.facts.bootEnvironments ??
      refuse('Boot environments require a system on ZFS, which this machine does not have.');
    const source = sent.source === undefined || sent.source === '' ? all.find(({ now }) => now)?.name : sent.source;
    if (all.some(({ name }) => name === newName))
      draft.issues.add('name', 'A boot environment with this name already exists.');
    if (source === undefined || !all.some(({ name }) => name === source))
      draft.issues.add('source', `Boot environment ${quote(source ?? '')} does not exist.`);
    const title = `create the boot environment ${newName}`;
    draft.plan.first(createEnvironment({ title, name: newName, source: source ?? '' }));
  });
  return newName;
}

async function rename({ name: old }: BootEnvironment, newName: string, operations: Operations): Promise<string> {
  await operations.change(`rename the boot environment ${old} to ${newName}`, (draft) => {
    if (draft.facts.bootEnvironments?.some(({ name }) => name === newName))
      draft.issues.add('name', 'A boot environment with this name already exists.');
    draft.plan.first(renameEnvironment({ from: old, to: newName }));
  });
  return 'Boot Environment has been renamed.';
}

async function activate({ name: environment }: BootEnvironment, operations: Operations): Promise<string> {
  await operations.change(`activate the boot environment ${environment}`, (draft) => {
    const former = draft.facts.bootEnvironments?.find(({ onReboot }) => onReboot)?.name ?? '';
    draft.plan.first(activateEnvironment({ name: environment, former }));
  });
  return 'Boot Environment has been activated.';
}

async function remove({ name: old, now, onReboot }: BootEnvironment, operations: Operations): Promise<void> {
  if (now) throw refused(`The boot environment ${old} cannot be removed: the machine runs from it.`);
  if (onReboot)
    throw refused(
      `The boot environment ${old} cannot be removed: the machine boots into it. Activate another one first.`,
    );
  await operations.change(`remove the boot environment ${old}`, (draft) =>
    draft.plan.last(removeEnvironment({ name: old })),
  );
}
