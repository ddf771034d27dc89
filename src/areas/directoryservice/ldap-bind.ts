import type { Outcome } from '../../host/ports/commands.ts';
import type { Host } from '../../host/ports/index.ts';

export interface LdapServer {
  readonly uri: string;
  readonly startTls: boolean;
  /** PEM certificate of the authority that must have signed the certificate of the server. */
  readonly authority: string | undefined;
  /** Undefined for an anonymous bind. */
  readonly account: { readonly name: string; readonly password: string } | undefined;
  readonly base: string;
  /** Timeout in seconds for each answer of the server. */
  readonly seconds: number;
  /** Timeout in seconds for the whole query. */
  readonly patience: number;
}

/** An LDAP search. */
interface Search {
  readonly scope: 'base' | 'sub';
  readonly base: string;
  readonly filter: string;
  /** Attribute to return; `1.1` stands for none (RFC 4511). */
  readonly attribute: string;
}

/** Binds as the machine would, and reads the base entry. Returns the problem, or undefined on success. */
export async function tryBind(host: Host, server: LdapServer): Promise<string | undefined> {
  const outcome = await search(host, server, {
    scope: 'base',
    base: server.base,
    filter: '(objectClass=*)',
    attribute: '1.1',
  });
  return outcome.status === 0 ? undefined : objection(server, server.base, outcome);
}

/**
 * Checks that the directory has what smbd needs: the Samba passwords of accounts, and an entry for their Samba domain.
 * The domain of a stand-alone server has the name of the server. Without the entry, Samba would create one whose SID
 * matches no account, or exit if it has no write access.
 */
export async function trySamba(
  host: Host,
  server: LdapServer,
  { users, domain }: { readonly users: string; readonly domain: string },
): Promise<string | undefined> {
  const accounts = await search(host, server, {
    scope: 'sub',
    base: users,
    filter: '(objectClass=sambaSamAccount)',
    attribute: 'sambaNTPassword',
  });
  if (!found(accounts)) return objection(server, users, accounts);
  if (!/^sambaNTPassword:/m.test(accounts.stdout)) {
    return `${server.account?.name ?? 'An anonymous client'} cannot read Samba passwords (sambaNTPassword of a sambaSamAccount) below ${users}.`;
  }
  const domains = await search(host, server, {
    scope: 'sub',
    base: server.base,
    filter: `(&(objectClass=sambaDomain)(sambaDomainName=${filterValue(domain)}))`,
    attribute: '1.1',
  });
  if (!found(domains)) return objection(server, server.base, domains);
  return /^dn:/m.test(domains.stdout)
    ? undefined
    : `The directory has no entry sambaDomainName=${domain} for this machine below ${server.base}. Add one of the class sambaDomain, with the common prefix of the accounts' sambaSID as its sambaSID.`;
}

/** Escapes a value for a search filter (RFC 4515). */
function filterValue(text: string): string {
  return text.replaceAll(/[()*\\]/g, (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** The search is limited to one entry; exceeding the limit means that there are more. */
function found({ status }: Outcome): boolean {
  return status === 0 || status === sizeLimitExceeded;
}

async function search(host: Host, server: LdapServer, query: Search): Promise<Outcome> {
  const staged: string[] = [];
  const stage = async (path: string, content: string) => {
    const stagedPath = await host.files.stage(path, content);
    staged.push(stagedPath);
    return stagedPath;
  };
  try {
    // Secrets are passed in files, because every user can read command lines.
    const password =
      server.account === undefined ? undefined : await stage('/run/ldap-password', server.account.password);
    const authority = server.authority === undefined ? undefined : await stage('/run/ldap-authority', server.authority);
    return await host.commands.check(argvOf(query, server, { password, authority }));
  } finally {
    for (const path of staged) await discard(host, path);
  }
}

/** Tries twice. A staged file that cannot be discarded is removed at the next start. */
async function discard(host: Host, path: string): Promise<void> {
  try {
    await host.files.discard(path);
  } catch {
    await host.files.discard(path);
  }
}

function argvOf(
  { scope, base, filter, attribute }: Search,
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
    // Print attribute names only, without the values.
    '-A',
    ...(startTls ? ['-ZZ'] : []),
    ...['-H', uri, '-o', `nettimeout=${seconds}`, '-l', String(seconds), '-z', '1'],
    ...(account === undefined || files.password === undefined ? [] : ['-D', account.name, '-y', files.password]),
    ...['-s', scope, '-b', base, filter, attribute],
  ];
}

/** Exit status of `timeout` when the command has timed out. */
const timedOut = 124;

/** LDAP result code (RFC 4511) that ldapsearch uses as its exit status. */
const sizeLimitExceeded = 4;

function objection(
  { uri, account, authority, patience }: LdapServer,
  base: string,
  { status, stdout, stderr }: Outcome,
): string {
  const output = `${stderr}\n${stdout}`;
  const detail = /additional info: *(.+)/.exec(output)?.[1]?.trim();
  if (status === timedOut) return `The LDAP server ${uri} did not answer within ${patience} seconds.`;
  if (/certificate|verif|TLS|SSL|handshake/i.test(detail ?? ''))
    return `The certificate of the LDAP server ${uri} could not be verified, or the server does not support TLS: ${detail}`;
  if (/Invalid credentials/.test(output))
    return `The LDAP server refused the account ${account?.name ?? ''} or its password.`;
  // For ldaps:, ldapsearch reports the same error for a refused connection and for an invalid certificate.
  if (authority !== undefined && uri.startsWith('ldaps:') && /Can't contact LDAP server/.test(output)) {
    return `The LDAP server ${uri} is not reachable, or its certificate is not signed by the selected authority.`;
  }
  if (/Can't contact LDAP server|Connect error|Timed out/i.test(output))
    return `The LDAP server ${uri} is not reachable${detail === undefined ? '.' : `: ${detail}`}`;
  if (/No such object/.test(output))
    return `The directory has no entry ${base}, or ${account?.name ?? 'an anonymous client'} cannot read it.`;
  const line = output.split('\n').find((text) => text.trim() !== '');
  return `The LDAP server ${uri} refused the request: ${line?.trim() ?? `ldapsearch exited with status ${status}.`}`;
}
