import { failed } from '../../engine/declare/errors.ts';
import {
  advanced,
  createOnly,
  flag,
  hidden,
  inputOnly,
  integer,
  nullable,
  readOnly,
  refine,
  required,
  shortNamed,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { type Collection, collection, type View } from '../../engine/declare/resource.ts';
import { inBin } from '../bin/bin-entry.ts';
import { builtinGroups, madeWhenMissing } from './builtin.ts';
import { accountNameProblem, nextFreeNumber } from './names.ts';

const fields = {
  bsdgrp_gid: titled(
    'GID',
    createOnly(
      nullable(
        integer({
          description: 'Group id (GID); the next free one from 1000 when not sent. It cannot be changed.',
          min: 0,
          max: 4_294_967_294,
        }),
      ),
    ),
  ),
  bsdgrp_group: shortNamed(
    'name',
    titled('Name', required(refine(text({ description: 'Name of the group.', max: 32 }), accountNameProblem))),
  ),
  ...advanced('Authentication', {
    bsdgrp_sudo: titled(
      'Allow sudo',
      flag(false, { description: 'Whether members may run commands as root with sudo.' }),
    ),
  }),
  bsdgrp_builtin: titled(
    'Supplied with the system',
    readOnly(
      flag(false, { description: 'Whether the group is builtin. A builtin group cannot be renamed or removed.' }),
    ),
  ),
  allow: titled(
    'Allow a number that is in use',
    inputOnly(flag(false, { description: 'On create: whether bsdgrp_gid may be the GID of another group.' })),
  ),
  bsdgrp_owned: hidden(flag(true, { description: 'Whether Holdfast manages the group on the machine.' })),
};

export const group: Collection<typeof fields> = collection('account/groups', {
  shortName: 'group',
  columns: ['bsdgrp_group', 'bsdgrp_gid', 'bsdgrp_sudo', 'bsdgrp_builtin'],
  title: 'group',
  description: 'A group of users.',
  binned: true,
  order: ['bsdgrp_builtin', 'bsdgrp_gid'],
  // Gaps 1.5: clients send a flag in the body of DELETE. It has no effect, but the body must be JSON.
  quirks: { readsRemoval: true },
  unique: [{ fields: ['bsdgrp_group'], description: 'A group with this name already exists.' }],
  fields,
  seed: ({ accounts }) =>
    builtinGroups.map(([gid, name]) => {
      const existing = accounts.groups.find((candidate) => candidate.name === name);
      return {
        bsdgrp_gid: existing?.gid ?? gid,
        bsdgrp_group: name,
        bsdgrp_builtin: true,
        bsdgrp_owned: existing === undefined && madeWhenMissing.includes(name),
      };
    }),
  complete({ record, before, view }) {
    return {
      bsdgrp_gid: record.bsdgrp_gid ?? nextFreeNumber([...customGids(view), ...gidsInBin(view)]),
      bsdgrp_group: before?.bsdgrp_builtin === true ? before.bsdgrp_group : record.bsdgrp_group,
    };
  },
  check({ record, before, sent, view, facts, issues }) {
    const namesake = facts.accounts.groups.find(({ name }) => name === record.bsdgrp_group);
    if (
      before?.bsdgrp_group !== record.bsdgrp_group &&
      namesake !== undefined &&
      view.find(group, 'bsdgrp_group', record.bsdgrp_group) === undefined &&
      !inBin(view, group).some(({ record: kept }) => kept.bsdgrp_group === namesake.name)
    ) {
      issues.add(
        'bsdgrp_group',
        `The machine already has a group ${namesake.name} with the GID ${namesake.gid} that Holdfast does not manage. Choose another name, ` +
          `or remove that group with groupdel, which keeps its files, and send this name with bsdgrp_gid ${namesake.gid}.`,
      );
    }
    for (const { entry, record: kept } of inBin(view, group)) {
      const isNamed = before?.bsdgrp_group !== record.bsdgrp_group && kept.bsdgrp_group === record.bsdgrp_group;
      if (isNamed || (before === undefined && kept.bsdgrp_gid === record.bsdgrp_gid))
        issues.add(
          isNamed ? 'bsdgrp_group' : 'bsdgrp_gid',
          `The bin keeps the group ${kept.bsdgrp_group} with the GID ${kept.bsdgrp_gid} until ${entry.ends}. ` +
            `Restore or destroy the entry ${entry.id} of the bin, or choose another one.`,
        );
    }
    if (
      before === undefined &&
      sent.allow !== true &&
      view.find(group, 'bsdgrp_gid', record.bsdgrp_gid) !== undefined
    ) {
      issues.add(
        'bsdgrp_gid',
        `Another group already has the GID ${record.bsdgrp_gid}. Choose another one, or send allow as true.`,
      );
    }
  },
  onRemove({ record }) {
    if (record.bsdgrp_builtin) throw failed(`The group ${record.bsdgrp_group} is builtin and cannot be removed.`);
  },
});

function gidsInBin(view: View): readonly number[] {
  return inBin(view, group).map(({ record }) => record.bsdgrp_gid ?? -1);
}

function customGids(view: View): readonly number[] {
  return view
    .all(group)
    .filter(({ bsdgrp_builtin }) => !bsdgrp_builtin)
    .map(({ bsdgrp_gid }) => bsdgrp_gid ?? -1);
}
