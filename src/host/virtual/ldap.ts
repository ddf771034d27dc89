import type { Outcome } from '../ports/commands.ts';
import type { LdapDirectory } from './directories.ts';
import { isText, listOf, Memory, mapOf } from './state.ts';

/** The common prefix of the SIDs of all accounts. */
const sid = 'S-1-5-21-1111-2222-3333';

/** The clients of OpenLDAP: models of `ldapsearch`, `ldapadd` and `ldapdelete` for what Samba needs. */
export class VirtualLdap {
  readonly #directories: readonly LdapDirectory[];
  /** Names of the Samba domains that were added, by the base of the directory. */
  readonly #added: Memory<Readonly<Record<string, readonly string[]>>>;

  constructor(path: string, directories: readonly LdapDirectory[]) {
    this.#directories = directories;
    this.#added = new Memory(path, mapOf(listOf(isText)), Object.freeze({}));
  }

  /** Runs one of the programs. `read` returns the content of a file. */
  run(argv: readonly string[], read: (path: string) => string | undefined): Outcome {
    const after = (option: string): string | undefined =>
      argv.includes(option) ? argv[argv.indexOf(option) + 1] : undefined;
    const host = /^ldaps?:\/\/([^/]*)\/$/.exec(after('-H') ?? '')?.[1]?.replace(/:\d+$/, '');
    const directory = this.#directories.find(({ server }) => server === host);
    if (directory === undefined) return failure(255, "ldap_sasl_bind(SIMPLE): Can't contact LDAP server (-1)");
    const name = after('-D');
    const keytab = argv.find((word) => word.startsWith(keytabWord))?.slice(keytabWord.length);
    if (keytab !== undefined && !holdsKey(read(keytab) ?? '', directory.principals))
      return failure(254, 'ldap_sasl_interactive_bind: Local error (-2)\n\tadditional info: SASL(-1): no credentials');
    if (name !== undefined && directory.accounts.get(name) !== read(after('-y') ?? ''))
      return failure(49, 'ldap_bind: Invalid credentials (49)');
    if (argv.includes('ldapadd')) return this.#add(directory, name, read(after('-f') ?? '') ?? '');
    if (argv.includes('ldapdelete')) return this.#remove(directory, name, argv.at(-1) ?? '');
    return this.#search(directory, name, after('-b') ?? '', argv);
  }

  #search(directory: LdapDirectory, name: string | undefined, base: string, argv: readonly string[]): Outcome {
    if (base !== directory.base && !base.endsWith(`,${directory.base}`)) return failure(32, 'No such object (32)');
    const filter = argv.find((argument) => argument.startsWith('(')) ?? '';
    const domain = /\(sambaDomainName=([^)]*)\)/.exec(filter)?.[1];
    if (domain !== undefined)
      return answer(this.#domains(directory).includes(domain) ? `dn: sambaDomainName=${domain},${base}\n\n` : '');
    if (!filter.includes('sambaSamAccount')) return answer(`dn: ${base}\n\n`);
    const passwords = name !== undefined && directory.readers.includes(name) ? 'sambaNTPassword:\n' : '';
    const shown = argv.includes('-A') ? passwords : `sambaSID: ${sid}-5001\n`;
    return answer([...directory.users.keys()].map((user) => `dn: uid=${user},${base}\n${shown}\n`).join(''));
  }

  #add(directory: LdapDirectory, name: string | undefined, ldif: string): Outcome {
    const domain = /^sambaDomainName:: (.*)$/m.exec(ldif)?.[1];
    if (name === undefined || !directory.writers.includes(name) || domain === undefined) return refused('add');
    this.#keep(directory, [...this.#ofDirectory(directory), Buffer.from(domain, 'base64').toString()]);
    return answer('');
  }

  #remove(directory: LdapDirectory, name: string | undefined, entry: string): Outcome {
    if (name === undefined || !directory.writers.includes(name)) return refused('delete');
    const domain = /^sambaDomainName=([^,]*),/.exec(entry)?.[1];
    const others = this.#ofDirectory(directory).filter((one) => one !== domain);
    this.#keep(directory, others);
    return answer('');
  }

  #domains(directory: LdapDirectory): readonly string[] {
    return [...directory.sambaDomains, ...this.#ofDirectory(directory)];
  }

  #ofDirectory({ base }: LdapDirectory): readonly string[] {
    return this.#added.value[base] ?? [];
  }

  #keep({ base }: LdapDirectory, domains: readonly string[]): void {
    this.#added.keep(Object.freeze({ ...this.#added.value, [base]: Object.freeze(domains) }));
  }
}

const keytabWord = 'KRB5_CLIENT_KTNAME=FILE:';

/** Whether a keytab with the keys of one principal belongs to one of these principals. */
function holdsKey(keytab: string, principals: readonly string[]): boolean {
  return principals.some((principal) => principal.split(/[/@]/).every((part) => keytab.includes(part)));
}

function refused(verb: 'add' | 'delete'): Outcome {
  return failure(50, `ldap_${verb}: Insufficient access (50)\n\tadditional info: no write access to parent`);
}

function answer(stdout: string): Outcome {
  return { status: 0, stdout, stderr: '' };
}

function failure(status: number, message: string): Outcome {
  return { status, stdout: '', stderr: `${message}\n` };
}
