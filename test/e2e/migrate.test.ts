import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Appliance, appliance } from '../support/appliance.ts';
import {
  hashOf,
  type OldTables,
  type OldVersion,
  oldArchive,
  oldDatabase,
  oldKey,
  oldSecret,
} from '../support/old-appliance.ts';

const path = '/api/holdfast/v1/migrate';
const versions: readonly OldVersion[] = ['9.3', '11.2', '13.0'];
const nt = '0123456789ABCDEF0123456789ABCDEF';

/** An appliance with a pool `tank`. */
async function withPool(): Promise<Appliance> {
  const nas = await appliance();
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  return nas;
}

interface Answer {
  readonly version: string;
  readonly file: string;
  readonly left: readonly {
    readonly table: string;
    readonly row: string;
    readonly column: string;
    readonly reason: string;
    readonly remedy: string;
    readonly record: string;
  }[];
  readonly ignored: readonly string[];
}

async function proposed(nas: Appliance, content: Buffer, further: object = {}): Promise<Answer> {
  // The pool here has nothing of the data.
  const answer = await nas.api.post(path, { content: content.toString('base64'), rehearse: true, ...further });
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text);
}

async function applied(nas: Appliance, text: string): Promise<void> {
  const answer = await nas.api.post('/api/holdfast/v1/file/apply', { files: [{ name: 'proposed.yaml', text }] });
  assert.equal(answer.status, 200, `${answer.text}\n${text}`);
}

function tablesOf(version: OldVersion, hash: string): OldTables {
  const isNew = version === '13.0';
  const line = `anna:1001:${'X'.repeat(32)}:${nt}:[U          ]:LCT-5A5A5A5A:`;
  return {
    account_bsdgroups: [
      { id: 1, bsdgrp_gid: 0, bsdgrp_group: 'wheel', bsdgrp_builtin: 1, bsdgrp_sudo: 0 },
      { id: 40, bsdgrp_gid: 1001, bsdgrp_group: 'family', bsdgrp_builtin: 0, bsdgrp_sudo: 0 },
      { id: 41, bsdgrp_gid: 1500, bsdgrp_group: 'films', bsdgrp_builtin: 'false', bsdgrp_sudo: 0 },
    ],
    account_bsdusers: [
      user(1, 0, 'root', { bsdusr_builtin: 1, bsdusr_group_id: 1, bsdusr_unixhash: hash }),
      user(40, 1001, 'anna', {
        ...{ bsdusr_unixhash: hash, bsdusr_smbhash: isNew ? oldSecret(line) : line, bsdusr_group_id: 40 },
        ...{ bsdusr_home: '/mnt/tank/homes/anna', bsdusr_full_name: 'Anna A', bsdusr_shell: '/usr/local/bin/bash' },
      }),
      user(41, 1002, 'old', { bsdusr_unixhash: '$1$abcdefgh$abcdefghijklmnopqrstuv', bsdusr_group_id: 77 }),
      user(42, 1003, 'ben', { bsdusr_unixhash: `*LOCKED*${hash}`, bsdusr_group_id: 40 }),
      user(43, 1004, 'copy', { bsdusr_group_id: 40, bsdusr_shell: '/usr/local/bin/scponly' }),
    ],
    account_bsdgroupmembership: [{ id: 1, bsdgrpmember_group_id: 41, bsdgrpmember_user_id: 40 }],
    sharing_cifs_share: [
      {
        ...{ id: 1, cifs_path: '/mnt/tank/media', cifs_name: 'media', cifs_comment: 'Films', cifs_ro: 0 },
        ...{ cifs_guestok: 1, cifs_hostsallow: '', cifs_browsable: 1 },
        ...(isNew
          ? { cifs_streams: 1, cifs_acl: 1, cifs_enabled: 1, cifs_auxsmbconf: 'hide dot files = no' }
          : { cifs_vfsobjects: 'zfs_space,zfsacl,streams_xattr', cifs_auxsmbconf: 'include = /usr/local/x.conf' }),
      },
      { id: 2, cifs_path: '/mnt/gone/x', cifs_name: 'gone' },
    ],
    sharing_nfs_share: [
      { id: 5, nfs_comment: 'three', ...(isNew && { nfs_paths: '["/mnt/tank/a","/mnt/tank/b"]', nfs_enabled: 1 }) },
    ],
    ...(isNew
      ? {}
      : {
          sharing_nfs_share_path: [
            { id: 1, share_id: 5, path: '/mnt/tank/a' },
            { id: 2, share_id: 5, path: '/mnt/tank/b' },
          ],
        }),
  };
}

/** What is on an old appliance with a LUN, and tasks of each kind. */
function moreTables(version: OldVersion): OldTables {
  const isOldest = version === '9.3';
  const isNew = version === '13.0';
  const chap = 'twelve chars!';
  return {
    storage_volume: [{ id: 1, vol_name: 'tank', vol_guid: '1', vol_encrypt: 0 }],
    services_iscsitargetglobalconfiguration: [{ id: 1, iscsi_basename: 'iqn.2005-10.org.freenas.ctl' }],
    services_iscsitargetportal: [{ id: 7, iscsi_target_portal_tag: 1, iscsi_target_portal_comment: 'all' }],
    services_iscsitargetportalip: [
      {
        ...{ id: 1, iscsi_target_portalip_portal_id: 7, iscsi_target_portalip_ip: '0.0.0.0' },
        iscsi_target_portalip_port: 3260,
      },
    ],
    services_iscsitargetauthorizedinitiator: [
      {
        ...{ id: 3, iscsi_target_initiator_initiators: 'ALL', iscsi_target_initiator_auth_network: 'ALL' },
        ...(isNew ? {} : { iscsi_target_initiator_tag: 4 }),
      },
    ],
    services_iscsitargetauthcredential: [
      {
        ...{ id: 2, iscsi_target_auth_tag: 7, iscsi_target_auth_user: 'anna' },
        ...{ iscsi_target_auth_secret: isOldest ? chap : oldSecret(chap), iscsi_target_auth_peeruser: '' },
        iscsi_target_auth_peersecret: '',
      },
    ],
    services_iscsitarget: [
      {
        ...{ id: 9, iscsi_target_name: 'films', iscsi_target_alias: null },
        ...(isOldest
          ? {
              ...{ iscsi_target_portalgroup_id: 7, iscsi_target_initiatorgroup_id: 3, iscsi_target_authtype: 'CHAP' },
              ...{ iscsi_target_authgroup: 7, iscsi_target_serial: '10000001', iscsi_target_logical_blocksize: 512 },
            }
          : { iscsi_target_mode: 'iscsi' }),
      },
    ],
    ...(isOldest
      ? {}
      : {
          services_iscsitargetgroups: [
            {
              ...{ id: 1, iscsi_target_id: 9, iscsi_target_portalgroup_id: 7, iscsi_target_initiatorgroup_id: 3 },
              ...{ iscsi_target_authtype: 'CHAP', iscsi_target_authgroup: 7, iscsi_target_initialdigest: 'Auto' },
            },
          ],
        }),
    services_iscsitargetextent: [
      {
        ...{ id: 5, iscsi_target_extent_name: 'films', iscsi_target_extent_type: 'File' },
        ...{ iscsi_target_extent_path: '/mnt/tank/films.img', iscsi_target_extent_filesize: '1GB' },
        iscsi_target_extent_naa: '0x6589cfc0000001234567890123456789',
        ...(isOldest ? {} : { iscsi_target_extent_serial: '10000001', iscsi_target_extent_blocksize: 512 }),
      },
      {
        ...{ id: 6, iscsi_target_extent_name: 'raw', iscsi_target_extent_type: 'Disk' },
        ...{ iscsi_target_extent_path: '{serial}ABC', iscsi_target_extent_naa: '0x1' },
      },
    ],
    services_iscsitargettoextent: [{ id: 1, iscsi_target_id: 9, iscsi_extent_id: 5, iscsi_lunid: isNew ? 3 : null }],
    tasks_cronjob: [
      {
        ...{ id: 1, cron_user: 'root', cron_command: '/usr/local/bin/thing', cron_minute: '0', cron_hour: '3' },
        ...{ cron_daymonth: '*', cron_month: '*', cron_dayweek: '*', cron_enabled: 1, cron_stdout: 1 },
      },
    ],
    storage_task: [
      isNew
        ? {
            ...{ id: 1, task_dataset: 'tank', task_recursive: 1, task_lifetime_value: 3, task_lifetime_unit: 'MONTH' },
            ...{ task_minute: '0', task_hour: '*/2', task_daymonth: '*', task_month: '*', task_dayweek: '*' },
            ...{ task_begin: '00:00:00', task_end: '23:59:00', task_enabled: 1 },
          }
        : {
            ...{ id: 1, task_filesystem: 'tank', task_recursive: 1, task_ret_count: 3, task_ret_unit: 'month' },
            ...{ task_begin: '00:00:00', task_end: '23:59:00', task_interval: 120, task_repeat_unit: 'daily' },
            ...{ task_byweekday: '1,2,3,4,5', task_enabled: 1 },
          },
    ],
    storage_scrub: [
      {
        ...{ id: 1, scrub_volume_id: 1, scrub_threshold: 20, scrub_minute: '00', scrub_hour: '01' },
        ...{ scrub_daymonth: '*', scrub_month: '*', scrub_dayweek: '6', scrub_enabled: 1 },
      },
    ],
  };
}

for (const version of versions)
  test(`iSCSI and tasks of ${version}: serial number, NAA, LUN and CHAP stay as they were`, async () => {
    await using nas = await withPool();
    const database = oldDatabase(version, moreTables(version));
    const { file, left } = await proposed(nas, database, { secret: oldKey.toString('base64') });
    assert.ok(!file.includes('twelve chars!'), 'the secret is sealed');
    await applied(nas, file);
    const [extent, ...others] = await nas.api.list('services/iscsi/extent/');
    assert.equal(others.length, 0);
    assert.equal(extent?.['iscsi_target_extent_serial'], '10000001');
    assert.equal(extent?.['iscsi_target_extent_naa'], '0x6589cfc0000001234567890123456789');
    const [lun] = await nas.api.list('services/iscsi/targettoextent/');
    assert.equal(lun?.['iscsi_lunid'], version === '13.0' ? 3 : 0);
    const [group] = await nas.api.list('services/iscsi/targetgroup/');
    assert.equal(group?.['iscsi_target_authtype'], 'CHAP');
    assert.equal(group?.['iscsi_target_authgroup'], 7);
    const [credential] = await nas.api.list('services/iscsi/authcredential/');
    assert.equal(credential?.['iscsi_target_auth_secret'], 'twelve chars!');
    const [job] = await nas.api.list('tasks/cronjob/');
    assert.equal(job?.['cron_enabled'], false);
    const [task] = await nas.api.list('storage/task/');
    assert.deepEqual([task?.['task_interval'], task?.['task_ret_count'], task?.['task_ret_unit']], [120, 3, 'month']);
    const [scrub] = await nas.api.list('storage/scrub/');
    assert.equal(scrub?.['scrub_threshold'], 20);
    const reasons = left.map(({ reason }) => reason).join('\n');
    assert.match(reasons, /names what exists only on the old system: \/usr\/local\//);
    assert.match(reasons, /offers the disk \{serial\}ABC/);
  });

test('settings of services, the system, directories and the network', async () => {
  await using nas = await withPool();
  const [link] = nas.engine.world.facts.network.links;
  const tables: OldTables = {
    system_settings: [
      { id: 2, stg_guiport: 8080, stg_timezone: 'Europe/Berlin', stg_language: 'de', stg_guiaddress: '' },
    ],
    system_advanced: [{ id: 1, adv_motd: 'Hello', adv_sysloglevel: 'f_err', adv_swapondrive: 2 }],
    system_email: [
      {
        ...{ id: 1, em_fromemail: 'nas@example.com', em_outgoingserver: 'mail.example.com', em_port: 587 },
        ...{ em_security: 'TLS', em_smtp: 1, em_user: 'nas', em_pass: oldSecret('mail secret') },
      },
    ],
    system_ntpserver: [
      { id: 1, ntp_address: '0.freebsd.pool.ntp.org', ntp_iburst: 1 },
      { id: 2, ntp_address: 'time.example.com', ntp_iburst: 1, ntp_minpoll: 6, ntp_maxpoll: 10 },
    ],
    system_tunable: [{ id: 1, tun_var: 'vfs.zfs.arc_max', tun_value: '1000', tun_type: 'loader', tun_enabled: 1 }],
    services_services: [
      { id: 1, srv_service: 'cifs', srv_enable: 1 },
      { id: 2, srv_service: 'nfs', srv_enable: 0 },
      { id: 3, srv_service: 's3', srv_enable: 1 },
    ],
    services_cifs: [
      {
        ...{ id: 1, cifs_srv_netbiosname: 'oldnas', cifs_srv_workgroup: 'HOME', cifs_srv_description: 'Old' },
        ...{ cifs_srv_guest: 'nobody', cifs_srv_unixcharset: 'UTF-8', cifs_srv_loglevel: '0', cifs_srv_bindip: '' },
      },
    ],
    services_snmp: [{ id: 1, snmp_location: 'Cellar', snmp_community: 'house', snmp_v3_password: '' }],
    services_ssh: [
      { id: 1, ssh_tcpport: 2222, ssh_rootlogin: 0, ssh_host_rsa_key: oldSecret('a2V5'), ssh_bindiface: '' },
    ],
    services_nfs: [{ id: 1, nfs_srv_servers: 8, nfs_srv_v4: 1, nfs_srv_bindip: '' }],
    services_ftp: [{ id: 1, ftp_port: 21, ftp_clients: 7, ftp_anonpath: '/mnt/tank/pub', ftp_filemask: '077' }],
    directoryservice_kerberosrealm: [{ id: 3, krb_realm: 'EXAMPLE.COM', krb_kdc: 'kdc.example.com' }],
    directoryservice_activedirectory: [
      {
        ...{
          id: 1,
          ad_domainname: 'example.com',
          ad_bindname: 'admin',
          ad_bindpw: oldSecret('ad secret'),
          ad_enable: 1,
        },
        ...{ ad_kerberos_realm_id: 3, ad_ldap_sasl_wrapping: 'sign' },
      },
    ],
    network_globalconfiguration: [
      { id: 1, gc_hostname: 'oldnas', gc_domain: 'example.com', gc_nameserver1: '192.0.2.53', gc_ipv4gateway: '' },
    ],
    network_interfaces: [
      {
        ...{ id: 1, int_interface: 'em0', int_name: 'house', int_dhcp: 0, int_ipv4address: '192.0.2.9' },
        ...{ int_v4netmaskbit: '24', int_options: 'rxcsum mtu 9000', int_ipv6auto: 0 },
      },
      { id: 2, int_interface: 'em1', int_name: 'other', int_dhcp: 1 },
    ],
    network_alias: [
      { id: 1, alias_interface_id: 1, alias_v4address: '192.0.2.10', alias_v4netmaskbit: '24', alias_v6address: '' },
    ],
  };
  const database = oldDatabase('13.0', tables);
  const key = { secret: oldKey.toString('base64') };
  const { file, left } = await proposed(nas, database, { ...key, interfaces: { em0: link?.name } });
  assert.doesNotMatch(file, /mail secret|ad secret/);
  await applied(nas, file);
  const one = async (path: string) => JSON.parse((await nas.api.get(path)).text);
  assert.equal((await one('system/settings/')).stg_timezone, 'Europe/Berlin');
  assert.equal((await one('system/settings/')).stg_guiport, 80);
  assert.equal((await one('system/settings/')).stg_sysloglevel, 'f_err');
  assert.equal((await one('system/email/')).em_pass, 'mail secret');
  assert.equal((await one('services/cifs/')).cifs_srv_workgroup, 'HOME');
  assert.equal((await one('services/snmp/')).snmp_community, 'house');
  assert.equal((await one('services/ssh/')).ssh_tcpport, 2222);
  const domain = await one('directoryservice/activedirectory/');
  assert.deepEqual([domain.ad_domainname, domain.ad_bindpw, domain.ad_enable], ['example.com', 'ad secret', false]);
  const [house] = await nas.api.list('network/interface/');
  assert.deepEqual(house?.['int_aliases'], ['192.0.2.10/24']);
  const reasons = left.map(({ reason, remedy }) => `${reason} ${remedy}`).join('\n');
  assert.match(reasons, /em1 has no counterpart yet\. Migrate again with --interface em1=NAME/);
  assert.match(reasons, /vfs\.zfs\.arc_max = 1000 is a setting of FreeBSD\. On Linux it is zfs\.zfs_arc_max/);
  assert.match(reasons, /The service cifs was switched on/);
  assert.match(reasons, /The service s3 was switched on and does not exist here/);
  assert.match(reasons, /The port of the interface belongs to the old machine/);
  const wrong = await nas.api.post(path, { content: database.toString('base64'), interfaces: { em0: 'nothing0' } });
  assert.match(wrong.text, /There is no interface/);
});

function user(id: number, uid: number, name: string, further: OldTables[string][number]): OldTables[string][number] {
  return {
    ...{ id, bsdusr_uid: uid, bsdusr_username: name, bsdusr_unixhash: '*', bsdusr_smbhash: '*', bsdusr_group_id: 40 },
    ...{ bsdusr_home: '/nonexistent', bsdusr_shell: '/bin/csh', bsdusr_full_name: name, bsdusr_builtin: 0 },
    ...{ bsdusr_email: '', bsdusr_password_disabled: 0, bsdusr_locked: 0, bsdusr_sudo: 0 },
    ...further,
  };
}

test('what lies where nothing is on the imported pool is left out, and datasets are told for what they are', async () => {
  await using nas = await withPool();
  const { api, machine } = nas;
  const at = (parent: string, body: object) => api.expect(201, 'POST', `storage/dataset/${parent}/`, body);
  await at('tank', { name: 'media', case_sensitivity: 'insensitive' });
  await at('tank', { name: 'iocage' });
  await api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'disk', volsize: '64M' });
  await machine.files.write('/mnt/tank/media/films.img', 'data');
  const extent = (id: number, type: string, place: string) => ({
    ...{ id, iscsi_target_extent_name: `e${id}`, iscsi_target_extent_type: type, iscsi_target_extent_path: place },
    ...{ iscsi_target_extent_filesize: '0', iscsi_target_extent_serial: `1000${id}`, iscsi_target_extent_naa: '' },
  });
  const database = oldDatabase('11.2', {
    storage_volume: [
      { id: 1, vol_name: 'tank', vol_guid: '1', vol_fstype: 'ZFS', vol_encrypt: 0 },
      { id: 2, vol_name: 'cold', vol_guid: '2', vol_fstype: 'ZFS', vol_encrypt: 0 },
    ],
    sharing_cifs_share: [
      { id: 1, cifs_path: '/mnt/tank/media', cifs_name: 'media' },
      { id: 2, cifs_path: '/mnt/tank/renamed', cifs_name: 'renamed' },
    ],
    services_iscsitargetextent: [
      extent(1, 'File', '/mnt/tank/media/films.img'),
      extent(2, 'File', '/mnt/tank/media/lost.img'),
      extent(3, 'ZVOL', 'zvol/tank/disk'),
      extent(4, 'ZVOL', 'zvol/tank/other'),
    ],
  });
  const { file, left } = await proposed(nas, database, { rehearse: false });
  await applied(nas, file);
  const names = async (resource: string, field: string) => (await api.list(resource)).map((one) => one[field]);
  assert.deepEqual(await names('sharing/cifs/', 'cifs_name'), ['media']);
  assert.deepEqual(await names('services/iscsi/extent/', 'iscsi_target_extent_name'), ['e1', 'e3']);
  const said = left.map(({ table, row, reason }) => `${table} ${row}: ${reason}`).join('\n');
  for (const sentence of [
    /sharing_cifs_share 2: There is nothing at \/mnt\/tank\/renamed/,
    /services_iscsitargetextent 2: There is nothing at/,
    /services_iscsitargetextent 4: The imported volume tank has no zvol tank\/other/,
    /storage_volume 1: Files of tank may have NFSv4 access lists/,
    /storage_volume 1: Names of files do not differ by upper and lower case in tank\/media\./,
    /storage_volume 1: tank\/iocage and what is below hold jails/,
    /storage_volume 2: The volume cold \(guid 2\) is not imported here/,
  ])
    assert.match(said, sentence);
  assert.deepEqual(
    (await api.expect(200, 'POST', '/api/holdfast/v1/file/diff', { files: [{ name: 'a.yaml', text: file }] }))[
      'changes'
    ],
    [],
  );
});

for (const version of versions)
  test(`a database of ${version} becomes a file, and applying it makes the records`, async () => {
    await using nas = await withPool();
    const hash = await hashOf('the old password');
    const database = oldDatabase(version, tablesOf(version, hash));
    const before = nas.engine.revisions(1)[0]?.number;
    const { file, left, version: told } = await proposed(nas, database, { secret: oldKey.toString('base64') });
    assert.equal(told, version);
    assert.equal(nas.engine.revisions(1)[0]?.number, before, 'nothing was changed');
    assert.ok(!file.includes(hash) && !file.includes(nt), 'no hash is in clear');
    await applied(nas, file);

    const users = await nas.api.list('account/users/?limit=0');
    const anna = users.find((one) => one['bsdusr_username'] === 'anna');
    assert.equal(anna?.['bsdusr_uid'], 1001);
    assert.equal(anna?.['bsdusr_unixhash'], hash);
    assert.match(String(anna?.['bsdusr_smbhash']), new RegExp(`^anna:1001:X{32}:${nt}:\\[U {10}\\]:LCT-5A5A5A5A:$`));
    assert.equal(anna?.['bsdusr_home'], '/mnt/tank/homes/anna');
    assert.equal(users.find((one) => one['bsdusr_username'] === 'ben')?.['bsdusr_locked'], true);
    const groups = await nas.api.list('account/groups/?limit=0');
    assert.equal(groups.find((one) => one['bsdgrp_group'] === 'films')?.['bsdgrp_gid'], 1500);
    const [share, ...others] = await nas.api.list('sharing/cifs/');
    assert.equal(share?.['cifs_name'], 'media');
    assert.equal(share?.['cifs_guestok'], true);
    assert.equal(others.length, 0);
    const [exported] = await nas.api.list('sharing/nfs/');
    assert.deepEqual(exported?.['nfs_paths'], ['/mnt/tank/a', '/mnt/tank/b']);

    const named = (table: string, row: string) => left.find((one) => one.table === table && one.row === row);
    assert.match(named('sharing_cifs_share', '2')?.reason ?? '', /on the volume gone, which this machine has not/);
    assert.match(named('account_bsdusers', '41')?.reason ?? '', /weak|primary group/);
    assert.match(named('account_bsdusers', '43')?.reason ?? '', /had no password|scponly/);
    assert.match(file, /# account_bsdusers 41/);

    // A second time, nothing is left to do.
    const again = await proposed(nas, database, { secret: oldKey.toString('base64') });
    const diff = await nas.api.post('/api/holdfast/v1/file/diff', { files: [{ name: 'f.yaml', text: again.file }] });
    assert.deepEqual(JSON.parse(diff.text)['changes'], [], diff.text);
  });

test('root keeps its password unless it is asked otherwise', async () => {
  await using nas = await withPool();
  const database = oldDatabase('11.2', tablesOf('11.2', await hashOf('the password of old')));
  assert.doesNotMatch((await proposed(nas, database)).file, /^ {2}root:/m);
  const { file } = await proposed(nas, database, { root: true });
  await applied(nas, file);
  const answer = await nas.api.get('account/users/', {
    authorization: `Basic ${Buffer.from('root:the password of old').toString('base64')}`,
  });
  assert.equal(answer.status, 200, answer.text);
});

test('without the key, encrypted secrets are named', async () => {
  await using nas = await withPool();
  const database = oldDatabase('13.0', tablesOf('13.0', '*'));
  const { file, left } = await proposed(nas, database);
  const found = left.find(({ column }) => column === 'bsdusr_smbhash');
  assert.match(found?.reason ?? '', /encrypted, and its key was not given/);
  assert.match(found?.remedy ?? '', /pwenc_secret/);
  assert.match(file, /The key of the old appliance was not given/);
});

test('archives, keys and foreign files', async () => {
  await using nas = await withPool();
  const database = oldDatabase('11.2', { account_bsdgroups: [], mystery: [{ id: 1, what: 'x' }] });
  const refused = async (sentence: RegExp, content: Buffer, further: object = {}) => {
    const answer = await nas.api.post(path, { content: content.toString('base64'), ...further });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, sentence);
  };
  const whole = oldArchive({ 'freenas-v1.db': database, pwenc_secret: oldKey, 'geli/x.key': Buffer.from('k') });
  assert.deepEqual((await proposed(nas, whole)).ignored, ['geli/x.key']);
  const { left } = await proposed(nas, gzipSync(oldArchive({ './freenas-v1.db': database })));
  assert.match(left.find(({ table }) => table === 'mystery')?.reason ?? '', /1 row that this version does not know/);
  await refused(/leads out of it/, oldArchive({ '../freenas-v1.db': database }));
  await refused(/leads out of it/, oldArchive({ '/etc/passwd': database }));
  await refused(/is a link/, oldArchive({}, ['freenas-v1.db']));
  await refused(/has 33 bytes/, oldArchive({ 'freenas-v1.db': database, pwenc_secret: Buffer.alloc(33) }));
  await refused(/has 0 bytes/, oldArchive({ 'freenas-v1.db': database, pwenc_secret: Buffer.alloc(0) }));
  await refused(/does not belong to this database/, database, { secret: Buffer.alloc(32).toString('base64') });
  await refused(/neither of them/, Buffer.from('not a database at all'));
  await refused(/required/, Buffer.alloc(0));
  await refused(/cannot be (?:opened|read)|damaged/, database.subarray(0, 3000));
  await refused(/cannot be (?:opened|read)|damaged/, Buffer.concat([database.subarray(0, 100), Buffer.alloc(9000, 7)]));
  await refused(/and not that of a FreeNAS/, withoutRecognition(database));
  const answer = await nas.api.post(path, { content: 'no base64!' });
  assert.match(answer.text, /Expected base64/);
});

/** The same database under other names of tables. */
function withoutRecognition(database: Buffer): Buffer {
  return Buffer.from(database.toString('latin1').replaceAll('_migration', '_migratiom'), 'latin1');
}
