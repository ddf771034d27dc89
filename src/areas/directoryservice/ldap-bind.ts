import { ensure, type Texts } from '../../engine/plan/steps.ts';
import type { Outcome } from '../../host/ports/commands.ts';
import { type Host, HostError } from '../../host/ports/index.ts';
import { lines } from '../../lib/text.ts';

export interface LdapServer<A extends LdapAccount = LdapAccount> {
  readonly uri: string;
  readonly startTls: boolean;
  /** PEM certificate of the authority that must have signed the certificate of the server. */
  readonly authority: string | undefined;
  /** Undefined for an anonymous bind. With a keytab in base64, the name is a Kerberos principal. */
  readonly account: A | undefined;
  readonly base: string;
  /** Timeout in seconds for each answer of the server. */
  readonly seconds: number;
  /** Timeout in seconds for the whole query. */
  readonly patience: number;
}

export interface PasswordAccount {
  readonly name: string;
  readonly password: string;
}

export type LdapAccount = PasswordAccount | { readonly name: string; readonly keytab: string };

/** An LDAP search. */
interface Search {
  readonly scope: 'base' | 'sub';
  readonly base: string;
  readonly filter: string;
  /** Attribute to return; `1.1` stands for none (RFC 4511). */
  readonly attribute: string;
  /** Whether its values are printed; otherwise only its name is. */
  readonly values?: true;
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

/** The entry of a Samba domain in the directory. */
export interface SambaDomain {
  readonly name: string;
  readonly sid: string;
}

/**
 * Checks that the directory has what smbd needs: the Samba passwords of accounts, and an entry for their Samba domain.
 * The domain of a stand-alone server has the name of the server. Without the entry, smbd would create one whose SID
 * matches no account, or exit if it has no write access. So the entry to create, with the SID of the accounts, is
 * returned as `missing`.
 */
export async function trySamba(
  host: Host,
  server: LdapServer,
  { users, domain }: { readonly users: string; readonly domain: string },
): Promise<{ readonly objection: string } | { readonly missing: SambaDomain | undefined }> {
  const accountsOf = (attribute: string, more: Partial<Search> = {}) =>
    search(host, server, { scope: 'sub', base: users, filter: '(objectClass=sambaSamAccount)', attribute, ...more });
  const accounts = await accountsOf('sambaNTPassword');
  if (!found(accounts)) return { objection: objection(server, users, accounts) };
  if (!/^sambaNTPassword:/m.test(accounts.stdout))
    return {
      objection: `${nameOf(server)} cannot read Samba passwords (sambaNTPassword of a sambaSamAccount) below ${users}.`,
    };
  const domains = await searchDomain(host, server, domain);
  if (!found(domains)) return { objection: objection(server, server.base, domains) };
  if (/^dn:/m.test(domains.stdout)) return { missing: undefined };
  const { stdout } = await accountsOf('sambaSID', { values: true });
  const sids = new Set([...stdout.matchAll(/^sambaSID: (S-1-5-21(?:-\d+){3})-\d+$/gm)].map(([, sid = '']) => sid));
  const [sid] = sids;
  return sid !== undefined && sids.size === 1
    ? { missing: { name: domain, sid } }
    : {
        objection: `${noEntry(domain, server)} Add one of the class sambaDomain. Its sambaSID cannot be determined, because the sambaSID of the accounts below ${users} have ${sids.size === 0 ? 'no' : 'more than one'} common prefix.`,
      };
}

function noEntry(domain: string, { base }: LdapServer): string {
  return `The directory has no entry sambaDomainName=${domain} for this machine below ${base}.`;
}

function searchDomain(host: Host, server: LdapServer, domain: string): Promise<Outcome> {
  return search(host, server, {
    scope: 'sub',
    base: server.base,
    filter: `(&(objectClass=sambaDomain)(sambaDomainName=${filterValue(domain)}))`,
    attribute: '1.1',
  });
}

interface AddedDomain extends Texts<'entry'> {
  readonly server: LdapServer;
  readonly domain: SambaDomain;
}

/**
 * Adds the entry of a Samba domain, as smbd would. The journal keeps no account of the directory, so after a crash the
 * entry stays: it harms nothing, and the next attempt finds it.
 */
export const addSambaDomain = ensure<'entry', AddedDomain>({
  kind: 'add samba domain',
  keeps: ['entry'],
  title: ({ entry }) => `add ${entry} to the LDAP directory`,
  afterCrash: 'keep',
  is: async (host, _, args) =>
    args !== undefined && /^dn:/m.test((await searchDomain(host, args.server, args.domain.name)).stdout),
  async make(host, { entry, server, domain }) {
    const outcome = await addEntry(host, server, [
      ['dn', entry],
      ['objectClass', 'sambaDomain'],
      ['sambaDomainName', domain.name],
      ['sambaSID', domain.sid],
      ['sambaAlgorithmicRidBase', '1000'],
      ['sambaNextUserRid', '1000'],
    ]);
    if (outcome.status !== 0)
      throw new HostError(
        `${noEntry(domain.name, server)} It cannot be added as ${nameOf(server)}, so add one of the class sambaDomain with the sambaSID ${domain.sid}: ${objection(server, entry, outcome)}`,
      );
  },
  async unmake(host, _, { args }) {
    if (args !== undefined) await removeEntry(host, args.server, args.entry);
  },
  claims: [],
});

export function entryOf({ name }: SambaDomain, { base }: LdapServer): string {
  return `sambaDomainName=${name},${base}`;
}

function nameOf({ account }: LdapServer): string {
  return account?.name ?? 'An anonymous client';
}

/** Escapes a value for a search filter (RFC 4515). */
function filterValue(text: string): string {
  return text.replaceAll(/[()*\\]/g, (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** The search is limited to some entries; exceeding the limit means that there are more. */
function found({ status }: Outcome): boolean {
  return status === 0 || status === sizeLimitExceeded;
}

function search(host: Host, server: LdapServer, { scope, base, filter, attribute, values }: Search): Promise<Outcome> {
  return withFiles(host, server, {}, (argv) =>
    host.commands.check([
      ...argv('ldapsearch'),
      '-LLL',
      // Without values, the names of the attributes are printed.
      ...(values === true ? ['-o', 'ldif-wrap=no', '-z', '100'] : ['-A', '-z', '1']),
      ...['-l', String(server.seconds), '-s', scope, '-b', base, filter, attribute],
    ]),
  );
}

type Attribute = readonly [name: string, value: string];

function addEntry(host: Host, server: LdapServer, entry: readonly Attribute[]): Promise<Outcome> {
  // In base64 (RFC 2849), because a value may begin with a character that means something else.
  const ldif = lines(...entry.map(([name, value]) => `${name}:: ${Buffer.from(value).toString('base64')}`));
  return withFiles(host, server, { entry: ldif }, (argv, staged) =>
    change(host, [...argv('ldapadd'), '-f', staged['entry'] ?? '']),
  );
}

function removeEntry(host: Host, server: LdapServer, entry: string): Promise<Outcome> {
  return withFiles(host, server, {}, (argv) => change(host, [...argv('ldapdelete'), entry]));
}

function change(host: Host, argv: readonly string[]): Promise<Outcome> {
  return host.commands.runProgram({ user: 'root', argv, signal: new AbortController().signal, keep: 10_000 });
}

type Staged = Readonly<Record<string, string>>;

/** Secrets are passed in files, because every user can read command lines. */
async function withFiles<T>(
  host: Host,
  server: LdapServer,
  more: Staged,
  run: (argv: (program: string) => readonly string[], staged: Staged) => Promise<T>,
): Promise<T> {
  const contents = {
    ...more,
    ...(server.account !== undefined && 'password' in server.account && { password: server.account.password }),
    ...(server.authority !== undefined && { authority: server.authority }),
  };
  const staged: Record<string, string> = {};
  try {
    for (const [name, content] of Object.entries(contents))
      staged[name] = await host.files.stage(`/run/ldap-${name}`, content);
    if (server.account !== undefined && 'keytab' in server.account)
      staged['keytab'] = await host.files.stage('/run/ldap-keytab', server.account.keytab, 'base64');
    return await run((program) => argvOf(program, server, staged), staged);
  } finally {
    for (const path of Object.values(staged)) await discard(host, path);
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
  program: string,
  { uri, startTls, account, seconds, patience }: LdapServer,
  files: Staged,
): readonly string[] {
  return [
    'timeout',
    String(patience),
    'env',
    'LDAPTLS_REQCERT=demand',
    ...(files['authority'] === undefined ? [] : [`LDAPTLS_CACERT=${files['authority']}`]),
    // The library gets a ticket with the key by itself, and keeps it in memory.
    ...(files['keytab'] === undefined
      ? []
      : [`KRB5_CLIENT_KTNAME=FILE:${files['keytab']}`, 'KRB5CCNAME=MEMORY:holdfast']),
    program,
    // The ticket is for the name in the settings: without -N it would be for the address, unless DNS knows its name.
    ...(files['keytab'] === undefined ? ['-x'] : ['-Q', '-N', '-Y', 'GSSAPI']),
    ...(startTls ? ['-ZZ'] : []),
    ...['-H', uri, '-o', `nettimeout=${seconds}`],
    ...(account === undefined || files['password'] === undefined ? [] : ['-D', account.name, '-y', files['password']]),
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
  if (/no worthy mechs|No worthy/i.test(output))
    return 'This machine cannot authenticate by Kerberos: install libsasl2-modules-gssapi-mit.';
  if (account !== undefined && 'keytab' in account && /GSSAPI|SASL|Local error/i.test(output))
    return `The LDAP server ${uri} or its Kerberos realm refused ${account.name}: ${detail ?? 'no details'}`;
  const line = output.split('\n').find((text) => text.trim() !== '');
  return `The LDAP server ${uri} refused the request: ${line?.trim() ?? `ldapsearch exited with status ${status}.`}`;
}
