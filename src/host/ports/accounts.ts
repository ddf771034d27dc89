/**
 * The machine's users and groups. Only accounts that Holdfast created are ever changed; the host records which they
 * are.
 */
export interface Accounts {
  /** All accounts of the machine. */
  known(): Promise<KnownAccounts>;

  /** The accounts that Holdfast created, with their password hashes and groups. */
  owned(): Promise<OwnedAccounts>;

  /**
   * Gives up ownership of all accounts: they stay as they are, and Holdfast never changes or removes them from then on.
   */
  disown(): Promise<void>;

  /** The user id of an account of a directory that the machine asks for accounts; undefined for every other name. */
  inDirectory(name: string): Promise<number | undefined>;

  /**
   * Whether a directory accepts this password of one of its accounts. False for accounts of the machine. Throws if the
   * directory cannot be asked.
   */
  directoryAccepts(name: string, password: string): Promise<boolean>;

  createGroup(group: GroupSpec): Promise<void>;
  /** Changes the gid of the group, and of the users whose primary group it is. */
  changeGroup(group: GroupSpec): Promise<void>;
  removeGroup(name: string): Promise<void>;
  createUser(user: UserSpec): Promise<void>;
  /** Changes any property except the name. */
  changeUser(user: UserSpec): Promise<void>;
  removeUser(name: string): Promise<void>;
}

export interface KnownAccounts {
  readonly users: readonly SystemUser[];
  readonly groups: readonly SystemGroup[];
  /** Paths of the valid login shells. */
  readonly shells: readonly string[];
}

export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly fullName: string;
  readonly home: string;
  readonly shell: string;
}

export interface SystemGroup {
  readonly name: string;
  readonly gid: number;
}

export interface OwnedAccounts {
  readonly users: readonly UserSpec[];
  readonly groups: readonly GroupSpec[];
}

export type GroupSpec = SystemGroup;

export interface UserSpec extends SystemUser {
  /** The crypt(5) hash, or `*` when no password is accepted; with a leading `!` while the account is locked. */
  readonly passwordHash: string;
  /** Names of the auxiliary groups, sorted. */
  readonly groups: readonly string[];
}
