import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GroupKind } from '../../../src/host/ports/zfs.ts';
import { account, capacityOf, type Tenant, volumeReservation } from '../../../src/host/virtual/zfs/space.ts';

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;
const TiB = 1024 ** 4;

const group = (kind: GroupKind, ...sizes: readonly number[]) => ({ kind, sizes });
const times = (count: number, size: number): readonly number[] => Array<number>(count).fill(size);

describe('capacity', () => {
  test('one disk of 4 GiB is a pool of 3840 MiB with 3712 MiB usable, as on a real machine', () => {
    const { size, usable } = capacityOf([group('stripe', 4 * GiB)]);
    assert.equal(size, 3840 * MiB);
    assert.equal(usable, 3712 * MiB);
  });

  const table = [
    {
      description: 'two striped disks hold what both hold',
      groups: [group('stripe', 2 * TiB), group('stripe', 2 * TiB)],
      holds: 4 * TiB,
      shows: 4 * TiB,
    },
    {
      description: 'a mirror holds what its smallest disk holds',
      groups: [group('mirror', 3 * TiB, 2 * TiB)],
      holds: 2 * TiB,
      shows: 2 * TiB,
    },
    {
      description: 'two mirrors hold what each holds',
      groups: [group('mirror', ...times(2, 2 * TiB)), group('mirror', ...times(2, 2 * TiB))],
      holds: 4 * TiB,
      shows: 4 * TiB,
    },
    {
      description: 'raidz gives one disk to parity',
      groups: [group('raidz', ...times(3, 2 * TiB))],
      holds: 4 * TiB,
      shows: 6 * TiB,
    },
    {
      description: 'raidz2 gives two disks to parity',
      groups: [group('raidz2', ...times(6, 2 * TiB))],
      holds: 8 * TiB,
      shows: 12 * TiB,
    },
    {
      description: 'raidz3 gives three disks to parity',
      groups: [group('raidz3', ...times(11, 2 * TiB))],
      holds: 16 * TiB,
      shows: 22 * TiB,
    },
    {
      description: 'raidz takes of each disk what the smallest has',
      groups: [group('raidz', 4 * TiB, 3 * TiB, 2 * TiB)],
      holds: 4 * TiB,
      shows: 6 * TiB,
    },
  ];
  for (const { description, groups, holds, shows } of table) {
    test(description, () => {
      const { size, usable } = capacityOf(groups);
      // ZFS reserves 1/32 for itself, and raidz pads blocks.
      assert.ok(usable < holds && usable > holds * 0.92, `${usable / TiB} TiB of ${holds / TiB}`);
      assert.ok(size <= shows && size > shows * 0.98, `${size / TiB} TiB of ${shows / TiB}`);
    });
  }

  test('a volume of 1 GiB in blocks of 8 KiB reserves 1.033 GiB', () => {
    assert.equal(volumeReservation(GiB, 8192, [group('mirror', GiB, GiB)]), GiB + 136 * 2 * 128 * 1024);
  });

  test('a volume on raidz reserves space for its padding', () => {
    const plain = volumeReservation(GiB, 8192, [group('mirror', GiB, GiB)]);
    assert.ok(volumeReservation(GiB, 8192, [group('raidz2', ...times(6, GiB))]) > plain * 1.5);
  });
});

describe('accounting', () => {
  const tenant = (name: string, members: Partial<Tenant> = {}): Tenant => ({
    name,
    referenced: 1,
    quota: 0,
    refquota: 0,
    reservation: 0,
    refreservation: 0,
    ...members,
  });

  test('the used space of a parent includes the larger of usage and reservation of each child', () => {
    const { shares } = account(
      [
        tenant('p'),
        tenant('p/a', { reservation: 100 }),
        tenant('p/a/b', { referenced: 30 }),
        tenant('p/c', { referenced: 50, reservation: 20 }),
      ],
      1000,
    );
    assert.deepEqual(shares.get('p'), { used: 151, available: 849 });
    assert.deepEqual(shares.get('p/a'), { used: 31, available: 849 + 69 });
    assert.deepEqual(shares.get('p/c'), { used: 50, available: 849 });
  });

  test('a quota limits a dataset with its children, a refquota only the dataset itself', () => {
    const { shares } = account([tenant('p'), tenant('p/a', { quota: 100, refquota: 10 }), tenant('p/a/b')], 1000);
    assert.deepEqual(shares.get('p/a'), { used: 2, available: 9 });
    assert.deepEqual(shares.get('p/a/b'), { used: 1, available: 98 });
  });

  test('the refreservation of a volume is available to it', () => {
    const { shares } = account([tenant('p'), tenant('p/v', { refreservation: 400 })], 1000);
    assert.deepEqual(shares.get('p/v'), { used: 400, available: 599 + 399 });
    assert.deepEqual(shares.get('p'), { used: 401, available: 599 });
  });

  test('the first dataset that exceeds its limit is reported', () => {
    assert.equal(account([tenant('p'), tenant('p/a', { reservation: 1000 })], 1000).overfull, 'p');
    assert.equal(
      account([tenant('p'), tenant('p/a', { quota: 10 }), tenant('p/a/b', { reservation: 10 })], 1000).overfull,
      'p/a',
    );
    assert.equal(account([tenant('p'), tenant('p/a', { reservation: 998 })], 1000).overfull, undefined);
  });
});
