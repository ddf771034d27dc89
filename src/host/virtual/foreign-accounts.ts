import { readFileSync } from 'node:fs';
import type { SystemGroup, SystemUser } from '../ports/accounts.ts';
import type { Directories } from './directories.ts';
import { codeOf } from './state.ts';
import type { Tree } from './tree.ts';

export interface Foreign {
  /** Passwords by the names of users that have one. */
  readonly passwords: ReadonlyMap<string, string>;
  readonly users: readonly SystemUser[];
  readonly groups: readonly SystemGroup[];
}

/**
 * The accounts that the C library would find in directories, by the machine's own configuration: the sources in
 * `nsswitch.conf`, and the directory that the configuration of each source names.
 */
export function foreignAccounts(
  tree: Tree,
  { domains, ldap, nis }: Directories,
  membership: () => string | undefined,
): Foreign {
  const sources = /^passwd:(.*)$/m.exec(fileIn(tree, '/etc/nsswitch.conf'))?.[1]?.trim().split(/\s+/) ?? [];
  const users: SystemUser[] = [];
  const groups: SystemGroup[] = [];
  const passwords = new Map<string, string>();
  const add = (name: string, uid: number, gid = uid) =>
    void users.push(
      Object.freeze({ name, uid, gid, fullName: '', home: `/home/${name.replace('\\', '/')}`, shell: '/bin/false' }),
    );
  if (sources.includes('ldap')) {
    const conf = fileIn(tree, '/etc/nslcd.conf');
    const server = /^uri ldaps?:\/\/([^/:]*)/m.exec(conf)?.[1];
    const directory = ldap.find((one) => one.server === server);
    for (const [name, uid] of directory?.users ?? []) {
      add(name, uid);
      const password = directory?.accounts.get(`uid=${name},${directory.base}`);
      if (password !== undefined) passwords.set(name, password);
    }
  }
  if (sources.includes('nis')) {
    const domain = fileIn(tree, '/etc/defaultdomain').trim();
    for (const [name, uid] of nis.find((one) => one.domain === domain)?.users ?? []) add(name, uid);
  }
  const domain = sources.includes('winbind') ? domains.find((one) => one.domain === membership()) : undefined;
  if (domain !== undefined) {
    const conf = fileIn(tree, '/etc/samba/smb.conf');
    const prefix = /^\s*winbind use default domain = yes$/m.test(conf) ? '' : `${domain.workgroup}\\`;
    // As the kind `rid` assigns ids: the relative id of the account above the beginning of the range.
    const range = new RegExp(`^\\s*idmap config ${domain.workgroup} : range = (\\d+)-`, 'm');
    const first = Number(range.exec(conf)?.[1] ?? 20_000);
    groups.push(Object.freeze({ name: `${prefix}domain users`, gid: first + 513 }));
    for (const [index, [name, password]] of [...domain.accounts].entries()) {
      add(`${prefix}${name}`, first + 1100 + index, first + 513);
      passwords.set(`${prefix}${name}`, password);
    }
  }
  return { users, groups, passwords };
}

function fileIn(tree: Tree, path: string): string {
  try {
    return readFileSync(tree.locate(path), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}
