import type { Accounts, OwnedAccounts, UserSpec } from '../../../host/ports/accounts.ts';
import type { Step } from '../../declare/step.ts';
import { type Comparison, difference } from './difference.ts';

export async function accountDifferences({ host, desired, applied }: Comparison): Promise<readonly Step[]> {
  if (desired.accounts === undefined || desired.accounts === applied?.accounts) return [];
  const actual: OwnedAccounts = applied?.accounts ?? (await host.accounts.owned());
  const users = compared(actual.users, desired.accounts.users, isSameUser);
  const groups = compared(actual.groups, desired.accounts.groups, (a, b) => a.gid === b.gid);
  // A group must be there before its members, and empty of primary members before it goes.
  return [
    ...users.gone.map(({ name }) => ofUser(`remove the user ${name}`, name, (port) => port.removeUser(name))),
    ...groups.different.map((group) =>
      ofGroup(`give the group ${group.name} the number ${group.gid}`, group.name, (port) => port.changeGroup(group)),
    ),
    ...groups.added.map((group) =>
      ofGroup(`create the group ${group.name}`, group.name, (port) => port.createGroup(group)),
    ),
    ...users.different.map((user) =>
      ofUser(`change the user ${user.name}`, user.name, (port) => port.changeUser(user)),
    ),
    ...users.added.map((user) => ofUser(`create the user ${user.name}`, user.name, (port) => port.createUser(user))),
    ...groups.gone.map(({ name }) => ofGroup(`remove the group ${name}`, name, (port) => port.removeGroup(name))),
  ];
}

type Make = (port: Accounts) => Promise<void>;

const ofUser = (title: string, name: string, make: Make) => step(title, `user ${name}`, make);
const ofGroup = (title: string, name: string, make: Make) => step(title, `group ${name}`, make);

function step(title: string, subject: string, make: Make): Step {
  return difference({ title, make: ({ accounts }) => make(accounts), touches: ['accounts'], subjects: [subject] });
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
