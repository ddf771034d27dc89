/** Pure readers of the account files and of what `getent` prints in their format. */
import type { SystemGroup, SystemUser } from '../ports/accounts.ts';

export interface GroupLine extends SystemGroup {
  readonly members: readonly string[];
}

export function readUsers(passwd: string): readonly SystemUser[] {
  return rows(passwd).flatMap(([name = '', , uid = '', gid = '', fullName = '', home = '', shell = '']) =>
    isAccount(name, uid) ? [Object.freeze({ name, uid: Number(uid), gid: Number(gid), fullName, home, shell })] : [],
  );
}

export function readGroups(group: string): readonly GroupLine[] {
  return rows(group).flatMap(([name = '', , gid = '', members = '']) =>
    isAccount(name, gid)
      ? [
          Object.freeze({
            name,
            gid: Number(gid),
            members: Object.freeze(members.split(',').filter((member) => member !== '')),
          }),
        ]
      : [],
  );
}

/** The crypt text of each account. */
export function readHashes(shadow: string): ReadonlyMap<string, string> {
  return new Map(rows(shadow).map(([name = '', hash = '']) => [name, hash]));
}

export function readShells(shells: string): readonly string[] {
  return shells
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('/'));
}

/**
 * Whether nsswitch.conf(5) names no source of accounts but this machine's files. That of systemd has only users that live
 * as long as their service.
 */
export function isInFiles(database: 'passwd' | 'group', nsswitch: string): boolean {
  const sources = new RegExp(`^${database}:(.*)$`, 'm').exec(nsswitch)?.[1]?.trim();
  return sources !== undefined && /^files(\s+systemd)?$/.test(sources);
}

function rows(text: string): readonly (readonly string[])[] {
  return text.split('\n').flatMap((line) => (line === '' || line.startsWith('#') ? [] : [line.split(':')]));
}

/** Lines that begin with a plus or minus refer to NIS. */
function isAccount(name: string, id: string): boolean {
  return name !== '' && !/^[+-]/.test(name) && /^\d+$/.test(id);
}
