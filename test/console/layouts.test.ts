/** The layouts that the console offers for a new pool. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { groupsOf, type Layout, type LayoutDisk, layoutsOf, proposed } from '../../src/console/parts/layouts.ts';
import { capacityOf } from '../../src/host/virtual/zfs/space.ts';

const GiB = 1024 ** 3;
const named = (sizes: readonly number[]): LayoutDisk[] => sizes.map((size, index) => ({ name: `da${index}`, size }));
const someDisks = fc.array(fc.integer({ min: 2 * GiB, max: 20_000 * GiB }), { minLength: 1, maxLength: 40 }).map(named);
const sizeOf = (disks: readonly LayoutDisk[]) => disks.reduce((sum, { size }) => sum + size, 0);
const of = (layouts: readonly Layout[], kind: string) => layouts.find((one) => one.kind === kind);

test('a layout has every disk once, in groups of one width, and as many spares as were asked for', () => {
  fc.assert(
    fc.property(someDisks, fc.integer({ min: 0, max: 3 }), (disks, spares) => {
      for (const layout of layoutsOf(disks, spares)) {
        const placed = [...layout.groups.flat(), ...layout.spares].map(({ name }) => name);
        assert.deepEqual(placed.toSorted(), disks.map(({ name }) => name).toSorted());
        assert.equal(new Set(layout.groups.map(({ length }) => length)).size, 1);
        assert.ok(layout.spares.length >= spares);
        assert.deepEqual(
          groupsOf(layout).flatMap((group) => group.disks),
          placed,
        );
      }
    }),
  );
});

test('usable, redundant and unused space make up the data disks, and a spare is as large as any of them', () => {
  fc.assert(
    fc.property(someDisks, fc.integer({ min: 0, max: 3 }), (disks, spares) => {
      for (const { groups, usable, redundancy, unused, spares: aside } of layoutsOf(disks, spares)) {
        assert.ok(Math.abs(usable + redundancy + unused - sizeOf(groups.flat())) < 1);
        assert.ok(usable > 0 && redundancy >= 0 && unused >= 0);
        const largest = Math.max(...groups.flat().map(({ size }) => size));
        for (const { size } of aside) assert.ok(size >= largest);
      }
    }),
  );
});

test('after the disks of a group that may fail are gone, as many are left as hold its data', () => {
  fc.assert(
    fc.property(someDisks, (disks) => {
      for (const { kind, groups, bearable, atBest } of layoutsOf(disks)) {
        for (const group of groups) assert.ok(group.length - bearable >= 1);
        assert.equal(atBest, bearable * groups.length);
        if (kind === 'stripe') assert.equal(bearable, 0);
        else assert.ok(bearable >= 1);
      }
    }),
  );
});

test('more parity never gives more space, and a larger disk never less', () => {
  fc.assert(
    fc.property(someDisks, fc.nat(), fc.integer({ min: 1, max: 100 }), (disks, which, more) => {
      const layouts = layoutsOf(disks);
      const usable = (kind: string) => of(layouts, kind)?.usable;
      for (const [less, lot] of [
        ['raidz2', 'raidz'],
        ['raidz3', 'raidz2'],
        ['raidz', 'stripe'],
        ['mirror', 'stripe'],
      ] as const)
        assert.ok((usable(less) ?? 0) <= (usable(lot) ?? Number.POSITIVE_INFINITY), `${less} and ${lot}`);
      const grown = disks.map((disk, index) =>
        index === which % disks.length ? { ...disk, size: disk.size + more * GiB } : disk,
      );
      for (const { kind, usable: after } of layoutsOf(grown)) assert.ok(after >= (usable(kind) ?? 0) - 1, kind);
    }),
  );
});

test('the space is that of the virtual host, but for the segments to which ZFS rounds', () => {
  fc.assert(
    fc.property(someDisks, (disks) => {
      for (const { kind, groups, usable } of layoutsOf(disks)) {
        // Each disk of a stripe is a group of its own.
        const shapes = (kind === 'stripe' ? groups.flat().map((one) => [one]) : groups).map((group) => ({
          ...{ kind, sizes: group.map(({ size }) => size) },
        }));
        const real = capacityOf(shapes).usable;
        assert.ok(Math.abs(usable - real) / real < 0.09, `${kind}: ${usable}, on the host ${real}`);
      }
    }),
  );
});

test('eight equal disks: four pairs, or one group of which one, two or three may fail', () => {
  const layouts = layoutsOf(named(Array<number>(8).fill(4000 * GiB)));
  assert.deepEqual(
    layouts.map(({ kind, groups, bearable, atBest }) => [kind, groups.length, bearable, atBest]),
    [
      ['mirror', 4, 1, 4],
      ['raidz', 1, 1, 1],
      ['raidz2', 1, 2, 2],
      ['raidz3', 1, 3, 3],
      ['stripe', 1, 0, 0],
    ],
  );
  assert.equal(proposed(8), 'raidz2');
  const [pairs] = layoutsOf(named([1, 2, 3, 4, 5].map((size) => size * 1000 * GiB)));
  assert.deepEqual(
    pairs?.groups.map((group) => group.map(({ name }) => name)),
    [
      ['da0', 'da1'],
      ['da2', 'da3'],
    ],
  );
  assert.deepEqual(
    pairs.spares.map(({ name }) => name),
    ['da4'],
    'the odd one is a spare',
  );
  assert.equal(pairs.unused, 2000 * GiB);
});
