/** A Debian that was configured by hand is read, and the proposed file makes Holdfast serve the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { release } from '../../src/cli/release.ts';
import type { VirtualHost } from '../../src/host/virtual/index.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const smbConf = `# Ours since 2011
[global]
   workgroup = OFFICE
   server string = The office
   map to guest = Bad User
   unix password sync = yes
   log file = /var/log/samba/%m.log

[media]
   comment = Films
   path = /mnt/tank/media
   writeable = yes
   public = yes

[team]
   path = /mnt/tank/team
   valid users = @team
   read only = no
   create mask = 0660

[old]
   path = /srv/old

[printers]
   printable = yes
   path = /var/spool/samba
`;
const exportsFile = `# clients
/mnt/tank/media 192.168.1.0/24(ro,async,no_subtree_check) backup.example(ro,async,no_subtree_check)
/mnt/tank/team  *(rw,no_root_squash)
/srv/old        *(rw)
`;
const passwd = `root:x:0:0:root:/root:/bin/bash
anna:x:1000:1000:Anna A,,,:/home/anna:/bin/bash
ben:x:1001:1001:Ben:/nonexistent:/usr/sbin/nologin
`;
const groups = 'root:x:0:\nsudo:x:27:anna\nanna:x:1000:\nben:x:1001:\nteam:x:1010:anna,ben\n';
const hash = '$6$abcdefgh$PkSmwMhP1hUPzVZ9Yw1x4gNqz5m0fQxw1cQyX7mGJtC0c9nq4k5sT8mHh5QnqV4xLw3yqBqvCz0kJfVQpLhPq.';
const shadow = `root:*:19000::::::\nanna:${hash}:19000::::::\nben:!:19000::::::\n`;

const byHand = async ({ files, services }: VirtualHost) => {
  await files.write('/etc/samba/smb.conf', smbConf, { mode: 0o640 });
  await files.write('/etc/exports', exportsFile);
  await files.write('/etc/passwd', passwd);
  await files.write('/etc/group', groups);
  await files.write('/etc/shadow', shadow, { mode: 0o600 });
  for (const service of ['smbd', 'nmbd', 'nfs-server']) await services.start(service);
};

/** The machine has a pool with two datasets. */
async function withPool(): Promise<Appliance> {
  const one = await appliance({ before: byHand });
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  for (const name of ['media', 'team']) await one.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  return one;
}

const own = '/api/holdfast/v1';

async function proposed({ api }: Appliance) {
  const answer = await api.expect(200, 'GET', `${own}/adopt`);
  const lost = answer['not_carried'];
  assert.ok(Array.isArray(lost));
  return { text: String(answer['file']), takes: answer['takes_over'], lost };
}

const files = (text: string) => ({ files: [{ name: 'adopted.yaml', text }] });

test('the proposed file has what was configured by hand, and names each line that it does not have', async () => {
  await using one = await withPool();
  const before = await one.machine.files.read('/etc/samba/smb.conf');
  const { text, takes, lost } = await proposed(one);
  assert.deepEqual(takes, ['nfs', 'samba']);
  assert.match(text, /^take_over: \[ nfs, samba \]$/m);
  for (const line of [
    '  media:',
    '    path: /mnt/tank/media',
    '    guest: true',
    '      valid users = @team',
    '  workgroup: OFFICE',
    '    maproot_user: root',
    '    network: 192.168.1.0/24',
    '    hosts: backup.example',
  ])
    assert.ok(text.includes(`${line}\n`), `${line} is missing in:\n${text}`);
  assert.doesNotMatch(text, /PkSmwMhP|8846F7EA/, 'hashes are sealed');
  const reasons = lost.map((each) => `${each.file}:${each.line}: ${each.text}`);
  for (const place of [
    '/etc/samba/smb.conf:6: unix password sync = yes',
    '/etc/samba/smb.conf:7: log file = /var/log/samba/%m.log',
    '/etc/samba/smb.conf:21: [old]',
    '/etc/samba/smb.conf:24: [printers]',
    '/etc/exports:2: /mnt/tank/media: async',
    '/etc/exports:4: /srv/old        *(rw)',
  ])
    assert.ok(reasons.includes(place), `${place} is not in:\n${reasons.join('\n')}`);
  for (const each of lost) assert.ok(String(each.reason).length > 10 && String(each.to_do) !== '');
  for (const place of reasons) assert.ok(text.includes(`# NOT CARRIED ${place}`), place);
  assert.equal(await one.machine.files.read('/etc/samba/smb.conf'), before, 'nothing was changed');
});

test('applying the file takes over, serves the shares, keeps the original, and leaves nothing to do', async () => {
  await using one = await withPool();
  const { text } = await proposed(one);
  const diff = await one.api.expect(200, 'POST', `${own}/file/diff`, files(text));
  assert.deepEqual(diff['takes_over'], ['nfs', 'samba']);
  const startsOf = () => one.machine.services.starts.get('smbd');
  const started = startsOf();
  const applied = await one.api.expect(200, 'POST', `${own}/file/apply`, { ...files(text), token: diff['token'] });
  assert.deepEqual(applied['takes_over'], ['nfs', 'samba']);
  assert.deepEqual([startsOf(), one.machine.services.reloads.get('smbd')], [started, 1], 'a start ends connections');
  const shares = await one.machine.files.read('/etc/samba/holdfast/shares-0.conf');
  assert.match(shares ?? '', /\[media\]\n {2}comment = Films\n {2}path = \/mnt\/tank\/media\n {2}read only = no/);
  assert.match(shares ?? '', /valid users = @team\ncreate mask = 0660/);
  const exported = await one.machine.files.read('/etc/exports.d/holdfast-0.exports');
  assert.match(exported ?? '', /\/mnt\/tank\/media 192\.168\.1\.0\/24\(ro,/);
  assert.match(exported ?? '', /\/mnt\/tank\/team \*\(rw,.*no_root_squash/);
  const manifest = (await one.machine.files.read('/var/backups/holdfast/manifest.json')) ?? '';
  const original = /"(\/var\/backups\/holdfast\/[^"]*smb\.conf)"/.exec(manifest)?.[1] ?? '';
  assert.equal(await one.machine.files.read(original), smbConf);
  const again = await one.api.expect(200, 'POST', `${own}/file/diff`, files(text));
  assert.deepEqual([again['changes'], again['takes_over']], [[], []]);
  const users = await one.api.list('account/users/');
  const anna = users.find((user) => user['bsdusr_username'] === 'anna');
  assert.deepEqual([anna?.['bsdusr_uid'], anna?.['bsdusr_sudo']], [1000, true]);
  const owned = await one.machine.accounts.owned();
  const account = owned.users.find(({ name }) => name === 'anna');
  assert.deepEqual([account?.uid, account?.passwordHash, account?.groups], [1000, hash, ['team']]);
});

const saved = JSON.stringify(
  {
    fabric_modules: [{ discovery_enable_auth: false, name: 'iscsi' }],
    storage_objects: [
      {
        dev: '/dev/zvol/tank/vm',
        name: 'vm',
        plugin: 'block',
        readonly: false,
        wwn: '8f6c1a2b-3d4e-4f50-a1b2-c3d4e5f60718',
      },
    ],
    targets: [
      {
        fabric: 'iscsi',
        tpgs: [
          {
            ...{ attributes: { authentication: 1, generate_node_acls: 1, demo_mode_write_protect: 0 }, enable: true },
            ...{ chap_userid: 'anna', chap_password: 'twelve chars!', node_acls: [], tag: 1 },
            luns: [{ index: 3, storage_object: '/backstores/block/vm' }],
            portals: [{ ip_address: '0.0.0.0', port: 3260 }],
          },
        ],
        wwn: 'iqn.2003-01.example:vm',
      },
    ],
  },
  undefined,
  2,
);

/** Files of everything that is read, as people write them, with the service that reads each. */
const everything: Readonly<Record<string, readonly [content: string, service?: string]>> = {
  '/etc/rtslib-fb-target/saveconfig.json': [saved, 'rtslib-fb-targetctl'],
  '/etc/ssh/sshd_config.d/50-office.conf': ['PasswordAuthentication no\nAllowUsers anna\n', 'ssh'],
  '/etc/ssh/sshd_config': ['Include /etc/ssh/sshd_config.d/*.conf\nPort 2222\n', 'ssh'],
  '/etc/nut/nut.conf': ['MODE=netclient\n', 'nut-monitor'],
  '/etc/nut/upsmon.conf': ['# ours\nMONITOR rack@power.example 1 watch s3cret secondary\nSHUTDOWNCMD "/sbin/halt"\n'],
  '/etc/rsyncd.conf': ['uid = root\n[media]\n  path = /mnt/tank/media\n  read only = no\n  comment = Films\n', 'rsync'],
  '/etc/systemd/network/10-lan.network': ['[Match]\nName=em1\n[Network]\nAddress=203.0.113.7/24\nIPv6AcceptRA=no\n'],
  '/etc/cron.d/backup': ['0 3 * * * root /usr/local/bin/backup\n'],
  '/etc/snmp/snmpd.conf': ['rocommunity office\n', 'snmpd'],
};

test('everything that was configured by hand is taken over by one file, and a release gives each byte back', async () => {
  let one = await appliance({
    before: async (machine) => {
      await byHand(machine);
      for (const [path, [content, service]] of Object.entries(everything)) {
        await machine.files.write(path, content, { mode: 0o640 });
        if (service !== undefined) await machine.services.start(service);
      }
    },
  });
  try {
    const { api, machine, folder } = one;
    await api.expect(201, 'POST', 'storage/volume/', {
      volume_name: 'tank',
      layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
    });
    for (const name of ['media', 'team'])
      await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name, compression: 'zstd' });
    await api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'vm', volsize: '64M' });
    const { text, takes } = await proposed(one);
    assert.deepEqual(takes, ['iscsi', 'nfs', 'rsyncd', 'samba', 'snmp', 'ssh', 'ups']);
    assert.doesNotMatch(text, /twelve chars|s3cret/, 'secrets are sealed');
    assert.match(text, /^ {2}tank\/media:(?: \{|\n {4})? ?compression: zstd/m);
    const applied = await api.expect(200, 'POST', `${own}/file/apply`, files(text));
    assert.deepEqual((await api.expect(200, 'POST', `${own}/file/diff`, files(text)))['changes'], []);
    const [extent] = await api.list('services/iscsi/extent/');
    assert.equal(extent?.['iscsi_target_extent_naa'], '0x60014058f6c1a2b3d4e4f50a1b2c3d4e');
    assert.match((await machine.files.read('/etc/ssh/holdfast/sshd_config')) ?? '', /^Port 2222$/m);
    assert.match((await machine.files.read('/etc/rsyncd.conf')) ?? '', /^uid = root$/m);
    assert.match((await machine.files.read('/etc/nut/upsmon.conf')) ?? '', /MONITOR rack@power\.example:3493/);
    const [lan] = await api.list('network/interface/');
    assert.deepEqual([lan?.['int_interface'], lan?.['int_ipv4address']], ['em1', '203.0.113.7']);
    assert.equal(machine.services.isRunning('rtslib-fb-targetctl'), false, 'its targets would be in the way');
    assert.equal(await machine.files.read('/etc/rtslib-fb-target/saveconfig.json'), saved);
    const revision = await api.expect(200, 'GET', `${own}/revisions/${applied['revision']}`);
    const replaced = revision['replaced'];
    assert.ok(Array.isArray(replaced));
    for (const path of ['/etc/samba/smb.conf', '/etc/rsyncd.conf', '/etc/nut/upsmon.conf', '/etc/snmp/snmpd.conf']) {
      const kept: unknown = replaced.find((each) => each.path === path)?.kept;
      assert.equal(
        await machine.files.read(String(kept)),
        path === '/etc/samba/smb.conf' ? smbConf : everything[path]?.[0],
      );
    }
    await one.app.close();
    await release(machine, { now: Date.now, say: () => {} });
    const before = {
      ...everything,
      '/etc/samba/smb.conf': [smbConf, 'smbd'],
      '/etc/exports': [exportsFile, 'nfs-server'],
    };
    for (const [path, [content, service]] of Object.entries(before)) {
      assert.equal(await machine.files.read(path), content, path);
      if (service !== undefined) assert.equal(machine.services.isRunning(service), true, service);
    }
    one = await appliance({ folder });
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

/** A trunk of two interfaces with a VLAN, and a bridge, as people configure networkd. */
const trunk: Readonly<Record<string, string>> = {
  '10-trunk.netdev': '[NetDev]\nName=trunk\nKind=bond\nMTUBytes=9000\n[Bond]\nMode=802.3ad\n',
  '10-cellar.netdev': '[NetDev]\nName=cellar\nKind=vlan\n[VLAN]\nId=20\n',
  '10-br0.netdev': '[NetDev]\nName=br0\nKind=bridge\n',
  '20-members.network': '[Match]\nName=em1 em2\n[Network]\nBond=trunk\n',
  '20-trunk.network': '[Match]\nName=trunk\n[Network]\nVLAN=cellar\nAddress=198.51.100.5/24\nIPv6AcceptRA=no\n',
  '20-cellar.network': '[Match]\nName=cellar\n[Network]\nAddress=203.0.113.5/24\nIPv6AcceptRA=no\n',
  '20-br0.network': '[Match]\nName=br0\n[Network]\nDHCP=yes\n',
  '20-em3.network': '[Match]\nName=em3\n[Network]\nBridge=br0\n',
};

test('an aggregate with a VLAN is taken over by one file, and a bridge stays as it is', async () => {
  await using one = await appliance({
    before: async ({ files: made }) => {
      for (const [name, content] of Object.entries(trunk)) await made.write(`/etc/systemd/network/${name}`, content);
    },
  });
  const { text, lost } = await proposed(one);
  const reasons = lost.map(({ file, reason, to_do }) => `${file.replace(/.*\//, '')}: ${reason} ${to_do}`).join('\n');
  assert.match(reasons, /^20-br0\.network: Holdfast makes no bridges\./m);
  assert.match(reasons, /^20-em3\.network: The interface is part of br0\./m);
  assert.match(reasons, /^20-trunk\.network: .* as lagg0, .*run: rm \/etc\/systemd\/network\/10-trunk\.netdev && /m);
  const diff = await one.api.expect(200, 'POST', `${own}/file/diff`, files(text));
  await one.api.expect(200, 'POST', `${own}/file/apply`, { ...files(text), token: diff['token'] });
  assert.deepEqual((await one.api.expect(200, 'POST', `${own}/file/diff`, files(text)))['changes'], []);
  const [aggregate] = await one.api.list('network/lagg/');
  assert.deepEqual([aggregate?.['lagg_interface'], aggregate?.['lagg_protocol']], ['lagg0', 'lacp']);
  const links = new Map(one.engine.world.facts.network.links.map((link) => [link.name, link]));
  assert.deepEqual(
    [links.get('em1')?.master, links.get('em2')?.master, links.get('lagg0')?.mtu],
    ['lagg0', 'lagg0', 9000],
  );
  assert.deepEqual(links.get('vlan20')?.addresses, ['203.0.113.5/24']);
  assert.equal(await one.machine.files.read('/etc/systemd/network/20-br0.network'), trunk['20-br0.network']);
});
