import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ftpSettings } from '../../../src/areas/services/ftp.ts';
import { lines } from '../../../src/lib/text.ts';
import { ftpSubsystem } from '../../../src/subsystems/ftp/subsystem.ts';
import { ecPair, rsaPair } from '../../areas/services/pairs.ts';
import { fileOf, freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const conf = '/etc/proftpd/proftpd.conf';
const pem = '/etc/proftpd/holdfast.pem';

test('accounts without a home folder start at the volumes, or in an empty folder if they are confined to their home', () => {
  const start = (ftp_defaultroot: boolean) =>
    change({ ftp_defaultroot }).find((line) => line.startsWith('RewriteRule'));
  assert.equal(start(false), 'RewriteRule ^.*$ /mnt');
  assert.equal(start(true), 'RewriteRule ^.*$ /usr/lib/holdfast/empty');
});

test('the settings of a fresh system let accounts log in', () => {
  const draft = freshConfiguration();
  const desired = ftpSubsystem.render(draft, machine);
  assert.equal(
    fileOf(desired, conf),
    lines(
      '# Written by Holdfast.',
      'ModulePath /usr/lib/proftpd',
      '<IfModule !mod_delay.c>',
      '  LoadModule mod_delay.c',
      '</IfModule>',
      '<IfModule !mod_ls.c>',
      '  LoadModule mod_ls.c',
      '</IfModule>',
      '<IfModule !mod_xfer.c>',
      '  LoadModule mod_xfer.c',
      '</IfModule>',
      'LoadModule mod_ident.c',
      'LoadModule mod_rewrite.c',
      '',
      'ServerType standalone',
      'ServerName "Holdfast"',
      'DefaultServer on',
      'DefaultAddress 127.0.0.1',
      'UseIPv6 on',
      'User proftpd',
      'Group nogroup',
      'PidFile /run/proftpd.pid',
      'SystemLog /var/log/proftpd/proftpd.log',
      'TransferLog /var/log/proftpd/xferlog',
      'ControlsEngine off',
      'Port 21',
      'ServerIdent off',
      'MaxInstances 42',
      'MaxClients 32',
      'MaxLoginAttempts 3',
      'TimeoutIdle 120',
      'TimeoutNoTransfer 120',
      'IdentLookups off',
      'UseReverseDNS off',
      'AllowForeignAddress off',
      'AllowStoreRestart off',
      'AllowRetrieveRestart off',
      'AllowOverwrite on',
      'Umask 077 077',
      'AuthPAMConfig holdfast-ftp',
      'AuthOrder mod_auth_pam.c* mod_auth_unix.c',
      'RewriteEngine on',
      'RewriteHome on',
      'RewriteCondition %m REWRITE_HOME',
      'RewriteCondition $0 !-d',
      'RewriteRule ^.*$ /mnt',
      'UseFtpUsers off',
      'RequireValidShell off',
      'RootLogin off',
    ),
  );
  assert.equal(fileOf(desired, pem), undefined);
  assert.equal(
    fileOf(desired, '/etc/pam.d/holdfast-ftp'),
    lines(
      '# Written by Holdfast.',
      '@include common-auth',
      '@include common-account',
      '@include common-session-noninteractive',
    ),
  );
  assert.deepEqual(desired.services, [{ name: 'proftpd', running: false, onChange: 'reload' }]);
});

/** The lines of the file that a fresh system's has not. */
function linesBeyondFresh(sent: Parameters<typeof change>[0]): readonly string[] {
  const fresh = (fileOf(ftpSubsystem.render(freshConfiguration(), machine), conf) ?? '').split('\n');
  return change(sent).filter((line) => !fresh.includes(line));
}

function change(sent: Partial<Omit<ReturnType<typeof settings>, 'id'>>): readonly string[] {
  const draft = freshConfiguration();
  draft.update(ftpSettings, 1, sent);
  assert.deepEqual(draft.issues.toIssues(), {});
  return (fileOf(ftpSubsystem.render(draft, machine), conf) ?? '').split('\n');
}

const settings = () => freshConfiguration().only(ftpSettings);

test('every setting of the server reaches its file', () => {
  assert.deepEqual(
    linesBeyondFresh({
      ftp_port: 2121,
      ftp_clients: 5,
      ftp_ipconnections: 2,
      ftp_loginattempt: 0,
      ftp_timeout: 600,
      ftp_rootlogin: true,
      ftp_banner: String.raw`Say "hi" \ 100% %L`,
      ftp_filemask: '022',
      ftp_dirmask: '002',
      ftp_fxp: true,
      ftp_resume: true,
      ftp_defaultroot: true,
      ftp_ident: true,
      ftp_reversedns: true,
      ftp_masqaddress: 'nas.example',
      ftp_passiveportsmin: 50000,
      ftp_passiveportsmax: 50010,
      ftp_localuserbw: 100,
      ftp_localuserdlbw: 200,
      ftp_options: 'TimesGMT off\nListOptions "-a"',
    }),
    [
      'Port 2121',
      'ServerIdent on "Say \\"hi\\" \\\\ 100% %\u2060L"',
      'MaxInstances 15',
      'MaxClients 5',
      'MaxConnectionsPerHost 2',
      'MaxLoginAttempts none',
      'TimeoutIdle 600',
      'TimeoutNoTransfer 600',
      'IdentLookups on',
      'UseReverseDNS on',
      'MasqueradeAddress nas.example',
      'PassivePorts 50000 50010',
      'AllowForeignAddress on',
      'AllowStoreRestart on',
      'AllowRetrieveRestart on',
      'Umask 022 002',
      'RewriteRule ^.*$ /usr/lib/holdfast/empty',
      'RootLogin on',
      'DefaultRoot ~',
      'TransferRate APPE,STOR,STOU 100 user !ftp',
      'TransferRate RETR 200 user !ftp',
      'TimesGMT off',
      'ListOptions "-a"',
    ],
  );
});

const anonymousSection = [
  '<Anonymous "/mnt/tank/a \\"b\\"">',
  '  User ftp',
  '  Group nogroup',
  '  UserAlias anonymous ftp',
  '  RequireValidShell off',
  '  TransferRate APPE,STOR,STOU 10',
  '  TransferRate RETR 20',
  '  <Limit LOGIN>',
  '    AllowAll',
  '  </Limit>',
  '</Anonymous>',
];
const anonymous = {
  ftp_onlyanonymous: true,
  ftp_anonpath: '/mnt/tank/a "b"',
  ftp_anonuserbw: 10,
  ftp_anonuserdlbw: 20,
};

test('only anonymous clients may log in with ftp_onlyanonymous', () => {
  assert.deepEqual(linesBeyondFresh(anonymous), ['<Limit LOGIN>', '  DenyAll', '</Limit>', ...anonymousSection]);
});

test('accounts and anonymous clients may log in with ftp_onlyanonymous and ftp_onlylocal', () => {
  assert.deepEqual(linesBeyondFresh({ ...anonymous, ftp_onlylocal: true }), anonymousSection);
});

test('ftp_anonpath has no effect without ftp_onlyanonymous', () => {
  assert.deepEqual(linesBeyondFresh({ ...anonymous, ftp_onlyanonymous: false }), []);
});

test('an anonymous folder on an unmounted volume is omitted and reported', () => {
  const draft = freshConfiguration();
  draft.update(ftpSettings, 1, { ftp_onlyanonymous: true, ftp_anonpath: '/mnt/locked/pub' });
  const desired = ftpSubsystem.render(draft, machine);
  assert.doesNotMatch(fileOf(desired, conf) ?? '', /<Anonymous/);
});

test('TLS is configured with its policy, options and a certificate directive for the key type', () => {
  assert.deepEqual(
    linesBeyondFresh({
      ftp_tls: true,
      ftp_tls_policy: 'off',
      ftp_ssltls_certfile: rsaPair,
      ftp_tls_opt_allow_client_renegotiations: true,
      ftp_tls_opt_allow_dot_login: true,
      ftp_tls_opt_allow_per_user: true,
      ftp_tls_opt_common_name_required: true,
      ftp_tls_opt_dns_name_required: true,
      ftp_tls_opt_enable_diags: true,
      ftp_tls_opt_export_cert_data: true,
      ftp_tls_opt_ip_address_required: true,
      ftp_tls_opt_no_empty_fragments: true,
      ftp_tls_opt_no_session_reuse_required: true,
      ftp_tls_opt_stdenvvars: true,
      ftp_tls_opt_use_implicit_ssl: true,
    }),
    [
      'LoadModule mod_tls.c',
      'TLSEngine on',
      'TLSProtocol TLSv1.2 TLSv1.3',
      'TLSRequired off',
      'TLSOptions AllowClientRenegotiations AllowDotLogin AllowPerUser CommonNameRequired dNSNameRequired EnableDiags ExportCertData iPAddressRequired NoEmptyFragments NoSessionReuseRequired StdEnvVars UseImplicitSSL',
      'TLSVerifyClient optional',
      '<IfDefine !HOLDFAST_STAGED>',
      '  TLSRSACertificateFile /etc/proftpd/holdfast.pem',
      '  TLSRSACertificateKeyFile /etc/proftpd/holdfast.pem',
      '</IfDefine>',
    ],
  );
  assert.deepEqual(
    linesBeyondFresh({
      ftp_tls: true,
      ftp_ssltls_certfile: ecPair,
      ftp_tls_opt_allow_dot_login: true,
      ftp_tls_opt_no_cert_request: true,
    }).slice(3),
    [
      'TLSRequired on',
      'TLSOptions AllowDotLogin',
      'TLSVerifyClient off',
      '<IfDefine !HOLDFAST_STAGED>',
      '  TLSECCertificateFile /etc/proftpd/holdfast.pem',
      '  TLSECCertificateKeyFile /etc/proftpd/holdfast.pem',
      '</IfDefine>',
    ],
  );
});

test('the certificate and key are in a file that only root can read, and only while TLS is on', () => {
  const draft = freshConfiguration();
  draft.update(ftpSettings, 1, { ftp_ssltls_certfile: rsaPair });
  assert.equal(fileOf(ftpSubsystem.render(draft, machine), pem), undefined);
  draft.update(ftpSettings, 1, { ftp_tls: true });
  const file = ftpSubsystem.render(draft, machine).files?.find(({ path }) => path === pem);
  assert.equal(file?.content, `${rsaPair}\n`);
  assert.equal(file?.mode, 0o600);
});

test('the server runs when its service is on', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'ftp');
  assert.equal(ftpSubsystem.render(draft, machine).services?.[0]?.running, true);
});

test('the error message contains the message of proftpd', () => {
  const checker = ftpSubsystem.render(freshConfiguration(), machine).files?.find(({ path }) => path === conf)?.verify;
  const fatal =
    "Checking syntax of configuration file\n2026-11-21 05:48:34,463 nas proftpd[25733]: fatal: unknown configuration directive 'Nosuch' on line 8 of '/x'\n";
  const conflict =
    "2026-11-21 05:49:00,362 nas proftpd[2578] localhost: mod_tls/2.9.2: Server x: cannot enforce both 'TLSRequired auth' and 'TLSOptions AllowPerUser' at the same time\n";
  assert.equal(
    checker?.objection({ status: 1, stdout: '', stderr: fatal }),
    "The FTP server rejects its configuration: unknown configuration directive 'Nosuch' on line 8 of '/x'",
  );
  assert.match(checker?.objection({ status: 0, stdout: '', stderr: conflict }) ?? '', /cannot enforce both/);
  assert.equal(
    checker?.objection({ status: 0, stdout: 'Checking syntax of configuration file\n', stderr: '' }),
    undefined,
  );
});
