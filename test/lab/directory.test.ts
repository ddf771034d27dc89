import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ntHash } from '../../src/lib/md4.ts';
import { Machine } from '../support/lab/machine.ts';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';
import { run, runClient } from '../support/lab/network.ts';

/** The appliance, and another machine that is an LDAP server and a NIS server. Each test builds on the earlier ones. */
let nas: Nas;
let far: Machine;
let folder: string;
let authority: number;

const slapdConf = `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
include /usr/share/doc/samba/examples/LDAP/samba.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCACertificateFile /srv/ldap/ca.pem
TLSCertificateFile /srv/ldap/server.pem
TLSCertificateKeyFile /srv/ldap/server.key
database mdb
suffix "dc=example,dc=com"
rootdn "cn=admin,dc=example,dc=com"
rootpw "the server's own"
directory /srv/ldap/db
access to attrs=userPassword by anonymous auth by * none
access to attrs=sambaNTPassword by dn.exact="cn=reader,dc=example,dc=com" read
  by dn.exact="cn=writer,dc=example,dc=com" read by * none
access to * by dn.exact="cn=writer,dc=example,dc=com" write by * read
`;

const entries = () => `dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=com
objectClass: organizationalUnit
ou: groups

dn: cn=reader,dc=example,dc=com
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: may read

dn: cn=clerk,dc=example,dc=com
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: clerk
userPassword: may count

dn: cn=writer,dc=example,dc=com
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: writer
userPassword: may write

dn: sambaDomainName=HOLDFAST,dc=example,dc=com
objectClass: sambaDomain
sambaDomainName: HOLDFAST
sambaSID: S-1-5-21-1111-2222-3333

dn: uid=lena,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
objectClass: posixAccount
objectClass: shadowAccount
objectClass: sambaSamAccount
sambaSID: S-1-5-21-1111-2222-3333-5001
sambaNTPassword: ${ntHash('lenas secret')}
sambaAcctFlags: [U          ]
sambaPwdLastSet: 1700000000
uid: lena
cn: Lena
sn: Lena
uidNumber: 20001
gidNumber: 20000
homeDirectory: /tmp
loginShell: /bin/bash
userPassword: lenas secret

dn: uid=otto,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
objectClass: posixAccount
uid: otto
cn: Otto
sn: Otto
uidNumber: 20002
gidNumber: 20000
homeDirectory: /home/otto
userPassword: ottos secret

dn: cn=painters,ou=groups,dc=example,dc=com
objectClass: posixGroup
cn: painters
gidNumber: 20000
memberUid: lena
`;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'directory-'));
  far = await Machine.start({ name: 'far', disks: 0, memory: 768 });
  const pem = (name: string) => join(folder, name);
  await run(
    'openssl',
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '30',
    '-subj',
    '/CN=Test authority',
    '-keyout',
    pem('ca.key'),
    '-out',
    pem('ca.pem'),
  );
  const request = [
    '-subj',
    `/CN=${far.address}`,
    '-addext',
    `subjectAltName=IP:${far.address}`,
    '-addext',
    'basicConstraints=CA:FALSE',
  ];
  const signed = ['-CA', pem('ca.pem'), '-CAkey', pem('ca.key')];
  await run(
    'openssl',
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '30',
    ...request,
    ...signed,
    '-keyout',
    pem('server.key'),
    '-out',
    pem('server.pem'),
  );
  await far.run('mkdir -p /srv/ldap/db');
  for (const name of ['ca.pem', 'server.pem', 'server.key'])
    await put(`/srv/ldap/${name}`, await readFile(pem(name), 'utf8'));
  await put('/srv/ldap/slapd.conf', slapdConf);
  await put('/srv/ldap/entries', entries());
  await far.run(`
    slapadd -f /srv/ldap/slapd.conf -l /srv/ldap/entries
    slapd -f /srv/ldap/slapd.conf -h 'ldap:/// ldaps:///'`);
  nas = await startNas({ disks: 2, memory: 1024 });
  authority = await imported('authority', 'ca');
  await nas.api.expect(200, 'PUT', 'services/ssh/', { ssh_passwordauth: true });
  await nas.api.expect(200, 'PUT', 'services/services/ssh/', { srv_enable: true });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Imports an authority and returns its id. */
async function imported(name: string, file: string): Promise<number> {
  const certificate = await readFile(join(folder, `${file}.pem`), 'utf8');
  await nas.api.expect(201, 'POST', 'system/certificateauthority/import/', {
    cert_name: name,
    cert_certificate: certificate,
    cert_serial: null,
  });
  const found = (await nas.api.list('system/certificateauthority/')).find((one) => one['cert_name'] === name);
  return Number(found?.['id']);
}

const put = (path: string, content: string) => far.run(`cat >${path} <<'END_OF_FILE'\n${content}\nEND_OF_FILE`);

const ssh = (user: string, password: string, command: string) =>
  runClient([
    'sshpass',
    ...[
      '-p',
      password,
      'ssh',
      '-o',
      'StrictHostKeyChecking=no',
      '-o',
      'UserKnownHostsFile=/dev/null',
      '-o',
      'LogLevel=ERROR',
    ],
    ...['-o', 'PubkeyAuthentication=no', '-o', 'NumberOfPasswordPrompts=1', `${user}@${nas.machine.address}`, command],
  ]);

const smb = (user: string, password: string, command: string) =>
  runClient(['smbclient', `//${nas.machine.address}/papers`, '-U', `${user}%${password}`, '-c', command]);

const settings = () => ({
  ldap_enable: true,
  ldap_hostname: far.address,
  ldap_basedn: 'dc=example,dc=com',
  ldap_binddn: 'cn=reader,dc=example,dc=com',
  ldap_bindpw: 'may read',
  ldap_usersuffix: 'ou=people',
  ldap_groupsuffix: 'ou=groups',
  ldap_timeout: 5,
});

/** Asserts that settings are refused with this message, and change nothing. */
async function refused(body: object, words: RegExp) {
  const before = await nas.api.expect(200, 'GET', 'directoryservice/ldap/');
  const answer = await nas.api.put('directoryservice/ldap/', body);
  assert.equal(answer.status, 409, answer.text);
  assert.match(answer.text, words);
  assert.deepEqual(await nas.api.expect(200, 'GET', 'directoryservice/ldap/'), before);
  assert.equal(
    (await nas.machine.tryRun('systemctl is-active nslcd')).output.trim(),
    before['ldap_enable'] === true ? 'active' : 'inactive',
  );
}

test('an unusable directory is reported with the reason, and nothing is stored', async () => {
  await refused(
    { ...settings(), ldap_bindpw: 'wrong' },
    /refused the account cn=reader,dc=example,dc=com or its password/,
  );
  await refused({ ...settings(), ldap_hostname: `${far.address}:3999` }, /is not reachable/);
  await refused({ ...settings(), ldap_basedn: 'dc=other,dc=com' }, /has no entry dc=other,dc=com/);
  // An unused address: the attempt takes no longer than the time-out in the settings.
  const begun = Date.now();
  await refused(
    { ...settings(), ldap_hostname: '10.0.2.99', ldap_timeout: 2, ldap_dns_timeout: 1 },
    /is not reachable|did not answer/,
  );
  assert.ok(Date.now() - begun < 30_000);
});

test('accounts of the directory are accounts of the machine until it is switched off', async () => {
  await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', settings());
  assert.equal(await nas.machine.run('getent passwd lena'), 'lena:x:20001:20000:Lena:/tmp:/bin/bash\n');
  assert.match(await nas.machine.run('getent passwd; id lena'), /lena[\s\S]*20000\(painters\)/);
  assert.equal((await ssh('lena', 'lenas secret', 'id -un')).stdout, 'lena\n');
  assert.notEqual((await ssh('lena', 'another', 'id -un')).status, 0);
  await nas.machine.run('test "$(stat -c %a /etc/nslcd.conf)" = 600');
  await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', { ldap_enable: false });
  assert.notEqual((await nas.machine.tryRun('getent passwd lena')).status, 0);
  await nas.machine.run('test ! -e /etc/nslcd.conf');
});

test('an account of the directory logs in by FTP, also when its home folder does not exist', async () => {
  await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', settings());
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  const start = async (user: string, password: string) => {
    const credentials = `${user}:${password}`;
    const { stderr } = await runClient(['curl', '-sv', '-m', '10', '-u', credentials, `ftp://${nas.machine.address}/`]);
    return /257 "([^"]*)"|(530 .*)/.exec(stderr)?.slice(1).find(Boolean);
  };
  await eventually(30, async () => assert.equal(await start('lena', 'lenas secret'), '/tmp'));
  assert.equal(await start('otto', 'ottos secret'), '/mnt');
  assert.match((await start('otto', 'another')) ?? '', /^530 /);
  await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_defaultroot: true });
  await eventually(30, async () => assert.equal(await start('otto', 'ottos secret'), '/'));
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: false });
  await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', { ldap_enable: false });
});

for (const ssl of ['on', 'start_tls']) {
  test(`with ldap_ssl ${ssl} the server must authenticate itself`, async () => {
    await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', {
      ...settings(),
      ldap_anonbind: true,
      ldap_ssl: ssl,
      ldap_certificate: authority,
    });
    assert.match(await nas.machine.run('getent passwd lena'), /^lena:/);
    assert.equal((await ssh('lena', 'lenas secret', 'id -un')).stdout, 'lena\n');
    await run(
      'openssl',
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '30',
      '-subj',
      '/CN=Stranger',
      '-keyout',
      join(folder, 'stranger.key'),
      '-out',
      join(folder, 'stranger.pem'),
    );
    await refused(
      { ldap_certificate: await imported(`stranger-${ssl}`, 'stranger') },
      /could not be verified|is not signed by/,
    );
    await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', {
      ldap_enable: false,
      ldap_anonbind: false,
      ldap_ssl: 'off',
    });
  });
}

test('accounts of a directory with the Samba schema log in to shares', async () => {
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ubdc', 'ubdd'] }],
  });
  await nas.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/papers', cifs_name: 'papers' });
  await nas.api.expect(201, 'POST', 'sharing/cifs/', {
    cifs_path: '/mnt/tank/posters',
    cifs_name: 'posters',
    cifs_guestok: true,
  });
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'marys secret',
    bsdusr_creategroup: true,
    bsdusr_shell: '/bin/bash',
  });
  await nas.machine.run('chmod 777 /mnt/tank/papers');
  assert.equal((await smb('mary', 'marys secret', 'ls')).status, 0);

  await refused(
    { ...settings(), ldap_has_samba_schema: true, ldap_binddn: 'cn=clerk,dc=example,dc=com', ldap_bindpw: 'may count' },
    /cn=clerk,dc=example,dc=com cannot read Samba passwords/,
  );
  await refused(
    { ...settings(), ldap_has_samba_schema: true, ldap_netbiosname_a: 'other' },
    /no entry sambaDomainName=OTHER.* cannot be added as cn=reader.*sambaSID S-1-5-21-1111-2222-3333: .*Insufficient/,
  );
  await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', {
    ...settings(),
    ldap_has_samba_schema: true,
    ldap_netbiosname_a: 'other',
    ldap_binddn: 'cn=writer,dc=example,dc=com',
    ldap_bindpw: 'may write',
  });
  assert.equal((await smb('lena', 'lenas secret', 'ls')).status, 0);
  await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', { ldap_enable: false, ldap_netbiosname_a: 'holdfast' });
  for (const ssl of ['off', 'start_tls', 'on']) {
    await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', {
      ...settings(),
      ldap_has_samba_schema: true,
      ldap_ssl: ssl,
      ldap_certificate: ssl === 'off' ? null : authority,
    });
    const outcome = await smb('lena', 'lenas secret', `put /etc/hostname letter-${ssl}; ls`);
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
    assert.equal(await nas.machine.run(`stat -c '%U %G' /mnt/tank/papers/letter-${ssl}`), 'lena painters\n');
    assert.match((await smb('lena', 'another', 'ls')).stdout, /NT_STATUS_LOGON_FAILURE/);
  }
  // Samba has one password store, here that of the directory: the machine's own accounts cannot use SMB, but everything
  // else is unchanged for them.
  assert.match((await smb('mary', 'marys secret', 'ls')).stdout, /NT_STATUS_ACCESS_DENIED/);
  assert.equal((await ssh('mary', 'marys secret', 'id -un')).stdout, 'mary\n');
  assert.equal(
    (await runClient(['smbclient', `//${nas.machine.address}/posters`, '-N', '-c', 'ls'])).status,
    0,
    'guests are nobody of either',
  );
  // The entry for the directory comes and goes with its setting.
  const kept = () =>
    nas.machine.run(
      `python3 -c 'import tdb; print(sum(b"LDAP_BIND_PW" in key for key in tdb.open("/var/lib/samba/private/secrets.tdb").keys()))'`,
    );
  assert.equal(await kept(), '1\n');
  await nas.machine.run('systemctl stop holdfast-samba-directory');
  assert.equal(await kept(), '0\n');
  await nas.machine.run('systemctl start holdfast-samba-directory; systemctl restart smbd');
  await eventually(30, async () => assert.equal((await smb('lena', 'lenas secret', 'ls')).status, 0));
  await nas.api.expect(200, 'PUT', 'directoryservice/ldap/', { ldap_enable: false, ldap_ssl: 'off' });
  assert.equal(await kept(), '0\n');
  assert.equal((await smb('mary', 'marys secret', 'ls')).status, 0);
  assert.match((await smb('lena', 'lenas secret', 'put /etc/hostname again')).stdout, /NT_STATUS/);
});

test('the password is neither in the log nor in the jobs', async () => {
  assert.doesNotMatch(
    await nas.machine.run('journalctl -q --no-pager -o cat; ps -eo args; cat /var/log/samba/log.*'),
    /may read/,
  );
  assert.doesNotMatch(
    JSON.stringify(await nas.api.list('/api/holdfast/v1/jobs?subject=directoryservice/ldap')),
    /may read/,
  );
});

test('accounts of a NIS domain are accounts of the machine', async () => {
  await far.run(`
    useradd -u 21001 -U -m -s /bin/bash nora && echo 'nora:noras secret' | chpasswd
    echo test-domain >/etc/defaultdomain; domainname test-domain
    systemctl start rpcbind.socket rpcbind
    sed -i 's/^MERGE_PASSWD=.*/MERGE_PASSWD=true/; s/^MERGE_GROUP=.*/MERGE_GROUP=true/' /var/yp/Makefile
    printf '10.0.2.0/24 : * : * : none\\n' >>/etc/ypserv.conf
    printf '255.0.0.0 127.0.0.0\\n255.255.255.0 10.0.2.0\\n' >/etc/ypserv.securenets
    systemctl start ypserv
    mkdir -p /var/yp/test-domain && cd /var/yp/test-domain && make -f ../Makefile NOPUSH=true DOMAIN=test-domain passwd group`);
  await nas.machine.run('systemctl start rpcbind.socket rpcbind');
  await nas.api.expect(200, 'PUT', 'directoryservice/nis/', { nis_domain: 'test-domain' });
  await nas.api.expect(200, 'PUT', 'directoryservice/nis/', { nis_servers: far.address, nis_enable: true });
  await eventually(30, async () => assert.match(await nas.machine.run('getent passwd nora'), /^nora:.*:21001:/));
  assert.equal((await ssh('nora', 'noras secret', 'id -un')).stdout, 'nora\n');
  await nas.api.expect(200, 'PUT', 'directoryservice/nis/', { nis_enable: false });
  assert.notEqual((await nas.machine.tryRun('getent passwd nora')).status, 0);
});
