import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { choice, flag, integer, nullable, reference, refine, secret, text } from '../../engine/declare/fields.ts';
import { configLines, port, umask, volumePath } from '../../engine/declare/formats.ts';
import { type RecordOf, singleton, type View } from '../../engine/declare/resource.ts';
import { pairOf } from '../system/certificate.ts';
import { tlsProblem } from '../system/x509.ts';

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

/** Policies that let a session begin without TLS. */
const lenientPolicies: readonly string[] = ['off', 'data', '!data'];

export const ftpSettings = singleton('services/ftp', {
  title: 'FTP settings',
  description: 'How the FTP server serves the volumes.',
  fields: {
    ftp_port: port({ description: 'TCP port the server listens on.', initial: 21 }),
    ftp_clients: integer({ description: 'Clients that may be logged in at once.', min: 1, max: 10_000, initial: 32 }),
    ftp_ipconnections: integer({
      description: 'Connections one address may have at once; 0 sets no limit.',
      min: 0,
      max: 1000,
      initial: 0,
    }),
    ftp_loginattempt: integer({
      description: 'Wrong passwords after which a connection ends; 0 sets no limit.',
      min: 0,
      max: 1000,
      initial: 3,
    }),
    ftp_timeout: integer({
      description: 'Seconds without a command or transfer after which a connection ends; 0 sets no limit.',
      min: 0,
      max: 10_000,
      initial: 120,
    }),
    ftp_rootlogin: flag(false, { description: 'Whether root may log in.' }),
    ftp_onlyanonymous: flag(false, {
      description:
        'Whether anonymous clients may log in, to ftp_anonpath. Then accounts may not, unless ftp_onlylocal says so.',
    }),
    ftp_anonpath: nullable(volumePath({ description: 'Folder that anonymous clients are served.' })),
    ftp_onlylocal: flag(false, { description: 'Whether accounts may log in even when anonymous clients may.' }),
    ftp_banner: text({ description: 'What the server says to a client that connects.', max: 120 }),
    ftp_filemask: umask({ description: 'Permission bits that a new file does not get.', initial: '077' }),
    ftp_dirmask: umask({ description: 'Permission bits that a new folder does not get.', initial: '077' }),
    ftp_fxp: flag(false, {
      description: 'Whether files may be sent between this server and another without passing the client.',
    }),
    ftp_resume: flag(false, { description: 'Whether a broken transfer may go on where it ended.' }),
    ftp_defaultroot: flag(false, { description: 'Whether an account sees nothing but its home folder.' }),
    ftp_ident: flag(false, { description: 'Whether the client is asked by the ident protocol who it is.' }),
    ftp_reversedns: flag(false, { description: 'Whether the name of a client is looked up.' }),
    ftp_masqaddress: text({
      description:
        'Address or name that clients are told for passive transfers, for servers behind address translation.',
      max: 120,
      pattern: /^[A-Za-z0-9.:_-]+$/,
      rule: 'An address or a host name is wanted.',
    }),
    ftp_passiveportsmin: passivePort('First port for passive transfers; 0 leaves the choice to the server.'),
    ftp_passiveportsmax: passivePort('Last port for passive transfers; 0 leaves the choice to the server.'),
    ftp_localuserbw: bandwidth('What an account may send'),
    ftp_localuserdlbw: bandwidth('What an account may fetch'),
    ftp_anonuserbw: bandwidth('What an anonymous client may send'),
    ftp_anonuserdlbw: bandwidth('What an anonymous client may fetch'),
    ftp_tls: flag(false, {
      description: 'Whether the server speaks TLS. It needs ftp_ssltls_certificate or ftp_ssltls_certfile.',
    }),
    ftp_tls_policy: choice(tlsPolicies, {
      description: 'What must be protected: on is everything, off nothing, else the named channels.',
      initial: 'on',
    }),
    ftp_ssltls_certfile: secret(
      text({ description: 'A certificate and its private key, both in PEM.', multiline: true, max: 65_536 }),
    ),
    // The public sources' way to name the certificate (gaps 8.6).
    ftp_ssltls_certificate: nullable(
      reference('system/certificate', {
        description: 'A certificate of the appliance, with its key. It goes before ftp_ssltls_certfile.',
        onRemove: { becomes: null },
        holds: ({ ftp_tls, ftp_ssltls_certfile }) =>
          ftp_tls === true && ftp_ssltls_certfile === ''
            ? 'The FTP server speaks TLS with this certificate: give it another, or switch ftp_tls off, before this one goes.'
            : undefined,
      }),
    ),
    ftp_tls_opt_allow_client_renegotiations: flag(false, {
      description: 'Whether a client may renegotiate the session.',
    }),
    ftp_tls_opt_allow_dot_login: flag(false, {
      description: "Whether a client certificate listed in the account's .tlslogin logs in without a password.",
    }),
    ftp_tls_opt_allow_per_user: flag(false, {
      description:
        'Whether the policy is asked again once the account is known. It goes with the policies off, data and !data.',
    }),
    ftp_tls_opt_common_name_required: flag(false, {
      description: "Whether the common name of a client's certificate must be its host name.",
    }),
    ftp_tls_opt_dns_name_required: flag(false, {
      description: "Whether a DNS name in a client's certificate must be its host name.",
    }),
    ftp_tls_opt_enable_diags: flag(false, { description: 'Whether the log holds every step of the handshake.' }),
    ftp_tls_opt_export_cert_data: flag(false, {
      description: "Whether the certificates of both sides are in the session's environment.",
    }),
    ftp_tls_opt_ip_address_required: flag(false, {
      description: "Whether an IP address in a client's certificate must be its own.",
    }),
    ftp_tls_opt_no_cert_request: flag(false, {
      description: 'Whether clients are never asked for a certificate; otherwise they are when an option looks at one.',
    }),
    ftp_tls_opt_no_empty_fragments: flag(false, {
      description: 'Whether an old protection that some clients stumble over is left out.',
    }),
    ftp_tls_opt_no_session_reuse_required: flag(false, {
      description: 'Whether data connections may have a TLS session of their own.',
    }),
    ftp_tls_opt_stdenvvars: flag(false, {
      description: "Whether what is known of the TLS session is in the session's environment.",
    }),
    ftp_tls_opt_use_implicit_ssl: flag(false, {
      description: 'Whether TLS begins with the connection, without being asked for.',
    }),
    ftp_options: configLines({ description: "Further lines of the server's part of proftpd.conf." }),
  },
  check({ record, view, issues }) {
    if (record.ftp_onlyanonymous && record.ftp_anonpath === null)
      issues.add('ftp_anonpath', 'Anonymous clients need a folder.');
    if (record.ftp_anonpath?.includes('%{'))
      issues.add('ftp_anonpath', 'The FTP server would read %{ as the beginning of a variable.');
    const [first, last] = [record.ftp_passiveportsmin, record.ftp_passiveportsmax];
    if (first !== last && (first === 0 || last === 0))
      issues.add(first === 0 ? 'ftp_passiveportsmin' : 'ftp_passiveportsmax', 'Both ports are 0, or neither is.');
    else if (first !== 0 && last <= first) issues.add('ftp_passiveportsmax', 'It must lie above ftp_passiveportsmin.');
    if (!record.ftp_tls) return;
    const pair = servedPair(view, record);
    if (typeof pair === 'string') issues.add(fieldOfPair(record), pair);
    if (record.ftp_tls_opt_allow_per_user && !lenientPolicies.includes(record.ftp_tls_policy)) {
      issues.add(
        'ftp_tls_opt_allow_per_user',
        `It needs a policy that lets a session begin without TLS (off, data or !data), and ftp_tls_policy is ${record.ftp_tls_policy}.`,
      );
    }
  },
});

type Settings = RecordOf<typeof ftpSettings.fields>;

interface ReadPair {
  readonly key: KeyObject;
  /** The certificate and the key. */
  readonly pem: string;
  /** Those that have signed it; empty when there are none. */
  readonly chain: string;
}

/** The certificate and key that the server has for TLS, or what is wrong with them. */
export function servedPair(
  view: View,
  { ftp_ssltls_certificate: id, ftp_ssltls_certfile: text }: Settings,
): ReadPair | string {
  if (id === null) return readPair(text);
  const pair = pairOf(view, id);
  return typeof pair === 'string' ? pair : readPair(`${pair.chain}${pair.key}`.trim());
}

function fieldOfPair({ ftp_ssltls_certificate, ftp_ssltls_certfile }: Settings) {
  if (ftp_ssltls_certificate !== null) return 'ftp_ssltls_certificate';
  return ftp_ssltls_certfile === '' ? 'ftp_tls' : 'ftp_ssltls_certfile';
}

/** A certificate and its key, or what is wrong with the text that should hold them. */
export function readPair(pem: string): ReadPair | string {
  if (pem === '')
    return 'TLS needs a certificate: name one of the appliance as ftp_ssltls_certificate, or send one and its private key, both in PEM, as ftp_ssltls_certfile.';
  const certificate = attempt(() => new X509Certificate(pem));
  if (certificate === undefined) return 'It holds no certificate in PEM.';
  const key = attempt(() => createPrivateKey(pem));
  if (key === undefined) return 'It holds no private key in PEM that opens without a password.';
  if (!certificate.checkPrivateKey(key)) return 'The private key does not belong to the certificate.';
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ec')
    return 'The FTP server takes RSA and EC keys only.';
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
    value > 0 && value < 1024 ? 'It is 0, or lies between 1024 and 65535.' : undefined,
  );
}

function bandwidth(what: string) {
  return integer({ description: `${what}, in KB a second; 0 sets no limit.`, min: 0, max: 2 ** 31 - 1, initial: 0 });
}
