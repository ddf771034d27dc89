import type { PasswordHashes } from '../../engine/passwords.ts';

/** The intermediate form of a new Samba password, before `smbLine`: the NT hash and the time of the change. */
export function newSmbHash({ nt }: PasswordHashes, now: number): string {
  return `${nt}:LCT-${Math.floor(now / 1000)
    .toString(16)
    .toUpperCase()
    .padStart(8, '0')}`;
}

/**
 * The line of the Samba password file for a user (gaps 10.1), from `newSmbHash` or from an earlier line, whose name and
 * UID may be outdated.
 */
export function smbLine(name: string, uid: number, hash: string): string {
  const [, nt = '', change = ''] = /([0-9A-F]{32}):(?:\[[^\]]*\]:)?(LCT-[0-9A-F]{8})/.exec(hash) ?? [];
  return `${name}:${uid}:${'X'.repeat(32)}:${nt}:[U          ]:${change}:`;
}

/** The line in the file that Samba reads, which marks a locked account as disabled. */
export function smbFileLine(line: string, locked: boolean): string {
  return locked ? line.replace('[U          ]', '[DU         ]') : line;
}
