import { Fault, invalid } from '../../engine/declare/errors.ts';
import {
  advanced,
  alsoNamed,
  basic,
  choice,
  flag,
  integer,
  nullable,
  reference,
  refine,
  secret,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { configLines } from '../../engine/declare/formats.ts';
import { type RecordOf, singleton, type Updating, type View, type Work } from '../../engine/declare/resource.ts';
import { type Host, HostError } from '../../host/ports/index.ts';
import { keytabOf } from '../../lib/keytab.ts';
import { quote } from '../../lib/text.ts';
import { certificateAuthority } from '../certificates/certificateauthority.ts';
import { type CifsSettings, cifsSettings, netbiosName } from '../services/cifs.ts';
import { bytesOf, kerberosKeytab } from './kerberoskeytab.ts';
import { kerberosPrincipal } from './kerberosprincipal.ts';
import { kerberosRealm } from './kerberosrealm.ts';
import {
  addSambaDomain,
  entryOf,
  type LdapServer,
  type PasswordAccount,
  type SambaDomain,
  tryBind,
  trySamba,
} from './ldap-bind.ts';

const inUse = (record: Readonly<Record<string, unknown>>): string | undefined =>
  record['ldap_enable'] === true ? 'directoryservice/ldap uses it while ldap_enable is true.' : undefined;

const fields = {
  ...basic('Server', {
    ldap_enable: titled(
      'Enabled',
      flag(false, {
        description:
          'Whether users and groups of the directory can use this machine. The connection is tested before the settings are stored.',
      }),
    ),
    ldap_hostname: titled(
      'Server',
      refine(
        text({ description: 'LDAP server: name or address, optionally followed by :PORT.', max: 120 }),
        serverProblem,
      ),
    ),
    ldap_basedn: titled('Base DN', distinguishedName('Base DN of the directory, such as dc=example,dc=com.', 120)),
    ldap_binddn: titled(
      'Bind DN',
      distinguishedName('DN of the account that queries the directory, such as cn=reader,dc=example,dc=com.', 256),
    ),
    ldap_bindpw: titled(
      'Bind password',
      secret(
        text({ description: 'Password of ldap_binddn. An empty password leaves the stored one unchanged.', max: 120 }),
      ),
    ),
    ldap_anonbind: titled('Bind anonymously', flag(false, { description: 'Whether to bind anonymously.' })),
  }),
  ...advanced('Suffixes', {
    ldap_usersuffix: titled(
      'Users',
      distinguishedName(
        'Base of users, relative to ldap_basedn, such as ou=people. The whole directory when empty.',
        120,
      ),
    ),
    ldap_groupsuffix: titled('Groups', distinguishedName('Base of groups, relative to ldap_basedn.', 120)),
    ldap_passwordsuffix: titled(
      'Passwords',
      distinguishedName('Base of shadow accounts, relative to ldap_basedn.', 120),
    ),
    ldap_machinesuffix: titled(
      'Machines',
      distinguishedName('Base of the machine accounts of a Samba domain, relative to ldap_basedn.', 120),
    ),
    ldap_sudosuffix: titled(
      'Sudo rules',
      distinguishedName('Base of sudo rules, relative to ldap_basedn. Stored without effect.', 120),
    ),
  }),
  ...advanced('Samba', {
    ldap_netbiosname_a: titled(
      'NetBIOS name',
      netbiosName('NetBIOS name of this machine. It is also written to the CIFS settings.'),
    ),
    ldap_netbiosalias: titled(
      'NetBIOS alias',
      nullable(netbiosName('NetBIOS alias. It is also written to the CIFS settings.')),
    ),
  }),
  ...basic('Security', {
    ldap_ssl: titled(
      'Encryption',
      choice(['off', 'on', 'start_tls'], {
        description: 'Encryption of the connection: none (off), TLS (on) or StartTLS (start_tls).',
        initial: 'off',
      }),
    ),
    ldap_certificate: titled(
      'Certificate authority',
      nullable(
        reference('system/certificateauthority', {
          description: 'Id of the certificate authority that signed the certificate of the server.',
          onRemove: { becomes: null },
          holds: ({ ldap_ssl }) =>
            ldap_ssl === 'off'
              ? undefined
              : 'The LDAP settings use this authority. Choose another one in ldap_certificate, or set ldap_ssl to off, first.',
        }),
      ),
    ),
  }),
  ...advanced('Server', {
    ldap_schema: choice(['rfc2307', 'rfc2307bis'], {
      description: 'Schema of groups: members by login name (rfc2307) or by distinguished name (rfc2307bis).',
      initial: 'rfc2307',
    }),
    ldap_timeout: integer({
      description: 'Timeout in seconds for answers of the server.',
      min: 1,
      max: 600,
      initial: 10,
    }),
    ldap_dns_timeout: titled(
      'DNS timeout',
      integer({
        description: 'Additional timeout in seconds for the DNS lookup when the connection is tested.',
        min: 0,
        max: 600,
        initial: 10,
      }),
    ),
  }),
  ...advanced('Samba', {
    ldap_has_samba_schema: titled(
      'Samba schema',
      alsoNamed(
        flag(false, {
          description:
            'Whether the directory holds Samba passwords. If so, SMB shares accept the accounts of the directory instead of the local ones, because Samba uses only one password store.',
        }),
        'ldap_has_smb_schema',
      ),
    ),
    ldap_idmap_backend: titled(
      'ID map',
      choice(['ad', 'adex', 'autorid', 'fruit', 'hash', 'ldap', 'nss', 'rfc2307', 'rid', 'script', 'tdb', 'tdb2'], {
        description: 'Kind of id map. Stored without effect: accounts have the ids of the directory.',
        initial: 'ldap',
      }),
    ),
  }),
  ...advanced('Kerberos', {
    ldap_kerberos_realm: titled(
      'Realm',
      nullable(
        reference('directoryservice/kerberosrealm', {
          description:
            'Id of the Kerberos realm of the directory. While ldap_enable is true it is the default realm of this machine, unless that is a member of a domain.',
          onRemove: { becomes: null },
          holds: inUse,
        }),
      ),
    ),
    ldap_kerberos_principal: titled(
      'Principal',
      nullable(
        reference('directoryservice/kerberosprincipal', {
          description:
            'Id of the Kerberos principal as which this machine queries the directory (SASL, GSSAPI), instead of ldap_binddn or anonymously. Samba uses ldap_binddn in any case.',
          onRemove: { becomes: null },
          holds: inUse,
        }),
      ),
    ),
  }),
  ...advanced('Further', {
    ldap_auxiliary_parameters: titled(
      'Additional parameters',
      refine(configLines({ description: 'Additional lines for nslcd.conf.' }), auxiliaryProblem),
    ),
  }),
};

export type LdapSettings = RecordOf<typeof fields>;

export const ldapSettings = singleton('directoryservice/ldap', {
  shortName: 'directory/ldap',
  title: 'LDAP settings',
  description: 'An LDAP directory whose users and groups can use this machine.',
  fields,
  seed: () => ({ ldap_netbiosname_a: 'holdfast' }),
  around,
  complete({ record, before, sent, draft }) {
    const cifs = draft.only(cifsSettings);
    return {
      ldap_bindpw: sent.ldap_bindpw === '' && before !== undefined ? before.ldap_bindpw : record.ldap_bindpw,
      ldap_netbiosname_a: sent.ldap_netbiosname_a || cifs.cifs_srv_netbiosname,
      ldap_netbiosalias: sent.ldap_netbiosalias === undefined ? cifs.cifs_srv_netbiosalias : sent.ldap_netbiosalias,
    };
  },
  check({ record, view, issues }) {
    for (const { name, sentence } of problems(record)) issues.add(name, sentence);
    const problem = principalProblem(record, view);
    if (problem !== undefined) issues.add('ldap_kerberos_principal', problem);
  },
  onSave({ draft, record }) {
    const cifs = draft.only(cifsSettings);
    const names = { cifs_srv_netbiosname: record.ldap_netbiosname_a, cifs_srv_netbiosalias: record.ldap_netbiosalias };
    if (
      names.cifs_srv_netbiosname !== cifs.cifs_srv_netbiosname ||
      names.cifs_srv_netbiosalias !== cifs.cifs_srv_netbiosalias
    )
      draft.update(cifsSettings, cifs.id, names);
  },
});

/** Gaps 3.2: the connection is tested first, and an error of the server is the answer. */
async function around({ title, sent, before, operations, make }: Updating<typeof fields>): Promise<void> {
  const { view } = operations.world;
  const settings = merged(sent, before);
  const isRefused = problems(settings).length > 0 || principalProblem(settings, view) !== undefined;
  if (!settings.ldap_enable || isRefused) {
    await operations.change(title, (draft) => make(draft));
    return;
  }
  const server = sambaServerOf(settings, view);
  await operations.work(`use the LDAP server ${settings.ldap_hostname}`, ['directoryservice/ldap'], async (work) => {
    const missing = await work.ask(`bind to ${settings.ldap_hostname}`, (host) =>
      tryServer(host, settings, sent, view),
    );
    if (missing !== undefined) await addDomain(work, { entry: entryOf(missing, server), server, domain: missing });
    await work.change((draft) => make(draft));
  });
}

/** Returns the entry that Samba needs and that the directory does not have. */
async function tryServer(host: Host, settings: LdapSettings, sent: Sent, view: View): Promise<SambaDomain | undefined> {
  const objection = await tryBind(host, serverOf(settings, view));
  if (objection !== undefined) throw invalid({ __all__: [objection] });
  if (!settings.ldap_has_samba_schema) return undefined;
  const server = sambaServerOf(settings, view);
  const cifs = view.only(cifsSettings);
  const name = sent.ldap_netbiosname_a || cifs.cifs_srv_netbiosname;
  const domain = sambaDomainOf({ ...cifs, cifs_srv_netbiosname: name });
  const finding = await trySamba(host, server, { users: usersOf(settings), domain });
  if ('objection' in finding) throw invalid({ __all__: [finding.objection] });
  return finding.missing;
}

/** A directory that does not let the account add the entry is an error of the settings. */
async function addDomain(work: Work, args: Parameters<typeof addSambaDomain>[0]): Promise<void> {
  try {
    await work.step(addSambaDomain(args));
  } catch (error) {
    throw error instanceof HostError || (error instanceof Fault && error.kind === 'failed')
      ? invalid({ __all__: [error.message] })
      : error;
  }
}

/** How this machine contacts the server. */
export function serverOf(settings: LdapSettings, view: View): LdapServer {
  const { ldap_kerberos_principal: id } = settings;
  const principal = id === null ? undefined : view.get(kerberosPrincipal, id);
  const keytab = principal === undefined ? undefined : view.get(kerberosKeytab, principal.principal_keytab);
  const server = sambaServerOf(settings, view);
  if (principal === undefined || keytab === undefined) return server;
  const { principal_name: name } = principal;
  const key = Buffer.from(keytabOf(bytesOf(keytab.keytab_file), name)).toString('base64');
  return { ...server, account: { name, keytab: key } };
}

/** How Samba contacts the server: with a password, if not anonymously. */
export function sambaServerOf(settings: LdapSettings, view: View): LdapServer<PasswordAccount> {
  const authority =
    settings.ldap_ssl === 'off' || settings.ldap_certificate === null
      ? undefined
      : view.get(certificateAuthority, settings.ldap_certificate);
  return {
    uri: `${settings.ldap_ssl === 'on' ? 'ldaps' : 'ldap'}://${settings.ldap_hostname}/`,
    startTls: settings.ldap_ssl === 'start_tls',
    authority: authority?.cert_certificate ?? undefined,
    account: settings.ldap_anonbind ? undefined : { name: settings.ldap_binddn, password: settings.ldap_bindpw },
    base: settings.ldap_basedn,
    seconds: settings.ldap_timeout,
    patience: settings.ldap_timeout + settings.ldap_dns_timeout,
  };
}

/** Whether Samba uses the passwords of the directory. */
export function servesSamba({ ldap_enable, ldap_has_samba_schema }: LdapSettings): boolean {
  return ldap_enable && ldap_has_samba_schema;
}

/** The Samba domain of this server: its own name, or with domain logons the workgroup. */
export function sambaDomainOf({
  cifs_srv_domain_logons: logons,
  cifs_srv_netbiosname: name,
  cifs_srv_workgroup: workgroup,
}: CifsSettings): string {
  return (logons ? workgroup : name).toUpperCase();
}

function usersOf({ ldap_usersuffix: suffix, ldap_basedn: base }: LdapSettings): string {
  return suffix === '' ? base : `${suffix},${base}`;
}

type Sent = { readonly [K in keyof LdapSettings]?: LdapSettings[K] };

function merged(sent: Sent, before: LdapSettings): LdapSettings {
  const { ldap_bindpw: password, ...others } = sent;
  return { ...before, ...others, ...(password === undefined || password === '' ? {} : { ldap_bindpw: password }) };
}

type Problem = { readonly name: keyof typeof fields; readonly sentence: string };

function problems(settings: LdapSettings): readonly Problem[] {
  const found: Problem[] = [];
  // Gaps 3.2: even while disabled.
  if (settings.ldap_ssl !== 'off' && settings.ldap_certificate === null) {
    found.push({
      name: 'ldap_certificate',
      sentence:
        'ldap_certificate is required when ldap_ssl is on or start_tls: the authority that signed the certificate of the server.',
    });
  }
  if (!settings.ldap_enable) return found;
  if (settings.ldap_hostname === '')
    found.push({ name: 'ldap_hostname', sentence: 'ldap_hostname is required when ldap_enable is true.' });
  if (settings.ldap_basedn === '')
    found.push({
      name: 'ldap_basedn',
      sentence: 'ldap_basedn is required when ldap_enable is true, such as dc=example,dc=com.',
    });
  const needsAccount =
    !settings.ldap_anonbind && (settings.ldap_kerberos_principal === null || settings.ldap_has_samba_schema);
  if (needsAccount && settings.ldap_binddn === '') {
    found.push({ name: 'ldap_binddn', sentence: 'ldap_binddn is required unless ldap_anonbind is true.' });
  }
  if (needsAccount && settings.ldap_bindpw === '')
    found.push({
      name: 'ldap_bindpw',
      sentence:
        'ldap_bindpw is required unless ldap_anonbind is true: the server would treat a bind without a password as anonymous.',
    });
  if (!settings.ldap_has_samba_schema) return found;
  if (settings.ldap_anonbind)
    found.push({
      name: 'ldap_anonbind',
      sentence:
        'ldap_anonbind must be false when ldap_has_samba_schema is true: anonymous clients cannot read Samba passwords.',
    });
  for (const name of [
    'ldap_basedn',
    'ldap_binddn',
    'ldap_usersuffix',
    'ldap_groupsuffix',
    'ldap_machinesuffix',
  ] as const) {
    const invalid = /[%$"\\;]/.exec(settings[name])?.[0];
    if (invalid !== undefined)
      found.push({
        name,
        sentence: `The character ${quote(invalid)} is not allowed here when ldap_has_samba_schema is true: it has a special meaning in smb.conf.`,
      });
  }
  return found;
}

function principalProblem(
  { ldap_kerberos_realm: realmId, ldap_kerberos_principal: id }: LdapSettings,
  view: View,
): string | undefined {
  const principal = id === null ? undefined : view.get(kerberosPrincipal, id);
  if (principal === undefined) return id === null ? undefined : `There is no Kerberos principal with the id ${id}.`;
  const realm = realmId === null ? undefined : view.get(kerberosRealm, realmId)?.krb_realm;
  return realm === undefined || principal.principal_name.endsWith(`@${realm}`)
    ? undefined
    : `Expected a principal of the realm ${realm}, which ldap_kerberos_realm names, got ${quote(principal.principal_name)}.`;
}

function serverProblem(value: string): string | undefined {
  return value === '' || /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?$/.test(value)
    ? undefined
    : `Expected NAME or NAME:PORT, got ${quote(value)}.`;
}

function distinguishedName(description: string, max: number) {
  return refine(text({ description, max }), (value) =>
    value === '' || /^[A-Za-z][\w.-]*=[^=]+(,\s*[A-Za-z][\w.-]*=[^=]+)*$/.test(value.replaceAll(/\\./g, '.'))
      ? undefined
      : `Expected a distinguished name such as "ou=people,dc=example,dc=com", got ${quote(value)}.`,
  );
}

/** Refuses lines that other fields set, such as the server and the account, and lines that name files. */
function auxiliaryProblem(value: string): string | undefined {
  const line = value
    .split('\n')
    .find(
      (one) =>
        one.trim() !== '' &&
        !/^\s*(#|filter|scope|map|pagesize|referrals|idle_timelimit|reconnect_\w+|timelimit|nss_\w+|pam_\w+|validnames|ignorecase|log|cache|threads)\b/i.test(
          one,
        ),
    );
  return line === undefined
    ? undefined
    : `The nslcd setting ${quote(line.trim())} is unknown or not allowed in ldap_auxiliary_parameters.`;
}
