import type { PasswordHashes } from '../../engine/passwords.ts';

/** What a new password leaves in a record until its line is made: the NT hash and when it was set. */
export function newSmbHash({ nt }: PasswordHashes, now: number): string {
  return `${nt}:LCT-${Math.floor(now / 1000)
    .toString(16)
    .toUpperCase()
    .padStart(8, '0')}`;
}

/**
 * The line of the Samba password file for a user (gaps 10.1), from such a hash or from an earlier line: the name and
 * the number may have changed since.
 */
export function smbLine(name: string, uid: number, hash: string): string {
  const [, nt = '', change = ''] = /([0-9A-F]{32}):(?:\[[^\]]*\]:)?(LCT-[0-9A-F]{8})/.exec(hash) ?? [];
  return `${name}:${uid}:${'X'.repeat(32)}:${nt}:[U          ]:${change}:`;
}

/** The same line for the file Samba reads, where a locked account is marked as disabled. */
export function smbFileLine(line: string, locked: boolean): string {
  return locked ? line.replace('[U          ]', '[DU         ]') : line;
}
