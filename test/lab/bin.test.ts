/** The bin with real ZFS and real clients: what they had comes back, and what they use is not taken from them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Nas, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

const root = '/api/holdfast/v1/bin';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;

before(async () => {
  nas = await startNas({ disks: 2 });
  const layout = [{ vdevtype: 'stripe', disks: ['ubdc', 'ubdd'] }];
  await nas.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout });
});

after(() => nas?.[Symbol.asyncDispose]());

const smb = (command: string) =>
  runClient(['smbclient', `//${nas.machine.address}/films`, '-U', 'mary%her secret', '-c', command]);
const put = (path: string) => nas.api.expect(201, 'POST', root, { path });
const restore = (id: unknown) => nas.api.expect(200, 'POST', `${root}/${String(id)}/restore`);

/** The settings of datasets, and where they are mounted. What `canmount` was by default is set afterwards. */
const settings = (dataset: string) =>
  nas.machine.run(`
    zfs get -H -r -t filesystem -o name,property,value canmount ${dataset}
    zfs get -H -r -t filesystem,volume -o name,property,value,source \
      mountpoint,mounted,readonly,quota,holdfast:canmount,encryptionroot ${dataset}`);

test('a dataset with the file of a client goes to the bin with its share, and comes back with both', async () => {
  const { api, machine } = nas;
  await api.expect(201, 'POST', 'account/users/', {
    ...{ bsdusr_username: 'mary', bsdusr_full_name: 'Mary', bsdusr_password: 'her secret', bsdusr_creategroup: true },
  });
  await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'media', quota: '500M' });
  await api.expect(201, 'POST', 'storage/dataset/tank/media/', { name: 'inner' });
  await machine.run(`
    zfs create -o mountpoint=/srv/own -o canmount=on tank/media/own && echo own >/srv/own/file
    zfs create -o canmount=noauto tank/media/never && zfs create -V 16M tank/media/disk
    echo inner >/mnt/tank/media/inner/file && zfs snapshot tank/media/inner@one
    chown mary /mnt/tank/media`);
  const share = await api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank/media', cifs_name: 'films' });
  await api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  const written = await smb('put /etc/hostname film');
  assert.equal(written.status, 0, written.stdout);
  const earlier = await settings('tank/media');
  const entry = await put('storage/dataset/tank/media/');
  assert.ok(Number(entry['used']) > 0);
  assert.notEqual((await smb('ls')).status, 0, 'the client no longer has the share');
  const away = await settings('tank/.holdfast-bin');
  assert.doesNotMatch(away, /\tmounted\tyes/);
  assert.doesNotMatch(away, /\treadonly\toff/);
  assert.equal((await machine.run('ls /srv/own /mnt/tank')).includes('file'), false);
  await machine.run('zfs mount -a');
  assert.doesNotMatch(await settings('tank/.holdfast-bin'), /\tmounted\tyes/, 'no program mounts it');
  await restore(entry['id']);
  assert.equal(await settings('tank/media'), earlier);
  const read = await smb('get film -');
  assert.equal(read.status, 0, read.stdout);
  assert.deepEqual(await api.expect(200, 'GET', `sharing/cifs/${String(share['id'])}/`), share);
  const files =
    'cat /srv/own/file /mnt/tank/media/inner/file; ls /dev/zvol/tank/media/disk; zfs list -Ht snapshot -o name';
  assert.equal(await machine.run(files), 'own\ninner\n/dev/zvol/tank/media/disk\ntank/media/inner@one\n');
});

test('a dataset in which a program works is refused with the program, and stays as it was', async () => {
  const { api, machine } = nas;
  const earlier = await settings('tank/media');
  await machine.run('cd /mnt/tank/media/inner && (sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >/run/sleeper)');
  const refusal = await api.post(root, { path: 'storage/dataset/tank/media/' });
  assert.equal(refusal.status, 400, refusal.text);
  assert.match(refusal.text, /"code":"busy".*"title":"sleep"/);
  assert.equal(await settings('tank/media'), earlier);
  assert.equal((await smb('get film -')).status, 0);
  await machine.run('kill $(cat /run/sleeper)');
});

test('what is encrypted with the key of a dataset stays below it, and one with its own key comes back open', async () => {
  const { api, machine } = nas;
  await api.expect(201, 'POST', '/api/holdfast/v1/encryption/create', { dataset: 'tank/secret' });
  await api.expect(201, 'POST', 'storage/dataset/tank/secret/', { name: 'inner' });
  await machine.run('echo inner >/mnt/tank/secret/inner/file');
  const inner = await put('storage/dataset/tank/secret/inner/');
  assert.match(String(inner['kept_as']), /^tank\/secret\/\.holdfast-bin\/\d+-inner$/);
  const refusal = await api.post(root, { path: 'storage/dataset/tank/secret/' });
  assert.match(refusal.text, /the bin keeps the dataset tank\\?\/secret\\?\/inner/);
  await restore(inner['id']);
  assert.equal(await machine.run('cat /mnt/tank/secret/inner/file'), 'inner\n');
  const earlier = await settings('tank/secret/inner');
  const whole = await put('storage/dataset/tank/secret/');
  await restore(whole['id']);
  assert.equal(await settings('tank/secret/inner'), earlier);
  assert.equal(await machine.run('cat /mnt/tank/secret/inner/file'), 'inner\n');
});

test('an account in the bin keeps its number and opens nothing, and comes back', async () => {
  const { api, machine } = nas;
  const [mary] = (await api.list('account/users/?limit=0')).filter((one) => one['bsdusr_username'] === 'mary');
  const entry = await put(`account/users/${String(mary?.['id'])}/`);
  assert.notEqual((await smb('ls')).status, 0);
  assert.match(await machine.run('getent passwd mary; getent shadow mary'), /^mary:x:\d+:.*nologin\nmary:\*:/m);
  assert.equal((await machine.run('stat -c %U /mnt/tank/media')).trim(), 'mary');
  await restore(entry['id']);
  assert.equal((await smb('get film -')).status, 0);
});

test('the end of an entry destroys the dataset', async () => {
  const { api, machine } = nas;
  const entry = await put('storage/dataset/tank/media/');
  await machine.run('zfs snapshot -r tank@all');
  const left = await machine.run('zfs list -Hrt snapshot -o name tank/.holdfast-bin');
  assert.match(left, /inner@one/);
  await api.expect(204, 'DELETE', `${root}/${String(entry['id'])}`);
  assert.equal((await machine.run('zfs list -Hr -o name tank/.holdfast-bin')).trim(), 'tank/.holdfast-bin');
});
