import { invalid } from '../../engine/declare/errors.ts';
import { choice, flag, integer, nullable, reference, refine, secret, text } from '../../engine/declare/fields.ts';
import { configLines } from '../../engine/declare/formats.ts';
import { type RecordOf, singleton, type View } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { type CifsSettings, cifsSettings, netbiosName } from '../services/cifs.ts';
import { certificateAuthority } from '../system/certificateauthority.ts';
import { type LdapServer, tryBind, trySamba } from './ldap-bind.ts';

const fields = {
  ldap_enable: flag(false, {
    description:
      'Whether accounts of the directory are accounts of this machine. The directory is asked before that is kept.',
  }),
  ldap_hostname: refine(
    text({ description: 'The LDAP server: a name or an address, with :PORT where it is not the usual one.', max: 120 }),
    serverProblem,
  ),
  ldap_basedn: distinguishedName('Where the directory begins, as dc=example,dc=com.', 120),
  ldap_binddn: distinguishedName('The account the machine asks as, as cn=reader,dc=example,dc=com.', 256),
  ldap_bindpw: secret(text({ description: 'Its password. Kept as it is when sent empty.', max: 120 })),
  ldap_anonbind: flag(false, { description: 'Whether the machine asks without an account.' }),
  ldap_usersuffix: distinguishedName('Where users are, relative to the base: ou=people. Everywhere when empty.', 120),
  ldap_groupsuffix: distinguishedName('Where groups are, relative to the base.', 120),
  ldap_passwordsuffix: distinguishedName(
    'Where what is secret of users (shadow accounts) is, relative to the base.',
    120,
  ),
  ldap_machinesuffix: distinguishedName('Where machines of a Samba domain are, relative to the base.', 120),
  ldap_sudosuffix: distinguishedName('Where rules of sudo are, relative to the base. Kept for clients.', 120),
  ldap_netbiosname_a: netbiosName(
    'Name of this machine in the Windows network: what is sent becomes that of the CIFS settings (gaps 3.1).',
  ),
  ldap_netbiosalias: nullable(netbiosName('A second such name.')),
  ldap_ssl: choice(['off', 'on', 'start_tls'], {
    description: 'Whether the connection is encrypted: from its beginning (on), or by StartTLS.',
    initial: 'off',
  }),
  ldap_certificate: nullable(
    reference('system/certificateauthority', {
      description: "Id of the authority that signed the server's certificate.",
      onRemove: { becomes: null },
      holds: ({ ldap_ssl }) =>
        ldap_ssl === 'off'
          ? undefined
          : 'By this authority the LDAP server proves who it is: choose another, or set ldap_ssl off, before this one goes.',
    }),
  ),
  ldap_schema: choice(['rfc2307', 'rfc2307bis'], {
    description: 'How groups name their members: by login name, or by distinguished name.',
    initial: 'rfc2307',
  }),
  ldap_timeout: integer({ description: 'Seconds to wait for an answer of the server.', min: 1, max: 600, initial: 10 }),
  ldap_dns_timeout: integer({
    description: 'Seconds more to wait for its name to be found, when the directory is tried.',
    min: 0,
    max: 600,
    initial: 10,
  }),
  ldap_has_samba_schema: flag(false, {
    description:
      'Whether accounts there have passwords for Samba. Then they log in to shares, and the accounts of this machine do not: Samba asks one store.',
  }),
  ldap_idmap_backend: choice(
    ['ad', 'adex', 'autorid', 'fruit', 'hash', 'ldap', 'nss', 'rfc2307', 'rid', 'script', 'tdb', 'tdb2'],
    {
      description: 'Kind of id map. Kept for clients: accounts come with the numbers that the directory gives them.',
      initial: 'ldap',
    },
  ),
  ldap_kerberos_realm: notYet('Id of a Kerberos realm. Not taken yet: only null is.'),
  ldap_kerberos_principal: notYet('Id of a Kerberos principal. Not taken yet: only null is.'),
  ldap_auxiliary_parameters: refine(configLines({ description: 'Further lines of nslcd.conf.' }), foreignLines),
};

export type LdapSettings = RecordOf<typeof fields>;

export const ldapSettings = singleton('directoryservice/ldap', {
  title: 'LDAP settings',
  description: 'An LDAP directory whose users and groups this machine knows.',
  fields,
  seed: () => ({ ldap_netbiosname_a: 'holdfast' }),
  /** Gaps 3.2: a bind is tried first, and what the server says to it is the answer. */
  async beforehand(sent, operations, before) {
    const { view } = operations.world;
    const wanted = merged(sent, before);
    if (!wanted.ldap_enable || problems(wanted).length > 0) return {};
    const server = serverOf(wanted, view);
    const cifs = view.only(cifsSettings);
    const domain = sambaDomainOf({
      ...cifs,
      cifs_srv_netbiosname: sent.ldap_netbiosname_a || cifs.cifs_srv_netbiosname,
    });
    await operations.work(`try the LDAP server ${wanted.ldap_hostname}`, ['directoryservice/ldap'], (work) =>
      work.step({
        title: `bind to ${wanted.ldap_hostname}`,
        async perform(host) {
          const objection =
            (await tryBind(host, server)) ??
            (wanted.ldap_has_samba_schema
              ? await trySamba(host, server, { users: usersOf(wanted), domain })
              : undefined);
          if (objection !== undefined) throw invalid({ __all__: [objection] });
        },
        undo: async () => {},
      }),
    );
    return {};
  },
  complete({ record, before, sent, draft }) {
    const cifs = draft.only(cifsSettings);
    return {
      ldap_bindpw: sent.ldap_bindpw === '' && before !== undefined ? before.ldap_bindpw : record.ldap_bindpw,
      ldap_netbiosname_a: sent.ldap_netbiosname_a || cifs.cifs_srv_netbiosname,
      ldap_netbiosalias: sent.ldap_netbiosalias === undefined ? cifs.cifs_srv_netbiosalias : sent.ldap_netbiosalias,
    };
  },
  check({ record, issues }) {
    for (const { name, sentence } of problems(record)) issues.add(name, sentence);
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

/** What the settings say of the server and of how to ask it. */
export function serverOf(settings: LdapSettings, view: View): LdapServer {
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

/** Whether Samba finds its passwords in the directory. */
export function servesSamba({ ldap_enable, ldap_has_samba_schema }: LdapSettings): boolean {
  return ldap_enable && ldap_has_samba_schema;
}

/** The Samba domain whose accounts are this server's: its own, or the one that others log on to. */
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
      sentence: "An encrypted connection needs the certificate of the authority that signed the server's.",
    });
  }
  if (!settings.ldap_enable) return found;
  if (settings.ldap_hostname === '')
    found.push({ name: 'ldap_hostname', sentence: 'Without a server there is no directory.' });
  if (settings.ldap_basedn === '')
    found.push({ name: 'ldap_basedn', sentence: 'Say where the directory begins, as dc=example,dc=com.' });
  if (!settings.ldap_anonbind && settings.ldap_binddn === '') {
    found.push({ name: 'ldap_binddn', sentence: 'Say which account the machine asks as, or set ldap_anonbind.' });
  }
  if (!settings.ldap_anonbind && settings.ldap_bindpw === '')
    found.push({ name: 'ldap_bindpw', sentence: 'Without a password the server would take the account for nobody.' });
  if (!settings.ldap_has_samba_schema) return found;
  if (settings.ldap_anonbind)
    found.push({ name: 'ldap_anonbind', sentence: 'Passwords for Samba are shown to an account only.' });
  for (const name of [
    'ldap_basedn',
    'ldap_binddn',
    'ldap_usersuffix',
    'ldap_groupsuffix',
    'ldap_machinesuffix',
  ] as const) {
    const invalid = /[%$"\\;]/.exec(settings[name])?.[0];
    if (invalid !== undefined)
      found.push({ name, sentence: `Samba would read ${quote(invalid)} in it as something else.` });
  }
  return found;
}

function serverProblem(value: string): string | undefined {
  return value === '' || /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?$/.test(value)
    ? undefined
    : `${quote(value)} is no server: NAME or NAME:PORT is wanted.`;
}

function distinguishedName(description: string, max: number) {
  return refine(text({ description, max }), (value) =>
    value === '' || /^[A-Za-z][\w.-]*=[^=]+(,\s*[A-Za-z][\w.-]*=[^=]+)*$/.test(value.replaceAll(/\\./g, '.'))
      ? undefined
      : `${quote(value)} is no distinguished name, as in "ou=people,dc=example,dc=com".`,
  );
}

/** What says where the directory is and who asks is said by the other fields, and files are not for this one to name. */
function foreignLines(value: string): string | undefined {
  const line = value
    .split('\n')
    .find(
      (one) =>
        one.trim() !== '' &&
        !/^\s*(#|filter|scope|map|pagesize|referrals|idle_timelimit|reconnect_\w+|timelimit|nss_\w+|pam_\w+|validnames|ignorecase|log|cache|threads)\b/i.test(
          one,
        ),
    );
  return line === undefined ? undefined : `${quote(line.trim())} is no setting of nslcd that can be given here.`;
}

function notYet(description: string) {
  return nullable(refine(integer({ description, min: 1 }), () => 'Kerberos cannot be used with LDAP yet.'));
}
