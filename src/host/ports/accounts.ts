/** The machine's users and groups. Only those that Holdfast made are ever changed; the host remembers which they are. */
export interface Accounts {
  /** All that the machine knows, whoever made them. */
  known(): Promise<KnownAccounts>;

  /** Those that Holdfast made, with what only they carry. */
  owned(): Promise<OwnedAccounts>;

  /** Forgets which accounts Holdfast made: they stay as they are, and are never changed or removed from then on. */
  disown(): Promise<void>;

  createGroup(group: GroupSpec): Promise<void>;
  /** Gives the group another number. Users whose primary group it is follow it. */
  changeGroup(group: GroupSpec): Promise<void>;
  removeGroup(name: string): Promise<void>;
  createUser(user: UserSpec): Promise<void>;
  /** Everything but the name may change. */
  changeUser(user: UserSpec): Promise<void>;
  removeUser(name: string): Promise<void>;
}

export interface KnownAccounts {
  readonly users: readonly SystemUser[];
  readonly groups: readonly SystemGroup[];
  /** Paths that may be login shells. */
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
  /** The crypt text, `*` when no password opens the account, with a leading `!` while it is locked. */
  readonly passwordHash: string;
  /** Names of the auxiliary groups, sorted. */
  readonly groups: readonly string[];
}
