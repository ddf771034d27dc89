/** Holdfast is installed on a machine that already serves clients, and removed again (issue 17, item 7). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { ConnectedClient } from '../support/lab/connected-client.ts';
import type { Machine } from '../support/lab/machine.ts';
import { eventually, installPackage, type Nas, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;
/** A client that is connected before Holdfast is installed and never connects again. */
let client: ConnectedClient;

const smbConf =
  '# Ours since 2011\n[global]\n  workgroup = OFFICE\n  server role = standalone server\n  disable netbios = yes\n[projects]\n  path = /srv/projects\n  read only = no\n';

const handMade = `
  zpool create -m /srv/projects old /dev/ubdc
  useradd --uid 1000 --create-home anna && chown anna: /srv/projects
  printf 'her secret\\nher secret\\n' | smbpasswd -s -a anna
  printf '%s' "$SMB_CONF" >/etc/samba/smb.conf && chmod 640 /etc/samba/smb.conf && chown root:adm /etc/samba/smb.conf
  systemctl enable --quiet --now smbd && systemctl disable --quiet --now nmbd
  echo '/srv/projects *(rw,insecure,no_root_squash,fsid=1)' >>/etc/exports
  systemctl enable --quiet --now nfs-server
  printf 'rocommunity office\\n' >/etc/snmp/snmpd.conf && systemctl enable --quiet --now snmpd
  echo 'server ntp.office.example' >/etc/chrony/sources.d/office.sources && systemctl enable --quiet --now chrony
  echo 'LogLevel VERBOSE' >/etc/ssh/sshd_config.d/office.conf && systemctl enable --quiet --now ssh
  echo 'Ask Anna.' >/etc/motd`;

/** What must not change: contents, owners, permissions, and the process of each service. */
const picture = `
  stat -c '%n %a %U:%G %Y' /etc/samba/smb.conf /etc/exports /etc/snmp/snmpd.conf /etc/chrony/chrony.conf /etc/chrony/sources.d/office.sources /etc/ssh/sshd_config.d/office.conf /etc/motd
  sha256sum /etc/samba/smb.conf /etc/exports /etc/snmp/snmpd.conf /etc/chrony/chrony.conf /etc/chrony/sources.d/office.sources /etc/ssh/sshd_config.d/office.conf /etc/motd
  for unit in smbd nfs-server snmpd chrony ssh nmbd; do echo "$unit $(systemctl is-active $unit) $(systemctl is-enabled $unit) $(systemctl show -P ExecMainStartTimestampMonotonic $unit)"; done`;

const smb = (machine: Machine, command: string) =>
  runClient(['smbclient', `//${machine.address}/projects`, '-U', 'anna%her secret', '-c', command]);
const nfs = (machine: Machine, path: string) =>
  runClient(['nfs-cat', `nfs://${machine.address}${path}?version=3&uid=0&gid=0`]);

async function isServed(machine: Machine): Promise<void> {
  const ls = await smb(machine, 'ls');
  assert.equal(ls.status, 0, ls.stdout + ls.stderr);
  const cat = await nfs(machine, '/srv/projects/hello');
  assert.equal(cat.stdout, 'from the machine\n', cat.stderr);
}

let earlier = '';

before(async () => {
  nas = await startNas({
    disks: 2,
    installation: 'whole',
    async before(machine) {
      await machine.run(
        `SMB_CONF='${smbConf}'\n${handMade}\necho from the machine >/srv/projects/hello; chmod 644 /srv/projects/hello`,
      );
      await eventually(60, () => isServed(machine));
      client = new ConnectedClient(`//${machine.address}/projects`, 'anna%her secret');
      await client.writesAndReads('before');
      earlier = await machine.run(picture);
    },
  });
});

after(async () => {
  client?.close();
  await nas?.[Symbol.asyncDispose]();
});

test('an installation changes no file of an administrator and ends no service, and clients stay connected', async () => {
  assert.equal(await nas.machine.run(picture), earlier);
  await client.writesAndReads('after');
  await isServed(nas.machine);
});

/** Units whose files the service manager has not read since they changed: `systemctl` warns of them at each call. */
const unreadUnits = `systemctl show --property=Id,NeedDaemonReload '*' | awk -F= '$1 == "Id" { id = $2 } /^NeedDaemonReload=yes/ { print id }'`;

test('after an installation the service manager has read all files of units', async () => {
  assert.match(
    await nas.machine.run(`systemctl show --property=Id,NeedDaemonReload holdfast`),
    /^NeedDaemonReload=no$/m,
  );
  assert.equal(await nas.machine.run(unreadUnits), '');
});

test('the log and the API list what was found', async () => {
  const { subsystems, pools, users } = await nas.api.expect(200, 'GET', '/api/holdfast/v1/found');
  const found = JSON.stringify({ subsystems, pools, users });
  assert.ok(Array.isArray(subsystems));
  for (const [subsystem, path] of [
    ['samba', '/etc/samba/smb.conf'],
    ['nfs', '/etc/exports'],
    ['snmp', '/etc/snmp/snmpd.conf'],
    ['time', '/etc/chrony/sources.d/office.sources'],
    ['ssh', '/etc/ssh/sshd_config.d/office.conf'],
    ['console', '/etc/motd'],
  ] as const) {
    assert.ok(
      subsystems
        .filter(isObject)
        .some((one) => one['subsystem'] === subsystem && Array.isArray(one['files']) && one['files'].includes(path)),
      `${subsystem}: ${found}`,
    );
    assert.match(
      await nas.machine.run(`journalctl -u holdfast -o cat --no-pager | grep 'found on this machine'`),
      new RegExp(`"subsystem":"${subsystem}"`),
    );
  }
  assert.equal(subsystems.length, 6, found);
  assert.match(found, /"mountpoint":"\/srv\/projects","name":"old"/);
  assert.match(found, /"name":"anna".*"uid":1000/);
  assert.match(await nas.machine.run('cat /tmp/install.log'), /Configured by hand and left as it is: .*samba/);
});

test('a change of an unmanaged subsystem, or a user of the same name, is refused with a message about what to do', async () => {
  const share = await nas.api.send('PUT', 'services/cifs/', { cifs_srv_workgroup: 'OTHER' });
  assert.equal(share.status, 409);
  assert.match(share.text, /found\/samba\/take/);
  const user = await nas.api.send('POST', 'account/users/', {
    bsdusr_username: 'anna',
    bsdusr_full_name: 'Anna',
    bsdusr_password: 'x',
    bsdusr_creategroup: true,
  });
  assert.match(user.text, /UID 1000 .* userdel/);
  await client.writesAndReads('refused');
});

test('a restart changes nothing', async () => {
  await nas.machine.run('systemctl restart holdfast', { seconds: 200 });
  await eventually(60, () => nas.api.expect(200, 'GET', 'services/cifs/'));
  assert.equal(await nas.machine.run(picture), earlier);
  await client.writesAndReads('restarted');
});

test('after the takeover Samba has the rendered file, and the original is kept, readable only by root', async () => {
  await nas.api.expect(200, 'POST', '/api/holdfast/v1/found/samba/take');
  assert.match(await nas.machine.run('cat /etc/samba/smb.conf'), /workgroup = WORKGROUP/);
  const kept = (await nas.machine.run('find /var/backups/holdfast -name smb.conf')).trim();
  assert.equal(await nas.machine.run(`cat ${kept}`), smbConf);
  assert.equal(
    (await nas.machine.run(`stat -c '%a %U:%G' ${kept}; stat -c '%a %U:%G' /var/backups/holdfast`)).trim(),
    '640 root:adm\n700 root:root',
  );
  assert.match(
    await nas.machine.run(`journalctl -u holdfast -o cat --no-pager | grep 'kept the original'`),
    /"path":"\/etc\/samba\/smb.conf"/,
  );
  assert.notEqual((await smb(nas.machine, 'ls')).status, 0);
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'safe',
    encryption: true,
    layout: [{ vdevtype: 'stripe', disks: ['ubdd'] }],
  });
  await nas.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/safe', cifs_name: 'safe', cifs_guestok: true });
  await eventually(20, async () =>
    assert.equal((await runClient(['smbclient', `//${nas.machine.address}/safe`, '-N', '-c', 'ls'])).status, 0),
  );
  assert.equal(await nas.machine.run(unreadUnits), '');
});

test('after the removal of the package the share is served as before, and nothing of Holdfast is left in /etc', async () => {
  await nas.machine.run('dpkg --remove holdfast >/tmp/remove.log 2>&1 || { cat /tmp/remove.log; exit 1; }', {
    seconds: 200,
  });
  await eventually(60, () => isServed(nas.machine));
  const withoutTimes = (text: string) => text.replaceAll(/^(\w+ \w+ \w+) \d+$/gm, '$1');
  assert.equal(
    withoutTimes(await nas.machine.run(picture)),
    withoutTimes(earlier),
    await nas.machine.run('cat /tmp/remove.log'),
  );
  assert.equal((await nas.machine.run(`find /etc -name '*holdfast*' -not -path '/etc/holdfast*'`)).trim(), '');
  assert.equal(
    (
      await nas.machine.run('systemctl list-units --all --plain --no-legend "holdfast*" | grep -v not-found || true')
    ).trim(),
    '',
  );
});

test('a purge keeps the key of an encrypted pool, and it opens the pool for a new installation', async () => {
  const said = await nas.machine.run('dpkg --purge holdfast 2>&1', { seconds: 120 });
  const kept = /is kept, with the configuration, in (\S+)\./.exec(said)?.[1] ?? '';
  assert.equal(
    (await nas.machine.run(`stat -c '%a' ${kept}; ls ${kept}`)).trim(),
    '700\nholdfast.sqlite\nrecovery.key\nsecret.key',
  );
  assert.equal((await nas.machine.run('test -e /var/lib/holdfast && echo there || echo gone')).trim(), 'gone');
  await nas.machine.run(
    `zfs unmount safe; zfs unload-key safe; install -d -m 700 /var/lib/holdfast; cp -p ${kept}/* /var/lib/holdfast/`,
  );
  await installPackage(nas.machine);
  assert.equal((await nas.machine.run('zfs get -H -o value keystatus safe')).trim(), 'available');
});
