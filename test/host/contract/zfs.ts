import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Host } from '../../../src/host/ports/index.ts';
import { type Dataset, newMark, type Snapshot } from '../../../src/host/ports/zfs.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { freeDisks, freshName, poolOn, refused } from './support.ts';

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

const datasetOf = async ({ zfs }: Host, name: string) => (await zfs.datasets()).find((one) => one.name === name);
const poolNamed = async ({ zfs }: Host, name: string) => (await zfs.pools()).find((one) => one.name === name);

const devicesOf = async (host: Host, name: string) =>
  (await poolNamed(host, name))?.groups.flatMap((group) => group.devices) ?? [];

/** Waits until the pool is healthy and no scan is running. */
async function healthy(host: Host, name: string): Promise<void> {
  for (let waited = 0; waited < 30_000; waited += 100) {
    const pool = await poolNamed(host, name);
    if (pool?.health === 'ONLINE' && pool.scan?.state !== 'running') return;
    await wait(100);
  }
  assert.fail(`${name} is not healthy after 30 s`);
}

export function describeZfs(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`pools on the ${title} host`, () => {
      test('a created pool is listed as healthy, with its root dataset mounted', async (t) => {
        const host = await start(t);
        const disks = await freeDisks(host, 2);
        const name = await poolOn(host, t, [{ kind: 'mirror', disks }]);
        const pool = await poolNamed(host, name);
        assert.equal(pool?.health, 'ONLINE');
        assert.match(pool.guid, /^[1-9]\d*$/);
        assert.ok(pool.size > 0 && pool.allocated >= 0 && pool.free <= pool.size);
        assert.deepEqual(
          pool.groups.map((group) => ({
            kind: group.kind,
            name: group.name,
            disks: group.devices.map((device) => device.disk),
          })),
          [{ kind: 'mirror', name: 'mirror-0', disks }],
        );
        for (const device of pool.groups[0]?.devices ?? []) assert.match(device.guid, /^[1-9]\d*$/);
        const root = await datasetOf(host, name);
        assert.equal(root?.kind, 'filesystem');
        assert.equal(root.mountpoint, `/mnt/${name}`);
        assert.ok(root.available > 0 && root.available < pool.size);
        assert.equal(await host.files.kind(`/mnt/${name}`), 'folder');
      });

      test('each disk of a stripe is a separate group', async (t) => {
        const host = await start(t);
        const disks = await freeDisks(host, 2);
        const pool = await poolNamed(host, await poolOn(host, t, [{ kind: 'stripe', disks }]));
        assert.deepEqual(
          pool?.groups.map((group) => [group.kind, group.devices.map((device) => device.disk)]),
          disks.map((disk) => ['stripe', [disk]]),
        );
      });

      test('raidz groups are named by their parity', async (t) => {
        const host = await start(t);
        const pool = await poolNamed(host, await poolOn(host, t, [{ kind: 'raidz', disks: await freeDisks(host, 3) }]));
        assert.deepEqual(
          pool?.groups.map((group) => [group.kind, group.name]),
          [['raidz', 'raidz1-0']],
        );
      });

      test('a pool without data disks, with an unknown disk or with a disk in use is refused and not created', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        const used = (await host.disks.list()).find((disk) => disk.usedBy?.includes(pool))?.name ?? '';
        const name = freshName('hold');
        const attempt = (...disks: readonly string[]) =>
          host.zfs.createPool({ name, mountpoint: `/mnt/${name}`, groups: [{ kind: 'stripe', disks }] });
        await refused(host.zfs.createPool({ name, mountpoint: `/mnt/${name}`, groups: [] }), /./);
        await refused(attempt('hf-no-such-disk'), /hf-no-such-disk/);
        await refused(attempt(used), /./);
        assert.equal(await poolNamed(host, name), undefined);
        assert.equal(await host.files.kind(`/mnt/${name}`), undefined);
      });

      test('a second pool with the same name is refused', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t);
        await refused(
          host.zfs.createPool({
            name,
            mountpoint: `/mnt/${name}`,
            groups: [{ kind: 'stripe', disks: await freeDisks(host, 1) }],
          }),
          /exists/,
        );
      });

      test('a pool takes the settings of its root dataset', async (t) => {
        const host = await start(t);
        const name = freshName('hold');
        const groups = [{ kind: 'stripe', disks: await freeDisks(host, 1) }] as const;
        finallyOf(t, () => host.zfs.destroyPool(name));
        await host.zfs.createPool({
          name,
          mountpoint: `/mnt/${name}`,
          groups,
          settings: { properties: { compression: 'lz4' }, comment: 'mine' },
        });
        const root = await datasetOf(host, name);
        assert.equal(root?.properties.compression, 'lz4');
        assert.equal(root?.comment, 'mine');
        assert.ok(!root.inherited.includes('compression'));
      });

      test('an extended pool is larger, and its new group has the next number', async (t) => {
        const host = await start(t);
        const disks = await freeDisks(host, 4);
        const name = await poolOn(host, t, [{ kind: 'mirror', disks: disks.slice(0, 2) }]);
        const before = await poolNamed(host, name);
        await host.zfs.extendPool(name, [{ kind: 'mirror', disks: disks.slice(2) }]);
        const after = await poolNamed(host, name);
        assert.ok((after?.size ?? 0) > (before?.size ?? 0));
        assert.deepEqual(
          after?.groups.map((group) => group.name),
          ['mirror-0', 'mirror-1'],
        );
      });

      test('logs, caches and spares come after the data', async (t) => {
        const host = await start(t);
        const [a = '', b = '', c = '', d = ''] = await freeDisks(host, 4);
        const name = await poolOn(host, t, [
          { kind: 'spare', disks: [d] },
          { kind: 'cache', disks: [c] },
          { kind: 'stripe', disks: [a] },
        ]);
        await host.zfs.extendPool(name, [{ kind: 'log', disks: [b] }]);
        const pool = await poolNamed(host, name);
        assert.deepEqual(
          pool?.groups.map((group) => group.kind),
          ['stripe', 'log', 'cache', 'spare'],
        );
        assert.equal(pool?.groups.at(-1)?.devices[0]?.health, 'AVAIL');
      });

      test('destroying a pool removes its datasets and its folder', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t);
        await host.zfs.createDataset(`${name}/a`);
        await host.zfs.destroyPool(name);
        assert.equal(await poolNamed(host, name), undefined);
        assert.equal(await datasetOf(host, `${name}/a`), undefined);
        assert.equal(await host.files.kind(`/mnt/${name}/a`), undefined);
        await refused(host.zfs.destroyPool(name), /no such pool/);
      });

      test('an exported pool is imported with its content', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t);
        await host.zfs.createDataset(`${name}/a`, { properties: { quota: '100M' }, comment: 'kept' });
        await host.files.write(`/mnt/${name}/a/file`, 'content');
        const guid = (await poolNamed(host, name))?.guid ?? '';
        await host.zfs.exportPool(name);
        assert.equal(await poolNamed(host, name), undefined);
        assert.equal(await host.files.read(`/mnt/${name}/a/file`), undefined);
        await refused(host.zfs.exportPool(name), /no such pool/);
        await host.zfs.importPool(guid);
        assert.equal((await poolNamed(host, name))?.guid, guid);
        const dataset = await datasetOf(host, `${name}/a`);
        assert.equal(dataset?.properties.quota, String(100 * MiB));
        assert.equal(dataset?.comment, 'kept');
        assert.equal(await host.files.read(`/mnt/${name}/a/file`), 'content');
      });

      test('a pool that does not exist cannot be imported', async (t) => {
        await refused((await start(t)).zfs.importPool('1234567890123456789'), /1234567890123456789/);
      });

      test('a pool has a scan only after its first scrub', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t);
        assert.equal((await poolNamed(host, name))?.scan, undefined);
        await host.zfs.startScrub(name);
        const scan = (await poolNamed(host, name))?.scan;
        assert.equal(scan?.kind, 'scrub');
        assert.ok(scan.percent >= 0 && scan.percent <= 100);
        // The scrub of an empty pool may end before its state is read.
        if (scan.state === 'running') await host.zfs.stopScrub(name).catch(() => {});
        assert.ok(['cancelled', 'finished'].includes((await poolNamed(host, name))?.scan?.state ?? ''));
        await refused(host.zfs.stopScrub(name), /no active scrub/);
      });

      test('the name of no pool is refused', async (t) => {
        const { zfs } = await start(t);
        await refused(zfs.startScrub('hfnone'), /no such pool/);
        await refused(zfs.exportPool('hfnone'), /no such pool/);
        await refused(zfs.extendPool('hfnone', [{ kind: 'stripe', disks: ['hf-none'] }]), /hf-?none/);
      });
    });

    describe(`devices of pools on the ${title} host`, () => {
      test('a device of a mirror goes offline and comes back', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t, [{ kind: 'mirror', disks: await freeDisks(host, 2) }]);
        const [first] = await devicesOf(host, name);
        const guid = first?.guid ?? '';
        await host.zfs.offlineDevice(name, guid);
        assert.equal((await devicesOf(host, name))[0]?.health, 'OFFLINE');
        assert.equal((await poolNamed(host, name))?.health, 'DEGRADED');
        await host.zfs.onlineDevice(name, guid);
        await healthy(host, name);
        await refused(host.zfs.offlineDevice(name, '1234567890123456789'), /no such device/);
      });

      test('a device that the pool needs cannot be taken offline', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t);
        const [only] = await devicesOf(host, name);
        await refused(host.zfs.offlineDevice(name, only?.guid ?? ''), /no valid replicas/);
        assert.equal((await poolNamed(host, name))?.health, 'ONLINE');
      });

      test('a replaced device is removed when the resilver is complete', async (t) => {
        const host = await start(t);
        const [a = '', b = '', c = ''] = await freeDisks(host, 3);
        const name = await poolOn(host, t, [{ kind: 'mirror', disks: [a, b] }]);
        await host.files.write(`/mnt/${name}/file`, 'content');
        const [first] = await devicesOf(host, name);
        await host.zfs.offlineDevice(name, first?.guid ?? '');
        await host.zfs.replaceDevice(name, first?.guid ?? '', c);
        const scan = (await poolNamed(host, name))?.scan;
        assert.equal(scan?.kind, 'resilver');
        await healthy(host, name);
        assert.deepEqual((await devicesOf(host, name)).map(({ disk }) => disk).toSorted(), [b, c].toSorted());
        assert.equal((await poolNamed(host, name))?.scan?.state, 'finished');
        assert.equal((await host.disks.list()).find((disk) => disk.name === a)?.usedBy, undefined);
        assert.equal(await host.files.read(`/mnt/${name}/file`), 'content');
      });

      test('a device cannot be replaced by a disk in use, and an unknown device is refused', async (t) => {
        const host = await start(t);
        const other = await poolOn(host, t);
        const used = (await devicesOf(host, other))[0]?.disk ?? '';
        const name = await poolOn(host, t);
        const [first] = await devicesOf(host, name);
        await refused(
          host.zfs.replaceDevice(name, first?.guid ?? '', used),
          new RegExp(`is part of active pool '${other}'`),
        );
        const [free = ''] = await freeDisks(host, 1);
        await refused(host.zfs.replaceDevice(name, '1234567890123456789', free), /no such device/);
      });

      test('one side of a mirror is detached, and the other is kept', async (t) => {
        const host = await start(t);
        const [a = '', b = ''] = await freeDisks(host, 2);
        const name = await poolOn(host, t, [{ kind: 'mirror', disks: [a, b] }]);
        const [first] = await devicesOf(host, name);
        await host.zfs.detachDevice(name, first?.guid ?? '');
        assert.deepEqual(
          (await poolNamed(host, name))?.groups.map(({ kind, name: group, health }) => [kind, group, health]),
          [['stripe', b, 'ONLINE']],
        );
        const [rest] = await devicesOf(host, name);
        await refused(host.zfs.detachDevice(name, rest?.guid ?? ''), /only applicable to mirror and replacing vdevs/);
      });

      test('a cache, a spare and a mirrored log are removed again', async (t) => {
        const host = await start(t);
        const [a = '', b = '', c = '', d = '', e = ''] = await freeDisks(host, 5);
        const name = await poolOn(host, t, [
          { kind: 'stripe', disks: [a] },
          { kind: 'cache', disks: [b] },
          { kind: 'spare', disks: [c] },
          { kind: 'log', disks: [d, e] },
        ]);
        const groups = async () => (await poolNamed(host, name))?.groups ?? [];
        for (const kind of ['cache', 'spare'])
          await host.zfs.removeDevice(
            name,
            (await groups()).find((group) => group.kind === kind)?.devices[0]?.guid ?? '',
          );
        await host.zfs.removeDevice(name, (await groups()).find((group) => group.kind === 'log')?.name ?? '');
        assert.deepEqual(
          (await groups()).map(({ kind }) => kind),
          ['stripe'],
        );
        await refused(host.zfs.removeDevice(name, '1234567890123456789'), /no such device/);
      });

      test('a spare stands in for a device, and is detached again', async (t) => {
        const host = await start(t);
        const [a = '', b = '', spare = '', log = ''] = await freeDisks(host, 4);
        const name = await poolOn(host, t, [
          { kind: 'mirror', disks: [a, b] },
          { kind: 'spare', disks: [spare] },
          { kind: 'log', disks: [log] },
        ]);
        const [first, second] = await devicesOf(host, name);
        const groups = async () =>
          ((await poolNamed(host, name))?.groups ?? []).map(({ kind, devices }) => [
            kind,
            ...devices.map(({ disk, health }) => `${disk} ${health}`),
          ]);
        await host.zfs.replaceDevice(name, first?.guid ?? '', spare);
        await healthy(host, name);
        assert.deepEqual(await groups(), [
          ['mirror', `${a} ONLINE`, `${spare} ONLINE`, `${b} ONLINE`],
          ['log', `${log} ONLINE`],
          ['spare', `${spare} INUSE`],
        ]);
        const guid = (await poolNamed(host, name))?.groups.at(-1)?.devices[0]?.guid ?? '';
        await refused(host.zfs.removeDevice(name, guid), /busy/);
        await refused(host.zfs.replaceDevice(name, second?.guid ?? '', spare), /busy|in use|is part of active pool/);
        await host.zfs.detachDevice(name, guid);
        assert.deepEqual((await groups()).at(-1), ['spare', `${spare} AVAIL`]);
        await refused(host.zfs.detachDevice(name, guid), /device is reserved as a hot spare/);

        await host.zfs.replaceDevice(name, first?.guid ?? '', spare);
        await healthy(host, name);
        await host.zfs.detachDevice(name, first?.guid ?? '');
        assert.deepEqual(
          await groups(),
          [
            ['mirror', `${spare} ONLINE`, `${b} ONLINE`],
            ['log', `${log} ONLINE`],
          ],
          'a spare whose device is detached takes its place',
        );
        const inLog = (await poolNamed(host, name))?.groups.at(-1)?.devices[0]?.guid ?? '';
        await host.zfs.removeDevice(name, inLog);
        await host.zfs.exportPool(name);
        const used = new Map((await host.disks.list()).map((disk) => [disk.name, disk.usedBy]));
        const { guid: pool } = (await host.zfs.importable()).find((one) => one.name === name) ?? assert.fail('no pool');
        await host.zfs.importPool(pool);
        const exported = `it is part of the exported pool ${name}`;
        assert.deepEqual(
          [a, b, spare, log].map((disk) => used.get(disk)),
          [undefined, exported, exported, undefined],
          'disks that left the pool are free, although they keep its label',
        );
      });

      test('a new pool has every feature, and upgrading it changes nothing', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t);
        await host.zfs.upgradePool(name);
        assert.equal((await poolNamed(host, name))?.upgraded, true);
        await refused(host.zfs.upgradePool('hfnone'), /no such pool/);
      });

      test('an exported pool is listed as importable with its groups', async (t) => {
        const host = await start(t);
        const disks = await freeDisks(host, 3);
        const name = await poolOn(host, t, [{ kind: 'raidz', disks }]);
        const found = async () => (await host.zfs.importable()).find((pool) => pool.name === name);
        const guid = (await poolNamed(host, name))?.guid ?? '';
        assert.equal(await found(), undefined);
        await host.zfs.exportPool(name);
        const { hostname: _, version, ...rest } = (await found()) ?? assert.fail('it is not importable');
        assert.deepEqual(rest, {
          name,
          guid,
          health: 'ONLINE',
          groups: [
            {
              kind: 'raidz',
              name: 'raidz1-0',
              health: 'ONLINE',
              devices: disks.map((disk) => ({ name: disk, health: 'ONLINE' })),
            },
          ],
        });
        assert.equal(version, '5000');
        await host.zfs.importPool(guid, { mountpoint: `/mnt/elsewhere-${name}` });
        assert.equal((await datasetOf(host, name))?.mountpoint, `/mnt/elsewhere-${name}`);
        assert.equal(await found(), undefined);
      });
    });

    describe(`encrypted pools on the ${title} host`, () => {
      const [key, other] = ['0123456789abcdef'.repeat(4), 'fedcba9876543210'.repeat(4)];

      async function encrypted(host: Host, t: TestContext): Promise<string> {
        const name = freshName('hold');
        const groups = [{ kind: 'stripe', disks: await freeDisks(host, 1) }] as const;
        finallyOf(t, async () => {
          if ((await poolNamed(host, name)) !== undefined) await host.zfs.destroyPool(name);
        });
        await host.zfs.createPool({ name, mountpoint: `/mnt/${name}`, groups, encryption: { key, slots: 'first' } });
        await host.zfs.createDataset(`${name}/a b`);
        await host.files.write(`/mnt/${name}/a b/file`, 'secret');
        return name;
      }

      test('its content is available only while its key is loaded', async (t) => {
        const host = await start(t);
        const name = await encrypted(host, t);
        assert.deepEqual(
          [(await datasetOf(host, name))?.key, (await datasetOf(host, `${name}/a b`))?.key],
          ['available', 'available'],
        );
        await refused(host.zfs.loadKey(name, key), /already loaded/);
        await host.zfs.unloadKey(name);
        assert.deepEqual(
          [(await datasetOf(host, name))?.key, (await datasetOf(host, name))?.mountpoint],
          ['unavailable', undefined],
        );
        assert.equal(await host.files.read(`/mnt/${name}/a b/file`), undefined);
        await refused(host.zfs.unloadKey(name), /already unloaded/);
        await refused(host.zfs.loadKey(name, other), /Incorrect key/);
        await host.zfs.loadKey(name, key);
        assert.equal(await host.files.read(`/mnt/${name}/a b/file`), 'secret');
        assert.equal((await datasetOf(host, `${name}/a b`))?.mountpoint, `/mnt/${name}/a b`);
      });

      test('the mount point of a locked pool cannot be written to, and is gone with the pool', async (t) => {
        const host = await start(t);
        const name = await encrypted(host, t);
        const { files, zfs } = host;
        await zfs.unloadKey(name);
        await refused(files.write(`/mnt/${name}/file`, 'in its place'), /not permitted/i);
        await refused(files.makeFolder(`/mnt/${name}/a`, { within: '/mnt', mode: 0o755 }), /not permitted/i);
        assert.equal(await files.kind(`/mnt/${name}/file`), undefined);
        await zfs.loadKey(name, key);
        await files.write(`/mnt/${name}/file`, 'in the pool');
        await zfs.unloadKey(name);
        await zfs.destroyPool(name);
        assert.equal(await files.kind(`/mnt/${name}`), undefined);
      });

      test('a changed key replaces the first', async (t) => {
        const host = await start(t);
        const name = await encrypted(host, t);
        await host.zfs.changeKey(name, other);
        assert.deepEqual([await host.zfs.isKey(name, key), await host.zfs.isKey(name, other)], [false, true]);
        await host.zfs.unloadKey(name);
        assert.deepEqual([await host.zfs.isKey(name, key), await host.zfs.isKey(name, other)], [false, true]);
        await refused(host.zfs.changeKey(name, key), /must be loaded/);
        await host.zfs.loadKey(name, other);
      });

      test('key slots are read and written with and without the key, and are part of the pool', async (t) => {
        const host = await start(t);
        const name = await encrypted(host, t);
        const slots = async () => (await datasetOf(host, name))?.keySlots;
        assert.equal(await slots(), 'first');
        assert.equal((await datasetOf(host, `${name}/a b`))?.keySlots, undefined);
        await host.zfs.unloadKey(name);
        const long = 'x'.repeat(4000);
        await host.zfs.setKeySlots(name, long);
        assert.equal(await slots(), long);
        const guid = (await poolNamed(host, name))?.guid ?? '';
        await host.zfs.exportPool(name);
        await host.zfs.importPool(guid, { mountpoint: `/mnt/${name}` });
        assert.deepEqual([await slots(), (await datasetOf(host, name))?.key], [long, 'unavailable']);
        await host.zfs.loadKey(name, key);
        assert.equal(await host.files.read(`/mnt/${name}/a b/file`), 'secret');
      });

      test('a dataset and a zvol have keys of their own, and what is below and cloned has the same', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t);
        await host.zfs.createDataset(`${name}/own`, { encryption: { key, slots: 'first' } });
        await host.zfs.createVolume(`${name}/disk`, 16 * MiB, { encryption: { key: other, slots: 'second' } });
        await host.zfs.createDataset(`${name}/own/below`);
        await host.zfs.createDataset(`${name}/own/inner`, { encryption: { key: other, slots: 'third' } });
        await host.zfs.createDataset(`${name}/plain`);
        await host.files.write(`/mnt/${name}/own/below/file`, 'secret');
        await host.zfs.createSnapshot(`${name}/own@s`, { recursive: true });
        await host.zfs.cloneSnapshot(`${name}/own/below@s`, `${name}/plain/clone`);
        const state = async () =>
          Object.fromEntries(
            (await host.zfs.datasets({ trees: [name] })).map((one) => [
              one.name.slice(name.length + 1),
              [one.encryptionRoot?.slice(name.length + 1), one.key, one.keySlots, one.mountpoint !== undefined],
            ]),
          );
        const open = {
          '': [undefined, undefined, undefined, true],
          disk: ['disk', 'available', 'second', false],
          own: ['own', 'available', 'first', true],
          'own/below': ['own', 'available', undefined, true],
          'own/inner': ['own/inner', 'available', 'third', true],
          plain: [undefined, undefined, undefined, true],
          'plain/clone': ['own', 'available', undefined, true],
        };
        assert.deepEqual(await state(), open);
        await host.zfs.unloadKey(`${name}/own`);
        assert.deepEqual(await state(), {
          ...open,
          own: ['own', 'unavailable', 'first', false],
          'own/below': ['own', 'unavailable', undefined, false],
          'own/inner': ['own/inner', 'unavailable', 'third', false],
          'plain/clone': ['own', 'unavailable', undefined, false],
        });
        await refused(host.zfs.createDataset(`${name}/own/more`), /key is not loaded/);
        // Snapshots and clones do not need the key.
        await host.zfs.createSnapshot(`${name}/own@locked`);
        await host.zfs.cloneSnapshot(`${name}/own@locked`, `${name}/locked`);
        assert.deepEqual((await state())['locked'], ['own', 'unavailable', undefined, false]);
        await host.zfs.destroyDataset(`${name}/locked`);
        await refused(host.zfs.loadKey(`${name}/own/below`, key), /encryption root/);
        await refused(host.zfs.loadKey(`${name}/own`, other), /Incorrect key/);
        await host.zfs.loadKey(`${name}/own`, key);
        assert.deepEqual(await state(), { ...open, 'own/inner': ['own/inner', 'unavailable', 'third', false] });
        await host.zfs.loadKey(`${name}/own/inner`, other);
        assert.deepEqual(await state(), open);
        for (const file of ['own/below', 'plain/clone'])
          assert.equal(await host.files.read(`/mnt/${name}/${file}/file`), 'secret');
        await host.zfs.unloadKey(`${name}/disk`);
        assert.deepEqual((await state())['disk'], ['disk', 'unavailable', 'second', false]);
      });

      test('a pool without encryption has no key', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t);
        assert.equal((await datasetOf(host, name))?.key, undefined);
        await refused(host.zfs.loadKey(name, key), /./);
        await refused(host.zfs.changeKey(name, key), /./);
      });
    });

    describe(`datasets on the ${title} host`, () => {
      test('a created dataset is listed after its parent, mounted below it', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/b`);
        await host.zfs.createDataset(`${pool}/b/c d`);
        await host.zfs.createDataset(`${pool}/a`);
        const names = (await host.zfs.datasets()).map((one) => one.name).filter((name) => name.startsWith(pool));
        assert.deepEqual([...names].sort(), [pool, `${pool}/a`, `${pool}/b`, `${pool}/b/c d`]);
        assert.ok(names.indexOf(`${pool}/b`) < names.indexOf(`${pool}/b/c d`));
        assert.equal((await datasetOf(host, `${pool}/b/c d`))?.mountpoint, `/mnt/${pool}/b/c d`);
        assert.equal(await host.files.kind(`/mnt/${pool}/b/c d`), 'folder');
      });

      test('a dataset that is moved away is unmounted with its children, and comes back as it was with its files', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        const own = freshName('/mnt/own');
        await host.zfs.createDataset(`${pool}/a`, { properties: { atime: 'off' } });
        await host.zfs.createDataset(`${pool}/a/below`);
        await host.zfs.createDataset(`${pool}/a/own`, { mountpoint: own });
        await host.zfs.createVolume(`${pool}/a/disk`, 16 * MiB);
        await host.zfs.createDataset(`${pool}/away`, { mountpoint: 'none', properties: { readonly: 'on' } });
        for (const path of [`/mnt/${pool}/a`, `/mnt/${pool}/a/below`, own])
          await host.files.write(`${path}/file`, path, { mode: 0o644 });
        await host.zfs.createSnapshot(`${pool}/a/below@one`);
        const shown = async (root: string) =>
          (await host.zfs.datasets({ trees: [`${pool}/${root}`] })).map(
            ({ name, mountpoint, properties, inherited }) => ({
              ...{ name: name.slice(pool.length + 1 + root.length), mountpoint, properties, inherited },
            }),
          );
        const before = await shown('a');
        await host.zfs.moveDataset(`${pool}/a`, `${pool}/away/a`, { mounted: false });
        const away = await shown('away/a');
        assert.deepEqual(
          away.map(({ mountpoint, properties }) => [mountpoint, properties.readonly]),
          before.map(() => [undefined, 'on']),
        );
        assert.equal(await datasetOf(host, `${pool}/a`), undefined);
        assert.equal(await host.files.kind(`${own}/file`), undefined);
        assert.deepEqual(
          (await host.zfs.snapshots([`${pool}/away/a/below`])).map(({ name }) => name),
          ['one'],
        );
        await host.zfs.moveDataset(`${pool}/away/a`, `${pool}/a`, { mounted: true });
        assert.deepEqual(await shown('a'), before);
        for (const path of [`/mnt/${pool}/a`, `/mnt/${pool}/a/below`, own])
          assert.equal(await host.files.read(`${path}/file`), path);
        await host.zfs.moveDataset(`${pool}/a`, `${pool}/a`, { mounted: true });
        assert.deepEqual(await shown('a'), before, 'a move to the same name changes nothing');
      });

      test('a move to a name that is taken, to another pool or below what is missing is refused and changes nothing', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        for (const name of ['a', 'a/below', 'b']) await host.zfs.createDataset(`${pool}/${name}`);
        for (const to of [`${pool}/b`, 'nosuchpool/a', `${pool}/gone/a`, `${pool}/a/below/a`])
          await refused(host.zfs.moveDataset(`${pool}/a`, to, { mounted: false }), /./);
        await refused(host.zfs.moveDataset(`${pool}/gone`, `${pool}/c`, { mounted: true }), /./);
        for (const name of ['a', 'a/below', 'b'])
          assert.equal((await datasetOf(host, `${pool}/${name}`))?.mountpoint, `/mnt/${pool}/${name}`);
      });

      test('a recursive snapshot leaves out the bin', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        for (const name of ['a', '.holdfast-bin', '.holdfast-bin/1-b', 'a/.holdfast-bin'])
          await host.zfs.createDataset(`${pool}/${name}`);
        await host.zfs.createSnapshot(`${pool}@all`, { recursive: true, task: 7 });
        const all = (await host.zfs.snapshots()).filter(({ dataset }) => dataset.startsWith(pool));
        assert.deepEqual(
          all.map(({ dataset, task }) => [dataset, task]),
          [pool, `${pool}/a`].map((dataset) => [dataset, 7]),
        );
      });

      test('datasets and pools are listed by name, without those that do not exist', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        for (const name of ['a', 'a/b', 'a/b/c', 'ab']) await host.zfs.createDataset(`${pool}/${name}`);
        const named = async (names: readonly string[], trees: readonly string[] = []) =>
          (
            await host.zfs.datasets({
              names: names.map((name) => `${pool}/${name}`),
              trees: trees.map((name) => `${pool}/${name}`),
            })
          ).map(({ name }) => name.slice(pool.length + 1));
        assert.deepEqual(await named(['a/b', 'gone', 'ab']), ['a/b', 'ab']);
        assert.deepEqual(await named(['gone']), []);
        assert.deepEqual(await named([], ['a/b', 'gone']), ['a/b', 'a/b/c']);
        assert.deepEqual(await named(['ab', 'a/b'], ['a']), ['a', 'a/b', 'a/b/c', 'ab']);
        assert.deepEqual(await host.zfs.datasets({ names: ['nosuchpool/a', 'nosuchpool'] }), []);
        const all = await host.zfs.datasets();
        assert.deepEqual(
          (await host.zfs.datasets({ names: [`${pool}/a`] })).map(({ name, properties, mountpoint }) => ({
            name,
            properties,
            mountpoint,
          })),
          all
            .filter(({ name }) => name === `${pool}/a`)
            .map(({ name, properties, mountpoint }) => ({ name, properties, mountpoint })),
        );
        assert.deepEqual(
          (await host.zfs.pools([pool, 'nosuchpool'])).map(({ name }) => name),
          [pool],
        );
        assert.deepEqual(await host.zfs.pools(['nosuchpool']), []);
      });

      test('a dataset without settings has the defaults of OpenZFS, all inherited', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        const { properties, inherited, comment } = (await datasetOf(host, `${pool}/a`)) ?? assert.fail('no dataset');
        const {
          atime,
          casesensitivity,
          compression,
          dedup,
          exec,
          quota,
          readonly,
          recordsize,
          refquota,
          refreservation,
          reservation,
          sync,
        } = properties;
        assert.deepEqual(
          { casesensitivity, dedup, exec, readonly, recordsize, sync },
          {
            casesensitivity: 'sensitive',
            dedup: 'off',
            exec: 'on',
            readonly: 'off',
            recordsize: '131072',
            sync: 'standard',
          },
        );
        assert.deepEqual(
          { quota, refquota, refreservation, reservation },
          { quota: '0', refquota: '0', refreservation: '0', reservation: '0' },
        );
        assert.deepEqual({ atime, compression }, { atime: 'on', compression: 'on' });
        for (const name of ['atime', 'compression', 'dedup', 'exec', 'readonly', 'recordsize', 'sync'] as const)
          assert.ok(inherited.includes(name), `${name} is inherited`);
        assert.equal(properties.volsize, undefined);
        assert.equal(comment, undefined);
      });

      test('sizes are in bytes', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`, {
          properties: { quota: '200M', refquota: '150M', recordsize: '64K' },
        });
        const dataset = await datasetOf(host, `${pool}/a`);
        assert.equal(dataset?.properties.quota, String(200 * MiB));
        assert.equal(dataset?.properties.refquota, String(150 * MiB));
        assert.equal(dataset?.properties.recordsize, '65536');
      });

      test('children inherit a setting until they have their own, and again when it is reset', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`, { properties: { compression: 'gzip-7', sync: 'inherit' } });
        await host.zfs.createDataset(`${pool}/a/b`);
        const child = async () => (await datasetOf(host, `${pool}/a/b`)) ?? assert.fail('no dataset');
        assert.equal((await child()).properties.compression, 'gzip-7');
        assert.ok((await child()).inherited.includes('compression'));
        await host.zfs.changeDataset(`${pool}/a/b`, { properties: { compression: 'off' } });
        assert.equal((await child()).properties.compression, 'off');
        assert.ok(!(await child()).inherited.includes('compression'));
        await host.zfs.changeDataset(`${pool}/a/b`, { properties: { compression: 'inherit' } });
        assert.equal((await child()).properties.compression, 'gzip-7');
        assert.ok((await child()).inherited.includes('compression'));
      });

      test('a quota is not inherited and limits the available space', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`, { properties: { quota: String(128 * MiB) } });
        await host.zfs.createDataset(`${pool}/a/b`);
        assert.equal((await datasetOf(host, `${pool}/a/b`))?.properties.quota, '0');
        for (const name of [`${pool}/a`, `${pool}/a/b`]) {
          const available = (await datasetOf(host, name))?.available ?? 0;
          assert.ok(available > 100 * MiB && available <= 128 * MiB, `${name} has ${available}`);
        }
      });

      test('nothing is written into a read-only dataset, and not more than a quota', async (t) => {
        const host = await start(t);
        const name = await poolOn(host, t);
        const [file, other] = [`/mnt/${name}/media/file`, `/mnt/${name}/media/other`];
        await host.zfs.createDataset(`${name}/media`, { properties: { refquota: String(4 * MiB) } });
        await host.files.write(file, 'content');
        const large = randomBytes(16 * MiB).toString('base64');
        await refused(host.files.write(other, large, { encoding: 'base64' }), /quota exceeded/);
        await host.zfs.changeDataset(`${name}/media`, { properties: { refquota: '0', readonly: 'on' } });
        assert.equal((await datasetOf(host, `${name}/media`))?.properties.refquota, '0');
        await refused(host.files.write(file, 'changed'), /read-only/);
        await refused(host.files.remove(file), /read-only/);
        await refused(host.files.makeFolder(`${file}s`, { within: `/mnt/${name}`, mode: 0o755 }), /read-only/);
        await host.zfs.createSnapshot(`${name}/media@s`);
        assert.equal(await host.files.read(file), 'content');
        await host.zfs.changeDataset(`${name}/media`, { properties: { readonly: 'inherit' } });
        await host.files.write(file, 'changed');
      });

      test('a pool whose groups differ already is extended by any group', async (t) => {
        const host = await start(t);
        const [a = '', b = '', c = '', d = '', e = ''] = await freeDisks(host, 5);
        const name = await poolOn(host, t, [
          { kind: 'mirror', disks: [a, b] },
          { kind: 'mirror', disks: [c, d] },
        ]);
        await refused(host.zfs.extendPool(name, [{ kind: 'stripe', disks: [e] }]), /mismatched replication level/);
        const [first] = await devicesOf(host, name);
        await host.zfs.detachDevice(name, first?.guid ?? '');
        await host.zfs.extendPool(name, [{ kind: 'stripe', disks: [e] }]);
        assert.deepEqual(
          (await poolNamed(host, name))?.groups.map(({ kind }) => kind),
          ['stripe', 'mirror', 'stripe'],
        );
      });

      test('a reservation reduces the space of the parent and is available to the child', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        const before = (await datasetOf(host, pool))?.available ?? 0;
        await host.zfs.createDataset(`${pool}/a`, { properties: { reservation: String(256 * MiB) } });
        const root = await datasetOf(host, pool);
        assert.ok(Math.abs(before - (root?.available ?? 0) - 256 * MiB) < MiB, 'the parent has less');
        assert.ok((root?.used ?? 0) >= 256 * MiB, 'the parent uses it');
        assert.ok(
          ((await datasetOf(host, `${pool}/a`))?.available ?? 0) > (root?.available ?? 0),
          'the child has more',
        );
      });

      test('a reservation above the available space is refused', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await refused(
          host.zfs.createDataset(`${pool}/a`, { properties: { reservation: String(1024 * GiB) } }),
          /space/,
        );
        assert.equal(await datasetOf(host, `${pool}/a`), undefined);
        await host.zfs.createDataset(`${pool}/a`);
        await refused(
          host.zfs.changeDataset(`${pool}/a`, { properties: { reservation: String(1024 * GiB) } }),
          /space/,
        );
        assert.equal((await datasetOf(host, `${pool}/a`))?.properties.reservation, '0');
      });

      test('a name in use, without a parent or without a pool is refused', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        await refused(host.zfs.createDataset(`${pool}/a`), /dataset already exists/);
        await refused(host.zfs.createVolume(`${pool}/a`, 16 * MiB), /dataset already exists/);
        await refused(host.zfs.createDataset(`${pool}/x/y`), /parent does not exist/);
        await refused(host.zfs.createDataset('hfnone/y'), /no such pool/);
        await refused(host.zfs.createDataset(`${pool}/a$b`), /invalid character/);
      });

      test('an invalid value is refused with the name of the property', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await refused(host.zfs.createDataset(`${pool}/a`, { properties: { compression: 'squeeze' } }), /compression/);
        await refused(host.zfs.createDataset(`${pool}/a`, { properties: { recordsize: '3000' } }), /recordsize/);
        assert.equal(await datasetOf(host, `${pool}/a`), undefined);
        await host.zfs.createDataset(`${pool}/a`, { properties: { casesensitivity: 'insensitive' } });
        assert.equal((await datasetOf(host, `${pool}/a`))?.properties.casesensitivity, 'insensitive');
        await refused(
          host.zfs.changeDataset(`${pool}/a`, { properties: { casesensitivity: 'sensitive' } }),
          /casesensitivity/,
        );
      });

      test('a comment is stored unchanged, and removed by an empty one', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        const comment = 'Fotos & "Filme", ä\tb = c';
        await host.zfs.createDataset(`${pool}/a`, { comment });
        await host.zfs.createDataset(`${pool}/a/b`);
        assert.equal((await datasetOf(host, `${pool}/a`))?.comment, comment);
        assert.equal((await datasetOf(host, `${pool}/a/b`))?.comment, undefined, 'a comment is not inherited');
        await host.zfs.changeDataset(`${pool}/a`, { properties: { atime: 'off' } });
        assert.equal((await datasetOf(host, `${pool}/a`))?.comment, comment);
        await host.zfs.changeDataset(`${pool}/a`, { comment: '' });
        assert.equal((await datasetOf(host, `${pool}/a`))?.comment, undefined);
      });

      test('a dataset with children can be destroyed only together with them', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        await host.zfs.createDataset(`${pool}/a/b`);
        await host.zfs.createDataset(`${pool}/ab`);
        await refused(host.zfs.destroyDataset(`${pool}/a`), /has children/);
        assert.notEqual(await datasetOf(host, `${pool}/a/b`), undefined);
        await host.zfs.destroyDataset(`${pool}/a`, { recursive: true });
        assert.equal(await datasetOf(host, `${pool}/a/b`), undefined);
        assert.equal(await datasetOf(host, `${pool}/a`), undefined);
        assert.notEqual(await datasetOf(host, `${pool}/ab`), undefined);
        assert.equal(await host.files.kind(`/mnt/${pool}/a`), undefined);
      });

      test('what was created is recognized by its mark, and nothing else is', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        const { zfs } = host;
        const [dataset, volume, snapshot, clone] = [newMark(), newMark(), newMark(), newMark()];
        await zfs.createDataset(`${pool}/a`, { mark: dataset });
        await zfs.createVolume(`${pool}/v`, 16 * MiB, { mark: volume });
        await zfs.createDataset(`${pool}/a/below`);
        await zfs.createSnapshot(`${pool}/a@now`, { recursive: true, mark: snapshot });
        await zfs.createSnapshot(`${pool}/a@later`);
        await zfs.cloneSnapshot(`${pool}/a@now`, `${pool}/clone`, { mark: clone });
        const made = [
          [`${pool}/a`, dataset],
          [`${pool}/v`, volume],
          [`${pool}/a@now`, snapshot],
          [`${pool}/a/below@now`, snapshot],
          [`${pool}/clone`, clone],
        ] as const;
        for (const [name, mark] of made) assert.equal(await zfs.isMade(name, mark), true, name);
        for (const [name] of made) assert.equal(await zfs.isMade(name, newMark()), false, name);
        for (const name of ['a/below', 'a@later', 'a/below@later', 'none', 'a@none', 'none@now', ''])
          for (const mark of [dataset, snapshot, ''])
            assert.equal(await zfs.isMade(name === '' ? pool : `${pool}/${name}`, mark), false, name);
        await zfs.destroyDataset(`${pool}/v`);
        await zfs.createVolume(`${pool}/v`, 16 * MiB);
        assert.equal(await zfs.isMade(`${pool}/v`, volume), false);
      });

      test('a creation with a mark of what is there already is refused, and what is there keeps its own', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        const { zfs } = host;
        const [theirs, ours] = [newMark(), newMark()];
        await zfs.createDataset(`${pool}/a`, { mark: theirs });
        await zfs.createSnapshot(`${pool}/a@now`, { mark: theirs });
        await refused(zfs.createDataset(`${pool}/a`, { mark: ours }), /exists/);
        await refused(zfs.createVolume(`${pool}/a`, 16 * MiB, { mark: ours }), /exists/);
        await refused(zfs.createSnapshot(`${pool}/a@now`, { mark: ours }), /exists/);
        await refused(zfs.cloneSnapshot(`${pool}/a@now`, `${pool}/a`, { mark: ours }), /exists/);
        for (const name of [`${pool}/a`, `${pool}/a@now`]) {
          assert.equal(await zfs.isMade(name, theirs), true, name);
          assert.equal(await zfs.isMade(name, ours), false, name);
        }
      });

      test('a dataset that does not exist can be neither changed nor destroyed', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await refused(host.zfs.changeDataset(`${pool}/none`, { properties: { atime: 'off' } }), /does not exist/);
        await refused(host.zfs.destroyDataset(`${pool}/none`), /does not exist/);
      });
    });

    describe(`volumes on the ${title} host`, () => {
      test('a volume reserves its size and is not mounted', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createVolume(`${pool}/v`, 10 * MiB);
        const volume = await datasetOf(host, `${pool}/v`);
        assert.equal(volume?.kind, 'volume');
        assert.equal(volume.mountpoint, undefined);
        assert.equal(volume.properties.volsize, String(10 * MiB));
        assert.equal(volume.properties.volblocksize, '16384');
        assert.ok(Number(volume.properties.refreservation) >= 10 * MiB);
        assert.ok(volume.used >= 10 * MiB);
        assert.equal(volume.properties.recordsize, undefined);
        assert.equal(volume.properties.quota, undefined);
      });

      test('a sparse volume reserves nothing and may be larger than the pool', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await refused(host.zfs.createVolume(`${pool}/v`, 1024 * GiB), /space/);
        await host.zfs.createVolume(`${pool}/v`, 1024 * GiB, { properties: { refreservation: '0' } });
        const volume = await datasetOf(host, `${pool}/v`);
        assert.equal(volume?.properties.refreservation, '0');
        assert.ok(volume.used < MiB);
      });

      test('a volume grows together with its reservation', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createVolume(`${pool}/v`, 10 * MiB, { properties: { volblocksize: '8K' }, comment: 'disk' });
        await host.zfs.changeDataset(`${pool}/v`, { properties: { volsize: String(50 * MiB) } });
        const volume = await datasetOf(host, `${pool}/v`);
        assert.equal(volume?.properties.volsize, String(50 * MiB));
        assert.equal(volume.properties.volblocksize, '8192');
        assert.ok(Number(volume.properties.refreservation) >= 50 * MiB);
        assert.equal(volume.comment, 'disk');
      });

      test('a volume has no children and no properties of filesystems', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createVolume(`${pool}/v`, 10 * MiB);
        await refused(host.zfs.createDataset(`${pool}/v/a`), /parent is not a filesystem/);
        await refused(host.zfs.changeDataset(`${pool}/v`, { properties: { recordsize: '64K' } }), /recordsize/);
        await host.zfs.destroyDataset(`${pool}/v`);
        assert.equal(await datasetOf(host, `${pool}/v`), undefined);
      });
    });

    describe(`snapshots on the ${title} host`, () => {
      const namesOf = async ({ zfs }: Host, ...datasets: readonly string[]) =>
        (await zfs.snapshots(datasets)).map((one) => `${one.dataset}@${one.name}`);

      test('snapshots of a dataset are listed by age, whatever their names are', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        await host.zfs.createSnapshot(`${pool}/a@zz`);
        await host.zfs.createSnapshot(`${pool}/a@aa b`);
        await host.zfs.createSnapshot(`${pool}@m`);
        assert.deepEqual(await namesOf(host, `${pool}/a`), [`${pool}/a@zz`, `${pool}/a@aa b`]);
        const all = (await host.zfs.snapshots()).filter((one) => one.dataset.startsWith(pool));
        assert.deepEqual(
          all.map((one) => one.name),
          ['m', 'zz', 'aa b'],
        );
        for (const one of all) {
          assert.ok(Number.isSafeInteger(one.used) && one.used >= 0 && one.referenced > 0);
          assert.ok(Math.abs(one.created - Date.now() / 1000) < 120, `created at ${one.created}`);
          assert.equal(one.deferred, false);
        }
        assert.deepEqual(await namesOf(host, `${pool}/none`), []);
      });

      test('datasets and snapshots are looked up by name as lists show them, without those that do not exist', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`, { comment: 'of\n*weird* \ttext' });
        await host.zfs.createVolume(`${pool}/v`, 10 * MiB, { properties: { refreservation: '0' } });
        await host.zfs.createSnapshot(`${pool}/a@zz`, { task: 12 });
        await host.zfs.createSnapshot(`${pool}/a@aa b`);
        await host.zfs.createSnapshot(`${pool}/v@other`);
        const names = ['', '/a', '/a@zz', '/a@aa b', '/a@none', '/none', '/none@zz', '/v@other'];
        const { datasets, snapshots } = await host.zfs.named(names.map((name) => `${pool}${name}`));
        // Space changes by itself for a moment.
        const stable = (all: readonly Dataset[]) =>
          all.map(({ name, kind, mountpoint, comment, properties, inherited }) => ({
            ...{ name, kind, mountpoint, comment, properties, inherited },
          }));
        const named = (all: readonly Snapshot[]) => all.map(({ used: _, ...one }) => one);
        assert.deepEqual(stable(datasets), stable(await host.zfs.datasets({ names: [pool, `${pool}/a`] })));
        assert.deepEqual(named(snapshots), named(await host.zfs.snapshots([`${pool}/a`, `${pool}/v`])));
        assert.deepEqual(await host.zfs.named([`${pool}/none`, `${pool}@none`]), { datasets: [], snapshots: [] });
      });

      test('a dataset has figures of its data, and nothing was written right after a snapshot', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`, { properties: { compression: 'lz4' } });
        const before = (await datasetOf(host, `${pool}/a`))?.figures;
        assert.ok(before !== undefined && before.logicalUsed > 0 && before.usedByDataset > 0 && before.written > 0);
        assert.ok(before.compression >= 1);
        await host.zfs.createSnapshot(`${pool}/a@s`);
        const after = (await datasetOf(host, `${pool}/a`))?.figures;
        assert.deepEqual([after?.written, after?.usedBySnapshots], [0, 0]);
      });

      test('the stamp of a dataset changes with its snapshots', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        const stamp = async () => (await datasetOf(host, `${pool}/a`))?.snapshotStamp;
        const seen = [await stamp()];
        for (const name of ['one', 'two']) {
          await host.zfs.createSnapshot(`${pool}/a@${name}`);
          seen.push(await stamp());
        }
        await host.zfs.destroySnapshot(`${pool}/a@one`);
        seen.push(await stamp());
        assert.equal(new Set(seen).size, 4, seen.join('; '));
      });

      test('a recursive snapshot includes all datasets below, or none', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        await host.zfs.createDataset(`${pool}/a/b`);
        await host.zfs.createDataset(`${pool}/ab`);
        await host.zfs.createVolume(`${pool}/a/v`, 10 * MiB, { properties: { refreservation: '0' } });
        await host.zfs.createSnapshot(`${pool}/a@s`, { recursive: true });
        const all = [pool, `${pool}/a`, `${pool}/a/b`, `${pool}/a/v`, `${pool}/ab`];
        assert.deepEqual(await namesOf(host, ...all), [`${pool}/a@s`, `${pool}/a/b@s`, `${pool}/a/v@s`]);
        await refused(host.zfs.createSnapshot(`${pool}@s`, { recursive: true }), /dataset already exists/);
        assert.deepEqual(await namesOf(host, pool), []);
        await host.zfs.destroySnapshot(`${pool}/a@s`, { recursive: true });
        assert.deepEqual(await namesOf(host, ...all), []);
      });

      test('a snapshot has the id of the task that created it, also in datasets below', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        await host.zfs.createSnapshot(`${pool}@first`, { recursive: true, task: 12 });
        await host.zfs.createSnapshot(`${pool}@second`);
        const tagged = await host.zfs.snapshots([pool, `${pool}/a`]);
        assert.deepEqual(
          tagged.map((one) => [one.dataset, one.name, one.task]),
          [
            [pool, 'first', 12],
            [pool, 'second', undefined],
            [`${pool}/a`, 'first', 12],
          ],
        );
      });

      test('a snapshot that exists, of no dataset, or with an invalid name is refused', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createSnapshot(`${pool}@s`);
        await refused(host.zfs.createSnapshot(`${pool}@s`), /dataset already exists/);
        await refused(host.zfs.createSnapshot(`${pool}/none@s`), /does not exist/);
        await refused(host.zfs.createSnapshot(`${pool}@a$b`), /invalid character/);
        await refused(host.zfs.destroySnapshot(`${pool}@none`), /could not find any snapshots to destroy/);
        await refused(host.zfs.destroySnapshot(pool), /no snapshot/);
        await refused(host.zfs.rollback(`${pool}@none`), /does not exist/);
        await refused(host.zfs.cloneSnapshot(`${pool}@none`, `${pool}/c`), /does not exist/);
      });

      test('a rollback restores the files of a dataset, and does not change datasets below', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.files.write(`/mnt/${pool}/file`, 'old');
        await host.zfs.createSnapshot(`${pool}@s`);
        await host.zfs.createDataset(`${pool}/child`);
        await host.files.write(`/mnt/${pool}/child/file`, 'of the child');
        await host.files.write(`/mnt/${pool}/file`, 'new');
        await host.files.write(`/mnt/${pool}/other`, 'other');
        await host.zfs.rollback(`${pool}@s`);
        assert.equal(await host.files.read(`/mnt/${pool}/file`), 'old');
        assert.equal(await host.files.read(`/mnt/${pool}/other`), undefined);
        assert.notEqual(await datasetOf(host, `${pool}/child`), undefined);
        assert.equal(await host.files.read(`/mnt/${pool}/child/file`), 'of the child');
      });

      test('what differs between two snapshots, and since the last, is listed by file', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        const at = (path: string) => `/mnt/${pool}/${path}`;
        const changes = async (to: string | undefined, most = 100) => {
          const { found, isWhole } = await host.zfs.differences(`${pool}@one`, to, { most });
          const lines = found.filter(({ kind }) => kind === 'file').map(({ change, path }) => `${change} ${path}`);
          return { lines: lines.sort(), isWhole };
        };
        await host.files.write(at('kept'), 'same');
        await host.files.write(at('changed'), 'old');
        await host.files.write(at('deep/gone'), 'text');
        await host.zfs.createSnapshot(`${pool}@one`);
        await host.files.write(at('changed'), 'another');
        await host.files.remove(at('deep/gone'));
        await host.files.write(at('new with ü \\ and blank'), 'x');
        await host.zfs.createSnapshot(`${pool}@two`);
        await host.files.write(at('later'), 'x');
        const changed = (lines: readonly string[]) =>
          // A file that is written anew has another number: ZFS may list it as two.
          lines.filter((line) => !/^(added|removed) changed$/.test(line));
        const inTwo = await changes(`${pool}@two`);
        assert.equal(inTwo.isWhole, true);
        assert.ok(
          inTwo.lines.some((line) => / changed$/.test(line)),
          inTwo.lines.join(),
        );
        assert.deepEqual(changed(inTwo.lines.filter((line) => line !== 'changed changed')), [
          'added new with ü \\ and blank',
          'removed deep/gone',
        ]);
        const now = await changes(undefined);
        assert.ok(now.lines.includes('added later'), now.lines.join());
        assert.equal((await changes(`${pool}@two`, 1)).isWhole, false);
        await refused(host.zfs.differences(`${pool}@two`, `${pool}@one`, { most: 10 }), /./);
        await refused(host.zfs.differences(`${pool}@none`, undefined, { most: 10 }), /does not exist/);
      });

      test('a file of a snapshot is listed and restored by the path of its folder', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        const inside = `/mnt/${pool}/.zfs/snapshot/one`;
        await host.files.write(`/mnt/${pool}/deep/file`, 'old');
        await host.zfs.createSnapshot(`${pool}@one`);
        await host.files.write(`/mnt/${pool}/deep/file`, 'new');
        const listed = await host.files.entries(inside, { within: '/mnt', foldersOnly: false, most: 10 });
        assert.deepEqual(
          listed.map(({ name, kind }) => `${kind} ${name}`),
          ['folder deep'],
        );
        const options = { within: '/mnt', replaces: true };
        await host.files.restore(`${inside}/deep/file`, `/mnt/${pool}/deep/file`, options);
        assert.equal(await host.files.read(`/mnt/${pool}/deep/file`), 'old');
        await host.files.restore(`${inside}/deep`, `/mnt/${pool}/copy`, { ...options, replaces: false });
        assert.equal(await host.files.read(`/mnt/${pool}/copy/file`), 'old');
        await refused(host.files.restore(`${inside}/none`, `/mnt/${pool}/x`, options), /there is no none/);
      });

      test('a rollback past newer snapshots needs force, and destroys them', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        for (const name of ['a', 'b', 'c']) await host.zfs.createSnapshot(`${pool}@${name}`);
        await refused(host.zfs.rollback(`${pool}@a`), /more recent snapshots/);
        assert.equal((await namesOf(host, pool)).length, 3);
        await host.zfs.rollback(`${pool}@a`, { force: true });
        assert.deepEqual(await namesOf(host, pool), [`${pool}@a`]);
      });

      test('a rollback restores the size of a volume', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createVolume(`${pool}/v`, 10 * MiB, { properties: { refreservation: '0' } });
        await host.zfs.createSnapshot(`${pool}/v@s`);
        await host.zfs.changeDataset(`${pool}/v`, { properties: { volsize: String(50 * MiB) } });
        await host.zfs.rollback(`${pool}/v@s`);
        assert.equal((await datasetOf(host, `${pool}/v`))?.properties.volsize, String(10 * MiB));
      });

      test('a clone starts with the files of its snapshot and is independent', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        await host.files.write(`/mnt/${pool}/a/file`, 'old');
        await host.zfs.createSnapshot(`${pool}/a@s`);
        await host.files.write(`/mnt/${pool}/a/file`, 'new');
        await host.zfs.cloneSnapshot(`${pool}/a@s`, `${pool}/c`);
        const clone = await datasetOf(host, `${pool}/c`);
        assert.equal(clone?.origin, `${pool}/a@s`);
        assert.equal(clone.kind, 'filesystem');
        assert.equal(await host.files.read(`/mnt/${pool}/c/file`), 'old');
        await host.files.write(`/mnt/${pool}/c/file`, 'of the clone');
        assert.equal(await host.files.read(`/mnt/${pool}/a/file`), 'new');
        await refused(host.zfs.cloneSnapshot(`${pool}/a@s`, `${pool}/c`), /dataset already exists/);
        await refused(host.zfs.cloneSnapshot(`${pool}/a@s`, `${pool}/x/c`), /parent does not exist/);
      });

      test('a clone of a volume is a volume of the same size', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createVolume(`${pool}/v`, 10 * MiB, { properties: { volblocksize: '8K', refreservation: '0' } });
        await host.zfs.createSnapshot(`${pool}/v@s`);
        await host.zfs.cloneSnapshot(`${pool}/v@s`, `${pool}/c`);
        const clone = await datasetOf(host, `${pool}/c`);
        assert.equal(clone?.kind, 'volume');
        assert.equal(clone.properties.volsize, String(10 * MiB));
        assert.equal(clone.properties.volblocksize, '8192');
      });

      test('a deferred snapshot is destroyed together with its clone', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        await host.zfs.createSnapshot(`${pool}/a@s`);
        await host.zfs.cloneSnapshot(`${pool}/a@s`, `${pool}/c`);
        await refused(host.zfs.destroySnapshot(`${pool}/a@s`), /dependent clones/);
        const before = (await datasetOf(host, `${pool}/a`))?.snapshotStamp;
        await host.zfs.destroySnapshot(`${pool}/a@s`, { deferred: true });
        assert.equal((await host.zfs.snapshots([`${pool}/a`]))[0]?.deferred, true);
        await host.zfs.destroyDataset(`${pool}/c`);
        assert.deepEqual(await namesOf(host, `${pool}/a`), []);
        assert.notEqual((await datasetOf(host, `${pool}/a`))?.snapshotStamp, before);
        await host.zfs.createSnapshot(`${pool}/a@t`);
        await host.zfs.destroySnapshot(`${pool}/a@t`, { deferred: true });
        assert.deepEqual(await namesOf(host, `${pool}/a`), [], 'without a clone it goes at once');
      });

      test('a dataset with snapshots or clones can be destroyed only together with them', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.zfs.createDataset(`${pool}/a`);
        await host.zfs.createSnapshot(`${pool}/a@s`);
        await refused(host.zfs.destroyDataset(`${pool}/a`), /has children/);
        await host.zfs.cloneSnapshot(`${pool}/a@s`, `${pool}/c`);
        await refused(host.zfs.destroyDataset(`${pool}/a`, { recursive: true }), /dependent clones/);
        await host.zfs.destroyDataset(`${pool}/a`, { clones: true });
        assert.equal(await datasetOf(host, `${pool}/a`), undefined);
        assert.equal(await datasetOf(host, `${pool}/c`), undefined);
      });

      test('snapshots are kept when a pool is exported and imported', async (t) => {
        const host = await start(t);
        const pool = await poolOn(host, t);
        await host.files.write(`/mnt/${pool}/file`, 'old');
        await host.zfs.createSnapshot(`${pool}@s`);
        await host.files.write(`/mnt/${pool}/file`, 'new');
        const guid = (await poolNamed(host, pool))?.guid ?? '';
        await host.zfs.exportPool(pool);
        assert.deepEqual(await namesOf(host, pool), []);
        await host.zfs.importPool(guid);
        assert.deepEqual(await namesOf(host, pool), [`${pool}@s`]);
        await host.zfs.rollback(`${pool}@s`);
        assert.equal(await host.files.read(`/mnt/${pool}/file`), 'old');
      });
    });
  }
}
