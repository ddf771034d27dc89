/** A Debian that serves by hand-made files is taken over while clients copy, and given back. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ConnectedClient } from '../support/lab/connected-client.ts';
import { initiatorAt } from '../support/lab/initiator.ts';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';
import { lastingClient, runClient } from '../support/lab/network.ts';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;
/** A client that is connected before Holdfast is installed and never connects again. */
let client: ConnectedClient;
/** Files and units as they were by hand. */
let earlier = '';
/** The identifier of the disk before the takeover. */
let knownAs = '';

const own = '/api/holdfast/v1';
const target = 'iqn.2003-01.org.example:vm';
const smbConf = `# Ours since 2011
[global]
  workgroup = OFFICE
  server role = standalone server
  disable netbios = yes
[projects]
  path = /mnt/tank/projects
  read only = no
`;

const handMade = `
  zpool create -m /mnt/tank tank /dev/ubdc
  zfs create tank/projects && zfs create -V 32M tank/vm && udevadm settle
  useradd --uid 1000 --create-home anna && chown anna: /mnt/tank/projects
  echo 'anna:her secret' | chpasswd
  printf 'her secret\\nher secret\\n' | smbpasswd -s -a anna
  printf '%s' "$SMB_CONF" >/etc/samba/smb.conf
  systemctl enable --quiet --now smbd && systemctl disable --quiet --now nmbd
  echo '/mnt/tank/projects *(rw,insecure,no_root_squash,no_subtree_check)' >>/etc/exports
  systemctl enable --quiet --now nfs-server
  dd if=/dev/urandom of=/mnt/tank/projects/films bs=1M count=8 status=none
  truncate -s 1T /mnt/tank/projects/endless
  printf '[films]\\n  path = /mnt/tank/projects\\n  comment = Films\\n' >/etc/rsyncd.conf && systemctl enable --quiet --now rsync
  systemctl unmask --quiet rtslib-fb-targetctl; systemctl enable --quiet --now rtslib-fb-targetctl
  targetcli <<'END'
/backstores/block create vm /dev/zvol/tank/vm
/iscsi create ${target}
/iscsi/${target}/tpg1/luns create /backstores/block/vm 5
/iscsi/${target}/tpg1 set attribute authentication=0 generate_node_acls=1 demo_mode_write_protect=0 cache_dynamic_acls=1
saveconfig
END
`;

let password = 'her secret';

/** What has to be as it was after a release. */
const files = '/etc/samba/smb.conf /etc/exports /etc/rsyncd.conf /etc/rtslib-fb-target/saveconfig.json';
const picture = `stat -c '%n %a %U:%G' ${files}; sha256sum ${files}; for unit in smbd nfs-server rsync rtslib-fb-targetctl nmbd; do echo "$unit $(systemctl is-active $unit) $(systemctl is-enabled $unit)"; done`;

const smb = (command: string) =>
  runClient(['smbclient', `//${nas.machine.address}/projects`, '-U', `anna%${password}`, '-c', command]);
const nfs = (file: string): readonly [string, ...string[]] => [
  'nfs-cat',
  `nfs://${nas.machine.address}/mnt/tank/projects/${file}?version=3&uid=0&gid=0`,
];
const { capacity, busy } = initiatorAt(() => nas.machine.address);
/** The number of the LUN, and the identifier by which multipath and udev know the disk, as Linux finds them. */
const identity = () =>
  nas.machine.run(
    `echo InitiatorName=iqn.1993-08.org.debian:01:within >/etc/iscsi/initiatorname.iscsi; systemctl start iscsid
    node='iscsiadm -m node -T ${target} -p ${nas.machine.address}:3260'
    $node -o new >/dev/null; $node --login >/dev/null; udevadm settle
    for disk in /sys/class/scsi_device/*; do echo "$(basename $disk | cut -d: -f4) $(cat $disk/device/wwid)"; done
    $node --logout >/dev/null; $node -o delete`,
    { seconds: 100 },
  );

async function isServed(): Promise<void> {
  assert.equal((await smb('ls')).status, 0);
  assert.equal((await runClient(nfs('films'))).status, 0);
  assert.equal(await capacity(target, 5), 32 * 1024 ** 2);
}

before(async () => {
  nas = await startNas({
    disks: 1,
    memory: 2048,
    installation: 'whole',
    async before(machine) {
      await machine.run(`SMB_CONF='${smbConf}'\n${handMade}`, { seconds: 300 });
      earlier = await machine.run(picture);
      client = new ConnectedClient(`//${machine.address}/projects`, 'anna%her secret');
      await client.copies('films');
    },
  });
  await eventually(60, isServed);
  knownAs = await identity();
  assert.match(knownAs, /^5 naa\.6001405[0-9a-f]{25}$/m);
});

after(async () => {
  client?.close();
  await nas?.[Symbol.asyncDispose]();
});

const sent = (text: string) => ({ files: [{ name: 'adopted.yaml', text }] });
let text = '';

test('the proposed file has everything, and nothing was changed', async () => {
  const answer = await nas.api.expect(200, 'GET', `${own}/adopt`);
  text = String(answer['file']);
  assert.deepEqual(answer['takes_over'], ['iscsi', 'nfs', 'rsyncd', 'samba']);
  for (const line of [
    /^ {2}projects:\n {4}path: \/mnt\/tank\/projects$/m,
    /^ {2}'?iqn\.2003-01\.org\.example:vm'?:/m,
    /lunid: 5/,
  ])
    assert.match(text, line);
  assert.equal(await nas.machine.run(picture), earlier);
  await client.copies('films');
});

test('while clients copy, applying the file takes over; none of them has an error, and nothing is left to do', async () => {
  // As the comments at user and group say: a client of its name is connected.
  await nas.machine.run('userdel --force anna; ! getent group anna');
  await using session = busy(target, 5);
  await using reading = lastingClient(nfs('endless'));
  let isOver = false;
  const failures: string[] = [];
  const copying = (async () => {
    while (!isOver) {
      await client.copies('films').catch((error) => failures.push(String(error)));
      await pause(50);
    }
  })();
  const applied = await nas.api.expect(200, 'POST', `${own}/file/apply`, sent(text)).finally(() => {
    isOver = true;
  });
  await copying;
  assert.deepEqual(failures, []);
  assert.equal(await session.end(), 'it lasted');
  assert.equal(await reading.end(), 'it lasted');
  assert.deepEqual((await nas.api.expect(200, 'POST', `${own}/file/diff`, sent(text)))['changes'], []);
  const revision = await nas.api.expect(200, 'GET', `${own}/revisions/${applied['revision']}`);
  assert.match(JSON.stringify(revision['replaced']), /"path":"\/etc\/samba\/smb.conf"/);
});

test('a new client finds the share with its old password, and the disk under its old identifier and number', async () => {
  await eventually(60, isServed);
  assert.equal(await identity(), knownAs);
  const listed = await runClient(['rsync', `rsync://${nas.machine.address}/films/films`]);
  assert.equal(listed.status, 0, listed.stderr);
  assert.equal((await nas.machine.run('systemctl is-enabled rtslib-fb-targetctl || true')).trim(), 'disabled');
});

test('a new password counts for the next connection, although smbd still runs as it was started', async () => {
  const users = await nas.api.list('account/users/');
  const anna = users.find((user) => user['bsdusr_username'] === 'anna');
  const began = await nas.machine.run('systemctl show --property=ActiveEnterTimestampMonotonic smbd');
  await nas.api.expect(200, 'PUT', `account/users/${anna?.['id']}/`, { bsdusr_password: 'her second secret' });
  assert.match((await smb('ls')).stdout, /NT_STATUS_LOGON_FAILURE/);
  password = 'her second secret';
  assert.equal((await smb('ls')).status, 0);
  assert.equal(await nas.machine.run('systemctl show --property=ActiveEnterTimestampMonotonic smbd'), began);
});

test('after a restart of the daemon the same is served', async () => {
  client.close();
  await nas.machine.run('systemctl restart holdfast', { seconds: 200 });
  await eventually(90, isServed);
});

test('a release gives everything back as it was, also the targets of the kernel', async () => {
  await nas.machine.run('systemctl stop holdfast && holdfast release', { seconds: 300 });
  password = 'her secret';
  assert.equal(await nas.machine.run(picture), earlier);
  await eventually(90, isServed);
  assert.equal(await identity(), knownAs);
});
