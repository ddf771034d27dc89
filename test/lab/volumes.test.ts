import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { eventually, rootPassword, startNas, untilReady } from '../support/lab/nas.ts';

const nas = await startNas({ disks: 7, diskSize: '512M', lasting: true });
after(() => nas[Symbol.asyncDispose]());

const { api, machine } = nas;
const disks = ['ubdc', 'ubdd', 'ubde', 'ubdf', 'ubdg', 'ubdh', 'ubdi'];

const volumeNamed = (name: string) => api.expect(200, 'GET', `storage/volume/${name}/`);
const statusOf = async (name: string) => (await volumeNamed(name))['status'];

interface Device {
  readonly name: string;
  readonly label: string;
  readonly status: string;
  readonly cksum: string;
}

/** The devices in a status tree. */
function devicesIn(node: unknown): readonly Device[] {
  if (!isObject(node)) return [];
  const below = Array.isArray(node['children']) ? node['children'].flatMap(devicesIn) : [];
  return node['type'] === 'dev'
    ? [
        {
          name: String(node['name']),
          label: String(node['label']),
          status: String(node['status']),
          cksum: String(node['cksum']),
        },
      ]
    : below;
}

const treeOf = (name: string) => api.expect(200, 'GET', `storage/volume/${name}/status/`);
const devicesOf = async (name: string) => devicesIn(await treeOf(name));

async function act(name: string, action: string, body: unknown, status: number, method = 'POST'): Promise<string> {
  const answer = await api.send(method, `storage/volume/${name}/${action}/`, body);
  assert.equal(answer.status, status, `${action}: ${answer.text}`);
  return answer.text;
}

async function create(name: string, vdevtype: string, wanted: readonly string[], more: object = {}): Promise<void> {
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: name,
    layout: [{ vdevtype, disks: wanted }],
    ...more,
  });
}

async function remove(name: string, body?: object): Promise<void> {
  const { id } = await volumeNamed(name);
  await api.expect(204, 'DELETE', `storage/volume/${String(id)}/`, body);
}

async function importNamed(name: string): Promise<void> {
  const found = (await api.list('storage/volume_import/')).find(({ label }) => label === name);
  const answer = await api.post('storage/volume_import/', { volume_id: found?.['id'] });
  assert.deepEqual([answer.status, answer.text], [202, '"Volume imported."']);
}

const alerts = async () => (await api.list('system/alert/')).map(({ message }) => String(message));

const fill = (name: string, bytes = 10_000_000) =>
  machine.run(`head -c ${bytes} /dev/urandom >/mnt/${name}/file && sha256sum </mnt/${name}/file`);
const sum = (name: string) => machine.run(`sha256sum </mnt/${name}/file`);

test('a disk that is mounted or swapped to says so, and is free again afterwards', async () => {
  const usesSeen = async () => {
    await machine.run('systemctl reload holdfast', { seconds: 60 });
    const seen = await api.list('/api/holdfast/v1/disks');
    return ['ubdc', 'ubdd', 'ubde'].map((disk) => seen.find(({ name }) => name === disk)?.['used_by']);
  };
  await machine.run(`
    mkfs.ext4 -q -F /dev/ubdc && mkdir -p '/srv/my files' && mount /dev/ubdc '/srv/my files'
    mkswap /dev/ubdd && swapon /dev/ubdd`);
  const said = await machine.run('lsblk --noheadings --output MOUNTPOINTS /dev/ubdc /dev/ubdd');
  assert.deepEqual(said.trim().split(/\s*\n\s*/), ['/srv/my files', '[SWAP]']);
  assert.deepEqual(await usesSeen(), ['it is mounted at /srv/my files', 'it is used as swap space', null]);
  await machine.run(`umount '/srv/my files' && swapoff /dev/ubdd && wipefs -q -a /dev/ubdc /dev/ubdd`);
  assert.deepEqual(await usesSeen(), [null, null, null]);
});

describe('a pool of each layout', () => {
  for (const [vdevtype, members] of Object.entries({ mirror: 2, raidz: 3, raidz2: 4, raidz3: 5 })) {
    test(`${vdevtype}: a disk that is lost while the volume is exported is replaced, and the data is intact`, async () => {
      await create('tank', vdevtype, disks.slice(0, members));
      const before = await fill('tank');
      await remove('tank', { destroy: false });
      const lost = disks[1] ?? '';
      const fresh = disks[members] ?? '';
      // All of its labels, which are at both ends.
      await machine.run(`dd if=/dev/zero of=/dev/${lost} bs=1M status=none conv=fsync; udevadm settle`);
      await machine.run(`mkfs.ext4 -q -F /dev/${fresh}`);
      await eventually(90, async () => assert.equal((await api.list('storage/volume_import/')).length, 1));
      await importNamed('tank');
      assert.equal(await statusOf('tank'), 'DEGRADED');
      assert.equal(await sum('tank'), before);
      const broken = (await devicesOf('tank')).filter(({ status }) => status !== 'ONLINE');
      assert.equal(broken.length, 1);
      const label = broken[0]?.label;
      const refused = await api.post('storage/volume/tank/replace/', { label, replace_disk: fresh });
      assert.equal(refused.status, 400);
      assert.ok(isObject(refused.json) && 'force' in refused.json, refused.text);
      assert.equal(
        await act('tank', 'replace', { label, replace_disk: fresh, force: true }, 202),
        'Disk replacement started.',
      );
      // The pool is healthy a moment before ZFS calls the resilver finished.
      await eventually(90, async () => {
        assert.equal(await statusOf('tank'), 'HEALTHY');
        const { scan } = await treeOf('tank');
        assert.ok(isObject(scan) && scan['kind'] === 'resilver' && scan['state'] === 'finished', JSON.stringify(scan));
      });
      assert.ok((await devicesOf('tank')).some(({ name }) => name === fresh));
      assert.equal(await sum('tank'), before);
      await remove('tank');
    });
  }

  test('stripe: it is exported and imported', async () => {
    await create('tank', 'stripe', disks.slice(0, 2));
    const before = await fill('tank');
    await remove('tank', { destroy: false });
    const [found] = await api.list('storage/volume_import/');
    assert.ok(isObject(found?.['disks']) && found['disks']['numVdevs'] === 2, JSON.stringify(found));
    await importNamed('tank');
    assert.equal(await sum('tank'), before);
    await remove('tank');
  });
});

test('a disk that returns wrong data is visible in the status tree by its checksum errors, and no data is lost', async () => {
  await create('tank', 'mirror', disks.slice(0, 2));
  const before = await fill('tank', 40_000_000);
  await machine.run(
    `sync; zpool sync tank; dd if=/dev/urandom of=/dev/${disks[0]} bs=1M seek=20 count=440 conv=notrunc,fsync status=none`,
  );
  assert.equal(await act('tank', 'scrub', undefined, 202), 'Volume scrub started.');
  await eventually(90, async () => {
    const { scan } = await treeOf('tank');
    assert.ok(isObject(scan) && scan['state'] !== 'running');
  });
  const [first, second] = await devicesOf('tank');
  assert.ok(Number(first?.cksum) > 0, JSON.stringify(first));
  assert.equal(second?.cksum, '0');
  assert.equal(await sum('tank'), before);
  const errs = async () => (await alerts()).filter((message) => message.startsWith('The disk '));
  await eventually(30, async () =>
    assert.match(
      (await errs()).join('\n'),
      new RegExp(`^The disk ${disks[0]} of the volume tank has errors: .* [1-9]\\d* checksum errors\\.`),
    ),
  );
  await machine.run('zpool clear tank');
  await eventually(30, async () => assert.deepEqual(await errs(), []));
  await remove('tank');
});

test('devices go offline and online, are detached from a mirror, and caches, spares and logs are removed from the pool', async () => {
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [
      { vdevtype: 'mirror', disks: disks.slice(0, 2) },
      { vdevtype: 'cache', disks: disks.slice(2, 3) },
      { vdevtype: 'spare', disks: disks.slice(3, 4) },
      { vdevtype: 'log', disks: disks.slice(4, 6) },
    ],
  });
  const [first] = await devicesOf('tank');
  const label = first?.label;
  assert.equal(await act('tank', 'offline', { label }, 202), "Disk offline'd.");
  assert.equal(await statusOf('tank'), 'DEGRADED');
  assert.deepEqual(await alerts(), ['The volume tank is DEGRADED.']);
  assert.equal(await act('tank', 'online', { label }, 202), "Disk online'd.");
  await eventually(60, async () => assert.equal(await statusOf('tank'), 'HEALTHY'));
  assert.deepEqual(await alerts(), []);
  assert.equal(await act('tank', 'detach', { label }, 202), 'Disk detached.');
  for (const gone of [disks[2], disks[3], 'mirror-1'])
    assert.equal(await act('tank', 'remove', { label: gone }, 202), 'Disk removed.', await machine.run('zpool status'));
  assert.deepEqual(
    (await devicesOf('tank')).map(({ name }) => name),
    [disks[1]],
  );
  await remove('tank');
});

test('a spare steps in for a disk that fails and for one that is missing at the import, and becomes free again', async () => {
  const [first = '', second = '', spare = '', fresh = ''] = disks;
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'hot',
    layout: [
      { vdevtype: 'mirror', disks: [first, second] },
      { vdevtype: 'spare', disks: [spare] },
    ],
  });
  const before = await fill('hot');
  const states = async () => (await devicesOf('hot')).map(({ name, status }) => `${name} ${status}`);
  const stoodIn = async (health: string) => {
    await eventually(60, async () =>
      assert.deepEqual(await states(), [`${first} ONLINE`, `${second} ${health}`, `${spare} ONLINE`, `${spare} INUSE`]),
    );
    assert.match((await alerts()).join('\n'), new RegExp(`The spare ${spare} stands in for a disk of the volume hot`));
    assert.equal(await statusOf('hot'), 'DEGRADED');
  };
  await machine.run(`zpool sync hot; zpool offline -f hot $(zdb -l /dev/${second} | sed -n 's/^    guid: //p')`);
  await stoodIn('FAULTED');
  const removal = await api.post('storage/volume/hot/remove/', { label: spare });
  assert.match(removal.text, /stands in for a disk of hot/);
  assert.equal(await act('hot', 'replace', { label: second, replace_disk: fresh }, 202), 'Disk replacement started.');
  await eventually(60, async () =>
    assert.deepEqual(await states(), [`${first} ONLINE`, `${fresh} ONLINE`, `${spare} AVAIL`]),
  );
  assert.equal(await statusOf('hot'), 'HEALTHY');
  await eventually(10, () => create('other', 'stripe', [second]));
  await remove('other');

  assert.equal(await act('hot', 'replace', { label: fresh, replace_disk: spare }, 202), 'Disk replacement started.');
  await eventually(60, async () => assert.deepEqual((await states()).at(-1), `${spare} INUSE`));
  await eventually(60, () => act('hot', 'detach', { label: spare }, 202));
  assert.deepEqual(await states(), [`${first} ONLINE`, `${fresh} ONLINE`, `${spare} AVAIL`]);

  await remove('hot', { destroy: false });
  await machine.run(`dd if=/dev/zero of=/dev/${fresh} bs=1M status=none conv=fsync; udevadm settle`);
  await eventually(90, async () => assert.equal((await api.list('storage/volume_import/')).length, 1));
  await importNamed('hot');
  // The event daemon takes no notice of a disk that was missing before; Holdfast looks every minute.
  await eventually(150, async () => {
    const all = await states();
    assert.equal(all.filter((state) => state === `${spare} ONLINE`).length, 1, all.join());
    assert.equal(all.at(-1), `${spare} INUSE`);
  });
  assert.equal(await sum('hot'), before);
  await remove('hot');
});

test('a pool of an old ZFS is upgraded; a foreign pool is mounted among the volumes, and hides nothing', async () => {
  await machine.run(
    `zpool create -f -d -m /somewhere old ${disks[0]} && zfs create -o mountpoint=/opt/over old/over && zfs create old/below && zpool export old`,
  );
  await eventually(90, async () => assert.equal((await api.list('storage/volume_import/')).length, 1));
  await importNamed('old');
  assert.equal(
    await machine.run('zfs list -H -r -o name,mounted,mountpoint old'),
    'old\tyes\t/mnt/old\nold/below\tyes\t/mnt/old/below\nold/over\tno\t/opt/over\n',
  );
  assert.equal((await volumeNamed('old'))['is_upgraded'], false);
  assert.equal(await act('old', 'upgrade', undefined, 202), 'Volume has been upgraded.');
  assert.equal((await volumeNamed('old'))['is_upgraded'], true);
  await remove('old');
});

test('a known volume that is not imported is imported when the daemon starts', async () => {
  await create('tank', 'stripe', disks.slice(0, 1));
  await machine.run('systemctl stop holdfast; zpool export tank; systemctl start holdfast');
  await eventually(60, async () => assert.equal(await statusOf('tank'), 'HEALTHY'));
  await remove('tank');
});

/** A dataset and a zvol with a passphrase, and a dataset that the machine unlocks. They outlast the restarts below. */
const keysDisk = disks[6] ?? '';
const encryption = '/api/holdfast/v1/encryption';
const keyWork = (action: string, dataset: string, body: object = {}) =>
  api.expect(action === 'create' ? 201 : 200, 'POST', `${encryption}/${action}`, { dataset, ...body });
const zvolSum = () => machine.run('head -c 4000000 /dev/zvol/keys/disk | sha256sum');
const keyStates = () => machine.run('zfs get -H -o name,value keystatus keys/disk keys/docs keys/own');
const locked = async () =>
  (await api.list('/api/holdfast/v1/problems')).flatMap(({ kind, about }) =>
    kind === 'locked' ? [String(about)] : [],
  );
const sumsOfKeys = { docs: '', own: '', disk: '' };
let keyOfDocs = '';

async function keysRefused(action: string, dataset: string, body: object, message: RegExp): Promise<void> {
  const answer = await api.post(`${encryption}/${action}`, { dataset, ...body });
  assert.equal(answer.status, 400, answer.text);
  assert.match(answer.text, message);
}

test('datasets and zvols with keys of their own are created, locked, unlocked, rekeyed, and opened by ZFS itself', async () => {
  await create('keys', 'stripe', [keysDisk]);
  const passphrase = 'open sesame';
  await api.expect(201, 'POST', 'storage/volume/keys/datasets/', { name: 'docs', encryption: true, passphrase });
  await keyWork('create', 'keys/own');
  await keyWork('create', 'keys/disk', { volsize: '16M', passphrase });
  assert.equal(
    await machine.run('zfs get -H -o name,value encryptionroot keys/disk keys/docs keys/own'),
    'keys/disk\tkeys/disk\nkeys/docs\tkeys/docs\nkeys/own\tkeys/own\n',
  );
  sumsOfKeys.docs = await fill('keys/docs');
  sumsOfKeys.own = await fill('keys/own');
  await machine.run('udevadm settle; head -c 4000000 /dev/urandom | dd of=/dev/zvol/keys/disk conv=fsync status=none');
  sumsOfKeys.disk = await zvolSum();

  for (const name of ['keys/docs', 'keys/disk', 'keys/own']) await keyWork('lock', name);
  assert.equal(await keyStates(), 'keys/disk\tunavailable\nkeys/docs\tunavailable\nkeys/own\tunavailable\n');
  assert.equal(
    await machine.run('zfs get -H -o value mounted keys/docs; ls -A /mnt/keys/docs /mnt/keys/own'),
    'no\n/mnt/keys/docs:\n\n/mnt/keys/own:\n',
  );
  assert.notEqual((await machine.tryRun('head -c 1 /dev/zvol/keys/disk')).status, 0, 'a locked zvol cannot be read');
  assert.deepEqual(
    (await locked()).toSorted(),
    ['disk', 'docs', 'own'].map((name) => `storage/dataset/keys/${name}`),
  );
  await keysRefused('unlock', 'keys/docs', { passphrase: 'open barley' }, /The passphrase does not unlock/);
  await keysRefused('unlock', 'keys/docs', {}, /Send passphrase or key/);
  for (const name of ['keys/docs', 'keys/disk']) await keyWork('unlock', name, { passphrase });
  await keyWork('unlock', 'keys/own');
  assert.deepEqual(
    [await locked(), await sum('keys/docs'), await sum('keys/own')],
    [[], sumsOfKeys.docs, sumsOfKeys.own],
  );
  assert.equal(await zvolSum(), sumsOfKeys.disk);

  const former = String((await keyWork('export', 'keys/docs'))['key']);
  await keyWork('key', 'keys/docs', { passphrase: 'other words' });
  keyOfDocs = String((await keyWork('export', 'keys/docs'))['key']);
  const opens = async (key: string) =>
    (await machine.tryRun(`printf %s ${key} | zfs load-key -n -L prompt keys/docs`)).status === 0;
  assert.deepEqual([await opens(former), await opens(keyOfDocs)], [false, true]);
  await keyWork('lock', 'keys/docs');
  await keysRefused('unlock', 'keys/docs', { passphrase }, /The passphrase does not unlock/);
  await keyWork('unlock', 'keys/docs', { passphrase: 'other words' });
  assert.equal(await sum('keys/docs'), sumsOfKeys.docs);
});

test('encrypted volumes are locked, unlocked and rekeyed, also across a restart of the machine', async () => {
  await create('own', 'stripe', disks.slice(0, 1), { encryption: true });
  await create('words', 'stripe', disks.slice(1, 2), { encryption: true, encryption_inirand: true });
  const sums = { own: await fill('own'), words: await fill('words') };
  await api.expect(201, 'POST', 'storage/volume/words/datasets/', { name: 'a b' });
  await machine.run('echo kept >"/mnt/words/a b/file"');
  assert.equal(await machine.run('zfs get -H -o value encryption,keyformat own'), 'aes-256-gcm\nhex\n');

  assert.equal(
    await act('words', 'keypassphrase', { passphrase: 'open sesame', passphrase2: 'open sesame' }, 201),
    'Volume passphrase has been set',
  );
  const { content } = await api.expect(202, 'POST', 'storage/volume/words/recoverykey/');
  await machine.run('cd /mnt/words && (sleep 60 >/dev/null 2>&1 & echo $! >/run/busy)');
  const busy = await api.post('storage/volume/words/lock/');
  assert.equal(busy.status, 400, busy.text);
  assert.match(busy.text, /busy/);
  assert.equal(await machine.run('cat "/mnt/words/a b/file"'), 'kept\n', 'what was not in use is mounted again');
  await machine.run('kill $(cat /run/busy)');
  await act('words', 'lock', undefined, 202);
  assert.equal(await machine.run('zfs get -H -o value keystatus words; ls -A /mnt/words'), 'unavailable\n');
  assert.equal((await api.post('storage/volume/words/unlock/', { passphrase: 'open barley' })).status, 400);
  await act('words', 'unlock', { recovery_key: content }, 202);
  assert.equal(await sum('words'), sums.words);

  await machine.reboot();
  await untilReady(api);
  await eventually(120, async () =>
    assert.deepEqual([await statusOf('own'), await statusOf('words')], ['HEALTHY', 'LOCKED']),
  );
  assert.equal(await sum('own'), sums.own);
  assert.equal(await act('words', 'unlock', { passphrase: 'open sesame' }, 202), 'Volume has been unlocked.');
  assert.equal(await sum('words'), sums.words);
  assert.equal(await machine.run('cat "/mnt/words/a b/file"'), 'kept\n');
  for (const name of ['own', 'words'])
    assert.equal(await act(name, 'rekey', undefined, 202), 'Volume has been rekeyed.');
  assert.equal((await volumeNamed('words'))['vol_encrypt'], 1);

  await machine.reboot();
  await untilReady(api);
  await eventually(120, async () =>
    assert.deepEqual([await statusOf('own'), await statusOf('words')], ['HEALTHY', 'HEALTHY']),
  );
  assert.deepEqual({ own: await sum('own'), words: await sum('words') }, sums);
  await act('words', 'keypassphrase', { adminpw: rootPassword, passphrase: 'once more' }, 201, 'PUT');
  await remove('words', { destroy: false });
  await importNamed('words');
  assert.equal(await statusOf('words'), 'LOCKED');
  await act('words', 'unlock', { passphrase: 'once more' }, 202);
  assert.equal(await sum('words'), sums.words);
});

test('after a restart of the machine a dataset and a zvol with a passphrase are locked, and the others are served', async () => {
  assert.equal(await keyStates(), 'keys/disk\tunavailable\nkeys/docs\tunavailable\nkeys/own\tavailable\n');
  assert.equal(await sum('keys/own'), sumsOfKeys.own);
  assert.deepEqual((await locked()).toSorted(), ['storage/dataset/keys/disk', 'storage/dataset/keys/docs']);
  await keyWork('unlock', 'keys/disk', { passphrase: 'open sesame' });
  await keyWork('unlock', 'keys/docs', { key: keyOfDocs });
  assert.deepEqual([await sum('keys/docs'), await zvolSum()], [sumsOfKeys.docs, sumsOfKeys.disk]);
  assert.deepEqual((await keyWork('key', 'keys/docs'))['opened_by'], ['machine']);
  await remove('keys', { destroy: false });
  await importNamed('keys');
  assert.deepEqual(await locked(), ['storage/dataset/keys/disk']);
  assert.equal(await sum('keys/docs'), sumsOfKeys.docs);
});
