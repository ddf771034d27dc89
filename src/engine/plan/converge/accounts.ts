import type { OwnedAccounts, UserSpec } from '../../../host/ports/accounts.ts';
import type { Step } from '../../declare/step.ts';
import { type Comparison, difference } from './difference.ts';

const touches = ['accounts'] as const;

export async function accountDifferences({ host, desired, applied }: Comparison): Promise<readonly Step[]> {
  if (desired.accounts === undefined || desired.accounts === applied?.accounts) return [];
  const actual: OwnedAccounts = applied?.accounts ?? (await host.accounts.owned());
  const users = compared(actual.users, desired.accounts.users, isSameUser);
  const groups = compared(actual.groups, desired.accounts.groups, (a, b) => a.gid === b.gid);
  // A group must be there before its members, and empty of primary members before it goes.
  return [
    ...users.gone.map(({ name }) =>
      difference({ title: `remove the user ${name}`, make: ({ accounts }) => accounts.removeUser(name), touches }),
    ),
    ...groups.different.map((group) =>
      difference({
        title: `give the group ${group.name} the number ${group.gid}`,
        make: ({ accounts }) => accounts.changeGroup(group),
        touches,
      }),
    ),
    ...groups.added.map((group) =>
      difference({
        title: `create the group ${group.name}`,
        make: ({ accounts }) => accounts.createGroup(group),
        touches,
      }),
    ),
    ...users.different.map((user) =>
      difference({ title: `change the user ${user.name}`, make: ({ accounts }) => accounts.changeUser(user), touches }),
    ),
    ...users.added.map((user) =>
      difference({ title: `create the user ${user.name}`, make: ({ accounts }) => accounts.createUser(user), touches }),
    ),
    ...groups.gone.map(({ name }) =>
      difference({ title: `remove the group ${name}`, make: ({ accounts }) => accounts.removeGroup(name), touches }),
    ),
  ];
}

function isSameUser(a: UserSpec, b: UserSpec): boolean {
  return (
    a.uid === b.uid &&
    a.gid === b.gid &&
    a.fullName === b.fullName &&
    a.home === b.home &&
    a.shell === b.shell &&
    a.passwordHash === b.passwordHash &&
    a.groups.join(',') === b.groups.join(',')
  );
}

function compared<T extends { readonly name: string }>(
  actual: readonly T[],
  desired: readonly T[],
  isSame: (a: T, b: T) => boolean,
) {
  const there = new Map(actual.map((one) => [one.name, one]));
  const wanted = new Set(desired.map((one) => one.name));
  const added = desired.filter((one) => !there.has(one.name));
  const different = desired.filter((one) => {
    const old = there.get(one.name);
    return old !== undefined && old !== one && !isSame(old, one);
  });
  return { added, different, gone: actual.filter((one) => !wanted.has(one.name)) };
}
