/** A Debian that was configured by hand is read, and the proposed file makes Holdfast serve the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  const applied = await one.api.expect(200, 'POST', `${own}/file/apply`, { ...files(text), token: diff['token'] });
  assert.deepEqual(applied['takes_over'], ['nfs', 'samba']);
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
