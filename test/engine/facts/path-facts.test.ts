import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PathLooks } from '../../../src/engine/facts/path-facts.ts';
import type { Storage } from '../../../src/engine/facts/storage-facts.ts';
import { machine } from '../../subsystems/support/configuration.ts';
import { virtualHost } from '../../support/hosts.ts';

const [tank] = machine.storage.pools.values();
assert.ok(tank !== undefined);

async function looks(t: Parameters<typeof virtualHost>[0]) {
  const host = await virtualHost(t);
  const asked: string[] = [];
  const world = { named: ['/mnt/tank/a', '/mnt/tank/b'], storage: machine.storage as Storage, now: 1_000_000 };
  const files = new Proxy(host.files, {
    get: (target, name) =>
      name === 'kind'
        ? async (path: string) => {
            asked.push(path);
            return path.endsWith('a') ? 'folder' : undefined;
          }
        : Reflect.get(target, name),
  });
  const changes: (readonly string[])[] = [];
  const paths: PathLooks = new PathLooks({
    files,
    named: () => world.named,
    storage: () => ({ ...world.storage, missing: paths.missing }),
    now: () => world.now,
    changed: () => void changes.push([...paths.missing]),
  });
  return { world, paths, asked, changes };
}

test('the paths below a new mount point are looked at at once, and all paths once a minute', async (t) => {
  const { world, paths, asked, changes } = await looks(t);
  await paths.follow();
  assert.deepEqual(changes, [['/mnt/tank/b']]);
  await paths.follow();
  assert.equal(asked.length, 2);
  const [name, dataset] = [...machine.storage.datasets][0] ?? [];
  assert.ok(name !== undefined && dataset !== undefined);
  world.storage = {
    ...machine.storage,
    datasets: new Map([
      ...machine.storage.datasets,
      ['tank/c', { ...dataset, name: 'tank/c', mountpoint: '/mnt/tank/c' }],
    ]),
  };
  await paths.follow();
  assert.equal(asked.length, 2, 'no record names a path there');
  world.named.push('/mnt/tank/c/a');
  world.storage = machine.storage;
  await paths.follow();
  assert.deepEqual(asked.slice(2), ['/mnt/tank/c/a']);
  world.now += 60_000;
  await paths.follow();
  await paths.renew([]);
  assert.equal(asked.length, 6);
  assert.equal(changes.length, 1, 'what is missing has not changed');
});

test('one path is looked at by itself, and is no longer missing when something is there', async (t) => {
  const { world, paths, asked, changes } = await looks(t);
  await paths.renew(['/mnt/tank/b', '/mnt/tank/z']);
  assert.deepEqual(asked, ['/mnt/tank/b', '/mnt/tank/z']);
  assert.deepEqual(changes, [['/mnt/tank/b', '/mnt/tank/z']]);
  world.named = ['/mnt/tank/b'];
  await paths.renew(['/mnt/tank/a']);
  assert.equal(changes.length, 1);
  await paths.follow();
  assert.deepEqual(changes[1], ['/mnt/tank/b']);
});

test('a path at which a dataset is mounted is there, and is not asked for', async (t) => {
  const { world, paths, asked, changes } = await looks(t);
  const [name, dataset] = [...machine.storage.datasets][0] ?? [];
  assert.ok(name !== undefined && dataset !== undefined);
  const mounted = { ...dataset, name: 'tank/b', mountpoint: '/mnt/tank/b' };
  world.storage = { ...machine.storage, datasets: new Map([...machine.storage.datasets, ['tank/b', mounted]]) };
  world.named = ['/mnt/tank/b', '/mnt/tank/b/c'];
  await paths.follow();
  assert.deepEqual(asked, ['/mnt/tank/b/c']);
  assert.deepEqual(changes, [['/mnt/tank/b/c']]);
});

test('a path on a pool that has lost its disks, or on what is not mounted, is not asked for', async (t) => {
  const { world, paths, asked } = await looks(t);
  world.named = ['/mnt/tank/b', '/mnt/locked/b', '/mnt/none/b'];
  world.storage = {
    ...machine.storage,
    pools: new Map([...machine.storage.pools, ['tank', { ...tank, health: 'SUSPENDED' }]]),
  };
  await paths.follow();
  assert.deepEqual([asked, [...paths.missing]], [[], []]);
});
