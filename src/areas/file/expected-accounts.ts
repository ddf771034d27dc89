import type { RecordOf } from '../../engine/declare/resource.ts';
import { check, type Step } from '../../engine/plan/steps.ts';
import type { group } from '../account/groups.ts';
import type { user } from '../account/users.ts';

type Users = readonly RecordOf<typeof user.fields>[];
type Groups = readonly RecordOf<typeof group.fields>[];

/** Makes the accounts known to the checks of what follows: the machine gets them before the programs that use them. */
export function expectedAccounts(users: Users, groups: Groups): Step {
  return check({
    title: 'expect the accounts of the file',
    claims: [],
    holds: async () => {},
    foresees: ({ facts }) => {
      const { accounts } = facts;
      const gids = new Map(groups.map(({ id, bsdgrp_gid }) => [id, bsdgrp_gid]));
      const newUsers = users.flatMap((one) => {
        const { bsdusr_uid: uid, bsdusr_username: name, bsdusr_group } = one;
        const gid = bsdusr_group === null ? undefined : gids.get(bsdusr_group);
        if (uid === null || typeof gid !== 'number' || accounts.users.some((known) => known.name === name)) return [];
        return [{ name, uid, gid, fullName: one.bsdusr_full_name, home: one.bsdusr_home, shell: one.bsdusr_shell }];
      });
      const newGroups = groups.flatMap(({ bsdgrp_gid: gid, bsdgrp_group: name }) =>
        typeof gid !== 'number' || accounts.groups.some((known) => known.name === name) ? [] : [{ name, gid }],
      );
      const known = {
        ...accounts,
        users: [...accounts.users, ...newUsers],
        groups: [...accounts.groups, ...newGroups],
      };
      return { facts: { ...facts, accounts: known } };
    },
  });
}
