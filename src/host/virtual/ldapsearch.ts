import type { Outcome } from '../ports/commands.ts';

/** The only LDAP directory in the virtual machine's network. */
const directory = {
  host: 'ldap.example.com',
  base: 'dc=example,dc=com',
  accounts: new Map([
    ['cn=reader,dc=example,dc=com', 'directory secret'],
    ['cn=clerk,dc=example,dc=com', 'clerks secret'],
  ]),
  /** The account that may read Samba passwords, and the Samba domains. */
  trusted: 'cn=reader,dc=example,dc=com',
  sambaDomains: ['HOLDFAST', 'ARCHIVE'],
};

/** A model of `ldapsearch` for queries of an entry and of Samba's data. `read` returns the content of a file. */
export function ldapsearch(argv: readonly string[], read: (path: string) => string | undefined): Outcome {
  const after = (option: string): string | undefined =>
    argv.includes(option) ? argv[argv.indexOf(option) + 1] : undefined;
  const uri = after('-H') ?? '';
  const base = after('-b') ?? '';
  const name = after('-D');
  if (uri !== `ldap://${directory.host}/` && uri !== `ldaps://${directory.host}/`)
    return failure(255, "ldap_sasl_bind(SIMPLE): Can't contact LDAP server (-1)");
  if (name !== undefined && directory.accounts.get(name) !== read(after('-y') ?? ''))
    return failure(49, 'ldap_bind: Invalid credentials (49)');
  if (base !== directory.base && !base.endsWith(`,${directory.base}`)) return failure(32, 'No such object (32)');
  const filter = argv.find((argument) => argument.startsWith('(')) ?? '';
  const domain = /\(sambaDomainName=([^)]*)\)/.exec(filter)?.[1];
  if (domain !== undefined)
    return answer(directory.sambaDomains.includes(domain) ? `dn: sambaDomainName=${domain},${base}\n\n` : '');
  if (filter.includes('sambaSamAccount'))
    return answer(`dn: uid=lena,${base}\n${name === directory.trusted ? 'sambaNTPassword:\n' : ''}\n`);
  return answer(`dn: ${base}\n\n`);
}

function answer(stdout: string): Outcome {
  return { status: 0, stdout, stderr: '' };
}

function failure(status: number, message: string): Outcome {
  return { status, stdout: '', stderr: `${message}\n` };
}
