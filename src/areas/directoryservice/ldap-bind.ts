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

/** Asks the directory for its first entry, as the machine would. What it objects to, in words, or nothing. */
export async function tryBind(host: Host, server: LdapServer): Promise<string | undefined> {
  const staged: string[] = [];
  const stage = async (path: string, content: string) => {
    const place = await host.files.stage(path, content);
    staged.push(place);
    return place;
  };
  try {
    // By files: a command line is for all to read.
    const password = server.account === undefined ? undefined : await stage('/run/ldap-password', server.account.password);
    const authority = server.authority === undefined ? undefined : await stage('/run/ldap-authority', server.authority);
    const { status, stdout, stderr } = await host.commands.check(questionTo(server, { password, authority }));
    return status === 0 ? undefined : objection(server, status, `${stderr}\n${stdout}`);
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

function questionTo({ uri, startTls, account, base, seconds, patience }: LdapServer, files: { password: string | undefined; authority: string | undefined }): readonly string[] {
  return [
    'timeout',
    String(patience),
    'env',
    'LDAPTLS_REQCERT=demand',
    ...(files.authority === undefined ? [] : [`LDAPTLS_CACERT=${files.authority}`]),
    'ldapsearch',
    '-x',
    '-LLL',
    ...(startTls ? ['-ZZ'] : []),
    ...['-H', uri, '-o', `nettimeout=${seconds}`, '-l', String(seconds)],
    ...(account === undefined || files.password === undefined ? [] : ['-D', account.name, '-y', files.password]),
    ...['-s', 'base', '-b', base, '(objectClass=*)', '1.1'],
  ];
}

/** The status that `timeout` ends with. */
const tookTooLong = 124;

function objection({ uri, account, authority, base, patience }: LdapServer, status: number, said: string): string {
  const detail = /additional info: *(.+)/.exec(said)?.[1]?.trim();
  if (status === tookTooLong) return `The LDAP server ${uri} did not answer within ${patience} seconds.`;
  if (/certificate|verif|TLS|SSL|handshake/i.test(detail ?? '')) return `The LDAP server ${uri} does not prove who it is, or speaks no TLS: ${detail}`;
  if (/Invalid credentials/.test(said)) return `The LDAP server refuses the account ${account?.name ?? ''} or its password.`;
  // Of a connection that is encrypted from its beginning, ldapsearch tells no more than this, whatever was wrong.
  if (authority !== undefined && uri.startsWith('ldaps:') && /Can't contact LDAP server/.test(said)) {
    return `The LDAP server ${uri} cannot be reached, or does not prove who it is by the certificate authority.`;
  }
  if (/Can't contact LDAP server|Connect error|Timed out/i.test(said)) return `The LDAP server ${uri} cannot be reached${detail === undefined ? '.' : `: ${detail}`}`;
  if (/No such object/.test(said)) return `The directory has no ${base}, or does not show it to ${account?.name ?? 'strangers'}.`;
  const line = said.split('\n').find((one) => one.trim() !== '');
  return `The LDAP server ${uri} refuses: ${line?.trim() ?? `ldapsearch ended with ${status}.`}`;
}
