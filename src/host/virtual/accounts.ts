import type {
  Accounts,
  GroupSpec,
  KnownAccounts,
  OwnedAccounts,
  SystemGroup,
  SystemUser,
  UserSpec,
} from '../ports/accounts.ts';
import { HostError } from '../ports/index.ts';
import type { Foreign } from './foreign-accounts.ts';
import { isNumber, isText, listOf, Memory, shapeOf } from './state.ts';

/** The accounts of a fresh system (gaps 10.3), in the order of their record ids there. */
const builtinGroups: readonly SystemGroup[] = table(
  `0 wheel, 1 daemon, 2 kmem, 3 sys, 4 tty, 5 operator, 6 mail, 7 bin, 8 news, 9 man, 13 games, 14 ftp, 20 staff, 22 sshd, 25 smmsp, 26 mailnull, 31 guest,
  53 bind, 62 proxy, 63 authpf, 64 _pflogd, 65 _dhcp, 66 uucp, 68 dialer, 69 network, 77 audit, 80 www, 65533 nogroup, 65534 nobody, 200 avahi,
  201 messagebus, 845 hast, 78 ladvd, 666 webdav, 8675309 media`,
).map(([gid = '', name = '']) => Object.freeze({ name, gid: Number(gid) }));

const shellsOfBuiltins: Readonly<Record<string, string>> = {
  root: '/bin/csh',
  ftp: '/bin/csh',
  uucp: '/usr/local/libexec/uucp/uucico',
};

const builtinUsers: readonly SystemUser[] = table(
  `0 root wheel /root, 1 daemon daemon /root, 2 operator operator /, 3 bin bin /, 4 tty nogroup /, 5 kmem kmem /, 7 games games /, 8 news news /,
  9 man man /usr/share/man, 22 sshd sshd /var/empty, 25 smmsp smmsp /var/spool/clientmqueue, 26 mailnull mailnull /var/spool/mqueue, 53 bind bind /,
  62 proxy proxy /nonexistent, 64 _pflogd _pflogd /var/empty, 65 _dhcp _dhcp /var/empty, 66 uucp uucp /var/spool/uucppublic, 68 pop mail /nonexistent,
  80 www www /nonexistent, 65534 nobody nobody /nonexistent, 200 avahi avahi /nonexistent, 201 messagebus messagebus /nonexistent,
  14 ftp ftp /nonexistent, 78 auditdistd audit /var/empty, 845 hast hast /var/empty, 79 ladvd ladvd /var/empty, 666 webdav webdav /var/empty,
  8675309 media media /var/empty`,
).map(([uid = '', name = '', group = '', home = '']) =>
  Object.freeze({
    name,
    uid: Number(uid),
    gid: builtinGroups.find((candidate) => candidate.name === group)?.gid ?? 65534,
    fullName: name,
    home,
    shell: shellsOfBuiltins[name] ?? '/usr/sbin/nologin',
  }),
);

const shells = Object.freeze([
  '/bin/sh',
  '/bin/bash',
  '/bin/csh',
  '/bin/tcsh',
  '/bin/zsh',
  '/usr/local/bin/bash',
  '/usr/sbin/nologin',
]);

const largestId = 4294967295;

const isGroup = shapeOf<GroupSpec>({ name: isText, gid: isNumber });
const isUser = shapeOf<UserSpec>({
  name: isText,
  uid: isNumber,
  gid: isNumber,
  fullName: isText,
  home: isText,
  shell: isText,
  passwordHash: isText,
  groups: listOf(isText),
});

export class VirtualAccounts implements Accounts {
  readonly #memory: Memory<OwnedAccounts>;
  /** Accounts that Holdfast created and no longer owns. */
  readonly #disowned: Memory<OwnedAccounts>;

  readonly #foreign: () => Foreign;

  /** `foreign` are the accounts of directories. */
  constructor(path: string, foreign: () => Foreign) {
    this.#foreign = foreign;
    const isAccounts = shapeOf<OwnedAccounts>({ users: listOf(isUser), groups: listOf(isGroup) });
    const none = Object.freeze({ users: [], groups: [] });
    this.#memory = new Memory(path, isAccounts, none);
    this.#disowned = new Memory(path.replace(/\.json$/, '-disowned.json'), isAccounts, none);
  }

  async known(): Promise<KnownAccounts> {
    const foreign = this.#foreign();
    return Object.freeze({
      users: [...this.#systemUsers, ...this.#memory.value.users.map(systemUser), ...foreign.users],
      groups: [...this.#groups(), ...foreign.groups],
      shells,
    });
  }

  async inDirectory(name: string): Promise<number | undefined> {
    const own = [...this.#systemUsers, ...this.#memory.value.users];
    return own.some((user) => user.name === name)
      ? undefined
      : this.#foreign().users.find((user) => user.name === name)?.uid;
  }

  async directoryAccepts(name: string, password: string): Promise<boolean> {
    if (password === '' || (await this.inDirectory(name)) === undefined) return false;
    return this.#foreign().passwords.get(name) === password;
  }

  async owned(): Promise<OwnedAccounts> {
    return this.#memory.value;
  }

  async disown(): Promise<void> {
    const { users, groups } = this.#memory.value;
    const { users: earlierUsers, groups: earlierGroups } = this.#disowned.value;
    this.#disowned.keep(Object.freeze({ users: [...earlierUsers, ...users], groups: [...earlierGroups, ...groups] }));
    this.#memory.keep(Object.freeze({ users: [], groups: [] }));
  }

  async createGroup(group: GroupSpec): Promise<void> {
    mustBeName('groupadd', 'group', group.name);
    mustBeId('groupadd', 'group', group.gid);
    if (this.#groups().some((candidate) => candidate.name === group.name))
      throw new HostError(`groupadd: group '${group.name}' already exists`);
    const { users, groups } = this.#memory.value;
    this.#memory.keep(
      Object.freeze({ users, groups: [...groups, Object.freeze({ name: group.name, gid: group.gid })] }),
    );
  }

  async changeGroup({ name, gid }: GroupSpec): Promise<void> {
    const { users, groups } = this.#memory.value;
    const before = groups.find((other) => other.name === name);
    if (before === undefined) throw new HostError(unowned('groupmod', 'group', name, this.#groups()));
    mustBeId('groupmod', 'group', gid);
    this.#memory.keep(
      Object.freeze({
        users: users.map((user) => (user.gid === before.gid ? Object.freeze({ ...user, gid }) : user)),
        groups: groups.map((group) => (group === before ? Object.freeze({ name, gid }) : group)),
      }),
    );
  }

  async removeGroup(name: string): Promise<void> {
    const { users, groups } = this.#memory.value;
    const group = groups.find((other) => other.name === name);
    if (group === undefined) throw new HostError(unowned('groupdel', 'group', name, this.#groups()));
    const member = users.find((user) => user.gid === group.gid);
    if (member !== undefined) throw new HostError(`groupdel: cannot remove the primary group of user '${member.name}'`);
    this.#memory.keep(
      Object.freeze({
        users: users.map((user) =>
          user.groups.includes(name)
            ? Object.freeze({ ...user, groups: user.groups.filter((other) => other !== name) })
            : user,
        ),
        groups: groups.filter((other) => other !== group),
      }),
    );
  }

  async createUser(user: UserSpec): Promise<void> {
    mustBeName('useradd', 'user', user.name);
    const { users, groups } = this.#memory.value;
    if ([...this.#systemUsers, ...users].some((candidate) => candidate.name === user.name))
      throw new HostError(`useradd: user '${user.name}' already exists`);
    this.#memory.keep(Object.freeze({ users: [...users, this.#checked('useradd', user)], groups }));
  }

  async changeUser(user: UserSpec): Promise<void> {
    const { users, groups } = this.#memory.value;
    if (!users.some((account) => account.name === user.name))
      throw new HostError(unowned('usermod', 'user', user.name, this.#systemUsers));
    const changed = this.#checked('usermod', user);
    this.#memory.keep(
      Object.freeze({ users: users.map((account) => (account.name === user.name ? changed : account)), groups }),
    );
  }

  async removeUser(name: string): Promise<void> {
    const { users, groups } = this.#memory.value;
    if (!users.some((account) => account.name === name))
      throw new HostError(unowned('userdel', 'user', name, this.#systemUsers));
    this.#memory.keep(Object.freeze({ users: users.filter((account) => account.name !== name), groups }));
  }

  /** The user as it is stored. Throws the error that the tool would print. */
  #checked(tool: string, user: UserSpec): UserSpec {
    const groups = this.#groups();
    mustBeId(tool, 'user', user.uid);
    if (!groups.some((group) => group.gid === user.gid))
      throw new HostError(`${tool}: group '${user.gid}' does not exist`);
    for (const name of user.groups)
      if (!groups.some((group) => group.name === name)) throw new HostError(`${tool}: group '${name}' does not exist`);
    if (!isField(user.fullName)) throw new HostError(`${tool}: invalid comment '${user.fullName}'`);
    if (!isField(user.home) || !user.home.startsWith('/'))
      throw new HostError(`${tool}: invalid home directory '${user.home}'`);
    if (!isField(user.shell) || !user.shell.startsWith('/'))
      throw new HostError(`${tool}: invalid shell '${user.shell}'`);
    if (!isField(user.passwordHash)) throw new HostError(`${tool}: invalid field '${user.passwordHash}'`);
    return Object.freeze({
      ...systemUser(user),
      passwordHash: user.passwordHash,
      groups: Object.freeze([...new Set(user.groups)].sort()),
    });
  }

  #groups(): readonly SystemGroup[] {
    return [...builtinGroups, ...this.#disowned.value.groups, ...this.#memory.value.groups];
  }

  get #systemUsers(): readonly SystemUser[] {
    return [...builtinUsers, ...this.#disowned.value.users.map(systemUser)];
  }
}

function systemUser({ name, uid, gid, fullName, home, shell }: SystemUser): SystemUser {
  return Object.freeze({ name, uid, gid, fullName, home, shell });
}

function unowned(
  tool: string,
  kind: 'user' | 'group',
  name: string,
  all: readonly { readonly name: string }[],
): string {
  return all.some((candidate) => candidate.name === name)
    ? `${tool}: ${kind} '${name}' belongs to the system`
    : `${tool}: ${kind} '${name}' does not exist`;
}

function mustBeName(tool: string, kind: 'user' | 'group', name: string): void {
  if (!/^[^-\s:,/\p{C}][^\s:,/\p{C}]*$/u.test(name))
    throw new HostError(`${tool}: '${name}' is not a valid ${kind} name`);
}

function mustBeId(tool: string, kind: 'user' | 'group', id: number): void {
  if (!Number.isInteger(id) || id < 0 || id > largestId) throw new HostError(`${tool}: invalid ${kind} ID '${id}'`);
}

/** Whether the text is a valid field of a line in /etc/passwd. */
function isField(text: string): boolean {
  return !/[:\n]/.test(text);
}

function table(text: string): readonly (readonly string[])[] {
  return text.split(',').map((row) => row.trim().split(/\s+/));
}
