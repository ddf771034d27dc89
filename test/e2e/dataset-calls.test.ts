import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../src/lib/json.ts';
import { appliance, GiB } from '../support/appliance.ts';
import { withPorts } from '../support/ports.ts';

/** The programs that a call is on a real machine: one, but two for a list by name and with what is below. */
function programsOf(call: string, [scope]: readonly unknown[]): readonly string[] {
  if (call === 'pools') return [];
  if (call === 'datasets' && scope === undefined) return [everything];
  if (!isObject(scope)) return [call];
  return Object.entries(scope).flatMap(([by, names]) =>
    Array.isArray(names) && names.length > 0 ? [`list ${by}`] : [],
  );
}

const everything = 'look at everything';

/**
 * Without looks at everything, which readers start in the background, and the lists of the snapshots of what changed before
 * them. They are no part of a change.
 */
function ofChange(programs: readonly string[]): readonly string[] {
  return programs.includes(everything)
    ? programs.filter((program) => program !== everything && program !== 'snapshots')
    : [...programs];
}

test('a change of a dataset is two programs of ZFS, whatever the number of datasets', async () => {
  let programs: string[] = [];
  await using box = await appliance({
    disks: [GiB],
    around: (host) =>
      withPorts(host, (name, port) =>
        name !== 'zfs'
          ? port
          : new Proxy(port, {
              get(target, key) {
                const member: unknown = Reflect.get(target, key);
                if (typeof member !== 'function') return member;
                return (...args: readonly unknown[]): unknown => {
                  programs.push(...programsOf(String(key), args));
                  return Reflect.apply(member, target, args);
                };
              },
            }),
      ),
  });
  const { api } = box;
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name: 'a' });
  for (let n = 0; n < 20; n += 1) await api.expect(201, 'POST', 'storage/dataset/tank/a/', { name: `d${n}` });
  const ran = async (status: number, method: string, path: string, body?: object) => {
    // A look at everything that an earlier answer has caused has ended then.
    await pause(100);
    programs = [];
    await api.expect(status, method, path, body);
    return ofChange(programs);
  };
  assert.deepEqual(
    {
      create: await ran(201, 'POST', 'storage/dataset/tank/a/', { name: 'new', comments: 'ours' }),
      change: await ran(200, 'PUT', 'storage/dataset/tank/a/', { atime: 'off', comments: 'all of it' }),
      snapshot: await ran(201, 'POST', 'storage/snapshot/', { dataset: 'tank/a/new', name: 'now' }),
      destroySnapshot: await ran(204, 'DELETE', 'storage/snapshot/tank/a/new@now/'),
      destroy: await ran(204, 'DELETE', 'storage/dataset/tank/a/'),
    },
    {
      create: ['createDataset', 'list names'],
      change: ['changeDataset', 'list names'],
      snapshot: ['createSnapshot', 'named'],
      destroySnapshot: ['destroySnapshot', 'named'],
      destroy: ['destroyDataset', 'list names'],
    },
  );
});
