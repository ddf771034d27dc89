import type { Outcome } from '../../host/ports/commands.ts';
import type { Host } from '../../host/ports/index.ts';

export interface LdapServer {
  readonly uri: string;
  readonly startTls: boolean;
  /** The certificate in PEM of the authority that the server's must be signed by. */
  readonly authority: string | undefined;
  /** Undefined to ask as nobody. */
  readonly account: { readonly name: string; readonly password: string } | undefined;
  readonly base: string;
  /** For each answer of the server. */
  readonly seconds: number;
  /** Seconds for all of it. */
  readonly patience: number;
}

/** What is searched for, and below which entry. */
interface Question {
  readonly scope: 'base' | 'sub';
  readonly base: string;
  readonly filter: string;
  /** Attributes to tell, by name; `1.1` is the standard's word for none. */
  readonly attribute: string;
}

/** Asks the directory for its first entry, as the machine would. What it objects to, in words, or nothing. */
export async function tryBind(host: Host, server: LdapServer): Promise<string | undefined> {
  const outcome = await ask(host, server, {
    scope: 'base',
    base: server.base,
    filter: '(objectClass=*)',
    attribute: '1.1',
  });
  return outcome.status === 0 ? undefined : objection(server, server.base, outcome);
}

/**
 * Whether smbd would find there what it needs: the passwords of accounts, and the entry of the domain whose accounts they
 * are, which for a server by itself is called like the server. Samba would add that one, with an identifier that no
 * account has; or end, where it may not write.
 */
export async function trySamba(
  host: Host,
  server: LdapServer,
  { users, domain }: { readonly users: string; readonly domain: string },
): Promise<string | undefined> {
  const accounts = await ask(host, server, {
    scope: 'sub',
    base: users,
    filter: '(objectClass=sambaSamAccount)',
    attribute: 'sambaNTPassword',
  });
  if (!found(accounts)) return objection(server, users, accounts);
  if (!/^sambaNTPassword:/m.test(accounts.stdout)) {
    return `The directory shows ${server.account?.name ?? 'strangers'} no passwords for Samba (sambaNTPassword of a sambaSamAccount) below ${users}.`;
  }
  const domains = await ask(host, server, {
    scope: 'sub',
    base: server.base,
    filter: `(&(objectClass=sambaDomain)(sambaDomainName=${filterValue(domain)}))`,
    attribute: '1.1',
  });
  if (!found(domains)) return objection(server, server.base, domains);
  return /^dn:/m.test(domains.stdout)
    ? undefined
    : `The directory has no entry sambaDomainName=${domain} for this machine below ${server.base}. Add one of the class sambaDomain, with the sambaSID that those of the accounts begin with.`;
}

/** RFC 4515. */
function filterValue(text: string): string {
  return text.replaceAll(/[()*\\]/g, (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** More than the one entry that is asked for is an answer too. */
function found({ status }: Outcome): boolean {
  return status === 0 || status === sizeLimitExceeded;
}

async function ask(host: Host, server: LdapServer, question: Question): Promise<Outcome> {
  const staged: string[] = [];
  const stage = async (path: string, content: string) => {
    const place = await host.files.stage(path, content);
    staged.push(place);
    return place;
  };
  try {
    // By files: a command line is for all to read.
    const password =
      server.account === undefined ? undefined : await stage('/run/ldap-password', server.account.password);
    const authority = server.authority === undefined ? undefined : await stage('/run/ldap-authority', server.authority);
    return await host.commands.check(wordsOf(question, server, { password, authority }));
  } finally {
    for (const place of staged) await discard(host, place);
  }
}

/** A staged file that cannot be discarded is litter, and goes with the next start. One more try, then it stays. */
async function discard(host: Host, place: string): Promise<void> {
  try {
    await host.files.discard(place);
  } catch {
    await host.files.discard(place);
  }
}

function wordsOf(
  { scope, base, filter, attribute }: Question,
  { uri, startTls, account, seconds, patience }: LdapServer,
  files: { password: string | undefined; authority: string | undefined },
): readonly string[] {
  return [
    'timeout',
    String(patience),
    'env',
    'LDAPTLS_REQCERT=demand',
    ...(files.authority === undefined ? [] : [`LDAPTLS_CACERT=${files.authority}`]),
    'ldapsearch',
    '-x',
    '-LLL',
    // The names of attributes, and not what they hold.
    '-A',
    ...(startTls ? ['-ZZ'] : []),
    ...['-H', uri, '-o', `nettimeout=${seconds}`, '-l', String(seconds), '-z', '1'],
    ...(account === undefined || files.password === undefined ? [] : ['-D', account.name, '-y', files.password]),
    ...['-s', scope, '-b', base, filter, attribute],
  ];
}

/** The status that `timeout` ends with. */
const tookTooLong = 124;

/** RFC 4511, which ldapsearch ends with. */
const sizeLimitExceeded = 4;

function objection(
  { uri, account, authority, patience }: LdapServer,
  base: string,
  { status, stdout, stderr }: Outcome,
): string {
  const said = `${stderr}\n${stdout}`;
  const detail = /additional info: *(.+)/.exec(said)?.[1]?.trim();
  if (status === tookTooLong) return `The LDAP server ${uri} did not answer within ${patience} seconds.`;
  if (/certificate|verif|TLS|SSL|handshake/i.test(detail ?? ''))
    return `The LDAP server ${uri} does not prove who it is, or speaks no TLS: ${detail}`;
  if (/Invalid credentials/.test(said))
    return `The LDAP server refuses the account ${account?.name ?? ''} or its password.`;
  // Of a connection that is encrypted from its beginning, ldapsearch tells no more than this, whatever was wrong.
  if (authority !== undefined && uri.startsWith('ldaps:') && /Can't contact LDAP server/.test(said)) {
    return `The LDAP server ${uri} cannot be reached, or does not prove who it is by the certificate authority.`;
  }
  if (/Can't contact LDAP server|Connect error|Timed out/i.test(said))
    return `The LDAP server ${uri} cannot be reached${detail === undefined ? '.' : `: ${detail}`}`;
  if (/No such object/.test(said))
    return `The directory has no ${base}, or does not show it to ${account?.name ?? 'strangers'}.`;
  const line = said.split('\n').find((one) => one.trim() !== '');
  return `The LDAP server ${uri} refuses: ${line?.trim() ?? `ldapsearch ended with ${status}.`}`;
}
