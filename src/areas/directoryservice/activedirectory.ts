import { invalid } from '../../engine/errors.ts';
import { choice, type Field, flag, hidden, integer, nullable, readOnly, reference, secret, text } from '../../engine/fields.ts';
import { type RecordOf, type SentOf, singleton, type Updating, type View, type Work } from '../../engine/resource.ts';
import type { DomainAccess, Inquiry, Joining } from '../../host/ports/domain.ts';
import { words } from '../../lib/text.ts';
import { cifsSettings, netbiosName } from '../services/cifs.ts';
import { serviceSwitch } from '../services/services.ts';
import { certificateAuthority } from '../system/certificateauthority.ts';
import { type IdmapKind, idmapKinds, overlap, usedMaps } from './idmap.ts';
import { kerberosKeytab } from './kerberoskeytab.ts';
import { kerberosPrincipal } from './kerberosprincipal.ts';
import { kerberosRealm } from './kerberosrealm.ts';
import { ldapSettings, servesSamba } from './ldap.ts';

const fields = {
  ad_enable: flag(false, { says: 'Whether the machine is a member of the domain. It joins before that is kept, and leaves when it is not any more.' }),
  ad_domainname: text({
    says: 'DNS name of the domain, as corp.example.com.',
    max: 120,
    pattern: /^(?=.*\.)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/,
    rule: 'A DNS name of several parts is wanted, like corp.example.com.',
  }),
  ad_bindname: text({
    says: 'An account of the domain that may let machines join.',
    max: 120,
    pattern: /^[^-@\\/"%[\]:;|=,+*?<>\s][^@\\/"%[\]:;|=,+*?<>]*$/,
    rule: 'The name alone is wanted, without a domain.',
  }),
  ad_bindpw: secret(text({ says: 'Its password. Kept as it is when sent empty.', max: 120, untrimmed: true })),
  ad_netbiosname_a: netbiosName('Name of this machine in the domain and the Windows network: what is sent becomes that of the CIFS settings (gaps 3.1).'),
  ad_netbiosalias: nullable(netbiosName('A second such name.')),
  ad_dcname: nullable(server('The controller to speak to, with :PORT to see whether it answers there; any of the domain when null.')),
  ad_gcname: nullable(server('A server of the global catalog. It has to answer when it is set.')),
  ad_ssl: choice(['off', 'on', 'start_tls'], {
    says: 'Whether questions to the directory are encrypted by TLS: from the beginning of the connection (on), or by StartTLS.',
    initial: 'off',
  }),
  ad_certificate: nullable(
    reference('system/certificateauthority', {
      says: "Id of the authority that signed the controllers' certificates.",
      onRemove: { becomes: null },
      holds: ({ ad_enable, ad_ssl }) =>
        ad_enable === true && ad_ssl !== 'off'
          ? 'By this authority the domain controllers prove who they are: choose another, or set ad_ssl off, before this one goes.'
          : undefined,
    }),
  ),
  ad_ldap_sasl_wrapping: choice(['plain', 'signed', 'sealed'], {
    says: 'How questions to the directory are protected where TLS does not.',
    initial: 'plain',
    // As the public sources spell them (gaps 3.1).
    also: { sign: 'signed', seal: 'sealed' },
  }),
  ad_idmap_backend: choice(idmapKinds, { says: 'Kind of the id map by which accounts of the domain get their numbers here.', initial: 'rid' }),
  ad_nss_info: nullable(choice(['sfu', 'sfu20', 'rfc2307'], { says: "Schema by which the directory tells accounts' homes and shells." })),
  ad_site: nullable(
    text({
      says: 'Site of the domain whose controllers are spoken to.',
      max: 120,
      pattern: /^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?$/,
      rule: 'A site has letters, digits, _ and - in its name.',
    }),
  ),
  ad_kerberos_realm: nullable(reference('directoryservice/kerberosrealm', { says: "Id of the Kerberos realm whose servers are the domain's.", onRemove: { becomes: null } })),
  ad_kerberos_principal: nullable(
    reference('directoryservice/kerberosprincipal', {
      says: 'Id of the principal that joins by the key of its keytab, in place of an account with a password.',
      onRemove: { becomes: null },
    }),
  ),
  ad_userdn: readOnly(nullable(text({ says: 'Where users are. The domain itself tells Samba, so it is always null.', max: 1024 }))),
  ad_groupdn: readOnly(nullable(text({ says: 'Where groups are. As for users.', max: 1024 }))),
  ad_timeout: integer({ says: 'Seconds to wait for an answer of the domain.', min: 1, max: 600, initial: 60 }),
  ad_dns_timeout: integer({ says: 'Seconds to wait until the domain is found.', min: 1, max: 600, initial: 60 }),
  ad_enable_monitor: flag(false, { says: 'Whether the machine looks after its connection to the domain, and renews it when it is lost.' }),
  ad_monitor_frequency: integer({ says: 'Seconds between two looks.', min: 30, max: 3600, initial: 60 }),
  ad_recover_retry: integer({ says: 'How often it is tried in a row to renew the connection.', min: 0, max: 500, initial: 10 }),
  ad_allow_dns_updates: flag(true, { says: "Whether the machine enters its addresses into the domain's DNS when it joins." }),
  ad_allow_trusted_doms: flag(false, { says: 'Whether accounts of domains that the domain trusts are accounts of this machine.' }),
  ad_unix_extensions: flag(false, { says: 'Whether accounts have the homes and shells of their Unix attributes.' }),
  ad_use_default_domain: flag(false, { says: 'Whether accounts are called without the name of the domain before theirs.' }),
  ad_verbose_logging: flag(false, { says: 'Whether much is logged of the domain.' }),
  // As the public interface calls it (gaps 3.1).
  ad_disable_freenas_cache: flag(false, { says: 'Whether lists of accounts leave out those of the domain, which need not be gathered then.' }),
  ad_workgroup: hidden(text({ says: 'Old name of the domain, as it told.' })),
  ad_siteservers: hidden(text({ says: 'Controllers of the site, as DNS told.', max: 4096 })),
};

export type DomainSettings = RecordOf<typeof fields>;
type Sent = SentOf<typeof fields>;

export const domainSettings = singleton('directoryservice/activedirectory', {
  title: 'Active Directory settings',
  says: 'The Active Directory domain that this machine is a member of.',
  fields,
  seed: () => ({ ad_netbiosname_a: 'holdfast' }),
  around,
  complete({ record, before, sent, draft }) {
    const cifs = draft.only(cifsSettings);
    return {
      ad_bindpw: sent.ad_bindpw === '' && before !== undefined ? before.ad_bindpw : record.ad_bindpw,
      ad_netbiosname_a: sent.ad_netbiosname_a || cifs.cifs_srv_netbiosname,
      ad_netbiosalias: sent.ad_netbiosalias === undefined ? cifs.cifs_srv_netbiosalias : sent.ad_netbiosalias,
    };
  },
  check({ record, before, draft, issues }) {
    for (const { name, sentence } of problems(record, before, draft)) issues.add(name, sentence);
  },
  onSave({ draft, record, before }) {
    const cifs = draft.only(cifsSettings);
    const names = { cifs_srv_netbiosname: record.ad_netbiosname_a, cifs_srv_netbiosalias: record.ad_netbiosalias };
    if (names.cifs_srv_netbiosname !== cifs.cifs_srv_netbiosname || names.cifs_srv_netbiosalias !== cifs.cifs_srv_netbiosalias) draft.update(cifsSettings, cifs.id, names);
    // Gaps 3.1: the service runs in the domain, and stops with it.
    const service = draft.find(serviceSwitch, 'srv_service', 'cifs');
    if (service !== undefined && record.ad_enable !== (before?.ad_enable ?? false)) draft.update(serviceSwitch, service.id, { srv_enable: record.ad_enable });
  },
});

// Joining and leaving --------------------------------------------------------------------------------------------------

/** What is asked of the domain is asked before anything is kept, and given back when that fails. */
async function around({ title, sent, before, operations, make }: Updating<typeof fields>): Promise<void> {
  const { view } = operations.world;
  const wanted = merged(sent, before, view);
  const isAsked = wanted.ad_enable && (!before.ad_enable || asksOtherwise(wanted, before));
  const leaves = before.ad_enable && !wanted.ad_enable;
  const probes = probesOf(sent);
  if (problems(wanted, before, view).length > 0 || (!isAsked && !leaves && probes.length === 0)) {
    await operations.change(title, (draft) => make(draft));
    return;
  }
  const job = leaves ? `leave the domain ${before.ad_domainname}` : isAsked ? `${before.ad_enable ? 'ask' : 'join'} the domain ${wanted.ad_domainname}` : title;
  await operations.work(job, ['directoryservice/activedirectory'], async (work) => {
    const heard = logOf(work);
    for (const probe of probes) await mustAnswer(work, probe, wanted.ad_timeout);
    const fill = isAsked ? await join(work, { wanted, view, isMember: before.ad_enable, heard }) : {};
    if (leaves) await leave(work, { was: before, view, heard });
    await work.change((draft) => make(draft, fill));
  });
}

interface Membership {
  readonly view: View;
  readonly heard: (line: string) => void;
}

async function join(work: Work, { wanted, view, isMember, heard }: Membership & { readonly wanted: DomainSettings; readonly isMember: boolean }): Promise<Partial<DomainSettings>> {
  const access = accessOf(wanted, view);
  const inquiry = await inquire(work, access);
  if (!inquiry.found) throw invalid({ __all__: [objectionOf(inquiry, access)] });
  const { workgroup } = inquiry;
  if (workgroup.toLowerCase() === wanted.ad_netbiosname_a.toLowerCase()) throw invalid({ ad_netbiosname_a: [`It must differ from the name of the domain, ${workgroup}.`] });
  heard(`The domain ${access.domain} is there, and knows the account. Its old name is ${workgroup}.`);
  const fill = { ad_workgroup: workgroup, ad_siteservers: inquiry.siteServers.join(' ') };
  if (isMember) return fill;
  const joining = joiningOf({ ...wanted, ...fill }, view);
  await work.step({
    title: `join the domain ${access.domain}`,
    perform: (host) => host.domain.join(joining, heard),
    left: async (host) => (await host.domain.membership()) === access.domain.toLowerCase(),
    undo: (host) => host.domain.leave(joining, heard),
  });
  return fill;
}

/** A domain that cannot be asked any more, or not by this account, keeps the machine's account. One gets out all the same. */
async function leave(work: Work, { was, view, heard }: Membership & { readonly was: DomainSettings }): Promise<void> {
  const joining = joiningOf(was, view);
  const inquiry = await inquire(work, joining);
  if (!inquiry.found) {
    heard(`${objectionOf(inquiry, joining)} So the domain was not told, and still has an account for ${was.ad_netbiosname_a}.`);
    return;
  }
  await work.step({
    title: `leave the domain ${joining.domain}`,
    perform: (host) => host.domain.leave(joining, heard),
    left: async (host) => (await host.domain.membership()) === undefined,
    undo: (host) => host.domain.join(joining, heard),
  });
}

async function inquire(work: Work, access: DomainAccess): Promise<Inquiry> {
  const answer: { value?: Inquiry } = {};
  await work.step({
    title: `ask the domain ${access.domain}`,
    async perform(host) {
      answer.value = await host.domain.inquire(access);
    },
    undo: async () => {},
  });
  if (answer.value === undefined) throw new Error('the domain was not asked');
  return answer.value;
}

/** Every line stays readable in the job. */
function logOf(work: Work): (line: string) => void {
  const lines: string[] = [];
  return (line) => {
    lines.push(line);
    work.progress(lines.join('\n'));
  };
}

function objectionOf({ objection, said }: Extract<Inquiry, { found: false }>, { domain, account, server, site, seconds }: DomainAccess): string {
  const who = 'principal' in account ? account.principal : account.name;
  switch (objection) {
    case 'unreachable':
      return `No controller of the domain ${domain} can be reached${server === undefined ? '' : ` at ${server}`} within ${seconds} seconds: ${said}`;
    case 'account':
      return `The domain ${domain} does not know the account ${who}.`;
    case 'password':
      return `The domain ${domain} refuses the account ${who} or its password.`;
    case 'expired':
      return `The domain ${domain} refuses the account ${who}: it is locked, or its password has expired.`;
    case 'clock':
      return `The clocks of this machine and of the domain ${domain} are too far apart.`;
    case 'site':
      return `The domain ${domain} has no site ${site ?? ''}.`;
    case 'other':
      return `The domain ${domain} refuses: ${said}`;
  }
}

// The servers that are set ---------------------------------------------------------------------------------------------

interface Probe {
  readonly field: keyof typeof fields;
  readonly host: string;
  readonly port: number;
}

/** Gaps 3.1: a server that is given has to answer, also while the machine is in no domain. */
function probesOf({ ad_dcname, ad_gcname, ad_ssl }: Sent): readonly Probe[] {
  const tls = ad_ssl === 'on';
  return [
    ...(ad_dcname ? [{ field: 'ad_dcname' as const, ...placeOf(ad_dcname, tls ? 636 : 389) }] : []),
    ...(ad_gcname ? [{ field: 'ad_gcname' as const, ...placeOf(ad_gcname, tls ? 3269 : 3268) }] : []),
  ];
}

async function mustAnswer(work: Work, { field, host: name, port }: Probe, seconds: number): Promise<void> {
  await work.step({
    title: `look for ${name} at the port ${port}`,
    async perform(host) {
      if (!(await host.domain.answers({ host: name, port }, seconds))) throw invalid({ [field]: [`Nobody answers at ${name}, port ${port}.`] });
    },
    undo: async () => {},
  });
}

function placeOf(value: string, usual: number): { readonly host: string; readonly port: number } {
  const [, host = value, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(value) ?? [];
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? usual : Number(port) };
}

function server(says: string): Field<string, 'plain'> {
  return text({
    says,
    max: 120,
    pattern: /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?$/,
    rule: 'NAME or NAME:PORT is wanted.',
  });
}

// What the settings say ------------------------------------------------------------------------------------------------

/** The controllers that Samba is told of; none for those that DNS names. */
export function controllersOf({ ad_dcname: dc, ad_siteservers: ofSite }: DomainSettings): readonly string[] {
  return dc === null ? words(ofSite) : [placeOf(dc, 0).host];
}

export function protectionOf({ ad_ssl: ssl, ad_ldap_sasl_wrapping: wrapping }: DomainSettings): DomainAccess['protection'] {
  if (ssl !== 'off') return ssl === 'on' ? 'ldaps' : 'starttls';
  return wrapping === 'signed' ? 'sign' : wrapping === 'sealed' ? 'seal' : 'plain';
}

/** Certificate in PEM of the authority that the controllers prove themselves by. */
export function authorityOf({ ad_ssl: ssl, ad_certificate: id }: DomainSettings, view: View): string | undefined {
  return ssl === 'off' || id === null ? undefined : (view.get(certificateAuthority, id)?.cert_certificate ?? undefined);
}

/** Old name of the domain. Before it has told, the first part of its name is the likely one. */
export function workgroupOf({ ad_workgroup: told, ad_domainname: domain }: DomainSettings): string {
  return told || (domain.split('.')[0] ?? '').slice(0, 15).toUpperCase();
}

function accessOf(settings: DomainSettings, view: View): DomainAccess {
  const realm = settings.ad_kerberos_realm === null ? undefined : view.get(kerberosRealm, settings.ad_kerberos_realm);
  const [controller] = settings.ad_dcname === null ? [] : controllersOf(settings);
  return {
    domain: settings.ad_domainname,
    account: accountOf(settings, view),
    server: controller,
    ticketServers: realm === undefined || realm.krb_kdc === '' ? (controller === undefined ? [] : [controller]) : words(realm.krb_kdc),
    site: settings.ad_site ?? undefined,
    protection: protectionOf(settings),
    authority: authorityOf(settings, view),
    seconds: settings.ad_timeout,
    dnsSeconds: settings.ad_dns_timeout,
  };
}

function accountOf({ ad_bindname: name, ad_bindpw: password, ad_kerberos_principal: id }: DomainSettings, view: View): DomainAccess['account'] {
  const principal = id === null ? undefined : view.get(kerberosPrincipal, id);
  const keytab = principal === undefined ? undefined : view.get(kerberosKeytab, principal.principal_keytab);
  return principal === undefined || keytab === undefined ? { name, password } : { principal: principal.principal_name, keytab: keytab.keytab_file };
}

function joiningOf(settings: DomainSettings, view: View): Joining {
  return { ...accessOf(settings, view), workgroup: workgroupOf(settings), netbiosName: settings.ad_netbiosname_a, dnsUpdates: settings.ad_allow_dns_updates };
}

/** Whether the domain has to be asked anew what it thinks of the account, or where its controllers are. */
function asksOtherwise(wanted: DomainSettings, before: DomainSettings): boolean {
  return (['ad_bindname', 'ad_bindpw', 'ad_kerberos_principal', 'ad_kerberos_realm', 'ad_dcname', 'ad_site', 'ad_ssl', 'ad_certificate'] as const).some(
    (name) => wanted[name] !== before[name],
  );
}

function merged(sent: Sent, before: DomainSettings, view: View): DomainSettings {
  const { ad_bindpw: password, ...others } = sent;
  const cifs = view.only(cifsSettings);
  const name = sent.ad_netbiosname_a || cifs.cifs_srv_netbiosname;
  return { ...before, ...others, ad_netbiosname_a: name, ...(password === undefined || password === '' ? {} : { ad_bindpw: password }) };
}

// What is wrong with them ----------------------------------------------------------------------------------------------

interface Problem {
  readonly name: keyof typeof fields;
  readonly sentence: string;
}

function problems(settings: DomainSettings, before: DomainSettings | undefined, view: View): readonly Problem[] {
  if (!settings.ad_enable) return [];
  const found: Problem[] = [];
  const add = (name: Problem['name'], sentence: string) => void found.push({ name, sentence });
  if (settings.ad_domainname === '') add('ad_domainname', 'Say which domain.');
  if (settings.ad_kerberos_principal === null) {
    if (settings.ad_bindname === '') add('ad_bindname', 'Say which account lets the machine join, or choose a Kerberos principal.');
    if (settings.ad_bindpw === '') add('ad_bindpw', 'The account has a password.');
  }
  if (settings.ad_ssl !== 'off' && settings.ad_certificate === null) {
    add('ad_certificate', "An encrypted connection needs the certificate of the authority that signed the controllers'.");
  }
  if (before?.ad_enable === true) {
    if (settings.ad_domainname !== before.ad_domainname) add('ad_domainname', `The machine is a member of ${before.ad_domainname}. It has to leave before it joins another.`);
    if (settings.ad_netbiosname_a !== before.ad_netbiosname_a) add('ad_netbiosname_a', 'The domain knows the machine by its name. It has to leave before it gets another.');
  }
  for (const sentence of mapProblems(settings, view)) add('ad_idmap_backend', sentence);
  if (servesSamba(view.only(ldapSettings)))
    add('ad_enable', 'Samba uses the passwords of the LDAP directory, and a member uses those of the domain: set ldap_has_samba_schema false.');
  if (view.only(cifsSettings).cifs_srv_domain_logons) add('ad_enable', 'A member of a domain cannot let others log on to a domain of its own: set cifs_srv_domain_logons false.');
  return found;
}

/** Modules that Samba does not have. */
const lacking: readonly IdmapKind[] = ['adex', 'fruit'];

/** What is wrong with the id maps that the domain uses, in sentences. */
export function mapProblems({ ad_idmap_backend: kind }: DomainSettings, view: View): readonly string[] {
  if (lacking.includes(kind)) return [`Samba has no id map of the kind ${kind}.`];
  const maps = usedMaps(view, kind);
  if (maps === undefined) return [`There is no id map of the kind ${kind} that could be used: make one at directoryservice/idmap/${kind}.`];
  const { domain, others } = maps;
  if (domain === undefined || !overlap(domain.range, others.range)) return [];
  const range = ({ low, high }: { readonly low: number; readonly high: number }) => `${low} to ${high}`;
  return [`The numbers of the domain, ${range(domain.range)} of the ${domain.kind} id map, overlap those of all others, ${range(others.range)} of the ${others.kind} id map.`];
}
