import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Domain } from '../../src/host/ports/domain.ts';
import { type Host, HostError } from '../../src/host/ports/index.ts';
import type { Api } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { exampleKeytab } from '../support/keytabs.ts';

async function started(t: TestContext, around: (host: Host) => Host = (host) => host): Promise<Appliance> {
  const one = await appliance({ around });
  t.after(() => one[Symbol.asyncDispose]());
  return one;
}

const address = 'directoryservice/activedirectory/';
const jobs = '/api/holdfast/v1/jobs?subject=directoryservice/activedirectory';
const membership = {
  ad_enable: true,
  ad_domainname: 'corp.example.com',
  ad_bindname: 'Administrator',
  ad_bindpw: 'domain secret',
  ad_netbiosname_a: 'archive',
};

test('settings are kept without asking anybody while they are not enabled', async (t) => {
  const { api, host } = await started(t);
  const kept = await api.expect(200, 'PUT', address, {
    ...membership,
    ad_enable: false,
    ad_domainname: 'nowhere.example.com',
  });
  assert.deepEqual(
    [kept['ad_domainname'], kept['ad_idmap_backend'], kept['ad_timeout'], kept['ad_userdn']],
    ['nowhere.example.com', 'rid', 60, null],
  );
  assert.equal(await host.domain.membership(), undefined);
  // What the whole domain does cannot be narrowed.
  const narrowed = await api.put(address, { ad_userdn: 'ou=people,dc=example,dc=com', ad_groupdn: 'ou=groups' });
  assert.equal(narrowed.status, 409);
  assert.match(narrowed.text, /"ad_groupdn":\["Expected null: .*"ad_userdn":\["Expected null: /);
  for (const empty of [null, ''])
    assert.equal((await api.expect(200, 'PUT', address, { ad_userdn: empty }))['ad_userdn'], null);
  // Gaps 3.1: a server that is given has to answer in any case.
  const deaf = await api.put(address, { ad_enable: false, ad_gcname: 'dc1.corp.example.com:4000' });
  assert.equal(deaf.status, 409);
  assert.match(deaf.text, /ad_gcname.*No answer from dc1.corp.example.com, port 4000/);
});

test('the machine joins, is a member, and leaves', async (t) => {
  const { api, host } = await started(t);
  const fresh = await host.files.read('/etc/samba/smb.conf');
  await api.expect(200, 'PUT', address, membership);
  assert.deepEqual(await host.domain.membership(), { domain: 'corp.example.com', machine: 'archive' });
  const conf = (await host.files.read('/etc/samba/smb.conf')) ?? '';
  for (const line of [
    '  netbios name = archive',
    '  security = ads',
    '  workgroup = CORP',
    '  idmap config CORP : backend = rid',
  ])
    assert.ok(conf.split('\n').includes(line), line);
  assert.match((await host.files.read('/etc/krb5.conf')) ?? '', /default_realm = CORP\.EXAMPLE\.COM/);
  assert.match(
    (await host.files.read('/etc/nsswitch.conf')) ?? '',
    /^passwd: files systemd winbind\n.*\nshadow: files systemd$|^passwd: files systemd winbind$/m,
  );
  assert.equal((await api.expect(200, 'GET', 'services/services/cifs/'))['srv_state'], 'RUNNING');
  assert.equal((await host.services.states(['winbind'])).get('winbind')?.running, true);
  assert.equal((await api.expect(200, 'GET', 'services/cifs/'))['cifs_srv_netbiosname'], 'archive');
  const [job] = await api.list(jobs);
  assert.equal(job?.['state'], 'finished');
  assert.match(
    String(job?.['progress']),
    /Its NetBIOS name is CORP\.\nJoined 'ARCHIVE' to dns domain 'corp.example.com'/,
  );

  await api.expect(200, 'PUT', address, { ad_enable: false });
  assert.equal(await host.domain.membership(), undefined);
  assert.equal((await api.expect(200, 'GET', 'services/services/cifs/'))['srv_state'], 'STOPPED');
  assert.equal((await host.services.states(['winbind'])).get('winbind')?.running, false);
  assert.equal((await host.files.read('/etc/samba/smb.conf'))?.replace('archive', 'holdfast'), fresh);
});

test('a domain that refuses is told in words, with 409, and nothing is kept', async (t) => {
  const { api, host } = await started(t);
  const before = await api.expect(200, 'GET', address);
  for (const [change, words] of [
    [{ ad_bindpw: 'wrong' }, /refused the account Administrator or its password/],
    [{ ad_bindname: 'stranger' }, /has no account stranger/],
    [{ ad_domainname: 'other.example.com' }, /No controller of the domain other.example.com was reachable/],
    [{ ad_site: 'Attic' }, /has no site Attic/],
    [{ ad_netbiosname_a: 'Corp' }, /must differ from the NetBIOS name of the domain, CORP/],
  ] as const) {
    const answer = await api.put(address, { ...membership, ...change });
    assert.equal(answer.status, 409, answer.text);
    assert.match(answer.text, words);
    assert.deepEqual(await api.expect(200, 'GET', address), before);
    assert.equal(await host.domain.membership(), undefined);
  }
  const [job] = await api.list(jobs);
  assert.equal(job?.['state'], 'failed');
  // An account that the domain knows and that may not let machines in: the joining itself fails (gaps 3.1).
  const answer = await api.put(address, { ...membership, ad_bindname: 'anna', ad_bindpw: 'annas secret' });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /Insufficient access/);
  assert.deepEqual(await api.expect(200, 'GET', address), before);
  assert.doesNotMatch(JSON.stringify(await api.list(jobs)), /domain secret|annas secret/);
});

test('a change that cannot be kept takes the machine out of the domain again', async (t) => {
  const { api, host } = await started(t);
  // The ports of the file server are the controller's.
  const dc = {
    dc_realm: 'own.example.com',
    dc_domain: 'OWN',
    dc_dns_forwarder: '192.0.2.1',
    dc_passwd: 'Secret 12345',
  };
  await api.expect(200, 'PUT', 'services/domaincontroller/', dc);
  await api.expect(200, 'PUT', 'services/services/domaincontroller/', { srv_enable: true });
  const answer = await api.put(address, membership);
  assert.equal(answer.status, 409);
  assert.match(answer.text, /port/);
  assert.equal(await host.domain.membership(), undefined);
  const [job] = await api.list(jobs);
  assert.match(String(job?.['progress']), /Joined[\s\S]*Deleted account/);
});

test('one gets out of a domain that cannot be asked any more, and the job tells what is left there', async (t) => {
  let isGone = false;
  const withoutAccounts = (domain: Domain): Domain => ({
    inquire: async (access) => (isGone ? { found: false, objection: 'account', said: '' } : domain.inquire(access)),
    join: (joining, heard) => domain.join(joining, heard),
    leave: async (joining, heard) => {
      if (isGone) throw new HostError('The domain gives no Kerberos ticket.');
      return domain.leave(joining, heard);
    },
    forget: () => domain.forget(),
    membership: () => domain.membership(),
    answers: (server, seconds) => domain.answers(server, seconds),
  });
  const { api, host } = await started(t, (real) => ({ ...real, domain: withoutAccounts(real.domain) }));
  await api.expect(200, 'PUT', address, membership);
  isGone = true;
  const refusal = await api.put(address, { ad_bindpw: 'another' });
  assert.equal(refusal.status, 409);
  await api.expect(200, 'PUT', address, { ad_enable: false });
  await farewell(
    t,
    api,
    /gives no Kerberos ticket\. The domain could not be notified and still has an account for archive/,
  );
  assert.equal(await host.domain.membership(), undefined);
});

/** Waits until what is left of a membership is given up, and the job says so. */
async function farewell(t: TestContext, api: Api, said: RegExp): Promise<void> {
  await t.waitFor(
    async () => {
      const job = (await api.list(jobs)).find((one) => String(one['title']).startsWith('end the membership'));
      assert.equal(job?.['state'], 'finished');
      assert.match(String(job?.['progress']), said);
    },
    { timeout: 20_000 },
  );
}

const config = '/api/holdfast/v1/config';
const domainAlerts = async (api: Api) =>
  (await api.list('system/alert/')).filter((one) => /of the domain/.test(String(one['message'])));

test('a restored configuration without the domain takes the machine out of it', async (t) => {
  const { api, host } = await started(t);
  const file = await api.expect(200, 'POST', `${config}/backup`);
  await api.expect(200, 'PUT', address, membership);
  await api.expect(200, 'POST', `${config}/restore`, { file });
  assert.equal((await api.expect(200, 'GET', address))['ad_enable'], false);
  await farewell(t, api, /Deleted account for 'ARCHIVE'/);
  assert.equal(await host.domain.membership(), undefined);
  assert.equal((await host.services.states(['winbind'])).get('winbind')?.running, false);
  assert.deepEqual(await domainAlerts(api), []);
});

test('a restored configuration with a domain that the machine has left says so, and how it joins again', async (t) => {
  const { api, host } = await started(t);
  await api.expect(200, 'PUT', address, membership);
  const member = await api.expect(200, 'POST', `${config}/backup`);
  const sealed = await api.expect(200, 'POST', `${config}/backup`, { passphrase: 'correct horse' });
  // As long as the machine is a member, nothing is asked of the domain.
  const before = (await api.list(jobs)).length;
  await api.expect(200, 'POST', `${config}/restore`, { file: member });
  assert.equal((await api.list(jobs)).length, before);
  assert.deepEqual(await host.domain.membership(), { domain: 'corp.example.com', machine: 'archive' });
  assert.deepEqual(await domainAlerts(api), []);

  await api.expect(200, 'PUT', address, { ad_enable: false });
  await api.expect(200, 'POST', `${config}/restore`, { file: sealed, passphrase: 'correct horse' });
  assert.equal((await api.expect(200, 'GET', address))['ad_enable'], true);
  assert.equal(await host.domain.membership(), undefined);
  // Samba serves on as a server by itself.
  assert.doesNotMatch((await host.files.read('/etc/samba/smb.conf')) ?? '', /security = ads/);
  assert.equal((await host.services.states(['winbind'])).get('winbind')?.running, false);
  const [alert] = await domainAlerts(api);
  assert.equal(alert?.['level'], 'CRIT');
  assert.match(
    String(alert?.['message']),
    /^The machine is not a member of the domain corp\.example\.com as archive, .* send ad_enable true/,
  );

  assert.equal((await api.put(address, { ad_enable: true, ad_bindpw: 'wrong' })).status, 409);
  await api.expect(200, 'PUT', address, { ad_enable: true });
  assert.deepEqual(await host.domain.membership(), { domain: 'corp.example.com', machine: 'archive' });
  assert.match((await host.files.read('/etc/samba/smb.conf')) ?? '', /security = ads/);
  assert.equal((await host.services.states(['winbind'])).get('winbind')?.running, true);
  assert.deepEqual(await domainAlerts(api), []);
});

test('a configuration without secrets comes to another machine, and the password is asked for', async (t) => {
  const { api: first } = await started(t);
  await first.expect(200, 'PUT', address, membership);
  const file = await first.expect(200, 'POST', `${config}/backup`);
  const { api, host } = await started(t);
  await api.expect(200, 'POST', `${config}/restore`, { file });
  assert.equal((await domainAlerts(api)).length, 1);
  const answer = await api.put(address, { ad_enable: true });
  assert.equal(answer.status, 409);
  assert.match(answer.text, /"ad_bindpw".*ad_bindpw is required/);
  await api.expect(200, 'PUT', address, { ad_enable: true, ad_bindpw: membership.ad_bindpw });
  assert.deepEqual(await host.domain.membership(), { domain: 'corp.example.com', machine: 'archive' });
  assert.deepEqual(await domainAlerts(api), []);
});

test('all that keeps the settings from being right is told together', async (t) => {
  const { api } = await started(t);
  const answer = await api.put(address, { ad_enable: true, ad_ssl: 'on', ad_idmap_backend: 'fruit' });
  assert.equal(answer.status, 409);
  for (const name of ['ad_domainname', 'ad_bindname', 'ad_bindpw', 'ad_certificate', 'ad_idmap_backend'])
    assert.match(answer.text, new RegExp(name));
  for (const change of [
    { ad_domainname: 'corp' },
    { ad_bindname: 'CORP\\anna' },
    { ad_site: 'a b' },
    { ad_dcname: 'dc one' },
    { ad_monitor_frequency: 29 },
    { ad_recover_retry: 501 },
  ])
    assert.equal((await api.put(address, change)).status, 409, JSON.stringify(change));
  assert.equal(
    (await api.expect(200, 'PUT', address, { ad_ldap_sasl_wrapping: 'seal' }))['ad_ldap_sasl_wrapping'],
    'sealed',
  );
});

test('what a membership stands on does not change beneath it', async (t) => {
  const { api } = await started(t);
  await api.expect(200, 'PUT', address, membership);
  for (const [path, body, words] of [
    [address, { ad_domainname: 'other.example.com' }, /Leave that domain \(ad_enable false\) before joining another/],
    [address, { ad_netbiosname_a: 'other' }, /The NetBIOS name cannot change while/],
    ['services/cifs/', { cifs_srv_netbiosname: 'other' }, /member of the domain \S+ as archive/],
    ['services/cifs/', { cifs_srv_domain_logons: true }, /is a member of the domain/],
  ] as const) {
    const answer = await api.put(path, body);
    assert.equal(answer.status, 409, answer.text);
    assert.match(answer.text, words);
  }
  const map = await api.post('directoryservice/idmap/tdb/', { idmap_ds_type: 5, idmap_tdb_range_low: 1000 });
  assert.equal(map.status, 409);
  assert.match(map.text, /overlaps the range of all other accounts, 1000 to 100000000 in the tdb id map/);
});

test('id maps have the defaults of the document, and their own rules', async (t) => {
  const { api } = await started(t);
  for (const [kind, body, low, high] of [
    ['ad', {}, 10_000, 90_000_000],
    ['adex', {}, 10_000, 90_000_000],
    ['hash', { idmap_hash_range_name_map: '/mnt/tank/names' }, 90_000_001, 100_000_000],
    ['ldap', { idmap_ldap_ldap_url: 'ldap://ldap.example.com' }, 10_000, 90_000_000],
    ['rid', {}, 20_000, 90_000_000],
    ['tdb', {}, 90_000_001, 100_000_000],
    ['tdb2', { idmap_tdb2_script: '/usr/local/bin/map' }, 90_000_001, 100_000_000],
  ] as const) {
    const made = await api.expect(201, 'POST', `directoryservice/idmap/${kind}/`, body);
    assert.deepEqual(
      [made[`idmap_${kind}_range_low`], made[`idmap_${kind}_range_high`], made['idmap_ds_type']],
      [low, high, null],
      kind,
    );
  }
  const nss = await api.expect(201, 'POST', 'directoryservice/idmap/nss/', { idmap_nss_range_low: 500 });
  assert.deepEqual(
    [nss['idmap_ad_range_low'], nss['idmap_ad_range_high'], nss['idmap_nss_range_low']],
    [500, 90_000_000, undefined],
  );
  for (const [kind, body] of [
    ['hash', {}],
    ['ldap', {}],
    ['tdb2', { idmap_tdb2_script: 'map' }],
    ['ldap', { idmap_ldap_ldap_url: 'ldap://a\nb' }],
    ['rfc2307', { idmap_rfc2307_bind_path_user: 'ou=%U', idmap_rfc2307_bind_path_group: 'ou=groups' }],
  ] as const)
    assert.equal(
      (await api.post(`directoryservice/idmap/${kind}/`, body)).status,
      409,
      `${kind} ${JSON.stringify(body)}`,
    );
  // Gaps 3.4: no check that low < high. What Samba would not start with is refused when it would be used.
  await api.expect(201, 'POST', 'directoryservice/idmap/ad/', { idmap_ad_range_low: 9, idmap_ad_range_high: 9 });
  const joining = await api.put(address, { ...membership, ad_idmap_backend: 'ad' });
  assert.equal(joining.status, 409);
  assert.match(joining.text, /"ad_idmap_backend":\["The highest id of the ad id map, 9, must be above the lowest, 9/);
});

test('a group of the domain whose name has a space is used wherever a group is', async (t) => {
  const { api, engine, host } = await started(t);
  await api.expect(200, 'PUT', address, membership);
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  const name = 'CORP\\domain users';
  const group = (await host.accounts.known()).groups.find((one) => one.name === name);
  assert.ok(group);
  await engine.renew('accounts');
  await api.expect(201, 'PUT', 'storage/permission/', {
    mp_path: '/mnt/tank',
    mp_acl: 'windows',
    mp_user_en: false,
    mp_group: name,
  });
  await api.expect(201, 'POST', 'sharing/nfs/', {
    nfs_paths: ['/mnt/tank'],
    nfs_mapall_user: 'nobody',
    nfs_mapall_group: name,
  });
  await api.expect(200, 'PUT', 'services/services/nfs/', { srv_enable: true });
  assert.match(
    (await host.files.read('/etc/exports.d/holdfast-0.exports')) ?? '',
    new RegExp(`anongid=${group.gid}\\b`),
  );
  await api.expect(200, 'PUT', 'services/cifs/', { cifs_srv_admin_group: name });
  assert.ok((await host.files.read('/etc/samba/smb.conf'))?.includes(`admin users = "+${name}"\n`));
});

test('a keytab is a file for root, and its principals are known as long as it is there', async (t) => {
  const { api, host } = await started(t);
  const keytab = await api.expect(201, 'POST', 'directoryservice/kerberoskeytab/', {
    keytab_name: 'nfs',
    keytab_file: exampleKeytab('nfs'),
  });
  assert.equal(await host.files.read('/etc/holdfast/keytabs/nfs', { encoding: 'base64' }), exampleKeytab('nfs'));
  assert.equal(await host.files.mode('/etc/holdfast/keytabs/nfs'), 0o600);
  const [principal] = await api.list('directoryservice/kerberosprincipal/');
  assert.deepEqual(
    [principal?.['principal_name'], principal?.['principal_keytab']],
    ['nfs/nas.example.com@EXAMPLE.COM', keytab['id']],
  );
  await api.expect(200, 'PUT', `directoryservice/kerberoskeytab/${keytab['id']}/`, {
    keytab_file: exampleKeytab('host'),
  });
  assert.deepEqual(
    (await api.list('directoryservice/kerberosprincipal/')).map((one) => one['principal_name']),
    ['host/nas.example.com@EXAMPLE.COM'],
  );
  for (const bad of ['bm8ga2V5dGFi', 'BQI=', exampleKeytab('nfs').slice(0, 40)])
    assert.equal(
      (await api.post('directoryservice/kerberoskeytab/', { keytab_name: 'bad', keytab_file: bad })).status,
      409,
      bad,
    );
  await api.expect(204, 'DELETE', `directoryservice/kerberoskeytab/${keytab['id']}/`);
  assert.deepEqual(await api.list('directoryservice/kerberosprincipal/'), []);
  assert.equal(await host.files.read('/etc/holdfast/keytabs/nfs'), undefined);
});
