import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import {
  advanced,
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
import { configLines, port, umask, volumePath } from '../../engine/declare/formats.ts';
import { type RecordOf, singleton, type View } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { certificate, pairOf } from '../certificates/certificate.ts';
import { tlsProblem } from '../certificates/x509.ts';
import { service, tcp } from './service.ts';

export const tlsPolicies = [
  'on',
  'off',
  'data',
  '!data',
  'auth',
  'ctrl',
  'ctrl+data',
  'ctrl+!data',
  'auth+data',
  'auth+!data',
] as const;

/** Policies that allow a session to begin without TLS. */
const lenientPolicies: readonly string[] = ['off', 'data', '!data'];

export const ftpSettings = singleton('services/ftp', {
  shortName: 'service/ftp',
  title: 'FTP settings',
  description: 'How the FTP server serves the volumes.',
  fields: {
    ...basic('Connections', {
      ftp_port: port({ description: 'TCP port the server listens on.', initial: 21 }),
      ftp_clients: integer({
        description: 'Maximum number of clients at the same time.',
        min: 1,
        max: 10_000,
        initial: 32,
      }),
      ftp_ipconnections: titled(
        'Connections of one address',
        integer({
          description: 'Maximum number of connections from one address; 0 sets no limit.',
          min: 0,
          max: 1000,
          initial: 0,
        }),
      ),
    }),
    ...advanced('Connections', {
      ftp_loginattempt: titled(
        'Login attempts',
        integer({
          description: 'Failed logins after which the server closes the connection; 0 sets no limit.',
          min: 0,
          max: 1000,
          initial: 3,
        }),
      ),
      ftp_timeout: integer({
        description: 'Idle seconds after which the server closes the connection; 0 sets no limit.',
        min: 0,
        max: 10_000,
        initial: 120,
      }),
    }),
    ...basic('Access', {
      ftp_rootlogin: titled('Allow root', flag(false, { description: 'Whether root may log in.' })),
      ftp_onlyanonymous: titled(
        'Anonymous access',
        flag(false, {
          description:
            'Whether anonymous clients may log in, to ftp_anonpath. Accounts may then log in only when ftp_onlylocal is true.',
        }),
      ),
      ftp_anonpath: titled('Anonymous folder', nullable(volumePath({ description: 'Folder for anonymous clients.' }))),
      ftp_onlylocal: titled(
        'Local accounts',
        flag(false, { description: 'Whether accounts may log in when ftp_onlyanonymous is true.' }),
      ),
      ftp_banner: text({ description: 'Message that clients receive when they connect.', max: 120 }),
    }),
    ...advanced('Permissions', {
      ftp_filemask: titled(
        'Mask of files',
        umask({ description: 'Permission bits that a new file does not get.', initial: '077' }),
      ),
      ftp_dirmask: titled(
        'Mask of folders',
        umask({ description: 'Permission bits that a new folder does not get.', initial: '077' }),
      ),
    }),
    ...advanced('Transfers', {
      ftp_fxp: titled(
        'Server-to-server transfers',
        flag(false, {
          description: 'Whether files may be transferred directly between this server and another one (FXP).',
        }),
      ),
      ftp_resume: titled(
        'Resume uploads',
        flag(false, { description: 'Whether clients may resume interrupted transfers.' }),
      ),
    }),
    ...basic('Access', {
      ftp_defaultroot: titled(
        'Confine to home folders',
        flag(false, { description: 'Whether accounts are restricted to their home folders.' }),
      ),
    }),
    ...advanced('Connections', {
      ftp_ident: titled(
        'Ask ident',
        flag(false, { description: 'Whether the server identifies clients by the ident protocol.' }),
      ),
      ftp_reversedns: titled(
        'Look up names of clients',
        flag(false, { description: 'Whether client addresses are resolved to names.' }),
      ),
      ftp_masqaddress: titled(
        'Public address',
        text({
          description: 'Address or host name that the server announces for passive transfers, for a server behind NAT.',
          max: 120,
          pattern: /^[A-Za-z0-9.:_-]+$/,
          rule: 'Expected an address or a host name.',
        }),
      ),
      ftp_passiveportsmin: titled(
        'First passive port',
        passivePort('First port for passive transfers; with 0 the server chooses.'),
      ),
      ftp_passiveportsmax: titled(
        'Last passive port',
        passivePort('Last port for passive transfers; with 0 the server chooses.'),
      ),
    }),
    ...advanced('Bandwidth', {
      ftp_localuserbw: titled('Uploads of accounts', bandwidth('Upload bandwidth of an account')),
      ftp_localuserdlbw: titled('Downloads of accounts', bandwidth('Download bandwidth of an account')),
      ftp_anonuserbw: titled('Anonymous uploads', bandwidth('Upload bandwidth of an anonymous client')),
      ftp_anonuserdlbw: titled('Anonymous downloads', bandwidth('Download bandwidth of an anonymous client')),
    }),
    ...basic('TLS', {
      ftp_tls: titled(
        'TLS',
        flag(false, {
          description: 'Whether TLS is enabled. It requires ftp_ssltls_certificate or ftp_ssltls_certfile.',
        }),
      ),
      ftp_tls_policy: titled(
        'TLS policy',
        choice(tlsPolicies, {
          description:
            'What must be protected by TLS: on is everything, off is nothing, other values name the channels.',
          initial: 'on',
        }),
      ),
    }),
    ...advanced('TLS', {
      ftp_ssltls_certfile: titled(
        'Certificate and key in PEM',
        secret(
          text({
            description:
              'Name of a certificate, which sets ftp_ssltls_certificate; or a certificate and its private key, both in PEM.',
            multiline: true,
            max: 65_536,
          }),
        ),
      ),
    }),
    ...basic('TLS', {
      // The public sources name the certificate by this field (gaps 8.6).
      ftp_ssltls_certificate: titled(
        'Certificate',
        nullable(
          reference('system/certificate', {
            description: 'Id of a certificate with a private key.',
            onRemove: { becomes: null },
            holds: ({ ftp_tls, ftp_ssltls_certfile }) =>
              ftp_tls === true && !isPem(String(ftp_ssltls_certfile))
                ? 'The FTP server uses this certificate for TLS. Before you delete it, set ftp_ssltls_certificate to another certificate or ftp_tls to false.'
                : undefined,
          }),
        ),
      ),
    }),
    ...advanced('TLS options', {
      ftp_tls_opt_allow_client_renegotiations: titled(
        'Allow renegotiation',
        flag(false, {
          description: 'Whether a client may renegotiate the session.',
        }),
      ),
      ftp_tls_opt_allow_dot_login: titled(
        'Login by certificate',
        flag(false, {
          description: "Whether a client certificate listed in the account's .tlslogin logs in without a password.",
        }),
      ),
      ftp_tls_opt_allow_per_user: titled(
        'Policy by user',
        flag(false, {
          description: 'Whether accounts can have their own TLS policy. It requires the policy off, data or !data.',
        }),
      ),
      ftp_tls_opt_common_name_required: titled(
        'Require the host name',
        flag(false, {
          description: 'Whether the common name of a client certificate must be the host name of the client.',
        }),
      ),
      ftp_tls_opt_dns_name_required: titled(
        'Require the DNS name',
        flag(false, {
          description: 'Whether a DNS name in a client certificate must be the host name of the client.',
        }),
      ),
      ftp_tls_opt_enable_diags: titled(
        'Diagnostic log',
        flag(false, { description: 'Whether each step of the TLS handshake is logged.' }),
      ),
      ftp_tls_opt_export_cert_data: titled(
        'Export certificates',
        flag(false, {
          description: 'Whether the environment of the session contains the certificates of both sides.',
        }),
      ),
      ftp_tls_opt_ip_address_required: titled(
        'Require the address',
        flag(false, {
          description: 'Whether an IP address in a client certificate must be the address of the client.',
        }),
      ),
      ftp_tls_opt_no_cert_request: titled(
        'Do not ask for certificates',
        flag(false, {
          description:
            'Whether the server never requests client certificates; otherwise it does when an option checks them.',
        }),
      ),
      ftp_tls_opt_no_empty_fragments: titled(
        'No empty fragments',
        flag(false, {
          description: 'Whether empty TLS fragments, an old protection that some clients cannot handle, are disabled.',
        }),
      ),
      ftp_tls_opt_no_session_reuse_required: titled(
        'Do not require session reuse',
        flag(false, {
          description: 'Whether data connections may use a new TLS session.',
        }),
      ),
      ftp_tls_opt_stdenvvars: titled(
        'Export variables',
        flag(false, {
          description: 'Whether the environment of the session contains variables about TLS.',
        }),
      ),
      ftp_tls_opt_use_implicit_ssl: titled(
        'Implicit TLS',
        flag(false, {
          description: 'Whether TLS is implicit: it begins with the connection, without a command.',
        }),
      ),
    }),
    ...advanced('Further', {
      ftp_options: titled(
        'Additional lines',
        configLines({ description: 'Additional lines for the server in proftpd.conf.' }),
      ),
    }),
  },
  complete: ({ record, before, view }) => chosenCertificate(view, record, before),
  check({ record, before, view, issues }) {
    const { ftp_ssltls_certfile: sent } = record;
    if (sent !== before?.ftp_ssltls_certfile && sent !== '' && !isPem(sent) && named(view, sent) === undefined)
      issues.add(
        'ftp_ssltls_certfile',
        `Expected the name of a certificate, or a certificate and its private key in PEM, got ${quote(sent)}.`,
      );
    if (record.ftp_onlyanonymous && record.ftp_anonpath === null)
      issues.add('ftp_anonpath', 'ftp_anonpath is required when ftp_onlyanonymous is true.');
    if (record.ftp_anonpath?.includes('%{'))
      issues.add('ftp_anonpath', 'Expected a path without %{: the FTP server reads it as the beginning of a variable.');
    const [first, last] = [record.ftp_passiveportsmin, record.ftp_passiveportsmax];
    if (first !== last && (first === 0 || last === 0))
      issues.add(
        first === 0 ? 'ftp_passiveportsmin' : 'ftp_passiveportsmax',
        'Expected both passive ports to be 0, or neither.',
      );
    else if (first !== 0 && last <= first)
      issues.add('ftp_passiveportsmax', 'ftp_passiveportsmax must be greater than ftp_passiveportsmin.');
    if (!record.ftp_tls) return;
    const pair = servedPair(view, record);
    if (typeof pair === 'string') issues.add(fieldOfPair(record), pair);
    if (record.ftp_tls_opt_allow_per_user && !lenientPolicies.includes(record.ftp_tls_policy)) {
      issues.add(
        'ftp_tls_opt_allow_per_user',
        `ftp_tls_opt_allow_per_user requires ftp_tls_policy off, data or !data, got ${record.ftp_tls_policy}.`,
      );
    }
  },
});

export const ftpService = service('ftp', {
  settings: ftpSettings,
  programs: ['proftpd'],
  servesVolumes: true,
  listens: ({ ftp_port }) => [tcp(ftp_port, 'ftp_port')],
});

type Settings = RecordOf<typeof ftpSettings.fields>;

interface Chosen {
  readonly ftp_ssltls_certfile: string;
  readonly ftp_ssltls_certificate: number | null;
}

/**
 * Of the two fields of the certificate, the one that was changed sets the other. A certificate in PEM stays stored while
 * another one is selected by its id.
 */
function chosenCertificate(
  view: View,
  { ftp_ssltls_certfile: text, ftp_ssltls_certificate: id }: Chosen,
  before: Chosen | undefined,
): Partial<Chosen> {
  const [textBefore, idBefore] = [before?.ftp_ssltls_certfile ?? '', before?.ftp_ssltls_certificate ?? null];
  const isChosenByText = text !== textBefore && (id === idBefore || id === null);
  if (!isChosenByText) return isPem(text) || named(view, text)?.id === id ? {} : { ftp_ssltls_certfile: '' };
  return text === '' && isPem(textBefore) ? {} : { ftp_ssltls_certificate: named(view, text)?.id ?? null };
}

function named(view: View, name: string) {
  return name === '' || isPem(name) ? undefined : view.find(certificate, 'cert_name', name);
}

function isPem(text: string): boolean {
  return text.includes('-----BEGIN ');
}

interface ReadPair {
  readonly key: KeyObject;
  /** The certificate and the key. */
  readonly pem: string;
  /** The intermediate certificates; empty without any. */
  readonly chain: string;
}

/** The certificate and key of the server for TLS, or a problem message. */
export function servedPair(
  view: View,
  { ftp_ssltls_certificate: id, ftp_ssltls_certfile: text }: Settings,
): ReadPair | string {
  if (id === null) return readPair(isPem(text) ? text : '');
  const pair = pairOf(view, id);
  return typeof pair === 'string' ? pair : readPair(`${pair.chain}${pair.key}`.trim());
}

function fieldOfPair({ ftp_ssltls_certificate, ftp_ssltls_certfile }: Settings) {
  if (ftp_ssltls_certificate !== null) return 'ftp_ssltls_certificate';
  return ftp_ssltls_certfile === '' ? 'ftp_tls' : 'ftp_ssltls_certfile';
}

/** The certificate and key in a text of PEM, or a problem message. */
export function readPair(pem: string): ReadPair | string {
  if (pem === '')
    return 'TLS requires a certificate: set ftp_ssltls_certificate to the id of one, or send one and its private key, both in PEM, as ftp_ssltls_certfile.';
  const certificate = attempt(() => new X509Certificate(pem));
  if (certificate === undefined) return 'Expected a certificate in PEM.';
  const key = attempt(() => createPrivateKey(pem));
  if (key === undefined) return 'Expected an unencrypted private key in PEM.';
  if (!certificate.checkPrivateKey(key)) return 'The private key does not belong to the certificate.';
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ec')
    return 'Expected an RSA or EC key: the FTP server supports no other types.';
  return tlsProblem(pem, pem) ?? { key, pem, chain: (pem.match(certificateBlock) ?? []).slice(1).join('') };
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g;

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

function passivePort(description: string) {
  return refine(integer({ description, min: 0, max: 65_535, initial: 0 }), (value) =>
    value > 0 && value < 1024 ? 'Expected 0, or a port from 1024 to 65535.' : undefined,
  );
}

function bandwidth(what: string) {
  return integer({ description: `${what}, in KB per second; 0 sets no limit.`, min: 0, max: 2 ** 31 - 1, initial: 0 });
}
