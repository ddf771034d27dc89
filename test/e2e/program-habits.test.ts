import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';
import { readable } from '../support/catalogue.ts';
import { addressOf, operations } from '../support/management.ts';

/** What programs send and rely on beyond the words of the document. */

let nas: Appliance;
before(async () => {
  nas = await appliance({ profile: 'clients' });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }],
  });
});
after(() => nas[Symbol.asyncDispose]());

test('a share for guests only needs no cifs_guestok, and serves guests', async () => {
  const share = await nas.api.expect(201, 'POST', 'sharing/cifs/', {
    cifs_path: '/mnt/tank/public',
    cifs_guestonly: true,
  });
  assert.equal(share['cifs_guestok'], false);
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  const files = await nas.host.files.read('/etc/samba/holdfast/shares-0.conf');
  assert.match(files ?? '', /guest ok = yes\n {2}guest only = yes/);
});

test('iSCSI initiators and networks are separated by commas too, and target names become lower case', async () => {
  const lists = {
    iscsi_target_initiator_initiators: 'iqn.2026-01.com.example:a,iqn.2026-01.com.example:b',
    iscsi_target_initiator_auth_network: '192.0.2.0/24, 198.51.100.7',
  };
  const made = await nas.api.expect(201, 'POST', 'services/iscsi/authorizedinitiator/', lists);
  assert.deepEqual(made, { ...made, ...lists });
  const target = await nas.api.expect(201, 'POST', 'services/iscsi/target/', { iscsi_target_name: 'Disk.A' });
  assert.equal(target['iscsi_target_name'], 'disk.a');
});

test('full lists of months and days become a star for cron jobs and scrubs only', async () => {
  const days = '1,2,3,4,5,6,7';
  const cron = await nas.api.expect(201, 'POST', 'tasks/cronjob/', {
    cron_user: 'root',
    cron_command: 'true',
    cron_dayweek: days,
  });
  assert.equal(cron['cron_dayweek'], '*');
  const rsync = await nas.api.expect(201, 'POST', 'tasks/rsync/', {
    rsync_path: '/mnt/tank',
    rsync_user: 'root',
    rsync_remotehost: 'backup',
    rsync_remotemodule: 'tank',
    rsync_dayweek: days,
  });
  assert.equal(rsync['rsync_dayweek'], days);
  const smart = await nas.api.expect(201, 'POST', 'tasks/smarttest/', {
    smarttest_disks: ['ada0'],
    smarttest_type: 'S',
    smarttest_dayweek: days,
    smarttest_month: '1,2,3,4,5,6,7,8,9,10,11,12',
  });
  assert.deepEqual([smart['smarttest_dayweek'], smart['smarttest_month']], [days, '1,2,3,4,5,6,7,8,9,10,11,12']);
});

test('in the profile clients, an association that went with its extent can be removed once more', async () => {
  const target = await nas.api.expect(201, 'POST', 'services/iscsi/target/', { iscsi_target_name: 'once-more' });
  const extent = await nas.api.expect(201, 'POST', 'services/iscsi/extent/', {
    iscsi_target_extent_name: 'once-more',
    iscsi_target_extent_type: 'File',
    iscsi_target_extent_path: '/mnt/tank/once-more',
    iscsi_target_extent_filesize: '1MB',
  });
  const { id } = await nas.api.expect(201, 'POST', 'services/iscsi/targettoextent/', {
    iscsi_target: target['id'],
    iscsi_extent: extent['id'],
    iscsi_lunid: null,
  });
  await nas.api.expect(204, 'DELETE', `services/iscsi/extent/${extent['id']}/`);
  await nas.api.expect(204, 'DELETE', `services/iscsi/targettoextent/${id}/`);
  assert.equal((await nas.api.delete(`services/iscsi/targettoextent/${Number(id) + 1}/`)).status, 404);
});

test('in the profile clients, the debug archive and the version are where newer programs look', async () => {
  const { url } = await nas.api.expect(200, 'POST', 'system/debug/');
  assert.equal(url, '/legacy/system/debug/download/');
  const archive = await nas.api.open(String(url));
  assert.deepEqual([archive.status, archive.headers.get('content-type')], [200, 'application/gzip']);
  await archive.body?.cancel();
  const version = await nas.api.get('/api/v2.0/system/version/');
  assert.deepEqual([version.status, version.json], [200, 'FreeNAS-11.2-U8']);
  assert.equal((await nas.api.get('/api/v2.0/system/info/')).status, 404);
});

test('values that the public interface takes are taken', async () => {
  await nas.api.expect(200, 'PUT', 'jails/configuration/', { jc_ipv4_network_start: '192.0.2.10' });
  const map = await nas.api.expect(201, 'POST', 'directoryservice/idmap/ldap/', {
    idmap_ldap_ldap_url: 'ldap.example.com',
  });
  assert.equal(map['idmap_ldap_ldap_url'], 'ldap://ldap.example.com');
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_emailnotify: true });
  await nas.api.expect(201, 'PUT', 'storage/permission/', {
    mp_path: '/mnt/tank',
    mp_acl: 'unix',
    mp_mode: '0777',
    mp_user: 'root',
    mp_group: 'wheel',
  });
  assert.equal((await nas.api.delete('plugins/plugins/77/')).status, 404);
});

test('values at the edge of what the public interface takes have their effect on the machine', async () => {
  const user = await nas.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'jane',
    bsdusr_full_name: 'Doe, Jane',
    bsdusr_password_disabled: true,
    bsdusr_creategroup: true,
  });
  assert.equal(user['bsdusr_full_name'], 'Doe, Jane');
  const { users } = await nas.host.accounts.owned();
  assert.equal(users.find(({ name }) => name === 'jane')?.fullName, 'Doe, Jane');

  await nas.api.expect(201, 'POST', 'services/rsyncmod/', {
    rsyncmod_name: 'closed',
    rsyncmod_path: '/mnt/tank',
    rsyncmod_maxconn: -1,
  });
  await nas.api.expect(200, 'PUT', 'services/services/rsync/', { srv_enable: true });
  assert.match((await nas.host.files.read('/etc/rsyncd.conf')) ?? '', /max connections = -1/);

  await nas.api.expect(200, 'PUT', 'services/ups/', {
    ups_driver: 'usbhid-ups',
    ups_port: 'auto',
    ups_shutdown: 'batt',
    ups_shutdowntimer: 0,
  });
  await nas.api.expect(200, 'PUT', 'services/services/ups/', { srv_enable: true });
  assert.match((await nas.host.files.read('/etc/nut/upssched.conf')) ?? '', /^AT ONBATT \* START-TIMER shutdown 0$/m);

  const tag = 100_000;
  await nas.api.expect(201, 'POST', 'services/iscsi/authcredential/', {
    iscsi_target_auth_tag: tag,
    iscsi_target_auth_user: 'joe',
    iscsi_target_auth_secret: 'secretsecret12',
  });
  const portal = await nas.api.expect(201, 'POST', 'services/iscsi/portal/', {
    iscsi_target_portal_ips: ['0.0.0.0:3262'],
    iscsi_target_portal_discoveryauthmethod: 'CHAP',
    iscsi_target_portal_discoveryauthgroup: tag,
  });
  assert.equal(portal['iscsi_target_portal_discoveryauthgroup'], tag);

  await nas.api.expect(201, 'POST', 'system/bootenv/', { name: '_before.update' });
  assert.ok((await nas.host.bootEnvironments.list())?.some(({ name }) => name === '_before.update'));
  assert.equal((await nas.api.post('system/bootenv/', { name: '..' })).status, 400);
});

test('HEAD is answered wherever GET is, with the same status and no body', async () => {
  const managed = operations.filter(
    ({ method, answer, params }) => method === 'GET' && answer !== 'events' && Object.keys(params).length === 0,
  );
  for (const path of [
    ...['/healthz', '/readyz', '/openapi.json', '/docs', '/docs/start.js', '/api/v1.0/'],
    ...(await readable(nas.api)),
    ...managed.map((operation) => addressOf(operation)),
  ]) {
    const [head, get] = [await nas.api.send('HEAD', path), await nas.api.get(path)];
    assert.deepEqual([head.status, head.text], [get.status, ''], path);
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'), path);
  }
});

test('a setting that is accepted and has no effect is an alert while it lasts', async () => {
  const { api } = nas;
  const warnings = async () =>
    (await api.list('system/alert/'))
      .map(({ message }) => String(message))
      .filter((message) => /share, which|BIND|loader/.test(message));
  assert.deepEqual(await warnings(), []);
  await api.expect(200, 'PUT', 'services/cifs/', { cifs_srv_authmodel: 'share' });
  await api.expect(200, 'PUT', 'services/domaincontroller/', {
    dc_realm: 'example.com',
    dc_domain: 'EXAMPLE',
    dc_dns_forwarder: '192.0.2.1',
    dc_passwd: 'A password 1',
    dc_dns_backend: 'BIND9_DLZ',
  });
  const { id } = await api.expect(201, 'POST', 'system/tunable/', {
    tun_var: 'vfs.zfs.arc_max',
    tun_value: '1073741824',
    tun_type: 'loader',
  });
  assert.deepEqual((await warnings()).map((message) => message.split(/[ ,]/).slice(0, 3).join(' ')).toSorted(), [
    'The tunable "vfs.zfs.arc_max"',
    'cifs_srv_authmodel is share',
    'dc_dns_backend is BIND9_DLZ',
  ]);
  await api.expect(200, 'PUT', 'services/cifs/', { cifs_srv_authmodel: 'user' });
  await api.expect(200, 'PUT', 'services/domaincontroller/', { dc_dns_backend: 'SAMBA_INTERNAL' });
  await api.expect(200, 'PUT', `system/tunable/${id}/`, { tun_enabled: false });
  assert.deepEqual(await warnings(), []);
});

test('a volume that has lost a disk is a critical alert', async () => {
  const [first] = (await nas.host.zfs.pools())[0]?.groups[0]?.devices ?? [];
  await nas.api.expect(202, 'POST', 'storage/volume/tank/offline/', { label: first?.guid });
  const alert = (await nas.api.list('system/alert/')).find(({ message }) => message === 'The volume tank is DEGRADED.');
  assert.equal(alert?.['level'], 'CRIT');
});
