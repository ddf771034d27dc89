import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readZfsRecord, type SnapshotRecord } from '../../../src/host/virtual/zfs/record.ts';
import { SnapshotList } from '../../../src/host/virtual/zfs/snapshot-list.ts';

const snapshots = fc.uniqueArray(
  fc.record(
    {
      guid: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
      name: fc.stringMatching(/^[-a-zA-Z0-9_.: ]{1,20}$/),
      created: fc.nat(),
      properties: fc.constant({ volsize: '1048576' }),
      deferred: fc.boolean(),
      task: fc.nat(),
      made: fc.string(),
    },
    { requiredKeys: ['guid', 'name', 'created'], noNullPrototype: true },
  ),
  { selector: ({ name }) => name, maxLength: 30 },
);

test('a list of snapshots has what it was made of, also in its file', () => {
  fc.assert(
    fc.property(snapshots, snapshots, (old, more) => {
      const all: readonly SnapshotRecord[] = [
        ...old,
        ...more.filter(({ name }) => !old.some((one) => one.name === name)),
      ];
      const list = SnapshotList.of(old).with(all.slice(old.length));
      assert.deepEqual([...list], all);
      assert.equal(list.length, all.length);
      for (const [at, one] of all.entries()) {
        assert.deepEqual(list.find(one.name), one);
        assert.equal(list.positionOf(one.name), at);
      }
      assert.equal(list.find('not there/'), undefined);
      assert.equal(
        list.hasDeferred,
        all.some(({ deferred }) => deferred === true),
      );
      assert.deepEqual(JSON.parse(JSON.stringify(list)), all);
      assert.equal(SnapshotList.of(all).stamp, list.stamp);
    }),
  );
});

test('a list has another stamp when a snapshot is made, destroyed or marked', () => {
  const one = { guid: '5', name: 'a', created: 1 };
  const lists = [[], [one], [one, { ...one, guid: '7', name: 'b' }], [{ ...one, deferred: true }]];
  assert.equal(new Set(lists.map((all) => SnapshotList.of(all).stamp)).size, lists.length);
});

test('a file with a snapshot without a guid of digits is none of the virtual host', () => {
  const withGuid = (guid: string) => ({
    pools: [
      {
        ...{ name: 'tank', guid: '1', exported: false, groups: [] },
        datasets: [
          { guid: '2', name: 'tank', kind: 'filesystem', properties: {}, snapshots: [{ guid, name: 'a', created: 1 }] },
        ],
      },
    ],
  });
  assert.equal(readZfsRecord(withGuid('18446744073709551615'))?.pools[0]?.datasets[0]?.snapshots?.length, 1);
  for (const guid of ['', '-1', '1.5', 'x', '0x1']) assert.equal(readZfsRecord(withGuid(guid)), undefined, guid);
});
