import type { ftpSettings } from '../../areas/services/ftp.ts';
import { volumesFolder } from '../../engine/declare/formats.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { withoutMacros } from '../../lib/macros.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof ftpSettings.fields>;

/** The certificate and its key. */
export const certificateFile = '/etc/proftpd/holdfast.pem';

/** The intermediate certificates, in order. */
export const chainFile = '/etc/proftpd/holdfast-chain.pem';

/** The folder of accounts that are confined to their home folder and have none. */
const emptyFolder = '/usr/lib/holdfast/empty';

/** Defined only for the check, when files that are written together with this one may not exist yet. */
export const stagedDefine = 'HOLDFAST_STAGED';

/** The PAM service for FTP logins. Debian's service `proftpd` refuses root even if RootLogin is on. */
export const pamService = 'holdfast-ftp';

export interface Serving {
  /** The folder for anonymous clients, if they may log in and its volume is mounted. */
  readonly anonymousFolder: string | undefined;
  readonly keyType: 'rsa' | 'ec';
  /** Whether there are intermediate certificates between the certificate and the root authority. */
  readonly hasChain: boolean;
}

export function proftpdConf(settings: Settings, { anonymousFolder, keyType, hasChain }: Serving): string {
  const accountsMay = settings.ftp_onlylocal || !settings.ftp_onlyanonymous;
  return lines(
    '# Written by Holdfast.',
    'ModulePath /usr/lib/proftpd',
    // Debian 12 has these built in, Debian 13 does not.
    ['mod_delay', 'mod_ls', 'mod_xfer'].flatMap((name) => [
      `<IfModule !${name}.c>`,
      `  LoadModule ${name}.c`,
      '</IfModule>',
    ]),
    'LoadModule mod_ident.c',
    'LoadModule mod_rewrite.c',
    settings.ftp_tls ? 'LoadModule mod_tls.c' : undefined,
    '',
    'ServerType standalone',
    'ServerName "Holdfast"',
    'DefaultServer on',
    // ProFTPD still listens on all addresses. Without this line it has to resolve the machine's host name.
    'DefaultAddress 127.0.0.1',
    'UseIPv6 on',
    'User proftpd',
    'Group nogroup',
    'PidFile /run/proftpd.pid',
    'SystemLog /var/log/proftpd/proftpd.log',
    'TransferLog /var/log/proftpd/xferlog',
    'ControlsEngine off',
    `Port ${settings.ftp_port}`,
    settings.ftp_banner === '' ? 'ServerIdent off' : `ServerIdent on ${quoted(withoutMacros(settings.ftp_banner))}`,
    // More processes than clients, so that a client over the limit gets an error reply.
    `MaxInstances ${settings.ftp_clients + 10}`,
    `MaxClients ${settings.ftp_clients}`,
    settings.ftp_ipconnections === 0 ? undefined : `MaxConnectionsPerHost ${settings.ftp_ipconnections}`,
    `MaxLoginAttempts ${settings.ftp_loginattempt === 0 ? 'none' : settings.ftp_loginattempt}`,
    `TimeoutIdle ${settings.ftp_timeout}`,
    `TimeoutNoTransfer ${settings.ftp_timeout}`,
    `IdentLookups ${onOff(settings.ftp_ident)}`,
    `UseReverseDNS ${onOff(settings.ftp_reversedns)}`,
    settings.ftp_masqaddress === '' ? undefined : `MasqueradeAddress ${settings.ftp_masqaddress}`,
    settings.ftp_passiveportsmin === 0
      ? undefined
      : `PassivePorts ${settings.ftp_passiveportsmin} ${settings.ftp_passiveportsmax}`,
    `AllowForeignAddress ${onOff(settings.ftp_fxp)}`,
    `AllowStoreRestart ${onOff(settings.ftp_resume)}`,
    `AllowRetrieveRestart ${onOff(settings.ftp_resume)}`,
    'AllowOverwrite on',
    `Umask ${settings.ftp_filemask} ${settings.ftp_dirmask}`,
    `AuthPAMConfig ${pamService}`,
    // PAM alone checks passwords.
    'AuthOrder mod_auth_pam.c* mod_auth_unix.c',
    homeLines(settings.ftp_defaultroot ? emptyFolder : volumesFolder),
    'UseFtpUsers off',
    // Accounts that only use file services have no login shell.
    'RequireValidShell off',
    `RootLogin ${onOff(settings.ftp_rootlogin)}`,
    settings.ftp_defaultroot ? 'DefaultRoot ~' : undefined,
    // Limited to accounts, because anonymous clients would inherit the rates.
    transferRates(settings.ftp_localuserbw, settings.ftp_localuserdlbw).map((line) => `${line} user !ftp`),
    accountsMay ? undefined : ['<Limit LOGIN>', '  DenyAll', '</Limit>'],
    settings.ftp_tls ? tlsLines(settings, keyType, hasChain) : undefined,
    anonymousFolder === undefined ? undefined : anonymousLines(settings, anonymousFolder),
    settings.ftp_options === '' ? undefined : ['', settings.ftp_options],
  );
}

/**
 * ProFTPD refuses a login when the home folder of the account does not exist, of this machine or of a directory. These
 * accounts begin in another folder.
 */
function homeLines(folder: string): readonly string[] {
  return [
    'RewriteEngine on',
    'RewriteHome on',
    'RewriteCondition %m REWRITE_HOME',
    'RewriteCondition $0 !-d',
    `RewriteRule ^.*$ ${folder}`,
  ];
}

function tlsLines(settings: Settings, keyType: 'rsa' | 'ec', hasChain: boolean): readonly string[] {
  const kind = keyType === 'rsa' ? 'RSA' : 'EC';
  const checksCertificates =
    settings.ftp_tls_opt_allow_dot_login ||
    settings.ftp_tls_opt_common_name_required ||
    settings.ftp_tls_opt_dns_name_required ||
    settings.ftp_tls_opt_ip_address_required;
  const options = tlsOptions.filter(([name]) => settings[name]).map(([, option]) => option);
  return [
    '',
    'TLSEngine on',
    'TLSProtocol TLSv1.2 TLSv1.3',
    `TLSRequired ${settings.ftp_tls_policy}`,
    ...(options.length === 0 ? [] : [`TLSOptions ${options.join(' ')}`]),
    `TLSVerifyClient ${checksCertificates && !settings.ftp_tls_opt_no_cert_request ? 'optional' : 'off'}`,
    `<IfDefine !${stagedDefine}>`,
    `  TLS${kind}CertificateFile ${certificateFile}`,
    `  TLS${kind}CertificateKeyFile ${certificateFile}`,
    ...(hasChain ? [`  TLSCertificateChainFile ${chainFile}`] : []),
    '</IfDefine>',
  ];
}

const tlsOptions = [
  ['ftp_tls_opt_allow_client_renegotiations', 'AllowClientRenegotiations'],
  ['ftp_tls_opt_allow_dot_login', 'AllowDotLogin'],
  ['ftp_tls_opt_allow_per_user', 'AllowPerUser'],
  ['ftp_tls_opt_common_name_required', 'CommonNameRequired'],
  ['ftp_tls_opt_dns_name_required', 'dNSNameRequired'],
  ['ftp_tls_opt_enable_diags', 'EnableDiags'],
  ['ftp_tls_opt_export_cert_data', 'ExportCertData'],
  ['ftp_tls_opt_ip_address_required', 'iPAddressRequired'],
  ['ftp_tls_opt_no_empty_fragments', 'NoEmptyFragments'],
  ['ftp_tls_opt_no_session_reuse_required', 'NoSessionReuseRequired'],
  ['ftp_tls_opt_stdenvvars', 'StdEnvVars'],
  ['ftp_tls_opt_use_implicit_ssl', 'UseImplicitSSL'],
] as const;

function anonymousLines(settings: Settings, folder: string): readonly string[] {
  return [
    '',
    `<Anonymous ${quoted(folder)}>`,
    '  User ftp',
    '  Group nogroup',
    '  UserAlias anonymous ftp',
    '  RequireValidShell off',
    ...transferRates(settings.ftp_anonuserbw, settings.ftp_anonuserdlbw).map((line) => `  ${line}`),
    '  <Limit LOGIN>',
    '    AllowAll',
    '  </Limit>',
    '</Anonymous>',
  ];
}

function transferRates(up: number, down: number): readonly string[] {
  return [
    ...(up === 0 ? [] : [`TransferRate APPE,STOR,STOU ${up}`]),
    ...(down === 0 ? [] : [`TransferRate RETR ${down}`]),
  ];
}

function onOff(value: boolean): string {
  return value ? 'on' : 'off';
}

/** A quoted string with its special characters escaped. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** The password rules of the machine, which also cover directory accounts. */
export const pamRules = lines(
  '# Written by Holdfast.',
  '@include common-auth',
  '@include common-account',
  '@include common-session-noninteractive',
);
