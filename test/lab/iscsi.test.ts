import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { everyRow } from '../support/iscsi-rows.ts';
import { base, initiatorAt, quickFamilies } from '../support/lab/initiator.ts';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;

const at = (path: string) => `services/iscsi/${path}/`;
const MiB = 1024 ** 2;

before(async () => {
  nas = await startNas({ disks: 1, memory: 2048 });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  await nas.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'v', volsize: '64M' });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const lines = async (script: string) => (await nas.machine.run(script)).split('\n').filter((line) => line !== '');
const id = async (path: string, body: object) => Number((await nas.api.expect(201, 'POST', at(path), body))['id']);

const { discovered, capacity, blockSize, inquired, busy, tried, passed } = initiatorAt(() => nas.machine.address);

/** The result of a login with mutual CHAP by an initiator in the machine itself: the name of the disk, or the error. */
async function loggedIn(target: string, peerSecret: string): Promise<string> {
  const node = `iscsiadm -m node -T ${base}:${target} -p ${nas.machine.address}:3260`;
  const set = (name: string, value: string) =>
    `${node} -o update -n node.session.auth.${name} -v '${value}' >/dev/null`;
  const { output } = await nas.machine.tryRun(
    `echo InitiatorName=iqn.1993-08.org.debian:01:within >/etc/iscsi/initiatorname.iscsi
    systemctl start iscsid; ${node} -o new >/dev/null
    ${set('authmethod', 'CHAP')}; ${set('username', 'joe')}; ${set('password', 'secretsecret12')}; ${set('username_in', 'peer')}; ${set('password_in', peerSecret)}
    ${node} -o update -n node.session.initial_login_retry_max -v 1 >/dev/null
    timeout 60 ${node} --login 2>&1; udevadm settle; cat /sys/class/scsi_device/*/device/wwid 2>/dev/null; ${node} --logout >/dev/null 2>&1; ${node} -o delete >/dev/null 2>&1`,
    { seconds: 100 },
  );
  return output;
}

test('once the service is on, the kernel offers the targets of the records', async () => {
  await id('portal', { iscsi_target_portal_ips: ['0.0.0.0:3260'] });
  const target = await id('target', { iscsi_target_name: 't', iscsi_target_alias: 'an alias' });
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
  assert.deepEqual(await discovered(), []);
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
  assert.deepEqual(await discovered(), [`${base}:t`]);
  assert.deepEqual([await capacity('t', 0), await capacity('t', 1)], [64 * MiB, 50 * MiB]);
  const [size, blocks] = (await nas.machine.run('stat -c "%s %b" /mnt/tank/new/folder/f')).split(' ').map(Number);
  assert.equal(size, 50 * MiB);
  assert.ok((blocks ?? 0) < 100, `it takes ${blocks} blocks`);
});

test('an extent has the names and properties of its record', async () => {
  const record = await nas.api.expect(200, 'GET', `${at('extent')}1/`);
  const naa = String(record['iscsi_target_extent_naa']).slice(2);
  assert.match(
    await inquired('t', 0, 0x80),
    new RegExp(`\\[${naa.slice(7)}-${record['iscsi_target_extent_serial']}\\]`),
  );
  assert.match(await inquired('t', 0, 0xb1), /Rate:1RPM/, 'it does not turn');
  assert.match(await inquired('t', 1, 0xb1), /Rate:0RPM/);
  const stdout = await inquired('t', 0);
  assert.match(stdout, /Vendor:FreeNAS/);
  assert.match(stdout, /Product:iSCSI Disk/);
});

test('data that is written from outside is in the zvol', async () => {
  // Bypasses the machine's own cache of the device, which the kernel's target does not use.
  const digest = async () => (await lines('dd if=/dev/zvol/tank/v bs=1M iflag=direct status=none | md5sum'))[0];
  const empty = await digest();
  assert.match(await tried('SCSI.Write10.Simple', 't', 0), /asserts\s+\d+\s+\d+\s+\d+\s+0/);
  assert.notEqual(await digest(), empty);
});

test('an added LUN, an added target and a zvol that grows disturb no session', async () => {
  await using session = busy('t', 0);
  await eventually(10, async () =>
    assert.match(await nas.machine.run(`cat /sys/kernel/config/target/iscsi/${base}:t/tpgt_1/dynamic_sessions`), /iqn/),
  );
  await nas.api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'w', volsize: '16M' });
  const extent = await id('extent', { iscsi_target_extent_name: 'w', iscsi_target_extent_disk: 'zvol/tank/w' });
  await id('targettoextent', { iscsi_target: 1, iscsi_extent: extent });
  assert.equal(await capacity('t', 2), 16 * MiB);
  const other = await id('target', { iscsi_target_name: 'other' });
  await id('targetgroup', { iscsi_target: other, iscsi_target_portalgroup: 1 });
  await nas.api.expect(201, 'PUT', 'storage/volume/tank/zvols/v/', { volsize: '80M' });
  assert.equal(await capacity('t', 0), 80 * MiB);
  // A CSI driver grows the zvol by SSH, and then runs what reloads the targets on FreeBSD.
  await nas.machine.run('zfs set volsize=96M tank/v && /etc/rc.d/ctld reload');
  assert.equal(await capacity('t', 0), 96 * MiB);
  await nas.api.expect(200, 'PUT', `${at('extent')}2/`, { iscsi_target_extent_filesize: '60MB' });
  assert.equal(await capacity('t', 1), 60 * MiB);
  // gaps 7.5
  for (const path of [`${at('target')}1/`, `${at('extent')}1/`, `${at('targettoextent')}1/`]) {
    const refusal = await nas.api.delete(path);
    assert.equal(refusal.status, 400);
    assert.match(refusal.text, /"__all__":\["iqn.2005-10.org.freenas.ctl:t is in use by iqn.1993-08.org.debian:01:c/);
  }
  assert.equal(await session.end(), 'it lasted');
});

test('a zvol is busy while it is offered, and free afterwards', async () => {
  const refusal = await nas.api.delete('storage/volume/tank/zvols/w/');
  assert.equal(refusal.status, 400);
  assert.match(refusal.text, /dataset is busy/);
  const [extent] = (await nas.api.list(at('extent'))).filter((one) => one['iscsi_target_extent_name'] === 'w');
  assert.equal((await nas.api.send('DELETE', `${at('extent')}${extent?.['id']}/`, { force: true })).status, 204);
  assert.equal((await nas.api.delete('storage/volume/tank/zvols/w/')).status, 204);
  assert.match(String(await capacity('t', 2)), /./);
  assert.notEqual(await capacity('t', 2), 16 * MiB);
});

test('a read-only extent cannot be written, and a new block size is visible', async () => {
  await nas.api.expect(200, 'PUT', `${at('extent')}1/`, {
    iscsi_target_extent_ro: true,
    iscsi_target_extent_blocksize: 4096,
  });
  assert.deepEqual([await blockSize('t', 0), await capacity('t', 0)], [4096, 96 * MiB]);
  assert.match(await tried('SCSI.Write10.Simple', 't', 0), /write.?protected|SKIPPED|FAILED/i);
  await nas.api.expect(200, 'PUT', `${at('extent')}1/`, {
    iscsi_target_extent_ro: false,
    iscsi_target_extent_blocksize: 512,
    iscsi_target_extent_pblocksize: true,
  });
  assert.equal(await capacity('t', 0), 96 * MiB);
  await nas.api.expect(200, 'PUT', `${at('extent')}1/`, { iscsi_target_extent_pblocksize: false });
});

test('initiators that are not named see nothing', async () => {
  await id('authorizedinitiator', {
    iscsi_target_initiator_initiators: 'iqn.2026-01.com.example:one iqn.2026-01.com.example:TWO',
  });
  await nas.api.expect(200, 'PUT', `${at('targetgroup')}1/`, { iscsi_target_initiatorgroup: 1 });
  assert.deepEqual(await discovered(), [`${base}:other`]);
  assert.equal(typeof (await capacity('t', 0)), 'string');
  assert.deepEqual(await discovered({ initiator: 'iqn.2026-01.com.example:two' }), [`${base}:other`, `${base}:t`]);
  assert.equal(await capacity('t', 0, { initiator: 'iqn.2026-01.com.example:two' }), 96 * MiB);
  const refusal = await nas.api.put(`${at('authorizedinitiator')}1/`, {
    iscsi_target_initiator_auth_network: '10.0.0.0/8',
  });
  assert.equal(refusal.status, 400);
  assert.match(refusal.text, /by their names only, not by their networks/);
});

test('CHAP and mutual CHAP accept right secrets and refuse wrong ones', async () => {
  await id('authcredential', {
    iscsi_target_auth_tag: 5,
    iscsi_target_auth_user: 'joe',
    iscsi_target_auth_secret: 'secretsecret12',
    iscsi_target_auth_peeruser: 'peer',
    iscsi_target_auth_peersecret: 'othersecret12',
  });
  await nas.api.expect(200, 'PUT', `${at('targetgroup')}2/`, {
    iscsi_target_authtype: 'CHAP',
    iscsi_target_authgroup: 5,
  });
  await id('targettoextent', { iscsi_target: 2, iscsi_extent: 2 });
  assert.equal(await capacity('other', 0, { login: 'joe%secretsecret12' }), 60 * MiB);
  for (const login of [undefined, 'joe%wrongsecret12', 'jane%secretsecret12'])
    assert.equal(typeof (await capacity('other', 0, login === undefined ? {} : { login })), 'string', String(login));
  await nas.api.expect(200, 'PUT', `${at('targetgroup')}2/`, { iscsi_target_authtype: 'CHAP Mutual' });
  const unknownPeer = await capacity('other', 0, {
    login: 'joe%secretsecret12',
    peer: 'target_user=peer&target_password=wrongsecret12',
  });
  assert.match(String(unknownPeer), /Invalid CHAP_R response from the target/);
  // libiscsi and LIO are not compatible for mutual CHAP; the initiator of Linux works.
  assert.match(await loggedIn('other', 'othersecret12'), /^naa\.6589cfc000000[0-9a-f]{19}$/m);
  assert.match(await loggedIn('other', 'wrongsecret12'), /could not login/i);
  // The same for named initiators.
  await nas.api.expect(200, 'PUT', `${at('targetgroup')}1/`, {
    iscsi_target_authtype: 'CHAP',
    iscsi_target_authgroup: 5,
  });
  const named = { initiator: 'iqn.2026-01.com.example:one' };
  assert.equal(await capacity('t', 0, { ...named, login: 'joe%secretsecret12' }), 96 * MiB);
  assert.equal(typeof (await capacity('t', 0, named)), 'string');
  const second = await nas.api.post(at('authcredential'), {
    iscsi_target_auth_tag: 5,
    iscsi_target_auth_user: 'jane',
    iscsi_target_auth_secret: 'secretsecret34',
  });
  assert.equal(second.status, 400);
  assert.match(second.text, /one user for each initiator/);
});

test('discovery with CHAP', async () => {
  await nas.api.expect(200, 'PUT', `${at('portal')}1/`, {
    iscsi_target_portal_discoveryauthmethod: 'CHAP',
    iscsi_target_portal_discoveryauthgroup: 5,
  });
  assert.deepEqual(await discovered(), []);
  assert.deepEqual(await discovered({ login: 'joe%wrongsecret12' }), []);
  assert.deepEqual(await discovered({ login: 'joe%secretsecret12' }), [`${base}:other`]);
  await nas.api.expect(200, 'PUT', `${at('portal')}1/`, { iscsi_target_portal_discoveryauthmethod: 'None' });
  assert.deepEqual(await discovered(), [`${base}:other`]);
});

test('a second portal with several addresses', async () => {
  await id('portal', { iscsi_target_portal_ips: [`${nas.machine.address}:3261`] });
  await nas.api.expect(200, 'PUT', `${at('portal')}2/`, {
    iscsi_target_portal_ips: [`${nas.machine.address}:3261`, '[::]:3262', '127.0.0.1:3261'],
  });
  await id('targetgroup', { iscsi_target: 2, iscsi_target_portalgroup: 2 });
  assert.equal(await capacity('other', 0, { port: 3261 }), 60 * MiB);
  assert.deepEqual(await lines('ss -ltnH | grep -o ":326[0-9] " | sort'), [':3260 ', ':3261 ', ':3261 ', ':3262 ']);
});

const report = async () => (await nas.api.list('/api/holdfast/v1/drift')).find((one) => one['subsystem'] === 'iscsi');

/** A failure has the kernel's tree and the log with it, because the report names only the target that differs. */
async function nothingDiffers(): Promise<void> {
  const found = (await report())?.['drift'];
  if (Array.isArray(found) && found.length === 0) return;
  const tree = await nas.machine.run(
    'cd /sys/kernel/config/target && find . -type l -printf "%p -> %l\\n"; grep -rs . iscsi || true',
  );
  assert.fail(`${JSON.stringify(found)}\n${tree}\n${await journal(nas.machine)}`);
}

test('nothing differs from the configuration, and the targets return after a restart of the daemon and of the kernel’s targets', async () => {
  await nothingDiffers();
  assert.deepEqual(await report(), {
    subsystem: 'iscsi',
    managed: true,
    degraded: null,
    drift: [],
    policy: 'heal',
    healed: null,
    problems: [],
  });
  await using session = busy('other', 0, { port: 3261 });
  await pause(1000);
  await nas.machine.run('systemctl restart holdfast');
  await eventually(30, nothingDiffers);
  assert.equal(await session.end(), 'it lasted', 'a restart of the daemon ends no session');
  await nas.machine.run(`cd /sys/kernel/config/target/iscsi/${base}:other && rm tpgt_1/lun/lun_0/e*`);
  assert.match(String((await report())?.['drift']), /target iqn.2005-10.org.freenas.ctl:other/);
  await nas.machine.run('systemctl restart holdfast');
  await eventually(30, async () => assert.equal(await capacity('other', 0, { port: 3261 }), 60 * MiB));
});

test('every iSCSI row of the document is answered while targets are offered', async () => {
  await everyRow(nas.api);
  await nothingDiffers();
});

test('the test suite of libiscsi against the kernel', { timeout: 400_000 }, async (t) => {
  const count = await passed(t, quickFamilies, 'other', 0, { port: 3261 });
  assert.ok(count.passed > count.failed);
});

test('switching the service off leaves nothing in the kernel', async () => {
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: false }))['srv_state'],
    'STOPPED',
  );
  assert.deepEqual(await lines('ls /sys/kernel/config/target /sys/kernel/config/target/core'), [
    '/sys/kernel/config/target:',
    'core',
    'dbroot',
    'version',
    '/sys/kernel/config/target/core:',
    'alua',
  ]);
  assert.deepEqual(await discovered(), []);
});
