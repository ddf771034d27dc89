import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { HostError } from '../../src/host/ports/index.ts';
import { readDirectories, usualDirectories } from '../../src/host/virtual/directories.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { keytabBytes } from '../support/keytabs.ts';

async function started(t: TestContext): Promise<Appliance> {
  const one = await appliance();
  t.after(() => one[Symbol.asyncDispose]());
  return one;
}

const address = 'directoryservice/ldap/';
const settings = {
  ldap_enable: true,
  ldap_hostname: 'ldap.example.com',
  ldap_basedn: 'dc=example,dc=com',
  ldap_binddn: 'cn=reader,dc=example,dc=com',
  ldap_bindpw: 'directory secret',
};

test('LDAP settings are kept without asking anybody while they are not enabled', async (t) => {
  const { api, host } = await started(t);
  const kept = await api.expect(200, 'PUT', address, {
    ...settings,
    ldap_enable: false,
    ldap_hostname: 'nowhere.example.com',
  });
  assert.equal(kept['ldap_hostname'], 'nowhere.example.com');
  assert.equal(await host.files.read('/etc/nslcd.conf'), undefined);
});

test('a directory that answers is used, and given up again without a trace of the password', async (t) => {
  const { api, host } = await started(t);
  await api.expect(200, 'PUT', address, settings);
  assert.match((await host.files.read('/etc/nslcd.conf')) ?? '', /^bindpw directory secret$/m);
  assert.match((await host.files.read('/etc/nsswitch.conf')) ?? '', /^passwd: files systemd ldap$/m);
  assert.equal((await host.services.states(['nslcd'])).get('nslcd')?.running, true);
  // A password that is sent empty is the one there was.
  await api.expect(200, 'PUT', address, { ldap_bindpw: '', ldap_timeout: 20 });
  assert.match((await host.files.read('/etc/nslcd.conf')) ?? '', /^bindpw directory secret$/m);
  await api.expect(200, 'PUT', address, { ldap_enable: false });
  assert.equal(await host.files.read('/etc/nslcd.conf'), undefined);
  assert.equal((await host.services.states(['nslcd'])).get('nslcd')?.running, false);
});

test('a directory is queried as a Kerberos principal', async (t) => {
  const { api, host } = await started(t);
  const { ldap_binddn: _, ldap_bindpw: __, ...withoutAccount } = settings;
  const keytab = await api.expect(201, 'POST', 'directoryservice/kerberoskeytab/', {
    keytab_name: 'nas',
    keytab_file: Buffer.concat([keytabBytes('nfs'), keytabBytes('host').subarray(2)]).toString('base64'),
  });
  const principals = new Map(
    (await api.list('directoryservice/kerberosprincipal/')).map((one) => [String(one['principal_name']), one['id']]),
  );
  const realms = await Promise.all(
    ['OTHER.COM', 'EXAMPLE.COM'].map((krb_realm) =>
      api.expect(201, 'POST', 'directoryservice/kerberosrealm/', { krb_realm }),
    ),
  );
  const [other, realm] = realms.map(({ id }) => id);
  const nfs = principals.get('nfs/nas.example.com@EXAMPLE.COM');
  for (const [change, words] of [
    [{ ldap_kerberos_principal: 999 }, /"ldap_kerberos_principal"/],
    [{ ldap_kerberos_realm: 'EXAMPLE.COM' }, /"ldap_kerberos_realm"/],
    [{ ldap_kerberos_principal: nfs, ldap_kerberos_realm: other }, /a principal of the realm OTHER\.COM/],
    [{ ldap_kerberos_principal: principals.get('host/nas.example.com@EXAMPLE.COM') }, /refused host\/nas/],
    [{ ldap_kerberos_principal: nfs, ldap_has_samba_schema: true }, /"ldap_binddn"/],
  ] as const) {
    const answer = await api.put(address, { ...withoutAccount, ...change });
    assert.equal(answer.status, 409, answer.text);
    assert.match(answer.text, words);
  }
  await api.expect(200, 'PUT', address, {
    ...withoutAccount,
    ldap_kerberos_principal: nfs,
    ldap_kerberos_realm: realm,
  });
  const dropIn = '/etc/systemd/system/nslcd.service.d/holdfast.conf';
  assert.match((await host.files.read('/etc/nslcd.conf')) ?? '', /^sasl_mech GSSAPI$/m);
  assert.match((await host.files.read('/etc/krb5.conf')) ?? '', /default_realm = EXAMPLE\.COM/);
  assert.match((await host.files.read(dropIn)) ?? '', /install .* \/etc\/holdfast\/ldap\.keytab /);
  // Only the keys of the principal.
  const key = await host.files.read('/etc/holdfast/ldap.keytab', { encoding: 'base64' });
  assert.equal(key, keytabBytes('nfs').toString('base64'));
  // While it is in use, it is not removed.
  assert.equal((await api.send('DELETE', `directoryservice/kerberoskeytab/${keytab['id']}/`)).status, 400);
  await api.expect(200, 'PUT', address, { ldap_enable: false });
  for (const path of [dropIn, '/etc/holdfast/ldap.keytab']) assert.equal(await host.files.read(path), undefined);
});

test('a directory that refuses is told in words, with 409, and nothing is kept', async (t) => {
  const { api } = await started(t);
  const before = await api.expect(200, 'GET', address);
  for (const [change, words] of [
    [{ ldap_bindpw: 'wrong' }, /refused the account cn=reader,dc=example,dc=com or its password/],
    [{ ldap_hostname: 'nowhere.example.com' }, /is not reachable/],
    [{ ldap_basedn: 'dc=other' }, /has no entry dc=other/],
  ] as const) {
    const answer = await api.put(address, { ...settings, ...change });
    assert.equal(answer.status, 409);
    assert.match(answer.text, /"__all__"/);
    assert.match(answer.text, words);
    assert.deepEqual(await api.expect(200, 'GET', address), before);
  }
});

test('Samba uses the passwords of a directory that has them, and its own again afterwards', async (t) => {
  const { api, host } = await started(t);
  const conf = async () =>
    ((await host.files.read('/etc/samba/smb.conf')) ?? '').split('\n').map((line) => line.trim());
  const fresh = await conf();
  await api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  for (const [change, words] of [
    [
      { ldap_binddn: 'cn=clerk,dc=example,dc=com', ldap_bindpw: 'clerks secret' },
      /cn=clerk,dc=example,dc=com cannot read Samba passwords/,
    ],
    [
      { ldap_netbiosname_a: 'store' },
      /has no entry sambaDomainName=STORE for this machine.* cannot be added as cn=reader,dc=example,dc=com.*sambaSID S-1-5-21-1111-2222-3333: .*Insufficient access/,
    ],
    [{ ldap_anonbind: true }, /"ldap_anonbind".*must be false/],
    [{ ldap_usersuffix: 'ou=50%' }, /"ldap_usersuffix".*special meaning in smb\.conf/],
  ] as const) {
    const answer = await api.put(address, { ...settings, ldap_has_samba_schema: true, ...change });
    assert.equal(answer.status, 409, answer.text);
    assert.match(answer.text, words);
    assert.deepEqual(await conf(), fresh);
  }
  await api.expect(200, 'PUT', address, { ...settings, ldap_usersuffix: 'ou=people', ldap_has_samba_schema: true });
  for (const line of [
    'passdb backend = ldapsam:ldap://ldap.example.com/',
    'ldap suffix = dc=example,dc=com',
    'ldap user suffix = ou=people',
    'ldap admin dn = cn=reader,dc=example,dc=com',
  ])
    assert.ok((await conf()).includes(line), line);
  assert.doesNotMatch((await conf()).join('\n'), /smbpasswd:|directory secret/);
  assert.equal(await host.files.mode('/etc/holdfast/samba-directory-password'), 0o600);
  const keeper = async () =>
    (await host.services.states(['holdfast-samba-directory'])).get('holdfast-samba-directory')?.running;
  assert.equal(await keeper(), true);
  // The directory knows the server's accounts by its name, and a domain has passwords of its own.
  const named = await api.put('services/cifs/', { cifs_srv_netbiosname: 'archive' });
  assert.equal(named.status, 409);
  assert.match(named.text, /has the accounts of the Samba domain HOLDFAST, and this change would use ARCHIVE/);
  const joined = await api.put('directoryservice/activedirectory/', {
    ad_enable: true,
    ad_domainname: 'corp.example.com',
    ad_bindname: 'Administrator',
    ad_bindpw: 'domain secret',
  });
  assert.equal(joined.status, 409);
  assert.match(joined.text, /Set ldap_has_samba_schema to false/);
  await api.expect(200, 'PUT', address, { ldap_netbiosname_a: 'archive' });
  await api.expect(200, 'PUT', address, { ldap_netbiosname_a: 'holdfast', ldap_enable: false });
  assert.deepEqual(await conf(), fresh);
  assert.equal(await host.files.read('/etc/holdfast/samba-directory-password'), undefined);
  assert.equal(await keeper(), false);
});

test('an account that may write adds the entry of the Samba domain, and a change that fails removes it', async (t) => {
  const { api, machine } = await started(t);
  const writer = {
    ...settings,
    ldap_has_samba_schema: true,
    ldap_binddn: 'cn=writer,dc=example,dc=com',
    ldap_bindpw: 'writers secret',
    ldap_netbiosname_a: 'store',
  };
  const entries = async () => {
    const argv = ['timeout', '9', 'ldapsearch', '-H', 'ldap://ldap.example.com/', '-b', 'dc=example,dc=com'];
    return (await machine.commands.check([...argv, '(sambaDomainName=STORE)'])).stdout;
  };
  const plan = await api.post('/api/holdfast/v1/plan', { method: 'PUT', path: address, body: writer });
  assert.match(plan.text, /add sambaDomainName=STORE,dc=example,dc=com to the LDAP directory/);
  assert.equal(await entries(), '');
  await api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  machine.services.start = async (name) => {
    throw new HostError(`${name} does not start`);
  };
  assert.equal((await api.put(address, writer)).status, 400);
  assert.equal(await entries(), '');
  Reflect.deleteProperty(machine.services, 'start');
  await api.expect(200, 'PUT', address, writer);
  assert.match(await entries(), /^dn: sambaDomainName=STORE/);
  assert.equal((await api.expect(200, 'GET', 'services/cifs/'))['cifs_srv_netbiosname'], 'store');
});

test('the try is a job with a readable end, which does not tell the password', async (t) => {
  const { api } = await started(t);
  await api.put(address, { ...settings, ldap_bindpw: 'hidden word' });
  const [job] = await api.list('/api/holdfast/v1/jobs?subject=directoryservice/ldap');
  assert.equal(job?.['state'], 'failed');
  assert.match(String(job?.['error']), /refused the account/);
  assert.doesNotMatch(JSON.stringify(job), /hidden word/);
});

test('all that keeps LDAP settings from being right is told together', async (t) => {
  const { api } = await started(t);
  const answer = await api.put(address, { ldap_enable: true, ldap_ssl: 'on' });
  assert.equal(answer.status, 409);
  for (const name of ['ldap_hostname', 'ldap_basedn', 'ldap_binddn', 'ldap_bindpw', 'ldap_certificate'])
    assert.match(answer.text, new RegExp(name));
  // Gaps 3.2: encryption needs a certificate also while disabled.
  assert.match((await api.put(address, { ldap_ssl: 'start_tls' })).text, /ldap_certificate/);
  for (const change of [
    { ldap_hostname: 'a b' },
    { ldap_basedn: 'example' },
    { ldap_auxiliary_parameters: 'uri ldap://elsewhere/' },
  ]) {
    assert.equal((await api.put(address, change)).status, 409, JSON.stringify(change));
  }
});

test('NIS settings are taken one by one, and the domain first', async (t) => {
  const { api, host } = await started(t);
  assert.match((await api.put('directoryservice/nis/', { nis_enable: true })).text, /nis_domain/);
  for (const change of [
    { nis_domain: 'lab' },
    { nis_servers: '192.0.2.7' },
    { nis_secure_mode: true },
    { nis_manycast: false },
    { nis_enable: true },
  ]) {
    await api.expect(200, 'PUT', 'directoryservice/nis/', change);
  }
  assert.equal(await host.files.read('/etc/yp.conf'), '# Written by Holdfast.\ndomain lab server 192.0.2.7\n');
  assert.equal(await host.files.read('/etc/defaultdomain'), 'lab\n');
  assert.equal((await host.services.states(['ypbind'])).get('ypbind')?.running, true);
  await api.expect(200, 'PUT', 'directoryservice/nis/1/', { nis_enable: false });
  assert.equal(await host.files.read('/etc/yp.conf'), undefined);
});

test('a name of the machine sent with the LDAP settings is that of the CIFS settings', async (t) => {
  const { api } = await started(t);
  const kept = await api.expect(200, 'PUT', address, { ldap_netbiosname_a: 'archive', ldap_netbiosalias: 'store' });
  assert.deepEqual([kept['ldap_netbiosname_a'], kept['ldap_netbiosalias']], ['archive', 'store']);
  const cifs = await api.expect(200, 'GET', 'services/cifs/');
  assert.deepEqual([cifs['cifs_srv_netbiosname'], cifs['cifs_srv_netbiosalias']], ['archive', 'store']);
  await api.expect(200, 'PUT', 'services/cifs/', { cifs_srv_netbiosname: 'other' });
  assert.equal((await api.expect(200, 'PUT', address, { ldap_timeout: 5 }))['ldap_netbiosname_a'], 'other');
});

test('domains and directories of other names can be given, and their accounts are known', async (t) => {
  const directories = readDirectories(
    JSON.stringify({
      activedirectory: [
        {
          domain: 'ad.firm.test',
          workgroup: 'FIRM',
          controllers: ['one.ad.firm.test'],
          accounts: { admin: 'one', bob: 'two' },
          administrators: ['admin'],
        },
      ],
      ldap: [
        { server: 'dir.firm.test', base: 'o=firm', accounts: { 'cn=bind,o=firm': 'three' }, users: { lou: 4000 } },
      ],
      nis: [{ domain: 'yp', users: { ned: 5000 } }],
    }),
  );
  const one = await appliance({ directories });
  t.after(() => one[Symbol.asyncDispose]());
  const { api } = one;
  const isKnown = async (user: string) => {
    await one.engine.renew('accounts');
    return (await api.put('tasks/cronjob/1/', { cron_user: user })).status === 200;
  };
  await api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  assert.deepEqual(await Promise.all(['FIRM\\bob', 'lou', 'ned'].map(isKnown)), [false, false, false]);
  await api.expect(200, 'PUT', 'directoryservice/activedirectory/', {
    ad_enable: true,
    ad_domainname: 'ad.firm.test',
    ad_bindname: 'admin',
    ad_bindpw: 'one',
    ad_use_default_domain: true,
  });
  assert.deepEqual(await one.host.domain.membership(), { domain: 'ad.firm.test', machine: 'holdfast' });
  await api.expect(200, 'PUT', address, {
    ldap_enable: true,
    ldap_hostname: 'dir.firm.test',
    ldap_basedn: 'o=firm',
    ldap_binddn: 'cn=bind,o=firm',
    ldap_bindpw: 'three',
  });
  await api.expect(200, 'PUT', 'directoryservice/nis/', { nis_domain: 'yp', nis_enable: true });
  for (const user of ['bob', 'lou', 'ned']) assert.equal(await isKnown(user), true, user);
  assert.equal((await api.put(address, { ldap_hostname: 'ldap.example.com' })).status, 409);
  assert.equal(await isKnown('root'), true);
  await api.expect(200, 'PUT', 'directoryservice/nis/', { nis_enable: false });
  assert.equal(await isKnown('ned'), false);
});

test('docs/virtual-host.md shows the directories that there are by default', () => {
  const page = readFileSync(new URL('../../docs/virtual-host.md', import.meta.url), 'utf8');
  assert.equal(/```json\n(.*?)```/s.exec(page)?.[1], usualDirectories);
});

test('a file of directories that cannot be used is refused with every problem', () => {
  assert.throws(() => readDirectories('{'), /Expected JSON/);
  assert.throws(() => readDirectories('[]'), /The file: expected an object, got \[\]/);
  assert.throws(
    () =>
      readDirectories(
        '{"activedirectory": [{"domain": "a.test", "controllers": "dc", "accounts": {"a": 1}}], "ldap": {}, "nis": [{"domain": "n", "users": {"u": -1}}]}',
      ),
    (error) => {
      assert.ok(error instanceof Error);
      for (const sentence of [
        'activedirectory[0].workgroup: expected a text, got nothing.',
        'activedirectory[0].controllers: expected a list of texts, got "dc".',
        'activedirectory[0].accounts.a: expected a text, got 1.',
        'ldap: expected a list, got {}.',
        'nis[0].users.u: expected a number, got -1.',
      ])
        assert.ok(error.message.includes(sentence), `${sentence}: ${error.message}`);
      return true;
    },
  );
});
