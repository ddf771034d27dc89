import { createHash } from 'node:crypto';
import type { WebdavSettings } from '../../areas/services/webdav.ts';
import { type WebdavShare, webdavAccount } from '../../areas/sharing/webdav.ts';
import { lines } from '../../lib/text.ts';

/** The name of the systemd service, and of its folders below /run and /var/lib. */
export const webdavUnit = 'holdfast-webdav';

const folder = '/etc/holdfast';
export const httpdFile = `${folder}/webdav.conf`;
/** Files that systemd passes to the server as credentials, because the server's account may not read them. */
export const secretFiles = {
  users: `${folder}/webdav-users`,
  certificate: `${folder}/webdav-certificate.pem`,
  key: `${folder}/webdav-key.pem`,
} as const;

/** Defined only for the check, when files that exist only while the server runs may be missing. */
export const stagedDefine = 'HOLDFAST_STAGED';

/** The authentication realm. It is part of the digest in the users' file. */
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
    // The folder exists only while the server runs.
    [`<IfDefine !${stagedDefine}>`, `  DefaultRuntimeDir /run/${webdavUnit}`, '</IfDefine>'],
    `PidFile /run/${webdavUnit}/httpd.pid`,
    'ServerName localhost',
    'ServerTokens Prod',
    'TraceEnable off',
    `ErrorLog syslog:daemon:${webdavUnit}`,
    [...modules, ...(byTls ? ['socache_shmcb', 'ssl'] : [])].map(
      (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
    ),
    'TypesConfig /etc/mime.types',
    // Files of any size.
    'LimitRequestBody 0',
    `DavLockDB /var/lib/${webdavUnit}/locks`,
    protocol === 'https' ? undefined : `Listen ${port}`,
    byTls ? tlsLines(tlsPort) : undefined,
    '',
    // Symbolic links are not followed, because they can lead out of the share.
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
  const usersFile = `/run/credentials/${webdavUnit}.service/users`;
  return [
    `  AuthName "${realm}"`,
    // The file has htdigest entries, which also serve for Basic authentication.
    ...(login === 'basic'
      ? ['  AuthType Basic', '  AuthBasicProvider file', '  AuthBasicUseDigestAlgorithm MD5']
      : ['  AuthType Digest', '  AuthDigestProvider file']),
    `  AuthUserFile ${usersFile}`,
    // Answer 403 instead of 401 to an authenticated user without write access.
    '  AuthzSendForbiddenOnFailure On',
  ];
}

function tlsLines(port: number): readonly string[] {
  const shown = `/run/credentials/${webdavUnit}.service`;
  return [
    `Listen ${port} https`,
    'SSLSessionCache shmcb:sessions(512000)',
    `<VirtualHost *:${port}>`,
    '  SSLEngine on',
    '  SSLProtocol -all +TLSv1.2 +TLSv1.3',
    `  <IfDefine !${stagedDefine}>`,
    `    SSLCertificateFile ${shown}/certificate`,
    `    SSLCertificateKeyFile ${shown}/key`,
    '  </IfDefine>',
    '</VirtualHost>',
  ];
}

/** The lines of a share; `address` is the first segment of its URL path. */
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

/** The single user in htdigest format, with the digest of the name, the realm and the password. */
export function usersFile({ webdav_password: password }: WebdavSettings): string {
  return lines(
    `${webdavAccount}:${realm}:${createHash('md5').update(`${webdavAccount}:${realm}:${password}`).digest('hex')}`,
  );
}

/** The systemd unit. Apache runs entirely under the account; a capability allows ports below 1024. */
export function webdavUnitFile({ webdav_protocol: protocol }: WebdavSettings): string {
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
    `PIDFile=/run/${webdavUnit}/httpd.pid`,
    `User=${webdavAccount}`,
    `Group=${webdavAccount}`,
    `RuntimeDirectory=${webdavUnit}`,
    `StateDirectory=${webdavUnit}`,
    shown.map(([name, path]) => `LoadCredential=${name}:${path}`),
    'AmbientCapabilities=CAP_NET_BIND_SERVICE',
    'CapabilityBoundingSet=CAP_NET_BIND_SERVICE',
    'NoNewPrivileges=yes',
    `ExecStart=${command('start')}`,
    // A graceful reload lets transfers finish.
    `ExecReload=${command('graceful')}`,
    'KillMode=mixed',
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  );
}

/** A quoted string with its special characters escaped. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
