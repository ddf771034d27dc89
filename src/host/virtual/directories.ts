import { isObject } from '../../lib/json.ts';
import { messageOf } from '../../lib/text.ts';

/** What there is in the network of the virtual machine: domains and directories with their accounts. */
export interface Directories {
  readonly domains: readonly AdDomain[];
  readonly ldap: readonly LdapDirectory[];
  readonly nis: readonly NisDomain[];
}

/** An Active Directory domain. */
export interface AdDomain {
  /** DNS name. */
  readonly domain: string;
  /** NetBIOS name. */
  readonly workgroup: string;
  readonly controllers: readonly string[];
  /** Passwords, by account. */
  readonly accounts: ReadonlyMap<string, string>;
  /** Accounts that may let machines join. */
  readonly administrators: readonly string[];
  /** Controllers, by site. */
  readonly sites: ReadonlyMap<string, readonly string[]>;
}

export interface LdapDirectory {
  readonly server: string;
  readonly base: string;
  /** Passwords of the accounts that may bind, by their DN. */
  readonly accounts: ReadonlyMap<string, string>;
  /** Kerberos principals whose keys it accepts. */
  readonly principals: readonly string[];
  /** UIDs, by the name of the user. */
  readonly users: ReadonlyMap<string, number>;
  /** Those of the accounts that may read Samba passwords, and that may add entries. */
  readonly readers: readonly string[];
  readonly writers: readonly string[];
  /** Names of Samba domains that have an entry. */
  readonly sambaDomains: readonly string[];
}

export interface NisDomain {
  readonly domain: string;
  readonly servers: readonly string[];
  /** UIDs, by the name of the user. */
  readonly users: ReadonlyMap<string, number>;
}

/** Those of a virtual machine that is started without others. `docs/virtual-host.md` shows them as a file. */
export const usualDirectories = `{
  "activedirectory": [
    {
      "domain": "corp.example.com",
      "workgroup": "CORP",
      "controllers": ["dc1.corp.example.com", "dc2.corp.example.com"],
      "accounts": { "administrator": "domain secret", "anna": "annas secret" },
      "administrators": ["administrator"],
      "sites": { "Cellar": ["dc2.corp.example.com"] }
    }
  ],
  "ldap": [
    {
      "server": "ldap.example.com",
      "base": "dc=example,dc=com",
      "accounts": {
        "cn=reader,dc=example,dc=com": "directory secret",
        "uid=lena,dc=example,dc=com": "lenas own secret",
        "cn=clerk,dc=example,dc=com": "clerks secret",
        "cn=writer,dc=example,dc=com": "writers secret"
      },
      "principals": ["nfs/nas.example.com@EXAMPLE.COM"],
      "users": { "lena": 20001 },
      "readers": ["cn=reader,dc=example,dc=com", "cn=writer,dc=example,dc=com"],
      "writers": ["cn=writer,dc=example,dc=com"],
      "samba_domains": ["HOLDFAST", "ARCHIVE"]
    }
  ],
  "nis": [{ "domain": "lab", "servers": ["192.0.2.7"], "users": { "nina": 30001 } }]
}
`;

/** A file of directories that cannot be used. The message names every problem. */
export class DirectoriesError extends Error {
  override readonly name = 'DirectoriesError';
}

/** Reads a file of directories. Throws a `DirectoriesError`. */
export function readDirectories(text: string): Directories {
  const problems: string[] = [];
  const whole = new Reader(parsed(text), '', problems);
  const directories = {
    domains: whole.list('activedirectory').map((entry) => ({
      domain: entry.text('domain').toLowerCase(),
      workgroup: entry.text('workgroup').toUpperCase(),
      controllers: entry.texts('controllers', { required: true }).map((name) => name.toLowerCase()),
      accounts: new Map(entry.map('accounts', isText).map(([name, password]) => [name.toLowerCase(), password])),
      administrators: entry.texts('administrators').map((name) => name.toLowerCase()),
      sites: new Map(entry.map('sites', isTexts)),
    })),
    ldap: whole.list('ldap').map((entry) => ({
      server: entry.text('server'),
      base: entry.text('base'),
      accounts: new Map(entry.map('accounts', isText)),
      principals: entry.texts('principals'),
      users: new Map(entry.map('users', isId)),
      readers: entry.texts('readers'),
      writers: entry.texts('writers'),
      sambaDomains: entry.texts('samba_domains'),
    })),
    nis: whole.list('nis').map((entry) => ({
      domain: entry.text('domain'),
      servers: entry.texts('servers'),
      users: new Map(entry.map('users', isId)),
    })),
  };
  if (problems.length > 0) throw new DirectoriesError(problems.join(' '));
  return directories;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DirectoriesError(`Expected JSON: ${messageOf(error)}.`);
  }
}

interface Kind<T> {
  readonly expected: string;
  is(value: unknown): value is T;
}

const isText: Kind<string> = {
  expected: 'a text',
  is: (value): value is string => typeof value === 'string' && value !== '',
};
const isTexts: Kind<readonly string[]> = {
  expected: 'a list of texts',
  is: (value): value is readonly string[] => Array.isArray(value) && value.every((one) => isText.is(one)),
};
const isId: Kind<number> = {
  expected: 'a number',
  is: (value): value is number => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32,
};

/** Reads the members of one object, and notes what is wrong. */
class Reader {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #path: string;
  readonly #problems: string[];

  constructor(value: unknown, path: string, problems: string[]) {
    this.#members = isObject(value) ? value : {};
    this.#path = path;
    this.#problems = problems;
    if (!isObject(value)) this.#problem('', 'an object', value, undefined);
  }

  text(name: string): string {
    const value = this.#members[name];
    return isText.is(value) ? value : this.#problem(name, isText.expected, value, '');
  }

  texts(name: string, { required = false } = {}): readonly string[] {
    const value = this.#members[name] ?? (required ? undefined : []);
    return isTexts.is(value) ? value : this.#problem(name, isTexts.expected, value, []);
  }

  map<T>(name: string, kind: Kind<T>): readonly (readonly [string, T])[] {
    const value = this.#members[name] ?? {};
    if (!isObject(value)) return this.#problem(name, 'an object', value, []);
    return Object.entries(value).flatMap(([key, one]) => {
      return kind.is(one) ? [[key, one] as const] : this.#problem(`${name}.${key}`, kind.expected, one, []);
    });
  }

  list(name: string): readonly Reader[] {
    const value = this.#members[name] ?? [];
    if (!Array.isArray(value)) return this.#problem(name, 'a list', value, []);
    return value.map((one: unknown, index) => new Reader(one, `${name}[${index}]`, this.#problems));
  }

  #problem<T>(name: string, expected: string, value: unknown, instead: T): T {
    const at = [this.#path, name].filter((part) => part !== '').join('.');
    this.#problems.push(
      `${at === '' ? 'The file' : at}: expected ${expected}, got ${JSON.stringify(value) ?? 'nothing'}.`,
    );
    return instead;
  }
}
