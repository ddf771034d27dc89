import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webdavSettings } from '../../../src/areas/services/webdav.ts';
import { webdavShare } from '../../../src/areas/sharing/webdav.ts';
import type { SentOf } from '../../../src/engine/declare/resource.ts';
import { webdavSubsystem } from '../../../src/subsystems/webdav/subsystem.ts';
import { fileOf, freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const httpdFile = '/etc/holdfast/webdav.conf';

/** With the account that the folders go to. */
const world = {
  ...machine,
  accounts: {
    ...machine.accounts,
    users: [
      ...machine.accounts.users,
      { name: 'webdav', uid: 666, gid: 666, fullName: '', home: '/', shell: '/bin/sh' },
    ],
    groups: [...machine.accounts.groups, { name: 'webdav', gid: 666 }],
  },
};

function configured(
  settings: SentOf<typeof webdavSettings.fields>,
  ...shares: readonly SentOf<typeof webdavShare.fields>[]
) {
  const draft = freshConfiguration(world);
  switchOn(draft, 'webdav');
  draft.update(webdavSettings, 1, settings);
  for (const share of shares) draft.create(webdavShare, share);
  assert.deepEqual(draft.issues.toIssues(), {});
  return draft;
}

test('the whole file for a writable and a read-only share', () => {
  const draft = configured(
    { webdav_tcpport: 8090 },
    { webdav_name: 'films', webdav_path: '/mnt/tank/films' },
    { webdav_name: 'Books', webdav_path: '/mnt/tank/a "b" \\', webdav_ro: true },
  );
  assert.equal(
    fileOf(webdavSubsystem.render(draft, world), httpdFile),
    `# Written by Holdfast.
ServerRoot /etc/holdfast
<IfDefine !HOLDFAST_STAGED>
  DefaultRuntimeDir /run/holdfast-webdav
</IfDefine>
PidFile /run/holdfast-webdav/httpd.pid
ServerName localhost
ServerTokens Prod
TraceEnable off
ErrorLog syslog:daemon:holdfast-webdav
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authn_core_module /usr/lib/apache2/modules/mod_authn_core.so
LoadModule authn_file_module /usr/lib/apache2/modules/mod_authn_file.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule authz_user_module /usr/lib/apache2/modules/mod_authz_user.so
LoadModule auth_basic_module /usr/lib/apache2/modules/mod_auth_basic.so
LoadModule auth_digest_module /usr/lib/apache2/modules/mod_auth_digest.so
LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so
LoadModule autoindex_module /usr/lib/apache2/modules/mod_autoindex.so
LoadModule dav_module /usr/lib/apache2/modules/mod_dav.so
LoadModule dav_fs_module /usr/lib/apache2/modules/mod_dav_fs.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
TypesConfig /etc/mime.types
LimitRequestBody 0
DavLockDB /var/lib/holdfast-webdav/locks
Listen 8090

<Directory "/">
  AllowOverride None
  Options Indexes
</Directory>
<Location "/">
  AuthName "webdav"
  AuthType Digest
  AuthDigestProvider file
  AuthUserFile /run/credentials/holdfast-webdav.service/users
  AuthzSendForbiddenOnFailure On
  Require all denied
</Location>

Alias "/films" "/mnt/tank/films"
<Location "/films">
  Dav On
  <RequireAll>
    Require user webdav
  </RequireAll>
</Location>

Alias "/Books" "/mnt/tank/a \\"b\\" \\\\"
<Location "/Books">
  Dav On
  <RequireAll>
    Require user webdav
    Require method GET OPTIONS PROPFIND
  </RequireAll>
</Location>
`,
  );
});

test('the password reaches the server as the digest of the user, the realm and itself', () => {
  const desired = webdavSubsystem.render(configured({ webdav_password: 'Mufasa' }), world);
  // Of `printf webdav:webdav:Mufasa | md5sum`.
  assert.equal(fileOf(desired, '/etc/holdfast/webdav-users'), 'webdav:webdav:4842f8bc3bed50e03a0eb314c8518a5b\n');
  assert.equal(desired.files?.find(({ path }) => path.endsWith('-users'))?.mode, 0o600);
  assert.doesNotMatch(JSON.stringify(desired.files?.filter(({ path }) => !path.endsWith('-users'))), /Mufasa|4842f8/);
});

test('webdav_htauth selects the kind of login', () => {
  const share = { webdav_name: 'films', webdav_path: '/mnt/tank/films' };
  const file = (webdav_htauth: 'none' | 'basic' | 'digest') =>
    fileOf(webdavSubsystem.render(configured({ webdav_htauth }, share), world), httpdFile) ?? '';
  assert.match(file('basic'), / {2}AuthType Basic\n {2}AuthBasicProvider file\n {2}AuthBasicUseDigestAlgorithm MD5\n/);
  assert.match(file('basic'), /Require user webdav/);
  assert.doesNotMatch(file('none'), /Auth(?:Type|Name|UserFile)|Require user/);
  assert.match(file('none'), /<Location "\/films">\n {2}Dav On\n {2}<RequireAll>\n {4}Require all granted\n/);
});

test('of several shares with one name the oldest has the plain name, and the others append their ids', () => {
  const paths = ['/mnt/tank/one', '/mnt/tank/two', '/mnt/locked/three', '/mnt/tank/four'];
  const draft = configured(
    {},
    ...paths.map((webdav_path, index) => ({ webdav_name: index === 3 ? 'Twice' : 'twice', webdav_path })),
  );
  const aliases = () =>
    [...(fileOf(webdavSubsystem.render(draft, world), httpdFile) ?? '').matchAll(/^Alias (.*)$/gm)].map(
      (match) => match[1],
    );
  assert.deepEqual(aliases(), ['"/twice" "/mnt/tank/one"', '"/twice-2" "/mnt/tank/two"', '"/Twice" "/mnt/tank/four"']);
  draft.remove(webdavShare, 1);
  assert.deepEqual(aliases(), ['"/twice" "/mnt/tank/two"', '"/Twice" "/mnt/tank/four"']);
});

test('the separate service reloads for shares and restarts for other settings', () => {
  const draft = configured({});
  const before = webdavSubsystem.render(draft, world);
  assert.equal(
    fileOf(before, '/etc/systemd/system/holdfast-webdav.service'),
    `# Written by Holdfast.
[Unit]
Description=WebDAV server of Holdfast
After=network.target zfs-mount.service

[Service]
Type=forking
PIDFile=/run/holdfast-webdav/httpd.pid
User=webdav
Group=webdav
RuntimeDirectory=holdfast-webdav
StateDirectory=holdfast-webdav
LoadCredential=users:/etc/holdfast/webdav-users
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ExecStart=/usr/sbin/apache2 -f /etc/holdfast/webdav.conf -k start
ExecReload=/usr/sbin/apache2 -f /etc/holdfast/webdav.conf -k graceful
KillMode=mixed

[Install]
WantedBy=multi-user.target
`,
  );
  const [service] = before.services ?? [];
  assert.deepEqual([service?.name, service?.running, service?.onChange], ['holdfast-webdav', true, 'reload']);
  const atStart = () => webdavSubsystem.render(draft, world).services?.[0]?.readAtStart;
  draft.create(webdavShare, { webdav_name: 'films', webdav_path: '/mnt/tank/films' });
  assert.equal(atStart(), service?.readAtStart);
  for (const change of [{ webdav_tcpport: 81 }, { webdav_password: 'other' }, { webdav_htauth: 'basic' }] as const) {
    const last = atStart();
    draft.update(webdavSettings, 1, change);
    assert.notEqual(atStart(), last, JSON.stringify(change));
  }
});
