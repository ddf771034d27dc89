import assert from 'node:assert/strict';
import { test } from 'node:test';
import { services } from '../../src/areas/services/index.ts';
import { HostError } from '../../src/host/ports/index.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const switchOf = (nas: Appliance, service: string, srv_enable: boolean) =>
  nas.api.put(`services/services/${service}/`, { srv_enable });

test('every service has a switch, found by id, by name and by a filter', async () => {
  await using nas = await appliance();
  const all = await nas.api.list('services/services/?limit=0');
  assert.deepEqual(
    all.map((one) => one['srv_service']),
    services.map(({ name }) => name),
  );
  for (const one of all) {
    const name = String(one['srv_service']);
    assert.deepEqual(await nas.api.expect(200, 'GET', `services/services/${one['id']}/`), one);
    assert.deepEqual(await nas.api.expect(200, 'GET', `services/services/${name}/`), one);
    assert.deepEqual(await nas.api.list(`services/services/?srv_service=${name}`), [one]);
  }
  assert.equal((await nas.api.get('services/services/nosuch/')).status, 404);
  assert.equal((await nas.api.post('services/services/', { srv_service: 'x' })).status, 405);
  assert.equal((await nas.api.delete('services/services/cifs/')).status, 405);
});

test('a switch is what the machine does, and a body without it changes nothing', async () => {
  await using nas = await appliance();
  for (const service of ['cifs', 'ftp', 'lldp', 'rsync', 'smartd', 'snmp', 'ssh', 'tftp', 'ups']) {
    for (const on of [true, false]) {
      const record = await nas.api.expect(200, 'PUT', `services/services/${service}/`, {
        srv_enable: on,
        srv_service: 'renamed',
        ups_mode: 'master',
      });
      assert.deepEqual(
        [record['srv_service'], record['srv_enable'], record['srv_state']],
        // No UPS is configured yet.
        [service, on, on && service !== 'ups' ? 'RUNNING' : 'STOPPED'],
      );
    }
  }
  const before = await nas.api.expect(200, 'GET', 'services/services/ftp/');
  assert.deepEqual(await nas.api.expect(200, 'PUT', 'services/services/ftp/', { dc_domain: 'x' }), before);
});

test('a service that waits for a UPS, a disk or a target is on, but not running', async () => {
  await using nas = await appliance({ disks: [] });
  const stateOf = async (service: string) => {
    const { srv_enable, srv_state } = await nas.api.expect(200, 'GET', `services/services/${service}/`);
    return [srv_enable, srv_state];
  };
  for (const service of ['ups', 'smartd', 'iscsitarget']) {
    assert.equal((await switchOf(nas, service, true)).status, 200);
    assert.deepEqual(await stateOf(service), [true, 'STOPPED'], service);
  }
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_driver: 'usbhid-ups', ups_port: 'auto' });
  assert.deepEqual(await stateOf('ups'), [true, 'RUNNING']);
  await nas.api.expect(200, 'PUT', 'services/ups/', { ups_driver: '', ups_mode: 'slave', ups_remotehost: 'other' });
  assert.deepEqual(await stateOf('ups'), [true, 'RUNNING'], 'another machine has the UPS');
  await nas.api.expect(201, 'POST', 'services/iscsi/target/', { iscsi_target_name: 't' });
  assert.deepEqual(await stateOf('iscsitarget'), [true, 'RUNNING']);
});

test('Samba without NetBIOS runs without nmbd, whose unit would skip it, and has its programs back with it', async () => {
  await using nas = await appliance();
  const set = (cifs_srv_smb_options: string) => nas.api.expect(200, 'PUT', 'services/cifs/', { cifs_srv_smb_options });
  const running = async () => [
    (await nas.api.expect(200, 'GET', 'services/services/cifs/'))['srv_state'],
    ...['smbd', 'nmbd'].map((name) => nas.machine.services.isRunning(name)),
  ];
  await set('Disable  NetBIOS = Yes');
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  assert.deepEqual(await running(), ['RUNNING', true, false]);
  await assert.rejects(nas.machine.services.start('nmbd'), /nmbd was not started, because a condition of its unit/);
  const report = await nas.api.expect(200, 'GET', '/api/holdfast/v1/doctor');
  assert.doesNotMatch(JSON.stringify(report), /services\/services\/cifs/);
  await set('disable netbios = yes\ndisable netbios = no');
  assert.deepEqual(await running(), ['RUNNING', true, true]);
  await set('disable netbios = true');
  assert.deepEqual(await running(), ['RUNNING', true, false]);
});

test('a program that does not start leaves its switch off, and its words are the answer', async () => {
  await using nas = await appliance({
    around: (host) => ({
      ...host,
      services: new Proxy(host.services, {
        get(target, key) {
          if (key === 'start')
            return async () =>
              Promise.reject(new HostError('rsync did not start: bind() failed: Address already in use'));
          const value: unknown = Reflect.get(target, key);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
    }),
  });
  const answer = await switchOf(nas, 'rsync', true);
  assert.equal(answer.status, 400);
  assert.deepEqual(answer.json, { error_message: 'rsync did not start: bind() failed: Address already in use' });
  assert.equal((await nas.api.expect(200, 'GET', 'services/services/rsync/'))['srv_enable'], false);
});

test('a port that another service has is refused before anything is touched, and named', async () => {
  await using nas = await appliance();
  await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_port: 873 });
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  const switching = await switchOf(nas, 'rsync', true);
  assert.equal(switching.status, 409);
  assert.deepEqual(switching.json, {
    srv_enable: [
      'TCP port 873 of the service rsync is already used by the service ftp. Set rsyncd_port of services/rsyncd or ftp_port of services/ftp to another port.',
    ],
  });
  await nas.api.expect(200, 'PUT', 'services/rsyncd/', { rsyncd_port: 8730 });
  await nas.api.expect(200, 'PUT', 'services/services/rsync/', { srv_enable: true });
  const setting = await nas.api.put('services/rsyncd/', { rsyncd_port: 873 });
  assert.deepEqual(setting.json, {
    rsyncd_port: [
      'TCP port 873 of the service rsync is already used by the service ftp. Set ftp_port of services/ftp to another port.',
    ],
  });
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: false });
  await nas.api.expect(200, 'PUT', 'services/rsyncd/', { rsyncd_port: 873 });
});

test('Samba as a domain controller and Samba for shares do not run beside one another', async () => {
  await using nas = await appliance();
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  const answer = await switchOf(nas, 'domaincontroller', true);
  assert.equal(answer.status, 409);
  assert.match(answer.text, /TCP port 445 of the service domaincontroller is already used by the service cifs/);
});

test("the interface's own port is nobody else's, TCP and UDP are apart, and so are two addresses", async () => {
  await using nas = await appliance({ listen: { address: '127.0.0.1', port: 8080 } });
  await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_port: 8080 });
  const answer = await switchOf(nas, 'ftp', true);
  assert.deepEqual(answer.json, {
    srv_enable: [
      'TCP port 8080 of the service ftp is already used by Holdfast itself. Set ftp_port of services/ftp to another port.',
    ],
  });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await nas.api.expect(200, 'PUT', 'services/tftp/', { tftp_directory: '/mnt/tank', tftp_port: 8080 });
  await nas.api.expect(200, 'PUT', 'services/services/tftp/', { srv_enable: true });
  await nas.api.expect(200, 'PUT', 'services/tftp/', { tftp_port: 161, tftp_host: '192.0.2.7' });
  const everywhere = await switchOf(nas, 'snmp', true);
  assert.deepEqual(everywhere.json, {
    srv_enable: [
      'UDP port 161 of the service snmp is already used by the service tftp. Set tftp_port of services/tftp to another port.',
    ],
  });
});

test('the answer says that the SSH server refuses passwords, while it does', async () => {
  await using nas = await appliance();
  const noteOf = async (path: string, body: object) =>
    (await nas.api.put(path, body)).headers.get('x-holdfast-note') ?? undefined;
  assert.equal(await noteOf('services/services/ftp/', { srv_enable: true }), undefined);
  assert.equal(await noteOf('services/services/ssh/', { srv_enable: true }), undefined, 'still configured by hand');
  const said = await noteOf('services/ssh/', { ssh_tcpport: 2222 });
  assert.match(said ?? '', /refuses passwords and accepts SSH keys .*Set ssh_passwordauth of services\/ssh/);
  assert.equal(await noteOf('services/services/ssh/', { srv_enable: true }), said);
  assert.equal(await noteOf('services/ssh/', { ssh_passwordauth: true }), undefined);
  assert.equal(await noteOf('services/services/ssh/', { srv_enable: false }), undefined);
});

test('the revisions name what was changed', async () => {
  await using nas = await appliance();
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  const { id } = await nas.api.expect(201, 'POST', 'account/groups/', { bsdgrp_group: 'team' });
  await nas.api.expect(200, 'PUT', `account/groups/${id}/`, { bsdgrp_group: 'crew' });
  await nas.api.expect(204, 'DELETE', `account/groups/${id}/`);
  assert.deepEqual(
    (await nas.api.list('/api/holdfast/v1/revisions')).slice(0, 4).map(({ title }) => title),
    ['remove the group crew', 'change the group team', 'create a group', 'change the service ftp'],
  );
});
