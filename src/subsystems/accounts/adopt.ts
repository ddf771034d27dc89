/** Reads the accounts of people and their groups, with the passwords that they have. */
import { group } from '../../areas/account/groups.ts';
import { smbLine } from '../../areas/account/hashes.ts';
import { noHome, user } from '../../areas/account/users.ts';
import { shellOn } from '../../engine/declare/formats.ts';
import type { Adoption, NotCarried, ProposedRecord } from '../../engine/declare/proposal.ts';
import { carriedPath } from '../../engine/facts/carried-path.ts';

const passwdFile = '/etc/passwd';
const groupFile = '/etc/group';
const shadowFile = '/etc/shadow';
const sambaFile = '/etc/samba/smbpasswd';

/** The ids that Debian gives to people and their groups. */
const isRegular = (id: number) => id >= 1000 && id <= 59_999;

export const accountsAdoption: Adoption = {
  files: [passwdFile, groupFile, shadowFile, sambaFile],
  programs: [['pdbedit', '-L', '-w']],
  // Accounts that others made stay beside those of Holdfast.
  isBeside: true,
  read({ files, outputs, facts, view }) {
    const [users, groups] = [rowsOf(files.get(passwdFile)), rowsOf(files.get(groupFile))];
    const hashes = new Map(rowsOf(files.get(shadowFile)).map(({ fields: [name = '', hash = ''] }) => [name, hash]));
    const samba = new Map(
      rowsOf(outputs.get('pdbedit') ?? files.get(sambaFile)).map(({ fields }) => [fields[0] ?? '', fields.join(':')]),
    );
    const people = users.filter(
      ({ fields: [name = '', , uid = ''] }) =>
        isRegular(Number(uid)) && view.find(user, 'bsdusr_username', name) === undefined,
    );
    const regular = groups.filter(({ fields: [, , gid = ''] }) => isRegular(Number(gid)));
    const notCarried: NotCarried[] = [];
    const records: ProposedRecord[] = [];
    for (const { line, fields, text } of regular) {
      const [name = '', , gid = ''] = fields;
      if (view.find(group, 'bsdgrp_group', name) !== undefined) continue;
      records.push({
        ...{ resource: group.path, file: groupFile, line },
        values: { bsdgrp_group: name, bsdgrp_gid: Number(gid) },
      });
      if (facts.accounts.groups.some((known) => known.name === name))
        notCarried.push({
          ...{ file: groupFile, line, text, reason: `The machine has the group ${name}, which Holdfast did not make.` },
          toDo: `Before the file is applied, run: groupdel ${name}. Files keep their group by its number.`,
        });
    }
    const nameOf = (gid: string) => groups.find(({ fields }) => fields[2] === gid)?.fields[0];
    const known = new Set([
      ...regular.map(({ fields: [name = ''] }) => name),
      ...view.all(group).map(({ bsdgrp_group }) => bsdgrp_group),
    ]);
    for (const { line, text, fields } of people) {
      const [name = '', , uid = '', gid = '', comment = '', home = '', shell = ''] = fields;
      const lose = (reason: string, toDo: string) =>
        notCarried.push({ file: passwdFile, line, text: text.replace(/^([^:]*):[^:]*/, '$1:x'), reason, toDo });
      const place = home === noHome ? { path: noHome, toDo: undefined } : carriedPath(home, facts.storage);
      if (place === undefined)
        lose(
          `The home folder ${home} is on no dataset of a pool, so the user has none in Holdfast.`,
          'Create a dataset, move the folder to it, and set home of the user; then SSH keys too.',
        );
      else if (place.toDo !== undefined)
        lose(
          `Holdfast has its datasets below /mnt, so the file has ${place.path}.`,
          `Before the file is applied, run: ${place.toDo}`,
        );
      if (facts.accounts.users.some((one) => one.name === name))
        lose(
          `The machine has the account ${name}, which Holdfast did not make.`,
          `Before the file is applied, run: userdel --force ${name}. Clients stay connected, its files stay, and the file has its number and passwords.`,
        );
      const memberships = groups.filter(({ fields: [, , , members = ''] }) => members.split(',').includes(name));
      const names = memberships.map(({ fields: [one = ''] }) => one);
      const unknown = names.filter((one) => !known.has(one) && one !== 'sudo');
      if (unknown.length > 0)
        lose(
          `Holdfast has no group ${unknown.join(', ')} of the system.`,
          'Do without, or give the right by another group.',
        );
      const hash = hashes.get(name) ?? '*';
      const plainHash = hash.replace(/^!+/, '');
      const line0 = samba.get(name);
      const smb = line0 === undefined || !/:[0-9A-F]{32}:\[/.test(line0) ? '*' : smbLine(name, Number(uid), line0);
      const hasPassword = plainHash.length > 1;
      if (!hasPassword && smb !== '*')
        lose(
          'The account has a password for Samba only.',
          'Set one password for both: holdfast set-password user NAME.',
        );
      const primary = nameOf(gid);
      records.push({
        ...{ resource: user.path, file: passwdFile, line },
        values: {
          bsdusr_username: name,
          bsdusr_uid: Number(uid),
          bsdusr_full_name: (comment.split(',')[0] ?? '') || name,
          ...(primary !== undefined && known.has(primary) && { bsdusr_group: primary }),
          bsdusr_to_group: names.filter((one) => known.has(one) && one !== 'sudo'),
          bsdusr_home: place?.path ?? noHome,
          bsdusr_shell: shellOn(shell, facts),
          bsdusr_sudo: names.includes('sudo'),
          bsdusr_locked: hasPassword && hash.startsWith('!'),
          ...(hasPassword ? { bsdusr_password: [plainHash, smb] } : { bsdusr_password_disabled: true }),
        },
      });
    }
    return { records, notCarried };
  },
};

interface Row {
  readonly line: number;
  readonly text: string;
  readonly fields: readonly string[];
}

/** The lines of a file with columns that colons separate. Those that begin with a sign refer to NIS. */
function rowsOf(content = ''): readonly Row[] {
  return content.split('\n').flatMap((text, index) => {
    return text === '' || /^[+#-]/.test(text) ? [] : [{ line: index + 1, text, fields: text.split(':') }];
  });
}
