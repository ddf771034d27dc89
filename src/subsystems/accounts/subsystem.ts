import { group } from '../../areas/account/groups.ts';
import { smbFileLine } from '../../areas/account/hashes.ts';
import { user } from '../../areas/account/users.ts';
import { noShell } from '../../engine/declare/formats.ts';
import type { RecordOf, View } from '../../engine/declare/resource.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import type { Facts } from '../../engine/upkeep/facts.ts';
import type { UserSpec } from '../../host/ports/accounts.ts';
import { lines } from '../../lib/text.ts';
import { smbPasswordFile } from '../samba/paths.ts';

export const accountsSubsystem: Subsystem = {
  name: 'accounts',
  description: 'Users and groups of the machine, their Samba passwords and their right to become root.',
  reads: [user, group],
  uses: ['accounts'],
  render(view, facts) {
    const users = view.all(user);
    const groups = view.all(group);
    return {
      accounts: {
        groups: groups
          .filter((one) => one.bsdgrp_owned)
          .map((one) => ({ name: one.bsdgrp_group, gid: one.bsdgrp_gid ?? 0 })),
        users: users.filter((one) => one.bsdusr_owned).map((one) => userSpec(one, view, facts)),
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
  const groupsOf = record.bsdusr_groups.map((id) => view.get(group, id)).filter((one) => one !== undefined);
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
      .map((one) => one.bsdgrp_group)
      .filter(
        (name) =>
          facts.accounts.groups.some((known) => known.name === name) ||
          groupsOf.some((one) => one.bsdgrp_owned && one.bsdgrp_group === name),
      )
      .toSorted(),
  };
}

/** The shell itself where the machine has it, else the best there is. */
function shellOn(shell: string, { accounts }: Facts): string {
  if (shell === noShell || accounts.shells.includes(shell)) return shell;
  return ['/bin/bash', '/usr/bin/bash', '/bin/sh'].find((one) => accounts.shells.includes(one)) ?? '/bin/sh';
}

/** Samba's own password file, one line for each account that has a password. Root's opens the interface only. */
export function smbPasswords(users: readonly User[]): string {
  return lines(
    users
      .filter((one) => one.bsdusr_smbhash !== '*' && one.bsdusr_uid !== 0)
      .map((one) => smbFileLine(one.bsdusr_smbhash, one.bsdusr_locked)),
  );
}

export function sudoers(users: readonly User[], groups: readonly Group[]): string {
  return lines(
    users.filter((one) => one.bsdusr_sudo).map((one) => `${sudoName(one.bsdusr_username)} ALL=(ALL:ALL) ALL`),
    groups.filter((one) => one.bsdgrp_sudo).map((one) => `%${sudoName(one.bsdgrp_group)} ALL=(ALL:ALL) ALL`),
  );
}

/** Letters and digits stand for themselves in the sudoers format; everything else is escaped. */
function sudoName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.-]/g, (character) => `\\${character}`);
}

const visudo: Checker = {
  argv: (staged) => ['visudo', '-c', '-q', '-f', staged],
  objection: ({ status, stdout, stderr }) =>
    status === 0 ? undefined : `sudo refuses its rules: ${(stderr || stdout).trim()}`,
};
