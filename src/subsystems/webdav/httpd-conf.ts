import { createHash } from 'node:crypto';
import type { WebdavSettings } from '../../areas/services/webdav.ts';
import { type WebdavShare, webdavAccount } from '../../areas/sharing/webdav.ts';
import { lines } from '../../lib/text.ts';

/** The instance's name for the service manager, and that of its folders below /run and /var/lib. */
export const webdavService = 'holdfast-webdav';

const folder = '/etc/holdfast';
export const httpdFile = `${folder}/webdav.conf`;
/** What the server is shown as credentials only, for the account that it works as may not read these files. */
export const secretFiles = {
  users: `${folder}/webdav-users`,
  certificate: `${folder}/webdav-certificate.pem`,
  key: `${folder}/webdav-key.pem`,
} as const;

/** The word with which the checker is told that what comes with the server's start may not be there yet. */
export const stagedWord = 'HOLDFAST_STAGED';

/** What clients are shown when they are asked for a password; a part of what the users' file holds. */
const realm = 'webdav';

const modules = [
  'mpm_event',
  'authn_core',
  'authn_file',
  'authz_core',
  'authz_user',
  'auth_basic',
  'auth_digest',
  'alias',
  'autoindex',
  'dav',
  'dav_fs',
  'mime',
] as const;

/** The part that does not depend on the shares. */
export function serverPart(settings: WebdavSettings): string {
  const {
    webdav_protocol: protocol,
    webdav_tcpport: port,
    webdav_tcpportssl: tlsPort,
    webdav_htauth: login,
  } = settings;
  const byTls = protocol !== 'http';
  return lines(
    '# Written by Holdfast.',
    `ServerRoot ${folder}`,
    // The folder is there while the server runs.
    [`<IfDefine !${stagedWord}>`, `  DefaultRuntimeDir /run/${webdavService}`, '</IfDefine>'],
    `PidFile /run/${webdavService}/httpd.pid`,
    'ServerName localhost',
    'ServerTokens Prod',
    'TraceEnable off',
    `ErrorLog syslog:daemon:${webdavService}`,
    [...modules, ...(byTls ? ['socache_shmcb', 'ssl'] : [])].map(
      (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
    ),
    'TypesConfig /etc/mime.types',
    // Files of any size.
    'LimitRequestBody 0',
    `DavLockDB /var/lib/${webdavService}/locks`,
    protocol === 'https' ? undefined : `Listen ${port}`,
    byTls ? tlsLines(tlsPort) : undefined,
    '',
    // Links are not followed: they would lead out of the share.
    '<Directory "/">',
    '  AllowOverride None',
    '  Options Indexes',
    '</Directory>',
    '<Location "/">',
    login === 'none' ? undefined : authenticationLines(login),
    '  Require all denied',
    '</Location>',
  );
}

function authenticationLines(login: 'basic' | 'digest'): readonly string[] {
  const usersFile = `/run/credentials/${webdavService}.service/users`;
  return [
    `  AuthName "${realm}"`,
    // The file has what the digest needs; a password that comes as it is can be compared with it too.
    ...(login === 'basic'
      ? ['  AuthType Basic', '  AuthBasicProvider file', '  AuthBasicUseDigestAlgorithm MD5']
      : ['  AuthType Digest', '  AuthDigestProvider file']),
    `  AuthUserFile ${usersFile}`,
    // Who is known and may not write is told so, instead of being asked for another password.
    '  AuthzSendForbiddenOnFailure On',
  ];
}

function tlsLines(port: number): readonly string[] {
  const shown = `/run/credentials/${webdavService}.service`;
  return [
    `Listen ${port} https`,
    'SSLSessionCache shmcb:sessions(512000)',
    `<VirtualHost *:${port}>`,
    '  SSLEngine on',
    '  SSLProtocol -all +TLSv1.2 +TLSv1.3',
    `  <IfDefine !${stagedWord}>`,
    `    SSLCertificateFile ${shown}/certificate`,
    `    SSLCertificateKeyFile ${shown}/key`,
    '  </IfDefine>',
    '</VirtualHost>',
  ];
}

/** A share's lines; `address` is the first part of its path for clients. */
export function sharePart(
  { webdav_path, webdav_ro }: WebdavShare,
  address: string,
  login: WebdavSettings['webdav_htauth'],
): string {
  return lines(
    '',
    `Alias "/${address}" ${quoted(webdav_path)}`,
    `<Location "/${address}">`,
    '  Dav On',
    '  <RequireAll>',
    login === 'none' ? '    Require all granted' : `    Require user ${webdavAccount}`,
    webdav_ro ? '    Require method GET OPTIONS PROPFIND' : undefined,
    '  </RequireAll>',
    '</Location>',
  );
}

/** The one user, in the form of `htdigest`: the digest of the name, the realm and the password. */
export function usersFile({ webdav_password: password }: WebdavSettings): string {
  return lines(
    `${webdavAccount}:${realm}:${createHash('md5').update(`${webdavAccount}:${realm}:${password}`).digest('hex')}`,
  );
}

/** The service manager's file: everything is done by the account, the ports below 1024 included. */
export function webdavServiceFile({ webdav_protocol: protocol }: WebdavSettings): string {
  const shown = Object.entries(secretFiles).filter(([name]) => name === 'users' || protocol !== 'http');
  const command = (what: string) => `/usr/sbin/apache2 -f ${httpdFile} -k ${what}`;
  return lines(
    '# Written by Holdfast.',
    '[Unit]',
    'Description=WebDAV server of Holdfast',
    'After=network.target zfs-mount.service',
    '',
    '[Service]',
    'Type=forking',
    `PIDFile=/run/${webdavService}/httpd.pid`,
    `User=${webdavAccount}`,
    `Group=${webdavAccount}`,
    `RuntimeDirectory=${webdavService}`,
    `StateDirectory=${webdavService}`,
    shown.map(([name, path]) => `LoadCredential=${name}:${path}`),
    'AmbientCapabilities=CAP_NET_BIND_SERVICE',
    'CapabilityBoundingSet=CAP_NET_BIND_SERVICE',
    'NoNewPrivileges=yes',
    `ExecStart=${command('start')}`,
    // Whoever is sent something gets it to its end.
    `ExecReload=${command('graceful')}`,
    'KillMode=mixed',
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  );
}

/** A word of the file, whatever is in it. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
