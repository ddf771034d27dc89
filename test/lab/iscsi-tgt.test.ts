import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { everyRow } from '../support/iscsi-rows.ts';
import { base, initiatorAt, quickFamilies } from '../support/lab/initiator.ts';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';

/** The same machine as that of iscsi.test.ts, configured to offer targets by tgt instead of the kernel. */
let nas: Nas;

const at = (path: string) => `services/iscsi/${path}/`;
const MiB = 1024 ** 2;

before(async () => {
  nas = await startNas({ disks: 1, memory: 2048, settings: ['HOLDFAST_ISCSI=tgt'] });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  await nas.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: '64M' });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const { discovered, capacity, blockSize, inquired, busy, tried, passed } = initiatorAt(() => nas.machine.address);
const id = async (path: string, body: object) => Number((await nas.api.expect(201, 'POST', at(path), body))['id']);
const put = (path: string, body: object) => nas.api.expect(200, 'PUT', at(path), body);
const drift = async () => (await nas.api.list('/api/holdfast/v1/drift')).find((one) => one['subsystem'] === 'iscsi');

async function refused(path: string, body: object, words: RegExp): Promise<void> {
  const refusal = await nas.api.post(at(path), body);
  assert.equal(refusal.status, 400, refusal.text);
  assert.match(refusal.text, words);
}

test('once the service is on, tgt offers the targets of the records, and the kernel offers none', async () => {
  await id('portal', { iscsi_target_portal_ips: ['0.0.0.0:3260'] });
  const target = await id('target', { iscsi_target_name: 't' });
  await id('targetgroup', { iscsi_target: target, iscsi_target_portalgroup: 1 });
  const zvol = await id('extent', {
    iscsi_target_extent_name: 'tank/v',
    iscsi_target_extent_type: 'Disk',
    iscsi_target_extent_disk: 'zvol/tank/v',
  });
  const file = await id('extent', {
    iscsi_target_extent_name: 'f',
    iscsi_target_extent_type: 'File',
    iscsi_target_extent_path: '/mnt/tank/new/folder/f',
    iscsi_target_extent_filesize: '50MB',
    iscsi_target_extent_blocksize: 4096,
    iscsi_target_extent_rpm: 7200,
  });
  for (const extent of [zvol, file]) await id('targettoextent', { iscsi_target: target, iscsi_extent: extent });
  assert.deepEqual(
    (await nas.api.list(at('targettoextent'))).map((one) => one['iscsi_lunid']),
    [1, 2],
    'LUN 0 is tgt’s own',
  );
  assert.deepEqual(await discovered(), []);
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
  assert.deepEqual(await discovered(), [`${base}:t`]);
  assert.deepEqual([await capacity('t', 1), await capacity('t', 2)], [64 * MiB, 50 * MiB]);
  assert.equal(
    (await nas.machine.run('ls -d /sys/kernel/config/target/iscsi 2>/dev/null || echo none')).trim(),
    'none',
  );
});

test('an extent has the names and properties of its record', async () => {
  const record = await nas.api.expect(200, 'GET', `${at('extent')}1/`);
  assert.match(await inquired('t', 1, 0x80), new RegExp(`${record['iscsi_target_extent_serial']}\\]`));
  assert.match(await inquired('t', 1, 0x83), new RegExp(`\\[${String(record['iscsi_target_extent_naa']).slice(2)}\\]`));
  assert.match(await inquired('t', 1, 0xb1), /Rate:1RPM/, 'it does not turn');
  assert.match(await inquired('t', 2, 0xb1), /Rate:7200RPM/);
  assert.match(await inquired('t', 1), /Vendor:FreeNAS.*Product:iSCSI Disk/s);
});

test('data that is written from outside is in the zvol, and a read-only extent cannot be written', async () => {
  const digest = () => nas.machine.run('sync; dd if=/dev/zvol/tank/v bs=1M status=none | md5sum');
  const empty = await digest();
  assert.match(await tried('SCSI.Write10.Simple', 't', 1), /asserts\s+\d+\s+\d+\s+\d+\s+0/);
  const written = await digest();
  assert.notEqual(written, empty);
  await put('extent/1', { iscsi_target_extent_ro: true });
  assert.match(await tried('SCSI.Write10.Simple', 't', 1), /write.?protected|SKIPPED|FAILED/i);
  assert.equal(await digest(), written);
  await put('extent/1', { iscsi_target_extent_ro: false, iscsi_target_extent_blocksize: 4096 });
  assert.deepEqual([await blockSize('t', 1), await capacity('t', 1)], [4096, 64 * MiB]);
  await put('extent/1', { iscsi_target_extent_blocksize: 512 });
});

test('an added LUN, an added target, and a zvol and a file that grow disturb no session', async () => {
  await using session = busy('t', 1);
  await eventually(10, async () =>
    assert.match(await nas.machine.run('tgtadm --lld iscsi --mode conn --op show --tid 1'), /Initiator: iqn/),
  );
  await nas.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'w', volsize: '16M' });
  const extent = await id('extent', { iscsi_target_extent_name: 'w', iscsi_target_extent_disk: 'zvol/tank/w' });
  await id('targettoextent', { iscsi_target: 1, iscsi_extent: extent });
  assert.equal(await capacity('t', 3), 16 * MiB);
  const other = await id('target', { iscsi_target_name: 'other' });
  await id('targetgroup', { iscsi_target: other, iscsi_target_portalgroup: 1 });
  await nas.api.expect(201, 'PUT', 'storage/volume/tank/zvols/v/', { volsize: '96M' });
  await eventually(20, async () => assert.equal(await capacity('t', 1), 96 * MiB));
  await put('extent/2', { iscsi_target_extent_filesize: '60MB' });
  assert.equal(await capacity('t', 2), 60 * MiB);
  for (const path of [`${at('target')}1/`, `${at('extent')}1/`, `${at('targettoextent')}1/`]) {
    const refusal = await nas.api.delete(path);
    assert.equal(refusal.status, 400);
    assert.match(refusal.text, /"__all__":\["iqn.2005-10.org.freenas.ctl:t is in use by iqn.1993-08.org.debian:01:c/);
  }
  assert.equal(await session.end(), 'it lasted');
});

test('a target that is deleted by force during a session is gone, and its zvol is free', async () => {
  assert.match((await nas.api.delete('storage/volume/tank/zvols/w/')).text, /dataset is busy/);
  await using session = busy('t', 3);
  await eventually(10, async () =>
    assert.match(await nas.machine.run('tgtadm --lld iscsi --mode conn --op show --tid 1'), /Initiator: iqn/),
  );
  const [extent] = (await nas.api.list(at('extent'))).filter((one) => one['iscsi_target_extent_name'] === 'w');
  assert.equal((await nas.api.send('DELETE', `${at('extent')}${extent?.['id']}/`, { force: true })).status, 204);
  assert.equal((await nas.api.delete('storage/volume/tank/zvols/w/')).status, 204);
  assert.equal(typeof (await capacity('t', 3)), 'string');
  assert.equal(await capacity('t', 1), 96 * MiB);
  await session.end();
});

test('initiators with other names or addresses see nothing', async () => {
  const network = `${nas.machine.address.split('.').slice(0, 3).join('.')}.0/24`;
  await id('authorizedinitiator', { iscsi_target_initiator_initiators: 'iqn.2026-01.com.example:one' });
  await put('targetgroup/1', { iscsi_target_initiatorgroup: 1 });
  assert.deepEqual(await discovered(), [`${base}:other`]);
  assert.equal(typeof (await capacity('t', 1)), 'string');
  const named = { initiator: 'iqn.2026-01.com.example:one' };
  assert.deepEqual(await discovered(named), [`${base}:other`, `${base}:t`]);
  assert.equal(await capacity('t', 1, named), 96 * MiB);
  const both = await nas.api.put(`${at('authorizedinitiator')}1/`, { iscsi_target_initiator_auth_network: network });
  assert.equal(both.status, 400);
  assert.match(both.text, /names or networks/);
  await put('authorizedinitiator/1', {
    iscsi_target_initiator_initiators: 'ALL',
    iscsi_target_initiator_auth_network: '10.99.0.0/16 192.0.2.1',
  });
  assert.deepEqual(await discovered(named), [`${base}:other`]);
  assert.equal(typeof (await capacity('t', 1, named)), 'string');
  await put('authorizedinitiator/1', { iscsi_target_initiator_auth_network: `10.99.0.0/16 ${network}` });
  assert.equal(await capacity('t', 1), 96 * MiB);
});

test('CHAP with several users and mutual CHAP accept right secrets and refuse wrong ones', async () => {
  const joe = { iscsi_target_auth_tag: 5, iscsi_target_auth_user: 'joe', iscsi_target_auth_secret: 'secretsecret12' };
  await id('authcredential', {
    ...joe,
    iscsi_target_auth_peeruser: 'peer',
    iscsi_target_auth_peersecret: 'othersecret12',
  });
  await put('targetgroup/2', { iscsi_target_authtype: 'CHAP', iscsi_target_authgroup: 5 });
  await id('targettoextent', { iscsi_target: 2, iscsi_extent: 2 });
  const jane = await id('authcredential', {
    iscsi_target_auth_tag: 5,
    iscsi_target_auth_user: 'jane',
    iscsi_target_auth_secret: 'secretsecret34',
  });
  for (const login of ['joe%secretsecret12', 'jane%secretsecret34'])
    assert.equal(await capacity('other', 1, { login }), 60 * MiB, login);
  for (const login of [undefined, 'joe%wrongsecret12', 'joe%secretsecret34', 'ann%secretsecret12'])
    assert.equal(typeof (await capacity('other', 1, login === undefined ? {} : { login })), 'string', String(login));
  await put(`authcredential/${jane}`, { iscsi_target_auth_secret: 'secretsecret56' });
  assert.equal(typeof (await capacity('other', 1, { login: 'jane%secretsecret34' })), 'string');
  assert.equal(await capacity('other', 1, { login: 'jane%secretsecret56' }), 60 * MiB);
  assert.equal((await nas.api.delete(`${at('authcredential')}${jane}/`)).status, 204);
  await put('targetgroup/2', { iscsi_target_authtype: 'CHAP Mutual' });
  const login = 'joe%secretsecret12';
  assert.equal(await capacity('other', 1, { login, peer: 'target_user=peer&target_password=othersecret12' }), 60 * MiB);
  assert.match(
    String(await capacity('other', 1, { login, peer: 'target_user=peer&target_password=wrongsecret12' })),
    /Invalid CHAP_R response from the target/,
  );
});

test('discovery with CHAP', async () => {
  await put('portal/1', {
    iscsi_target_portal_ips: ['0.0.0.0:3260'],
    iscsi_target_portal_discoveryauthmethod: 'CHAP',
    iscsi_target_portal_discoveryauthgroup: 5,
  });
  assert.deepEqual(await discovered(), []);
  assert.deepEqual(await discovered({ login: 'joe%wrongsecret12' }), []);
  assert.deepEqual(await discovered({ login: 'joe%secretsecret12' }), [`${base}:other`, `${base}:t`]);
  await put('portal/1', { iscsi_target_portal_ips: ['0.0.0.0:3260'], iscsi_target_portal_discoveryauthmethod: 'None' });
  assert.deepEqual(await discovered(), [`${base}:other`, `${base}:t`]);
});

test('settings that tgt does not support are refused with the reason, and change nothing', async () => {
  const before = await nas.machine.run('tgtadm --lld iscsi --mode target --op show');
  await refused(
    'targettoextent',
    { iscsi_target: 2, iscsi_extent: 1, iscsi_lunid: 0 },
    /reserves LUN 0 of every target/,
  );
  await id('portal', { iscsi_target_portal_ips: [`${nas.machine.address}:3261`] });
  await refused('targetgroup', { iscsi_target: 1, iscsi_target_portalgroup: 2 }, /every target at all addresses/);
  await refused(
    'authcredential',
    { iscsi_target_auth_tag: 5, iscsi_target_auth_user: 'joe', iscsi_target_auth_secret: 'anothersecret' },
    /one secret for each user/,
  );
  assert.equal(await nas.machine.run('tgtadm --lld iscsi --mode target --op show'), before);
});

test('a portal has several addresses, and an iSNS server is notified', async () => {
  await put('portal/2', { iscsi_target_portal_ips: ['[::1]:3262'] });
  await put('portal/1', { iscsi_target_portal_ips: ['0.0.0.0:3260', `${nas.machine.address}:3261`] });
  assert.equal(await capacity('t', 1, { port: 3261 }), 96 * MiB);
  assert.deepEqual((await nas.machine.run('ss -ltnH | grep -o ":326[0-9] " | sort')).split('\n').filter(Boolean), [
    ':3260 ',
    ':3261 ',
  ]);
  await nas.machine.run(
    "systemd-run --quiet --unit=isns --collect systemd-socket-activate --inetd -a -l 127.0.0.1:3205 sh -c 'cat >>/run/isns'",
  );
  await eventually(20, async () => assert.match(await nas.machine.run('ss -ltn'), /127\.0\.0\.1:3205/));
  await put('globalconfiguration', { iscsi_isns_servers: '127.0.0.1:3205' });
  const told = async () => (await nas.machine.tryRun('grep -ao "iqn[a-z0-9.:-]*" /run/isns')).output;
  const late = await id('target', { iscsi_target_name: 'late' });
  await id('targetgroup', { iscsi_target: late, iscsi_target_portalgroup: 1 });
  await eventually(20, async () => assert.match(await told(), new RegExp(`${base}:late`)));
  for (const on of [false, true])
    await nas.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: on });
  await eventually(20, async () => assert.match(await told(), new RegExp(`${base}:t\\b`)));
  assert.equal((await nas.api.delete(`${at('target')}${late}/`)).status, 204);
  await put('globalconfiguration', { iscsi_isns_servers: '' });
});

test('nothing differs from the configuration; a restart of Holdfast ends no session, and after one of tgt the targets return', async () => {
  assert.deepEqual(await drift(), {
    subsystem: 'iscsi',
    managed: true,
    degraded: null,
    drift: [],
    policy: 'heal',
    healed: null,
    problems: [],
  });
  await using session = busy('t', 1);
  await pause(1000);
  await nas.machine.run('systemctl restart holdfast');
  await eventually(30, async () => assert.deepEqual((await drift())?.['drift'], []));
  assert.equal(await session.end(), 'it lasted', 'a restart of the daemon ends no session');
  await nas.machine.run('systemctl restart tgt');
  assert.match(String((await drift())?.['drift']), new RegExp(`${base}:other`));
  await nas.machine.run('systemctl restart holdfast');
  await eventually(30, async () => assert.equal(await capacity('other', 1, { login: 'joe%secretsecret12' }), 60 * MiB));
  assert.equal(typeof (await capacity('other', 1)), 'string');
});

test('every iSCSI row of the document is answered while targets are offered', async () => {
  await everyRow(nas.api);
  assert.deepEqual(
    (await nas.api.list('/api/holdfast/v1/drift')).find((one) => one['subsystem'] === 'iscsi')?.['drift'],
    [],
  );
});

test('the test suite of libiscsi against tgt', { timeout: 400_000 }, async (t) => {
  const count = await passed(t, quickFamilies, 't', 1);
  assert.ok(count.passed > count.failed);
});

test('switching the service off stops the daemon', async () => {
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: false }))['srv_state'],
    'STOPPED',
  );
  assert.match(
    (await nas.machine.tryRun('systemctl is-active tgt; systemctl is-enabled tgt')).output,
    /^inactive\ndisabled/m,
  );
  assert.deepEqual(await discovered(), []);
  assert.equal((await nas.machine.tryRun('journalctl --no-pager | grep -c "secretsecret"')).output.trim(), '0');
});
