import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { Machine } from '../support/lab/machine.ts';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';
import { addressOn, runClient } from '../support/lab/network.ts';

/**
 * The appliance as a member of an Active Directory domain, whose controller is another machine. Each test builds on the
 * earlier ones.
 */
let far: Machine;
let member: Nas;
/** Knows the controllers of both domains, as the name server of a company does. */
let names: ChildProcess;
const otherAddress = addressOn(0, 200);

const conf = '/var/lib/samba/far/etc/smb.conf';

before(async () => {
  const controller = async () => {
    far = await Machine.start({ name: 'dc', disks: 0, memory: 1792 });
    names = spawn('dnsmasq', [
      ...['--keep-in-foreground', '--interface=net0', '--bind-interfaces', '--no-resolv', '--no-hosts'],
      ...[`--server=/corp.example.com/${far.address}`, `--server=/other.example.org/${otherAddress}`],
    ]);
    await far.run(
      `systemctl stop smbd nmbd winbind systemd-resolved
      rm -f /etc/resolv.conf; echo nameserver ${addressOn(0, 2)} >/etc/resolv.conf
      samba-tool domain provision --server-role=dc --use-rfc2307 --realm=CORP.EXAMPLE.COM --domain=CORP --dns-backend=SAMBA_INTERNAL \\
        --host-ip=${far.address} --adminpass='Other 54321' --targetdir=/var/lib/samba/far >/dev/null 2>&1
      mkdir -p /srv/tls && cd /srv/tls
      new() { openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" "\${@:2}" 2>/dev/null; chmod 600 "$1.key"; }
      new authority; new stranger
      new dc.corp.example.com -CA authority.pem -CAkey authority.key -addext subjectAltName=DNS:dc.corp.example.com -addext basicConstraints=CA:FALSE
      sed -i 's|^.global.|&\\ntls keyfile = /srv/tls/dc.corp.example.com.key\\ntls certfile = /srv/tls/dc.corp.example.com.pem\\ntls cafile = /srv/tls/authority.pem|' ${conf}
      mkdir -p /run/samba && samba -D -s ${conf}
      samba-tool user add anna 'Annas secret 1' -s ${conf}
      samba-tool user add bert 'Berts secret 1' --uid=bert --uid-number=700123 --gid-number=700100 --login-shell=/bin/bash --unix-home=/home/bert -s ${conf}
      samba-tool group addunixattrs 'Domain Users' 700100 -s ${conf}
      python3 -c '
from samba.auth import system_session
from samba.param import LoadParm
from samba.samdb import SamDB
place = "/var/lib/samba/far"
SamDB(place + "/private/sam.ldb", session_info=system_session(), lp=LoadParm(place + "/etc/smb.conf")).modify_ldif("""dn: CN=bert,CN=Users,DC=corp,DC=example,DC=com
changetype: modify
add: objectClass
objectClass: posixAccount
""")'
      mkdir -p /srv/ids && cat >/srv/ids.conf <<'END'
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
include /usr/share/doc/samba/examples/LDAP/samba.schema
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "ou=ids"
directory /srv/ids
END
      sid=$(samba-tool user show bert --attributes=objectSid -s ${conf} | sed -n 's/^objectSid: //p')
      printf '%s\\n' 'dn: ou=ids' 'objectClass: organizationalUnit' 'objectClass: sambaUnixIdPool' 'ou: ids' \\
        'uidNumber: 645000' 'gidNumber: 645000' '' "dn: sambaSID=$sid,ou=ids" \\
        'objectClass: sambaIdmapEntry' 'objectClass: sambaSidEntry' "sambaSID: $sid" 'uidNumber: 640123' | slapadd -f /srv/ids.conf
      slapd -f /srv/ids.conf -h ldap://0.0.0.0:3890`,
      { seconds: 300 },
    );
  };
  const appliance = async () => {
    member = await startNas({ name: 'archive', disks: 1, memory: 1024 });
  };
  await Promise.all([controller(), appliance()]);
});

after(async () => {
  names?.kill();
  await member?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
});

const place = 'directoryservice/activedirectory/';
const membership = {
  ad_enable: true,
  ad_domainname: 'corp.example.com',
  ad_bindname: 'Administrator',
  ad_bindpw: 'Other 54321',
  ad_netbiosname_a: 'archive',
  ad_timeout: 30,
  ad_dns_timeout: 10,
};

/** Asserts that settings are refused with this message, and change nothing. */
async function refused(body: object, said: RegExp, status = 409) {
  const before = await member.api.expect(200, 'GET', place);
  const files = await member.machine.run('md5sum /etc/samba/smb.conf /etc/krb5.conf /etc/nsswitch.conf');
  const answer = await member.api.put(place, body);
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.text, said);
  assert.deepEqual(await member.api.expect(200, 'GET', place), before);
  assert.equal(await member.machine.run('md5sum /etc/samba/smb.conf /etc/krb5.conf /etc/nsswitch.conf'), files);
  assert.doesNotMatch(
    (await member.machine.tryRun('systemctl is-active winbind; ls /etc/krb5.keytab')).output,
    /^active|^.etc.krb5.keytab$/m,
  );
}

const smb = (user: string, command: string) =>
  runClient(['smbclient', `//${member.machine.address}/papers`, '-U', user, '-c', command]);

/** The id of an authority whose certificate is on the other machine. */
async function imported(name: string): Promise<unknown> {
  const certificate = await far.run(`cat /srv/tls/${name}.pem`);
  await member.api.expect(201, 'POST', 'system/certificateauthority/import/', {
    cert_name: name,
    cert_certificate: certificate,
    cert_serial: null,
  });
  return (await member.api.list('system/certificateauthority/')).find((one) => one['cert_name'] === name)?.['id'];
}

/** The uid of an account on the member, by its identifier in the domain. */
const numberOf = (account: string) =>
  member.machine.run(`wbinfo --sid-to-uid "$(wbinfo -n '${account}' | cut -d' ' -f1)"`);

test('a failure to join is reported with the reason within the time-outs, and nothing is stored', async () => {
  await member.api.expect(200, 'PUT', 'network/globalconfiguration/', {
    gc_nameserver1: far.address,
    gc_hostname: 'archive',
    gc_domain: 'corp.example.com',
  });
  await eventually(60, async () =>
    assert.match(await member.machine.run('getent hosts dc.corp.example.com'), /10\.0\.2/),
  );
  await refused({ ...membership, ad_bindpw: 'wrong' }, /refused the account Administrator or its password/);
  await refused({ ...membership, ad_bindname: 'stranger' }, /has no account stranger/);
  await refused({ ...membership, ad_site: 'Attic' }, /has no site Attic/);
  const stranger = await imported('stranger');
  await refused(
    { ...membership, ad_ssl: 'on', ad_certificate: stranger },
    /cannot join the domain corp\.example\.com/,
    400,
  );
  const begun = Date.now();
  await refused(
    { ...membership, ad_domainname: 'other.example.org', ad_dns_timeout: 3 },
    /No controller of the domain other\.example\.org was reachable/,
  );
  await refused({ ...membership, ad_dcname: '10.0.2.99', ad_timeout: 2 }, /No answer from 10\.0\.2\.99, port 389/);
  assert.ok(Date.now() - begun < 60_000);
});

test('the machine joins: accounts of the domain are its accounts, and log in over SMB', async () => {
  const disks = (await member.api.list('storage/disk/')).map((disk) => String(disk['disk_name']));
  await member.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks }],
  });
  await member.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/papers', cifs_name: 'papers' });
  const kept = await member.api.expect(200, 'PUT', place, {
    ...membership,
    ad_site: 'Default-First-Site-Name',
    ad_enable_monitor: true,
    ad_monitor_frequency: 30,
    ad_ssl: 'start_tls',
    ad_certificate: await imported('authority'),
  });
  assert.equal(kept['ad_enable'], true);
  assert.equal((await member.api.expect(200, 'GET', 'services/services/cifs/'))['srv_state'], 'RUNNING');
  await eventually(60, async () => assert.match(await member.machine.run('wbinfo -u'), /^CORP\\anna$/m));
  assert.match(
    await member.machine.run(
      "net ads testjoin; wbinfo -t; klist -k; systemctl is-active holdfast-domain-monitor; getent passwd 'CORP\\anna'; getent passwd",
    ),
    /Join is OK[\s\S]*succeeded[\s\S]*ARCHIVE\$@CORP[\s\S]*\nactive\n[\s\S]*CORP\\anna:\*:[\s\S]*CORP\\anna:\*:/,
  );
  await eventually(30, async () =>
    assert.match(
      await far.run(
        `samba-tool dns query localhost corp.example.com archive A -U Administrator --password='Other 54321' 2>&1`,
      ),
      new RegExp(`A: ${member.machine.address}`),
    ),
  );
  await member.machine.run("chown 'CORP\\anna' /mnt/tank/papers");
  await eventually(30, async () => {
    const outcome = await smb('CORP\\anna%Annas secret 1', 'put /etc/hostname letter; ls');
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  });
  assert.match(await member.machine.run("stat -c '%U' /mnt/tank/papers/letter"), /CORP\\anna/);
  assert.match((await smb('CORP\\anna%wrong', 'ls')).stdout, /NT_STATUS_LOGON_FAILURE/);
  const [job] = await member.api.list('/api/holdfast/v1/jobs?subject=directoryservice/activedirectory');
  assert.match(String(job?.['progress']), /Joined 'ARCHIVE' to dns domain 'corp\.example\.com'/);
});

/** Makes another domain, with a controller in a namespace of the other machine, that trusts the first and is trusted. */
async function trustAnotherDomain(): Promise<void> {
  const other = '/var/lib/samba/other';
  const administrator = "-U Administrator@OTHER.EXAMPLE.ORG --password='Further 98765'";
  await far.run(
    `sysctl -q net.ipv4.ip_forward=1 net.ipv4.conf.vec0.proxy_arp=1
    ip netns add other; ip link add other type veth peer name eth0 netns other; ip link set other up
    ip route add ${otherAddress} dev other
    in_other() { ip netns exec other "$@"; }
    in_other ip link set lo up; in_other ip link set eth0 up; in_other ip address add ${otherAddress}/32 dev eth0
    in_other ip route add ${far.address} dev eth0; in_other ip route add default via ${far.address} dev eth0
    cat >/root/other <<'END'
set -e
mount -t tmpfs tmpfs /run/samba; hostname dc2
echo '${otherAddress} dc2.other.example.org dc2' >/run/samba/hosts; mount --bind /run/samba/hosts /etc/hosts
samba-tool domain provision --server-role=dc --realm=OTHER.EXAMPLE.ORG --domain=OTHER --dns-backend=SAMBA_INTERNAL \
  --host-name=dc2 --host-ip=${otherAddress} --adminpass='Further 98765' --targetdir=${other}
samba -D -s ${other}/etc/smb.conf
samba-tool user add otto 'Ottos secret 1' -s ${other}/etc/smb.conf
END
    in_other unshare -um bash /root/other >/root/other.log 2>&1 || { cat /root/other.log; exit 1; }`,
    { seconds: 300 },
  );
  await eventually(120, () =>
    far.run(
      `samba-tool domain trust create OTHER.EXAMPLE.ORG --type=forest ${administrator} -s ${conf} 2>&1 ||
        { samba-tool domain trust delete OTHER.EXAMPLE.ORG ${administrator} -s ${conf} 2>&1; exit 1; }`,
    ),
  );
}

test('accounts of a domain that the domain trusts log in when they may', async () => {
  await trustAnotherDomain();
  const otto = 'OTHER\\otto';
  await member.api.expect(200, 'PUT', place, { ad_allow_trusted_doms: true });
  await eventually(90, async () => {
    assert.ok(Number(await numberOf(otto)) >= 90_000_001);
    const outcome = await smb(`${otto}%Ottos secret 1`, 'ls');
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  });
  assert.match((await smb(`${otto}%wrong`, 'ls')).stdout, /NT_STATUS_LOGON_FAILURE/);
  await member.api.expect(200, 'PUT', place, { ad_allow_trusted_doms: false });
  await eventually(60, async () => assert.match((await smb(`${otto}%Ottos secret 1`, 'ls')).stdout, /NT_STATUS_/));
  assert.equal((await smb('CORP\\anna%Annas secret 1', 'ls')).status, 0);
});

test('a lost connection is renewed', async () => {
  await member.machine.run('systemctl stop winbind');
  await eventually(90, async () => assert.equal((await member.machine.tryRun('wbinfo --ping-dc')).status, 0));
});

test('uids come from the selected map', async () => {
  const anna = 'CORP\\anna';
  const sid = Number(/-(\d+) /.exec(await member.machine.run(`wbinfo -n '${anna}'`))?.[1]);
  assert.equal(Number(await numberOf(anna)), 20_000 + sid);
  await member.api.expect(201, 'POST', 'directoryservice/idmap/rid/', {
    idmap_ds_type: 1,
    idmap_ds_id: 1,
    idmap_rid_range_low: 500_000,
    idmap_rid_range_high: 900_000,
  });
  await eventually(60, async () => assert.equal(Number(await numberOf(anna)), 500_000 + sid));
  const overlapping = await member.api.post('directoryservice/idmap/tdb/', {
    idmap_ds_type: 5,
    idmap_tdb_range_low: 800_000,
  });
  assert.equal(overlapping.status, 409);
  assert.match(overlapping.text, /overlap/);
  await member.api.expect(201, 'POST', 'directoryservice/idmap/tdb/', {
    idmap_ds_type: 1,
    idmap_tdb_range_low: 100_500_000,
    idmap_tdb_range_high: 100_600_000,
  });
  await member.api.expect(200, 'PUT', place, { ad_idmap_backend: 'tdb', ad_use_default_domain: true });
  await eventually(60, async () => assert.ok(Number(await numberOf('anna')) >= 100_500_000));
  assert.match(await member.machine.run('getent passwd anna'), /^anna:/);
});

const bert = 'CORP\\bert';

/** Adds an id map of the domain, and selects its kind. */
async function chosen(kind: string, map: object, settings: object = {}): Promise<void> {
  await member.api.expect(201, 'POST', `directoryservice/idmap/${kind}/`, { idmap_ds_type: 1, ...map });
  await member.api.expect(200, 'PUT', place, { ad_idmap_backend: kind, ...settings });
}

const number = (holds: (found: number) => boolean) =>
  eventually(60, async () => assert.ok(holds(Number(await numberOf(bert)))));

test('uids are those of the directory or of local accounts, or are computed, depending on the map', async () => {
  const sid = Number(/-(\d+) /.exec(await member.machine.run('wbinfo -n bert'))?.[1]);
  // Also by TLS from the beginning of the connection.
  await chosen(
    'ad',
    {
      idmap_ad_range_low: 600_000,
      idmap_ad_range_high: 800_000,
      idmap_ad_unix_nss_info: true,
      idmap_ad_unix_primary_group: true,
    },
    { ad_use_default_domain: false, ad_unix_extensions: true, ad_ssl: 'on' },
  );
  await number((found) => found === 700_123);
  assert.match(await member.machine.run(`getent passwd '${bert}'`), /:700123:700100:[^:]*:\/home\/bert:\/bin\/bash$/m);
  await member.machine.run("! wbinfo -i 'CORP\\anna'");

  const users = 'CN=Users,DC=corp,DC=example,DC=com';
  const paths = {
    idmap_rfc2307_bind_path_user: users,
    idmap_rfc2307_bind_path_group: users,
    idmap_rfc2307_user_cn: true,
  };
  await chosen('rfc2307', { idmap_rfc2307_range_low: 700_000, idmap_rfc2307_range_high: 710_000, ...paths });
  await number((found) => found === 700_123);

  const account = await member.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'bert',
    bsdusr_full_name: 'Bert',
    bsdusr_uid: 3001,
    bsdusr_creategroup: true,
    bsdusr_password_disabled: true,
  });
  await chosen('nss', { idmap_nss_range_low: 3000, idmap_nss_range_high: 4000 });
  await number((found) => found === 3001);
  await member.api.expect(204, 'DELETE', `account/users/${account['id']}/`);

  await chosen('autorid', { idmap_autorid_range_low: 1_000_000, idmap_autorid_range_high: 1_999_999 });
  await number((found) => found >= 1_000_000 && found <= 1_999_999 && found % 100_000 === sid);
  await chosen('hash', {
    idmap_hash_range_low: 1000,
    idmap_hash_range_high: 2 ** 31 - 1,
    idmap_hash_range_name_map: '/etc/holdfast/names',
  });
  await number((found) => found > 2 ** 19 && found % 2 ** 19 === sid);
});

test('uids are those of another directory or of a program, depending on the map', async () => {
  await chosen('ldap', {
    idmap_ldap_range_low: 640_000,
    idmap_ldap_range_high: 649_999,
    idmap_ldap_ldap_base_dn: 'ou=ids',
    idmap_ldap_ldap_url: `ldap://${far.address}:3890`,
    // No field has its password.
    idmap_ldap_ldap_user_dn: 'cn=reader,ou=ids',
  });
  await number((found) => found === 640_123);
  const sid = (await member.machine.run(`wbinfo -n '${bert}'`)).split(' ')[0];
  await member.machine.run(`cat >/usr/local/bin/ids <<'END'
#!/bin/sh
case "$*" in
  "SIDTOID ${sid}") echo UID:650123 ;;
  "IDTOSID UID 650123") echo SID:${sid} ;;
  *) echo ERR:unknown ;;
esac
END
    chmod 755 /usr/local/bin/ids`);
  for (const kind of ['script', 'tdb2']) {
    await chosen(kind, {
      [`idmap_${kind}_range_low`]: 650_000,
      [`idmap_${kind}_range_high`]: 659_999,
      [`idmap_${kind}_script`]: '/usr/local/bin/ids',
    });
    await number((found) => found === 650_123);
  }
});

test('the machine leaves, and the domain deletes its account', async () => {
  await member.api.expect(200, 'PUT', place, { ad_enable: false });
  assert.equal((await member.api.expect(200, 'GET', 'services/services/cifs/'))['srv_state'], 'STOPPED');
  await member.machine.run('test ! -e /etc/krb5.keytab; ! systemctl is-active winbind; ! getent passwd anna');
  assert.doesNotMatch(await far.run(`samba-tool computer list -s ${conf}`), /ARCHIVE/);
  assert.doesNotMatch(await member.machine.run('journalctl -q -o cat; ps -eo args'), /Other 54321|Annas secret/);
  assert.doesNotMatch(
    JSON.stringify(await member.api.list('/api/holdfast/v1/jobs?subject=directoryservice/activedirectory')),
    /Other 54321/,
  );
});

test('by a keytab of the domain programs get tickets, and the machine joins without a password', async () => {
  const exported = await far.run(
    `samba-tool domain exportkeytab /root/keytab --principal=Administrator -s ${conf} >/dev/null 2>&1; base64 -w0 /root/keytab`,
  );
  await member.api.expect(201, 'POST', 'directoryservice/kerberosrealm/', {
    krb_realm: 'CORP.EXAMPLE.COM',
    krb_kdc: far.address,
  });
  await member.api.expect(201, 'POST', 'directoryservice/kerberoskeytab/', {
    keytab_name: 'administrator',
    keytab_file: exported.trim(),
  });
  const [principal] = await member.api.list('directoryservice/kerberosprincipal/');
  assert.equal(principal?.['principal_name'], 'Administrator@CORP.EXAMPLE.COM');
  assert.match(
    await member.machine.run(
      'kinit -k -t /etc/holdfast/keytabs/administrator Administrator && klist; stat -c %a /etc/holdfast/keytabs/administrator',
    ),
    /krbtgt\/CORP\.EXAMPLE\.COM[\s\S]*\n600\n/,
  );
  await member.api.expect(200, 'PUT', place, {
    ...membership,
    ad_bindname: '',
    ad_kerberos_principal: principal?.['id'],
  });
  assert.match(await member.machine.run('net ads testjoin'), /Join is OK/);
  await member.api.expect(200, 'PUT', place, { ad_enable: false });
  assert.doesNotMatch(await far.run(`samba-tool computer list -s ${conf}`), /ARCHIVE/);
});

test('as a Kerberos principal the machine queries an LDAP directory that refuses anonymous clients', async () => {
  const [[realm], [principal]] = await Promise.all([
    member.api.list('directoryservice/kerberosrealm/'),
    member.api.list('directoryservice/kerberosprincipal/'),
  ]);
  const directory = {
    ldap_enable: true,
    ldap_hostname: 'dc.corp.example.com',
    ldap_basedn: 'dc=corp,dc=example,dc=com',
    // Below the base itself, the controller refers to itself for other parts of the domain.
    ldap_usersuffix: 'cn=Users',
    ldap_groupsuffix: 'cn=Users',
    ldap_kerberos_realm: realm?.['id'],
    ldap_auxiliary_parameters: 'map passwd homeDirectory unixHomeDirectory',
  };
  const anonymous = await member.api.put('directoryservice/ldap/', { ...directory, ldap_anonbind: true });
  assert.equal(anonymous.status, 409, anonymous.text);
  await member.api.expect(200, 'PUT', 'directoryservice/ldap/', {
    ...directory,
    ldap_anonbind: false,
    ldap_kerberos_principal: principal?.['id'],
  });
  await eventually(60, async () =>
    assert.match(await member.machine.run('getent passwd bert'), /^bert:[^:]*:700123:700100:[^:]*:\/home\/bert:/),
  );
  await member.api.expect(200, 'PUT', 'directoryservice/ldap/', { ldap_enable: false });
  await member.machine.run('! getent passwd bert; test ! -e /etc/holdfast/ldap.keytab');
});
