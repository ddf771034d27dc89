import { group } from '../../areas/account/groups.ts';
import { smbFileLine } from '../../areas/account/hashes.ts';
import { noHome, user } from '../../areas/account/users.ts';
import { binEntry, inBin } from '../../areas/bin/bin-entry.ts';
import { noShell, shellOn } from '../../engine/declare/formats.ts';
import type { RecordOf, View } from '../../engine/declare/resource.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import type { UserSpec } from '../../host/ports/accounts.ts';
import { lines } from '../../lib/text.ts';
import { smbPasswordFile } from '../samba/paths.ts';
import { accountsAdoption } from './adopt.ts';

export const accountsSubsystem: Subsystem = {
  name: 'accounts',
  description: 'Users and groups of the machine, their Samba passwords and their sudo rules.',
  reads: [user, group, binEntry],
  adopts: accountsAdoption,
  uses: ['accounts'],
  render(view, facts) {
    const users = view.all(user);
    const groups = view.all(group);
    const keptGroups = groupsInBin(view);
    return {
      accounts: {
        groups: [...groups, ...keptGroups]
          .filter((record) => record.bsdgrp_owned)
          .map((record) => ({ name: record.bsdgrp_group, gid: record.bsdgrp_gid ?? 0 })),
        users: [
          ...users.filter((record) => record.bsdusr_owned).map((record) => userSpec(record, view, facts)),
          ...usersInBin(view).map((record) => lockedSpec(record, [...groups, ...keptGroups])),
        ],
      },
      files: [
        { path: smbPasswordFile, mode: 0o600, content: smbPasswords(users) },
        { path: '/etc/sudoers.d/holdfast', mode: 0o440, content: sudoers(users, groups), verify: visudo },
      ],
    };
  },
};

type User = RecordOf<typeof user.fields>;
type Group = RecordOf<typeof group.fields>;

function userSpec(record: User, view: View, facts: Facts): UserSpec {
  const groupsOf = record.bsdusr_groups.map((id) => view.get(group, id)).filter((record) => record !== undefined);
  const primary = record.bsdusr_group === null ? undefined : view.get(group, record.bsdusr_group);
  return {
    name: record.bsdusr_username,
    uid: record.bsdusr_uid ?? 0,
    gid: primary?.bsdgrp_gid ?? 65534,
    fullName: record.bsdusr_full_name,
    home: record.bsdusr_home,
    shell: shellOn(record.bsdusr_shell, facts),
    passwordHash: `${record.bsdusr_locked ? '!' : ''}${record.bsdusr_unixhash}`,
    groups: groupsOf
      .map((record) => record.bsdgrp_group)
      .filter(
        (name) =>
          facts.accounts.groups.some((known) => known.name === name) ||
          groupsOf.some((record) => record.bsdgrp_owned && record.bsdgrp_group === name),
      )
      .toSorted(),
  };
}

/** The users in the bin, whose names and numbers the machine keeps for them and their files. */
function usersInBin(view: View): readonly User[] {
  return inBin(view, user)
    .map(({ record }) => record)
    .filter(
      (record) => record.bsdusr_owned && view.find(user, 'bsdusr_username', record.bsdusr_username) === undefined,
    );
}

function groupsInBin(view: View): readonly Group[] {
  return inBin(view, group)
    .map(({ record }) => record)
    .filter((record) => view.find(group, 'bsdgrp_group', record.bsdgrp_group) === undefined);
}

/** An account that no program admits: without a password, a shell and groups. */
function lockedSpec(record: User, groups: readonly Group[]): UserSpec {
  return {
    name: record.bsdusr_username,
    uid: record.bsdusr_uid ?? 0,
    gid: groups.find(({ id }) => id === record.bsdusr_group)?.bsdgrp_gid ?? 65534,
    fullName: record.bsdusr_full_name,
    home: noHome,
    shell: noShell,
    passwordHash: '*',
    groups: [],
  };
}

/**
 * Samba's password file, with a line for each account that has a password. Builtin accounts are left out: the
 * password of root opens the HTTP interface only.
 */
export function smbPasswords(users: readonly User[]): string {
  return lines(
    users
      .filter((user) => user.bsdusr_smbhash !== '*' && !user.bsdusr_builtin && user.bsdusr_uid !== 0)
      .map((user) => smbFileLine(user.bsdusr_smbhash, user.bsdusr_locked)),
  );
}

export function sudoers(users: readonly User[], groups: readonly Group[]): string {
  return lines(
    users.filter((user) => user.bsdusr_sudo).map((user) => `${sudoName(user.bsdusr_username)} ALL=(ALL:ALL) ALL`),
    groups.filter((group) => group.bsdgrp_sudo).map((group) => `%${sudoName(group.bsdgrp_group)} ALL=(ALL:ALL) ALL`),
  );
}

/** Escapes a name for the sudoers format. */
function sudoName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.-]/g, (character) => `\\${character}`);
}

const visudo: Checker = {
  argv: (staged) => ['visudo', '-c', '-q', '-f', staged],
  objection: ({ status, stdout, stderr }) =>
    status === 0 ? undefined : `visudo rejects the sudo rules: ${(stderr || stdout).trim()}`,
};
