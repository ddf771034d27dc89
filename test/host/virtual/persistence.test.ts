import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Host, HostError } from '../../../src/host/ports/index.ts';
import { openVirtualHost } from '../../../src/host/virtual/index.ts';
import { scratchFolder, standingClock, virtualHost } from '../../support/hosts.ts';

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/** The observable state of a host. */
async function portrait({ accounts, disks, services, zfs }: Host) {
  return {
    known: await accounts.known(),
    owned: await accounts.owned(),
    disks: await disks.list(),
    services: await services.states(['cron', 'smbd', 'proftpd']),
    pools: await zfs.pools(),
    datasets: await zfs.datasets(),
  };
}

const person = {
  name: 'ann',
  uid: 1001,
  gid: 1000,
  fullName: 'Ann',
  home: '/mnt/tank/ann',
  shell: '/bin/sh',
  passwordHash: '*',
  groups: ['wheel'],
};

describe('the virtual host', () => {
  test('names disks from ada0 on, with stable serials', async (t) => {
    const { disks } = await virtualHost(t, { disks: [4 * GiB, 8 * GiB] });
    assert.deepEqual(
      (await disks.list()).map(({ name, serial, size, usedBy }) => ({ name, serial, size, usedBy })),
      [
        { name: 'ada0', serial: 'VIRT0001', size: 4 * GiB, usedBy: undefined },
        { name: 'ada1', serial: 'VIRT0002', size: 8 * GiB, usedBy: undefined },
      ],
    );
  });

  test('starts with the accounts of a new system', async (t) => {
    const { users, groups } = await (await virtualHost(t)).accounts.known();
    assert.deepEqual(users[0], { name: 'root', uid: 0, gid: 0, fullName: 'root', home: '/root', shell: '/bin/csh' });
    assert.equal(users.length, 28);
    assert.equal(groups.length, 35);
    assert.deepEqual(users.at(-1), {
      name: 'media',
      uid: 8675309,
      gid: 8675309,
      fullName: 'media',
      home: '/var/empty',
      shell: '/usr/sbin/nologin',
    });
  });

  test('has the same state after reopening', async (t) => {
    const folder = scratchFolder(t);
    const clock = standingClock();
    const host = await virtualHost(t, { folder, now: clock.now });
    await host.accounts.createGroup({ name: 'people', gid: 1000 });
    await host.accounts.createUser(person);
    await host.services.start('smbd');
    await host.services.stop('cron');
    await host.zfs.createPool({
      name: 'tank',
      mountpoint: '/mnt/tank',
      groups: [{ kind: 'raidz', disks: ['ada0', 'ada1', 'ada2'] }],
    });
    await host.zfs.createDataset('tank/a', { properties: { quota: '1G' }, comment: 'ä' });
    await host.zfs.createVolume('tank/v', 64 * MiB);
    await host.zfs.createPool({ name: 'away', mountpoint: '/mnt/away', groups: [{ kind: 'stripe', disks: ['ada3'] }] });
    await host.zfs.exportPool('away');
    await host.zfs.startScrub('tank');
    clock.advance(500);
    await host.files.write('/etc/samba/smb.conf', '[global]\n');
    const before = await portrait(host);
    await host.close();
    const again = await virtualHost(t, { folder, now: clock.now });
    assert.deepEqual(await portrait(again), before);
    assert.equal(await again.files.read('/etc/samba/smb.conf'), '[global]\n');
    assert.equal(readFileSync(join(folder, 'root/etc/samba/smb.conf'), 'utf8'), '[global]\n');
  });

  test('names a state file that it cannot read', async (t) => {
    const folder = scratchFolder(t);
    writeFileSync(join(folder, 'zfs.json'), '{"pools":[{"name":3}]}');
    const host = await openVirtualHost({ folder, disks: [], now: Date.now });
    await assert.rejects(async () => host.zfs.pools(), /zfs\.json is not a valid state file of the virtual host/);
  });

  test('discards a change that it cannot store', async (t) => {
    const folder = scratchFolder(t);
    const host = await virtualHost(t, { folder });
    await host.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
    await host.zfs.createDataset('tank/a');
    await host.files.write('/mnt/tank/a/file', 'content');
    const before = await portrait(host);
    // A folder at the file's path: the file can be neither written nor replaced.
    mkdirSync(join(folder, 'zfs.json.new'));
    for (const attempt of [
      () => host.zfs.createDataset('tank/b'),
      () => host.zfs.destroyDataset('tank/a'),
      () => host.zfs.exportPool('tank'),
      () => host.zfs.destroyPool('tank'),
      () => host.zfs.changeDataset('tank/a', { mountpoint: '/mnt/elsewhere' }),
    ]) {
      await assert.rejects(attempt(), HostError);
      assert.deepEqual(await portrait(host), before);
      assert.equal(await host.files.read('/mnt/tank/a/file'), 'content');
      assert.equal(await host.files.kind('/mnt/tank/b'), undefined);
    }
  });

  test('recovers the files of a dataset when it was killed between unmounting and storing', async (t) => {
    const folder = scratchFolder(t);
    const host = await virtualHost(t, { folder });
    await host.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
    await host.files.write('/mnt/tank/file', 'content');
    const remembered = readFileSync(join(folder, 'zfs.json'));
    await host.zfs.exportPool('tank');
    writeFileSync(join(folder, 'zfs.json'), remembered);
    const again = await virtualHost(t, { folder });
    assert.equal(await again.files.read('/mnt/tank/file'), 'content');
  });

  test('creates the folder of a dataset when it was killed before mounting', async (t) => {
    const folder = scratchFolder(t);
    const host = await virtualHost(t, { folder });
    await host.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
    renameSync(join(folder, 'root/mnt/tank'), join(folder, 'root/mnt/gone'));
    const again = await virtualHost(t, { folder });
    assert.equal(await again.files.kind('/mnt/tank'), 'folder');
  });

  test('removes the files of destroyed datasets', async (t) => {
    const folder = scratchFolder(t);
    const host = await virtualHost(t, { folder });
    await host.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
    await host.zfs.createDataset('tank/a');
    await host.files.write('/mnt/tank/a/file', 'content');
    await host.zfs.destroyDataset('tank/a');
    await host.zfs.destroyPool('tank');
    assert.deepEqual(readdirSync(join(folder, 'unmounted')), []);
    assert.deepEqual(readdirSync(join(folder, 'root/mnt')), []);
  });

  test('shows covered files again when the dataset is destroyed', async (t) => {
    const host = await virtualHost(t);
    await host.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
    await host.files.write('/mnt/tank/a/under', 'covered');
    await host.zfs.createDataset('tank/a');
    assert.equal(await host.files.read('/mnt/tank/a/under'), undefined);
    await host.zfs.destroyDataset('tank/a');
    assert.equal(await host.files.read('/mnt/tank/a/under'), 'covered');
  });

  test('refuses to remove the folder that a dataset is mounted on', async (t) => {
    const host = await virtualHost(t);
    await host.zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
    await assert.rejects(host.files.removeEmptyFolder('/mnt/tank'), /resource busy/);
  });

  test('shows a pool that lacks a disk as degraded or unavailable', async (t) => {
    const folder = scratchFolder(t);
    const host = await virtualHost(t, { folder, disks: [GiB, GiB, GiB, GiB] });
    await host.zfs.createPool({
      name: 'two',
      mountpoint: '/mnt/two',
      groups: [{ kind: 'mirror', disks: ['ada0', 'ada3'] }],
    });
    await host.zfs.createPool({ name: 'one', mountpoint: '/mnt/one', groups: [{ kind: 'stripe', disks: ['ada2'] }] });
    const again = await virtualHost(t, { folder, disks: [GiB, GiB] });
    assert.deepEqual(
      (await again.zfs.pools()).map((pool) => [pool.name, pool.health]),
      [
        ['one', 'UNAVAIL'],
        ['two', 'DEGRADED'],
      ],
    );
  });
});

describe('a scrub on the virtual host', () => {
  test('follows the clock, ends by itself, and cannot be started twice', async (t) => {
    const clock = standingClock();
    const { zfs } = await virtualHost(t, { now: clock.now });
    await zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
    const scan = async () => (await zfs.pools())[0]?.scan;
    await assert.rejects(zfs.stopScrub('tank'), {
      message: 'No scrub is running. (ZFS: cannot cancel scrubbing tank: there is no active scrub)',
    });
    await zfs.startScrub('tank');
    await assert.rejects(zfs.startScrub('tank'), {
      message: /^The pool is scrubbing already/,
    });
    clock.advance(1000);
    assert.equal((await scan())?.state, 'running');
    assert.ok(((await scan())?.percent ?? 0) > 40);
    clock.advance(3000);
    assert.deepEqual(await scan(), { kind: 'scrub', state: 'finished', percent: 100, errors: 0, ended: 1_767_225_602 });
    await zfs.startScrub('tank');
    clock.advance(500);
    await zfs.stopScrub('tank');
    clock.advance(5000);
    assert.equal((await scan())?.state, 'cancelled');
  });
});

describe('files on the virtual host', () => {
  test('stay in its root for every path', async (t) => {
    const folder = scratchFolder(t);
    const { files } = await virtualHost(t, { folder: join(folder, 'virtual') });
    await files.write('/../../escaped', 'x');
    assert.ok(!existsSync(join(folder, 'escaped')));
    assert.equal(await files.read('/escaped'), 'x');
    await assert.rejects(files.write('relative', 'x'), /not an absolute path/);
  });

  test('follow links relative to the root, not out of it', async (t) => {
    const folder = scratchFolder(t);
    const outside = scratchFolder(t);
    writeFileSync(join(outside, 'secret'), 'x');
    const { files } = await virtualHost(t, { folder });
    await files.write('/srv/real/a', 'inside');
    symlinkSync('/srv/real', join(folder, 'root/srv/absolute'));
    symlinkSync('real', join(folder, 'root/srv/relative'));
    symlinkSync(outside, join(folder, 'root/srv/outside'));
    symlinkSync('loop', join(folder, 'root/srv/loop'));
    assert.equal(await files.read('/srv/absolute/a'), 'inside');
    assert.equal(await files.read('/srv/relative/a'), 'inside');
    assert.equal(await files.read('/srv/outside/secret'), undefined);
    await files.write('/srv/outside/new', 'x');
    assert.ok(!existsSync(join(outside, 'new')));
    await assert.rejects(files.read('/srv/loop/a'), HostError);
  });

  test('a folder is not created through a link that leads out of its boundary', async (t) => {
    const folder = scratchFolder(t);
    const { files } = await virtualHost(t, { folder });
    await files.write('/mnt/tank/x', '');
    await files.write('/srv/x', '');
    symlinkSync('/srv', join(folder, 'root/mnt/tank/out'));
    symlinkSync('/mnt/tank', join(folder, 'root/mnt/tank/round'));
    symlinkSync('/nowhere', join(folder, 'root/mnt/tank/broken'));
    for (const path of ['/mnt/tank/out/b', '/mnt/tank/round/b'])
      await assert.rejects(files.makeFolder(path, { within: '/mnt/tank', mode: 0o755 }), /is a link/);
    const followed = { within: '/mnt/tank', links: 'followed', mode: 0o755 } as const;
    await assert.rejects(files.makeFolder('/mnt/tank/a/../out/b', followed), /leads out of \/mnt\/tank/);
    await assert.rejects(files.makeFolder('/mnt/tank/broken', followed), HostError);
    assert.deepEqual(await files.makeFolder('/mnt/tank/round/b', followed), ['/mnt/tank/round/b']);
    assert.equal(await files.kind('/mnt/tank/b'), 'folder');
    assert.equal(await files.kind('/srv/b'), undefined);
    assert.equal(await files.kind('/nowhere'), undefined);
  });

  test('staged files are outside of the tree, and those of the last process are removed', async (t) => {
    const folder = scratchFolder(t);
    const { files } = await virtualHost(t, { folder });
    const staged = await files.stage('/etc/a', 'x');
    assert.ok(!staged.startsWith(join(folder, 'root')));
    await assert.rejects(files.discard('/etc/passwd'), /not a staged file/);
    await virtualHost(t, { folder });
    assert.deepEqual(readdirSync(join(folder, 'staged')), []);
  });
});

type Operation =
  | { readonly kind: 'create'; readonly name: string; readonly quota: number; readonly reservation: number }
  | { readonly kind: 'volume'; readonly name: string; readonly size: number; readonly sparse: boolean }
  | { readonly kind: 'change'; readonly name: string; readonly quota: number; readonly reservation: number }
  | { readonly kind: 'grow'; readonly name: string; readonly size: number }
  | { readonly kind: 'destroy'; readonly name: string; readonly recursive: boolean }
  | { readonly kind: 'export' | 'import' | 'extend' };

const name = fc
  .array(fc.constantFrom('a', 'b', 'a b'), { minLength: 1, maxLength: 3 })
  .map((parts) => ['tank', ...parts].join('/'));
const bytes = fc.oneof(
  { weight: 2, arbitrary: fc.constant(0) },
  fc.integer({ min: 1, max: 5 * 1024 }).map((mebibytes) => mebibytes * MiB),
);
const size = fc.integer({ min: 1, max: 3 * 1024 }).map((mebibytes) => mebibytes * MiB);

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('create'), name, quota: bytes, reservation: bytes }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('volume'), name, size, sparse: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('change'), name, quota: bytes, reservation: bytes }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('grow'), name, size }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('destroy'), name, recursive: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('export', 'import', 'extend') }) },
);

async function perform({ disks, zfs }: Host, guid: string, todo: Operation): Promise<void> {
  const limits = (one: { quota: number; reservation: number }) => ({
    properties: { quota: String(one.quota), reservation: String(one.reservation) },
  });
  switch (todo.kind) {
    case 'create':
      return zfs.createDataset(todo.name, limits(todo));
    case 'volume':
      return zfs.createVolume(todo.name, todo.size, todo.sparse ? { properties: { refreservation: 'none' } } : {});
    case 'change':
      return zfs.changeDataset(todo.name, limits(todo));
    case 'grow':
      return zfs.changeDataset(todo.name, { properties: { volsize: String(todo.size) } });
    case 'destroy':
      return zfs.destroyDataset(todo.name, { recursive: todo.recursive });
    case 'export':
      return zfs.exportPool('tank');
    case 'import':
      return zfs.importPool(guid);
    case 'extend': {
      const free = (await disks.list()).find((disk) => disk.usedBy === undefined);
      return zfs.extendPool('tank', [{ kind: 'stripe', disks: [free?.name ?? 'none'] }]);
    }
  }
}

test('random changes leave no orphaned dataset and no negative space, refusals change nothing, and reopening preserves the state', async (t) => {
  const now = () => 0;
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (todo) => {
      const folder = scratchFolder(t);
      const disks = [4 * GiB, 4 * GiB];
      const host = await openVirtualHost({ folder, disks, now });
      await host.zfs.createPool({
        name: 'tank',
        mountpoint: '/mnt/tank',
        groups: [{ kind: 'stripe', disks: ['ada0'] }],
      });
      const guid = (await host.zfs.pools())[0]?.guid ?? '';
      for (const one of todo) {
        const before = await portrait(host);
        try {
          await perform(host, guid, one);
        } catch (error) {
          if (!(error instanceof HostError)) throw error;
          assert.deepEqual(await portrait(host), before);
        }
        const datasets = await host.zfs.datasets();
        const seen = new Set<string>();
        for (const dataset of datasets) {
          const parent = dataset.name.slice(0, Math.max(0, dataset.name.lastIndexOf('/')));
          assert.ok(parent === '' || seen.has(parent), `${dataset.name} comes after its parent`);
          seen.add(dataset.name);
          assert.ok(
            dataset.used >= 0 && dataset.available >= 0 && dataset.referenced >= 0,
            `${dataset.name} has space`,
          );
          assert.equal(dataset.mountpoint, dataset.kind === 'volume' ? undefined : `/mnt/${dataset.name}`);
          if (dataset.mountpoint !== undefined) assert.equal(await host.files.kind(dataset.mountpoint), 'folder');
        }
        for (const pool of await host.zfs.pools())
          assert.ok(pool.allocated >= 0 && pool.free >= 0 && pool.allocated + pool.free === pool.size);
      }
      const before = await portrait(host);
      await host.close();
      assert.deepEqual(await portrait(await openVirtualHost({ folder, disks, now })), before);
    }),
    { numRuns: 200 },
  );
});
