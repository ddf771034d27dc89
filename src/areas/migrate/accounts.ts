/** Users and groups. */
import { smbLine } from '../account/hashes.ts';
import type { Row } from './database.ts';
import { becomes, type Mapping, nothing, part, type Stay, same, stay, stays, type Target } from './mapping.ts';
import { unreadable } from './secrets.ts';

const groups: Mapping = {
  table: 'account_bsdgroups',
  to: 'account/groups',
  // Builtin groups are there already, under the same numbers.
  isRecord: (row, { state }) => {
    const kind = state.kindAt('account/groups');
    if (kind === undefined || !row.flag('bsdgrp_builtin')) return undefined;
    const all = [...state.of(kind).values()];
    const found =
      all.find(({ values }) => values['bsdgrp_gid'] === row.number('bsdgrp_gid')) ??
      state.find(kind, row.text('bsdgrp_group'));
    return found?.key;
  },
  stays: (row, { machine: { groups: known } }) => {
    const name = row.text('bsdgrp_group');
    if (row.flag('bsdgrp_builtin'))
      return stay(`The builtin group ${name} does not exist here.`, 'Nothing, unless files belong to it.');
    return clash(
      'group',
      name,
      row.number('bsdgrp_gid'),
      known.map(({ name: one, gid }) => [one, gid] as const),
    );
  },
  columns: {
    bsdgrp_gid: same,
    bsdgrp_group: same,
    bsdgrp_builtin: part,
    bsdgrp_sudo: same,
    bsdgrp_sudo_nopasswd: stays('Sudo without a password does not exist for groups.', 'Nothing; sudo asks.', '0'),
    bsdgrp_sudo_commands: stays(
      'Sudo for single commands does not exist here.',
      'Write a file in /etc/sudoers.d.',
      '[]',
    ),
    bsdgrp_smb: nothing('it said whether Samba maps the group; here it maps all'),
  },
};

/** What takes the number or the name on this machine. */
function clash(
  what: string,
  name: string,
  number: number | undefined,
  known: readonly (readonly [string, number])[],
): Stay | undefined {
  const other = known.find(([one, id]) => (one === name) !== (id === number));
  if (other === undefined) return undefined;
  const [taken, id] = other;
  return stay(
    `The ${what} ${name} has the number ${number}. This machine has the ${what} ${taken} with the number ${id}.`,
    `Rename the ${what}, or give it another number and change the owner of its files; then make it by hand.`,
  );
}

const users: Mapping = {
  table: 'account_bsdusers',
  to: 'account/users',
  isRecord: (row, { withRoot }) => {
    if (!row.flag('bsdusr_builtin')) return undefined;
    return isRoot(row) && (withRoot || row.text('bsdusr_email') !== '') ? undefined : builtinName(row);
  },
  stays: (row, { machine: { users: known } }) =>
    row.flag('bsdusr_builtin')
      ? undefined
      : clash(
          'user',
          row.text('bsdusr_username'),
          row.number('bsdusr_uid'),
          known.map(({ name, uid }) => [name, uid]),
        ),
  columns: {
    bsdusr_uid: becomes('bsdusr_uid', (row) => (isRoot(row) ? undefined : row.number('bsdusr_uid'))),
    bsdusr_username: same,
    bsdusr_unixhash: part,
    bsdusr_smbhash: becomes('bsdusr_password', passwordOf),
    bsdusr_group_id: becomes('bsdusr_group', (row, target) =>
      isRoot(row) ? undefined : (target.keyOf('account_bsdgroups', row.text('bsdusr_group_id')) ?? 'nobody'),
    ),
    bsdusr_home: becomes('bsdusr_home', (row, target) => homeOf(row, target)),
    bsdusr_shell: becomes('bsdusr_shell', shellOf),
    bsdusr_full_name: becomes('bsdusr_full_name', (row) =>
      isRoot(row) ? undefined : row.text('bsdusr_full_name').trim() || row.text('bsdusr_username'),
    ),
    bsdusr_builtin: part,
    bsdusr_email: same,
    bsdusr_password_disabled: becomes('bsdusr_password_disabled', (row) =>
      isRoot(row) ? undefined : row.flag('bsdusr_password_disabled') || unixHash(row) === undefined,
    ),
    bsdusr_locked: becomes('bsdusr_locked', (row) =>
      isRoot(row) ? undefined : row.flag('bsdusr_locked') || isLockedHash(row),
    ),
    bsdusr_sudo: becomes('bsdusr_sudo', (row) => (isRoot(row) ? undefined : row.flag('bsdusr_sudo'))),
    bsdusr_microsoft_account: becomes('bsdusr_microsoft_account', (row) =>
      isRoot(row) ? undefined : row.flag('bsdusr_microsoft_account'),
    ),
    bsdusr_attributes: nothing('it has preferences of the old interface'),
    bsdusr_smb: part,
    bsdusr_sudo_nopasswd: stays('Sudo without a password does not exist here.', 'Nothing; sudo asks.', '0'),
    bsdusr_sudo_commands: stays(
      'Sudo for single commands does not exist here.',
      'Write a file in /etc/sudoers.d.',
      '[]',
    ),
  },
  values: (row, target) => ({ bsdusr_to_group: isRoot(row) ? undefined : memberships(row, target) }),
  remarks: remarksOf,
};

const isRoot = (row: Row) => row.flag('bsdusr_builtin') && row.number('bsdusr_uid') === 0;
const builtinName = (row: Row) => row.text('bsdusr_username');

function memberships(row: Row, { old, keyOf }: Target): readonly string[] {
  const own = row.text('bsdusr_group_id');
  return old
    .rows('account_bsdgroupmembership')
    .filter((one) => one.text('bsdgrpmember_user_id') === row.id && one.text('bsdgrpmember_group_id') !== own)
    .flatMap((one) => keyOf('account_bsdgroups', one.text('bsdgrpmember_group_id')) ?? []);
}

// Passwords ----------------------------------------------------------------------------------------------------------

const isLockedHash = (row: Row) => /^(?:\*LOCKED\*|!)/.test(row.text('bsdusr_unixhash'));

/** The hash, if the account has a password that crypt knows. */
function unixHash(row: Row): string | undefined {
  const text = row.text('bsdusr_unixhash').replace(/^(?:\*LOCKED\*|!+)/, '');
  return /^\$(?:1|2[aby]|5|6)\$[\w./$=-]{8,150}$/.test(text) || /^[\w./]{13}$/.test(text) ? text : undefined;
}

/** The NT hash with the time of its change, from a line of a Samba password file. */
function ntHash(row: Row): string | undefined {
  if (row.has('bsdusr_smb') && !row.flag('bsdusr_smb')) return undefined;
  const [, , , nt = '', , change = ''] = row.text('bsdusr_smbhash').split(':');
  if (!/^[0-9A-F]{32}$/i.test(nt)) return undefined;
  return `${nt.toUpperCase()}:${/^LCT-[0-9A-F]{8}$/i.test(change) ? change.toUpperCase() : 'LCT-00000000'}`;
}

function passwordOf(row: Row, { withRoot }: Target): unknown {
  const unix = unixHash(row);
  if (unix === undefined || row.flag('bsdusr_password_disabled') || (isRoot(row) && !withRoot)) return undefined;
  const nt = ntHash(row);
  return [unix, nt === undefined ? '*' : smbLine(row.text('bsdusr_username'), row.number('bsdusr_uid') ?? 0, nt)];
}

// Homes and shells ---------------------------------------------------------------------------------------------------

const onVolumes = /^\/mnt\/([^/]+)\/./;

function homeOf(row: Row, { pools }: Target): string | undefined {
  const home = row.text('bsdusr_home').trim();
  const pool = onVolumes.exec(home)?.[1];
  return !isRoot(row) && pool !== undefined && pools.has(pool) ? home : undefined;
}

const nologin = '/usr/sbin/nologin';
const shells: Readonly<Record<string, string>> = {
  '/sbin/nologin': nologin,
  '/bin/false': nologin,
  '/nonexistent': nologin,
  '/usr/local/bin/scponly': nologin,
  '/usr/local/libexec/git-core/git-shell': nologin,
  '/etc/netcli.sh': nologin,
  '//etc/netcli.sh': nologin,
  '/usr/local/libexec/uucp/uucico': nologin,
};
const restricted = /scponly|git-shell|netcli/;

function shellOf(row: Row): string | undefined {
  const shell = row.text('bsdusr_shell');
  return isRoot(row) || shell === '' ? undefined : (shells[shell] ?? shell);
}

type Remarks = NonNullable<Mapping['remarks']>;

function remarksOf(row: Row, target: Target): ReturnType<Remarks> {
  const found: (Stay & { readonly column: string })[] = [];
  const note = (column: string, reason: string, remedy: string) => found.push({ column, reason, remedy });
  const name = row.text('bsdusr_username');
  const hash = row.text('bsdusr_unixhash');
  const unix = unixHash(row);
  if (isRoot(row)) return found;
  const hasPassword = !/^(?:\*|x)?$/.test(hash) && !row.flag('bsdusr_password_disabled');
  if (hasPassword && unix === undefined)
    note('bsdusr_unixhash', `The password of ${name} is kept in a form that is not known.`, 'Set a new password.');
  else if (!hasPassword && !row.flag('bsdusr_password_disabled'))
    note('bsdusr_unixhash', `${name} had no password, and gets none.`, 'Set one, if the account is to log in.');
  else if (unix !== undefined && !/^\$[256]/.test(unix))
    note(
      'bsdusr_unixhash',
      `${name} has a password hash of an old and weak kind.`,
      'It still works; set a new password.',
    );
  if (hasPassword && row.cell('bsdusr_smbhash') !== unreadable && ntHash(row) === undefined)
    note('bsdusr_smbhash', `${name} had no password for Windows shares.`, 'Set the password again, if it needs one.');
  const home = row.text('bsdusr_home').trim();
  if (homeOf(row, target) === undefined) {
    if (!/^(?:|\/nonexistent|\/var\/empty|\/root|\/)$/.test(home))
      note(
        'bsdusr_home',
        `The home folder ${home} is on no volume that this machine has imported.`,
        'Import the volume, and migrate again.',
      );
  } else if (!home.endsWith(`/${name}`))
    note('bsdusr_home', `The home folder ${home} does not end with the name.`, `It becomes ${home}/${name}.`);
  const shell = row.text('bsdusr_shell');
  if (restricted.test(shell))
    note('bsdusr_shell', `The shell ${shell} does not exist here; ${name} cannot log in with a shell.`, 'Choose one.');
  if (target.keyOf('account_bsdgroups', row.text('bsdusr_group_id')) === undefined)
    note('bsdusr_group_id', `The primary group of ${name} does not exist; it becomes nobody.`, 'Choose a group.');
  return found;
}

/** They are read with the users. */
const members: Mapping = {
  table: 'account_bsdgroupmembership',
  columns: { bsdgrpmember_group_id: part, bsdgrpmember_user_id: part },
  isUsual: (row, { old }) =>
    old
      .rows('account_bsdusers')
      .find(({ id }) => id === row.text('bsdgrpmember_user_id'))
      ?.flag('bsdusr_builtin') === true,
  stays: (row, { keyOf }) =>
    keyOf('account_bsdusers', row.text('bsdgrpmember_user_id')) === undefined ||
    keyOf('account_bsdgroups', row.text('bsdgrpmember_group_id')) === undefined
      ? stay('The membership is of a user or a group that was not carried.', 'Set it when the user or group exists.')
      : undefined,
};

export const accounts: readonly Mapping[] = [groups, users, members];
