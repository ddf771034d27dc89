import { failed } from '../../engine/declare/errors.ts';
import {
  createOnly,
  flag,
  hidden,
  inputOnly,
  integer,
  nullable,
  readOnly,
  refine,
  required,
  text,
} from '../../engine/declare/fields.ts';
import { collection, type View } from '../../engine/declare/resource.ts';
import { builtinGroups, madeWhenMissing } from './builtin.ts';
import { accountNameProblem, nextFreeNumber } from './names.ts';

export const group = collection('account/groups', {
  title: 'group',
  description: 'A group of users.',
  order: ['bsdgrp_builtin', 'bsdgrp_gid'],
  // Gaps 1.5: the flag that programs send along is not acted upon, but it must be JSON.
  quirks: { readsRemoval: true },
  unique: [{ fields: ['bsdgrp_group'], description: 'A group of this name exists already.' }],
  fields: {
    bsdgrp_gid: createOnly(
      nullable(
        integer({
          description: 'Number of the group; the next free one from 1000 on unless sent. It never changes.',
          min: 0,
          max: 4_294_967_294,
        }),
      ),
    ),
    bsdgrp_group: required(refine(text({ description: 'Name of the group.', max: 32 }), accountNameProblem)),
    bsdgrp_sudo: flag(false, { description: 'Whether its members may become root with sudo.' }),
    bsdgrp_builtin: readOnly(
      flag(false, { description: 'Whether the group belongs to the system: it keeps its name and cannot be removed.' }),
    ),
    allow: inputOnly(flag(false, { description: 'On create: the number may be one that another group has.' })),
    bsdgrp_owned: hidden(flag(true, { description: 'Whether Holdfast makes the group on the machine.' })),
  },
  seed: ({ accounts }) =>
    builtinGroups.map(([gid, name]) => {
      const there = accounts.groups.find((one) => one.name === name);
      return {
        bsdgrp_gid: there?.gid ?? gid,
        bsdgrp_group: name,
        bsdgrp_builtin: true,
        bsdgrp_owned: there === undefined && madeWhenMissing.includes(name),
      };
    }),
  complete({ record, before, view }) {
    return {
      bsdgrp_gid: record.bsdgrp_gid ?? nextFreeNumber(gidsOfPeople(view)),
      bsdgrp_group: before?.bsdgrp_builtin === true ? before.bsdgrp_group : record.bsdgrp_group,
    };
  },
  check({ record, before, sent, view, facts, issues }) {
    const namesake = facts.accounts.groups.find(({ name }) => name === record.bsdgrp_group);
    if (
      before?.bsdgrp_group !== record.bsdgrp_group &&
      namesake !== undefined &&
      view.find(group, 'bsdgrp_group', record.bsdgrp_group) === undefined
    ) {
      issues.add(
        'bsdgrp_group',
        `The machine has a group ${namesake.name} with the number ${namesake.gid} that Holdfast did not make. Choose another name; ` +
          `or remove that group with groupdel, which leaves files as they are, and send bsdgrp_gid ${namesake.gid} with this name.`,
      );
    }
    if (
      before === undefined &&
      sent.allow !== true &&
      view.find(group, 'bsdgrp_gid', record.bsdgrp_gid) !== undefined
    ) {
      issues.add('bsdgrp_gid', `Another group has the number ${record.bsdgrp_gid}.`);
    }
  },
  onRemove({ record }) {
    if (record.bsdgrp_builtin) throw failed(`The group ${record.bsdgrp_group} belongs to the system and stays.`);
  },
});

function gidsOfPeople(view: View): readonly number[] {
  return view
    .all(group)
    .filter((one) => !one.bsdgrp_builtin)
    .map((one) => one.bsdgrp_gid ?? -1);
}
