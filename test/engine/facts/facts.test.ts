import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { FactKeeper } from '../../../src/engine/facts/facts.ts';
import type { SnapshotPart } from '../../../src/engine/facts/snapshot-index.ts';
import type { DatasetScope, Zfs } from '../../../src/host/ports/zfs.ts';
import { virtualHost } from '../../support/hosts.ts';

test('without readers, everything in the storage is read the more rarely the longer that takes', async (t) => {
  const host = await virtualHost(t);
  const [disk] = await host.disks.list();
  const groups = [{ kind: 'stripe' as const, disks: [disk?.name ?? ''] }];
  await host.zfs.createPool({ name: 'tank', groups, mountpoint: '/mnt/tank' });
  let clock = 1_000_000;
  const listed: (DatasetScope | undefined)[] = [];
  const zfs: Zfs = Object.assign(Object.create(host.zfs), {
    datasets: async (scope?: DatasetScope) => {
      listed.push(scope);
      clock += scope === undefined ? 1000 : 10;
      return await host.zfs.datasets(scope);
    },
  });
  const keeper = new FactKeeper(
    { ...host, zfs },
    { serviceNames: [], paths: () => [], now: () => clock, changed: () => {} },
  );
  await keeper.renew('storage');
  const watched = async () => {
    listed.length = 0;
    keeper.glanceAtStorage([{ pool: 'tank' }]);
    // The look begins after this turn, and ends in its own time.
    await pause(20);
    await keeper.renew({ pool: 'tank' });
    return listed.filter((scope) => scope === undefined).length;
  };
  assert.equal(await watched(), 0);
  clock += 190_000;
  assert.equal(await watched(), 0);
  clock += 20_000;
  assert.equal(await watched(), 1);
  assert.equal(await watched(), 0);
});

test('without readers, a part of the storage is looked at again when the machine has rested long enough', async (t) => {
  const host = await virtualHost(t);
  const [disk] = await host.disks.list();
  const groups = [{ kind: 'stripe' as const, disks: [disk?.name ?? ''] }];
  await host.zfs.createPool({ name: 'tank', groups, mountpoint: '/mnt/tank' });
  let clock = 1_000_000;
  let looks = 0;
  const zfs: Zfs = Object.assign(Object.create(host.zfs), {
    datasets: async (scope?: DatasetScope) => {
      if (scope !== undefined) looks += 1;
      clock += scope === undefined ? 1000 : 100;
      return await host.zfs.datasets(scope);
    },
  });
  const keeper = new FactKeeper(
    { ...host, zfs },
    { serviceNames: [], paths: () => [], now: () => clock, changed: () => {} },
  );
  await keeper.renew('storage');
  const after = async (milliseconds: number) => {
    clock += milliseconds;
    looks = 0;
    keeper.glanceAtStorage([{ pool: 'tank' }]);
    // The look ends in its own time.
    await pause(20);
    return looks;
  };
  assert.equal(await after(0), 1);
  assert.equal(await after(20_000), 0);
  assert.equal(await after(40_000), 1);
});

test('a look that a reader starts waits until no change is being applied, and is one for all readers', async (t) => {
  const host = await virtualHost(t);
  let looks = 0;
  const zfs: Zfs = Object.assign(Object.create(host.zfs), {
    datasets: async (scope?: DatasetScope) => {
      looks += 1;
      return await host.zfs.datasets(scope);
    },
  });
  const { promise: rest, resolve: end } = Promise.withResolvers<void>();
  const keeper = new FactKeeper(
    { ...host, zfs },
    { serviceNames: [], paths: () => [], now: Date.now, changed: () => {}, atRest: () => rest },
  );
  for (let reader = 0; reader < 3; reader += 1) {
    keeper.glance('storage');
    await pause(20);
  }
  assert.equal(looks, 0);
  end();
  await pause(50);
  assert.equal(looks, 1);
  keeper.glance('storage');
  await pause(20);
  assert.equal(looks, 1, 'what was just read is not old');
});

test('recalled snapshots are listed again, those of a hundred datasets at a time, until the daemon ends', async (t) => {
  const host = await virtualHost(t);
  const [disk] = await host.disks.list();
  const groups = [{ kind: 'stripe' as const, disks: [disk?.name ?? ''] }];
  await host.zfs.createPool({ name: 'tank', groups, mountpoint: '/mnt/tank' });
  for (let n = 1; n < 250; n += 1) await host.zfs.createDataset(`tank/d${n}`, {});
  const counts: (number | 'all')[] = [];
  const zfs: Zfs = Object.assign(Object.create(host.zfs), {
    snapshots: (names?: readonly string[]) => {
      counts.push(names?.length ?? 'all');
      return host.zfs.snapshots(names);
    },
  });
  const keeperOf = async (recalled: readonly SnapshotPart[]) => {
    const now = () => performance.now();
    const keeper = new FactKeeper({ ...host, zfs }, { serviceNames: [], paths: () => [], now, changed: () => {} });
    keeper.recall(recalled);
    await keeper.renew('storage');
    return { keeper, listed: counts.splice(0) };
  };
  const { keeper, listed } = await keeperOf([]);
  assert.deepEqual(listed, [200, 50], 'no list is of all datasets');
  const { parts } = keeper.facts.storage.snapshots;
  const second = await keeperOf(parts);
  assert.deepEqual(second.listed, []);
  await second.keeper.verifySnapshots(new AbortController().signal);
  assert.deepEqual(counts.splice(0), [100, 100, 50]);
  const ending = new AbortController();
  const cutShort = (await keeperOf(parts)).keeper.verifySnapshots(ending.signal);
  ending.abort();
  await assert.rejects(cutShort, { name: 'AbortError' });
  assert.deepEqual(counts, [100]);
});
