import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance } from '../support/appliance.ts';
import { at } from '../support/description.ts';

const plan = '/api/holdfast/v1/plan';

test('a plan says what a change would do to the machine, and does nothing', async () => {
  await using box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  const answer = await box.api.post(plan, {
    method: 'POST',
    path: 'sharing/cifs/',
    body: { cifs_path: '/mnt/tank/media' },
  });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, [
    'create the folder /mnt/tank/media',
    'write /etc/samba/holdfast/shares-0.conf',
    'write /etc/samba/smb.conf',
  ]);
  assert.deepEqual(await box.api.list('sharing/cifs/'), []);
  assert.equal(await box.host.files.kind('/mnt/tank/media'), undefined);
});

test('a plan names the creation of a folder only where the folder is missing', async () => {
  await using box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  const planned = async (cifs_path: string) =>
    (await box.api.post(plan, { method: 'POST', path: 'sharing/cifs/', body: { cifs_path } })).json;
  const files = ['write /etc/samba/holdfast/shares-0.conf', 'write /etc/samba/smb.conf'];
  assert.deepEqual(await planned('/mnt/tank/media'), files);
  assert.deepEqual(await planned('/mnt/tank/media/films'), ['create the folder /mnt/tank/media/films', ...files]);
});

test('requests of our own interface can be planned by their whole path', async () => {
  await using box = await appliance();
  const planned = async (method: string, path: string, body?: object) =>
    (await box.api.post(plan, { method, path, body })).json;
  const root = '/api/holdfast/v1';
  assert.deepEqual(await planned('POST', `${root}/keys`, { name: 'one', role: 'operator' }), []);
  assert.deepEqual(await planned('POST', `${root}/tokens`), ['issue a token for pairing']);
  assert.deepEqual(await box.api.list(`${root}/keys`), []);
  assert.deepEqual(await planned('PUT', '/api/v1.0/system/ntpserver/1/', { ntp_burst: true }), [
    'write /etc/chrony/chrony.conf',
    'restart chrony',
  ]);
});

test('a plan of a wrong change names what is wrong', async () => {
  await using box = await appliance();
  const answer = await box.api.post(plan, {
    method: 'POST',
    path: 'tasks/cronjob',
    body: { cron_user: 'nobody-knows' },
  });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /"cron_command":\["This field is required\."\]/);
});

test('what cannot be planned is refused in words', async () => {
  await using box = await appliance();
  for (const body of [{}, { method: 'GET', path: 'sharing/cifs/' }, { method: 'POST', path: 'no/such/' }, []]) {
    const answer = await box.api.post(plan, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
  }
});

test('actions and objects of the host can be planned, and nothing is done', async () => {
  await using box = await appliance();
  const planned = async (method: string, path: string, body: object = {}) => {
    const answer = await box.api.post(plan, { method, path, body });
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.json;
  };
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  assert.deepEqual(await planned('POST', 'storage/volume/', { volume_name: 'tank', layout }), ['create the pool tank']);
  assert.deepEqual(await box.api.list('storage/volume/'), []);
  await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
  assert.deepEqual(await planned('POST', 'storage/volume/tank/datasets/', { name: 'media' }), [
    'create the dataset tank/media',
  ]);
  await box.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media' });
  await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'media', cifs_path: '/mnt/tank/media' });
  assert.deepEqual(await planned('DELETE', 'storage/volume/tank/datasets/media/'), ['destroy the dataset tank/media']);
  const destruction = await planned('DELETE', 'storage/volume/tank/', { destroy: true });
  assert.ok(Array.isArray(destruction));
  assert.equal(destruction.at(-1), 'destroy the pool tank');
  assert.ok(destruction.includes('write /etc/samba/smb.conf'), JSON.stringify(destruction));
  assert.deepEqual(await planned('POST', 'storage/volume/tank/scrub/'), ['start the scrub of tank']);
  assert.match(JSON.stringify(await planned('POST', 'system/reboot/')), /Restarts the machine/);
  assert.equal((await box.api.get('storage/volume/tank/datasets/media/')).status, 200);
  assert.deepEqual(
    (await box.api.list('sharing/cifs/')).map(({ cifs_name }) => cifs_name),
    ['media'],
  );
});

test('a plan of a request that would be refused is refused for the same reason', async () => {
  await using box = await appliance();
  for (const [method, path, body, reason] of [
    ['DELETE', 'storage/volume/none/', {}, /^$|none/],
    ['POST', 'storage/volume/', { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['none'] }] }, /none/],
    ['POST', 'storage/volume/none/scrub/', {}, /^$|none/],
    ['POST', 'storage/snapshot/', { dataset: 'none', name: 'now' }, /"dataset":\[".*none/],
  ] as const) {
    const dry = await box.api.post(plan, { method, path, body });
    assert.ok(dry.status >= 400 && dry.status < 500, `${path}: ${dry.status} ${dry.text}`);
    assert.match(dry.text, reason);
    assert.ok((await box.api.send(method, path, body)).status >= 400);
  }
});

test('a plan whose rest depends on the answer of another machine ends with the question', async () => {
  await using box = await appliance();
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  await box.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
  await box.api.expect(201, 'POST', 'storage/task/', { task_filesystem: 'tank' });
  const answer = await box.api.post(plan, {
    method: 'POST',
    path: 'storage/replication/',
    body: {
      repl_filesystem: 'tank',
      repl_zfs: 'backup',
      repl_remote_hostname: 'other.example.com',
      repl_remote_mode: 'SEMIAUTOMATIC',
      repl_remote_token: 'issued',
    },
  });
  assert.deepEqual(answer.json, ['exchange keys with other.example.com, which decides what follows']);
});

test('a plan asks what the request would ask, and is refused by the same answer', async () => {
  await using box = await appliance();
  const { api, machine } = box;
  await api.expect(201, 'POST', 'services/iscsi/portal/', { iscsi_target_portal_ips: ['0.0.0.0:3260'] });
  await api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: true });
  await api.expect(201, 'POST', 'services/iscsi/target/', { iscsi_target_name: 't' });
  await api.expect(201, 'POST', 'services/iscsi/targetgroup/', { iscsi_target: 1, iscsi_target_portalgroup: 1 });
  machine.targets.connect('iqn.2005-10.org.freenas.ctl:t', {
    name: 'iqn.1993-08.org.debian:01:c',
    address: '192.0.2.7',
    portal: { address: '192.0.2.1', port: 3260 },
  });
  const request = { method: 'DELETE', path: 'services/iscsi/target/1/' };
  const refusal = await api.delete(request.path);
  assert.match(refusal.text, /is in use by/);
  const planned = await api.post(plan, request);
  assert.deepEqual([planned.status, at(planned.json, 'fields')], [400, refusal.json]);
  const forced = await api.post(plan, { ...request, body: { force: true }, details: true });
  assert.deepEqual(forced.json, [
    {
      title: 'bring the iSCSI targets into line',
      reversible: true,
      decides: false,
      touches: ['iSCSI targets'],
      files: [],
      services: [],
      sessions: ['iqn.1993-08.org.debian:01:c at iqn.2005-10.org.freenas.ctl:t'],
    },
  ]);
});

test('a plan goes on after a step with what the step makes', async () => {
  await using box = await appliance();
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  const body = { volume_name: 'tank', layout, encryption: true, encryption_inirand: true };
  const answer = await box.api.post(plan, { method: 'POST', path: 'storage/volume/', body });
  assert.deepEqual(answer.json, ['fill ada0 with random data', 'create the pool tank']);
  const child = { method: 'POST', path: 'storage/dataset/tank/', body: { name: 'media' } };
  await box.api.expect(201, 'POST', 'storage/volume/', body);
  assert.deepEqual((await box.api.post(plan, child)).json, ['create the dataset tank/media']);
});

test('the details of a plan are what each step touches, its files as diffs, and its services', async () => {
  await using box = await appliance();
  const { api } = box;
  const layout = [{ vdevtype: 'stripe', disks: ['ada0'] }];
  await api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
  for (const service of ['cifs', 'snmp'])
    await api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable: true });
  const detailed = async (method: string, path: string, body: object) => {
    const request = { method, path, body };
    const { json } = await api.post(plan, { ...request, details: true });
    assert.ok(Array.isArray(json));
    assert.deepEqual(
      json.map(({ title }) => title),
      (await api.post(plan, request)).json,
    );
    return json;
  };
  const nothing = { reversible: true, decides: false, files: [], services: [], sessions: [] };
  const restarted = (...services: readonly string[]) => ({
    ...nothing,
    title: `restart ${services.join(' and ')}`,
    touches: services.map((service) => `service ${service}`),
    services: services.map((service) => ({ service, action: 'restart' })),
  });
  const written = (path: string, diff: string | null) => ({
    ...nothing,
    title: `write ${path}`,
    touches: [`file ${path}`],
    files: [{ path, diff }],
  });
  const diff = `--- /etc/samba/smb.conf
+++ /etc/samba/smb.conf
@@ -1,7 +1,7 @@
 # Written by Holdfast.
 [global]
   netbios name = holdfast
-  workgroup = WORKGROUP
+  workgroup = CELLAR
   server string = Holdfast
   dos charset = CP437
   unix charset = UTF-8
`;
  assert.deepEqual(await detailed('PUT', 'services/cifs/', { cifs_srv_workgroup: 'CELLAR' }), [
    written('/etc/samba/smb.conf', diff),
    restarted('smbd', 'nmbd'),
  ]);
  // It contains the community, so not every account may read it.
  assert.deepEqual(await detailed('PUT', 'services/snmp/', { snmp_location: 'Rack' }), [
    written('/etc/snmp/snmpd.conf', null),
    restarted('snmpd'),
  ]);
  assert.deepEqual(await detailed('DELETE', 'storage/volume/tank/', {}), [
    { ...nothing, title: 'destroy the pool tank', touches: ['pool tank'], reversible: false },
  ]);
});
