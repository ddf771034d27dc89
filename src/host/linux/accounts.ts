import { objectIn } from '../../lib/json.ts';
import type { Accounts, GroupSpec, KnownAccounts, OwnedAccounts, SystemUser, UserSpec } from '../ports/accounts.ts';
import { HostError } from '../ports/index.ts';
import { type GroupLine, isInFiles, readGroups, readHashes, readShells, readUsers } from './accounts-read.ts';
import { nslcdAccepts, winbindAccepts } from './directory-passwords.ts';
import { expectSuccess, type Runner } from './runner.ts';
import type { Tree } from './tree.ts';

/** The names of the users and groups that Holdfast made. */
interface Ledger {
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

type Kind = keyof Ledger;

/** The status of getent for a name that no database has. */
const notFound = 2;

/** The accounts in this machine's own files; accounts of directory services are not among them. */
interface Local {
  readonly users: readonly SystemUser[];
  readonly groups: readonly GroupLine[];
  readonly hashes: ReadonlyMap<string, string>;
}

/**
 * Accounts by the tools of Debian's `passwd` package. The account files cannot record who made an account, so a ledger
 * lists those that Holdfast made.
 */
export class LinuxAccounts implements Accounts {
  readonly #runner: Runner;
  readonly #tree: Tree;
  readonly #ledgerPath: string;
  /** Arguments of the tools when the machine's root is not `/`. */
  readonly #prefix: readonly string[];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: { runner: Runner; tree: Tree; ledger: string }) {
    this.#runner = options.runner;
    this.#tree = options.tree;
    this.#ledgerPath = options.ledger;
    this.#prefix = options.tree.root === '/' ? [] : ['--prefix', options.tree.root];
  }

  async known(): Promise<KnownAccounts> {
    const [users, groups, shells] = await Promise.all([
      this.#database('passwd'),
      this.#database('group'),
      this.#tree.read('/etc/shells'),
    ]);
    return Object.freeze({
      users: readUsers(users),
      groups: readGroups(groups).map(({ name, gid }) => Object.freeze({ name, gid })),
      shells: readShells(shells ?? ''),
    });
  }

  async inDirectory(name: string): Promise<number | undefined> {
    return (await this.#foundIn(name))?.uid;
  }

  async directoryAccepts(name: string, password: string): Promise<boolean> {
    // A directory takes an empty password for a client without a name, and accepts it.
    if (password === '' || password.includes('\0')) return false;
    const source = (await this.#foundIn(name))?.source;
    if (source === 'winbind') return winbindAccepts(this.#runner, name, password);
    return source === 'ldap' && nslcdAccepts('/run/nslcd/socket', name, password);
  }

  /** The directory that has an account, unless the machine has one of this name. */
  async #foundIn(name: string): Promise<{ readonly source: string; readonly uid: number } | undefined> {
    if (!/^[^-:\s][^:\0\n]*$/.test(name)) return undefined;
    const uidIn = async (source: string) => {
      const { status, stdout } = await this.#runner.run(['getent', '-s', source, 'passwd', name]);
      return status === 0 ? readUsers(stdout).at(0)?.uid : undefined;
    };
    if ((await uidIn('files')) !== undefined) return undefined;
    const asked = /^passwd:(.*)$/m.exec((await this.#tree.read('/etc/nsswitch.conf')) ?? '')?.[1]?.split(/\s+/) ?? [];
    for (const source of ['winbind', 'ldap']) {
      const uid = asked.includes(source) ? await uidIn(source) : undefined;
      if (uid !== undefined) return { source, uid };
    }
    return undefined;
  }

  owned(): Promise<OwnedAccounts> {
    return this.#inTurn(async () => {
      const local = await this.#local();
      const ledger = await this.#ledger();
      const users = local.users.filter((user) => ledger.users.includes(user.name)).map((user) => specOf(user, local));
      const groups = local.groups
        .filter((group) => ledger.groups.includes(group.name))
        .map(({ name, gid }): GroupSpec => Object.freeze({ name, gid }));
      // An account that was never made, or is gone, leaves the ledger: another program may make one of that name next.
      if (users.length < ledger.users.length || groups.length < ledger.groups.length) {
        await this.#keep({ users: users.map((user) => user.name), groups: groups.map((group) => group.name) });
      }
      return Object.freeze({ users, groups });
    });
  }

  disown(): Promise<void> {
    return this.#inTurn(() => this.#keep({ users: [], groups: [] }));
  }

  createGroup({ name, gid }: GroupSpec): Promise<void> {
    return this.#inTurn(async () => {
      mustBeName(name, 'groupadd', 'group');
      await this.#mustBeNew('groups', name, 'groupadd');
      await this.#creating('groups', name, () => this.#tool('groupadd', '--non-unique', `--gid=${gid}`, name));
    });
  }

  changeGroup({ name, gid }: GroupSpec): Promise<void> {
    return this.#inTurn(async () => {
      await this.#mustBeOwned('groups', name, 'groupmod');
      await this.#tool('groupmod', '--non-unique', `--gid=${gid}`, name);
    });
  }

  removeGroup(name: string): Promise<void> {
    return this.#inTurn(async () => {
      await this.#mustBeOwned('groups', name, 'groupdel');
      await this.#tool('groupdel', name);
      await this.#forget('groups', name);
    });
  }

  createUser(user: UserSpec): Promise<void> {
    return this.#inTurn(async () => {
      const { name, passwordHash } = user;
      mustBeName(name, 'useradd', 'user');
      mustFit(user, 'useradd');
      await this.#mustBeNew('users', name, 'useradd');
      await this.#creating('users', name, async () => {
        // No home folder, no group of its own, and no subordinate ids for containers.
        const plain = [
          '--non-unique',
          '--no-create-home',
          '--no-user-group',
          '--no-log-init',
          '-K',
          'SUB_UID_COUNT=0',
          '-K',
          'SUB_GID_COUNT=0',
        ];
        const groups = user.groups.length === 0 ? [] : [`--groups=${user.groups.join(',')}`];
        await this.#tool(
          'useradd',
          ...plain,
          `--uid=${user.uid}`,
          `--gid=${user.gid}`,
          `--home-dir=${user.home}`,
          `--shell=${user.shell}`,
          `--comment=${user.fullName}`,
          ...(isLocked(passwordHash) ? [expired] : []),
          ...groups,
          name,
        );
        try {
          await this.#setHash(name, passwordHash);
        } catch (error) {
          await this.#deleteUser(name);
          throw error;
        }
      });
    });
  }

  changeUser(user: UserSpec): Promise<void> {
    return this.#inTurn(async () => {
      const { name } = user;
      await this.#mustBeOwned('users', name, 'usermod');
      mustFit(user, 'usermod');
      const local = await this.#local();
      const found = local.users.find((entry) => entry.name === name);
      if (found === undefined) throw new HostError(`usermod: user '${name}' does not exist`);
      const before = specOf(found, local);
      const changes: string[] = [];
      if (user.uid !== before.uid) changes.push('--non-unique', `--uid=${user.uid}`);
      if (user.gid !== before.gid) changes.push(`--gid=${user.gid}`);
      if (user.fullName !== before.fullName) changes.push(`--comment=${user.fullName}`);
      if (user.home !== before.home) changes.push(`--home=${user.home}`);
      if (user.shell !== before.shell) changes.push(`--shell=${user.shell}`);
      if (user.groups.join(',') !== before.groups.join(',')) changes.push(`--groups=${user.groups.join(',')}`);
      if (isLocked(user.passwordHash) !== isLocked(before.passwordHash))
        changes.push(isLocked(user.passwordHash) ? expired : '--expiredate=');
      if (changes.length > 0) await this.#tool('usermod', ...changes, name);
      if (user.passwordHash !== before.passwordHash) await this.#setHash(name, user.passwordHash);
    });
  }

  removeUser(name: string): Promise<void> {
    return this.#inTurn(async () => {
      await this.#mustBeOwned('users', name, 'userdel');
      await this.#deleteUser(name);
      await this.#forget('users', name);
    });
  }

  /** Runs operations one after the other: the tools lock the files, and the ledger is read and written in two steps. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }

  /** Writes the ledger before it makes the account: a crash in between then leaves no account that the ledger lacks. */
  async #creating(kind: Kind, name: string, make: () => Promise<void>): Promise<void> {
    const ledger = await this.#ledger();
    if (!ledger[kind].includes(name)) await this.#keep({ ...ledger, [kind]: [...ledger[kind], name] });
    try {
      await make();
    } catch (error) {
      if (!(await this.#local())[kind].some((entry) => entry.name === name)) await this.#forget(kind, name);
      throw error;
    }
  }

  async #deleteUser(name: string): Promise<void> {
    // By force, even while a program of that user runs: it may be a connection that ends only with the account.
    const namesake = (await this.#local()).groups.find((group) => group.name === name);
    await this.#tool('userdel', '--force', name);
    if (namesake === undefined || (await this.#local()).groups.some((group) => group.name === name)) return;
    // userdel also removes the group of the user's name, which has to stay.
    await this.#tool('groupadd', '--non-unique', `--gid=${namesake.gid}`, name);
  }

  /** The hash goes by standard input: every user can read a command line. */
  async #setHash(name: string, hash: string): Promise<void> {
    const argv = ['chpasswd', '--encrypted', ...(this.#tree.root === '/' ? [] : ['--root', this.#tree.root])];
    expectSuccess(await this.#runner.run(argv, { input: `${name}:${hash}\n` }), argv);
  }

  async #tool(program: string, ...argv: readonly string[]): Promise<void> {
    const all = [program, ...this.#prefix, ...argv];
    expectSuccess(await this.#runner.run(all), all);
  }

  async #mustBeNew(kind: Kind, name: string, tool: string): Promise<void> {
    const local = await this.#local();
    if (local[kind].some((entry) => entry.name === name) || (await this.#isKnown(kind, name)))
      throw new HostError(`${tool}: ${kind === 'users' ? 'user' : 'group'} '${name}' already exists`);
  }

  async #mustBeOwned(kind: Kind, name: string, tool: string): Promise<void> {
    if ((await this.#ledger())[kind].includes(name)) return;
    const what = `${tool}: ${kind === 'users' ? 'user' : 'group'} '${name}'`;
    throw new HostError(
      (await this.known())[kind].some((entry) => entry.name === name)
        ? `${what} was not made by Holdfast`
        : `${what} does not exist`,
    );
  }

  /** Whether the machine or a directory has an account of this name. A directory can have more than it lists. */
  async #isKnown(kind: Kind, name: string): Promise<boolean> {
    const database = kind === 'users' ? 'passwd' : 'group';
    // getent takes digits for a number.
    if (this.#tree.root !== '/' || /^\d+$/.test(name))
      return (await this.known())[kind].some((entry) => entry.name === name);
    const argv = ['getent', database, '--', name];
    const outcome = await this.#runner.run(argv);
    if (outcome.status === notFound) return false;
    expectSuccess(outcome, argv);
    return true;
  }

  async #database(name: 'passwd' | 'group'): Promise<string> {
    const isWhole = this.#tree.root !== '/' || isInFiles(name, (await this.#tree.read('/etc/nsswitch.conf')) ?? '');
    if (isWhole) return (await this.#tree.read(`/etc/${name}`)) ?? '';
    const argv = ['getent', name];
    return expectSuccess(await this.#runner.run(argv), argv).stdout;
  }

  async #local(): Promise<Local> {
    const [passwd, group, shadow] = await Promise.all([
      this.#tree.read('/etc/passwd'),
      this.#tree.read('/etc/group'),
      this.#tree.read('/etc/shadow'),
    ]);
    return { users: readUsers(passwd ?? ''), groups: readGroups(group ?? ''), hashes: readHashes(shadow ?? '') };
  }

  async #ledger(): Promise<Ledger> {
    const text = await this.#tree.read(this.#ledgerPath);
    if (text === undefined) return { users: [], groups: [] };
    const ledger = readLedger(text);
    if (ledger === undefined)
      throw new HostError(
        `${this.#ledgerPath} is damaged: expected a JSON object that lists the users and groups that Holdfast made`,
      );
    return ledger;
  }

  async #keep(ledger: Ledger): Promise<void> {
    await this.#tree.write(
      this.#ledgerPath,
      `${JSON.stringify({ users: ledger.users.toSorted(), groups: ledger.groups.toSorted() }, undefined, 1)}\n`,
      { mode: 0o600 },
    );
  }

  async #forget(kind: Kind, name: string): Promise<void> {
    const ledger = await this.#ledger();
    await this.#keep({ ...ledger, [kind]: ledger[kind].filter((entry) => entry !== name) });
  }
}

export function readLedger(text: string): Ledger | undefined {
  const { users, groups } = objectIn(text) ?? {};
  return isNames(users) && isNames(groups) ? { users, groups } : undefined;
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

function specOf(user: SystemUser, { groups, hashes }: Local): UserSpec {
  const auxiliary = groups.filter((group) => group.members.includes(user.name)).map((group) => group.name);
  return Object.freeze({
    ...user,
    passwordHash: hashes.get(user.name) ?? '*',
    groups: Object.freeze([...new Set(auxiliary)].sort()),
  });
}

/**
 * An SSH key opens an account whatever its password is. An expired account cannot be opened at all: PAM refuses it to
 * every program.
 */
const expired = '--expiredate=1970-01-02';

function isLocked(passwordHash: string): boolean {
  return passwordHash.startsWith('!');
}

/** The tools accept names that the files cannot hold, and read a leading dash as an option. */
function mustBeName(name: string, tool: string, kind: 'user' | 'group'): void {
  if (!/^[^-+\s:,/\p{C}][^\s:,/\p{C}]*$/u.test(name))
    throw new HostError(`${tool}: '${name}' is not a valid ${kind} name`);
}

function mustFit({ fullName, home, shell, passwordHash, groups }: UserSpec, tool: string): void {
  for (const [what, text] of [
    ['full name', fullName],
    ['home folder', home],
    ['shell', shell],
    ['password hash', passwordHash],
  ] as const) {
    if (/[:\n\0]/.test(text)) throw new HostError(`${tool}: the ${what} must not contain a colon or a line break`);
  }
  for (const name of groups) mustBeName(name, tool, 'group');
}
