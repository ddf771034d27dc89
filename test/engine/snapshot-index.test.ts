import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SnapshotIndex } from '../../src/engine/snapshot-index.ts';
import type { Dataset, Snapshot } from '../../src/host/ports/zfs.ts';

const dataset = (name: string, snapshotStamp: string): Dataset => ({
  name,
  kind: 'filesystem',
  used: 0,
  available: 0,
  referenced: 0,
  mountpoint: undefined,
  properties: {},
  inherited: [],
  comment: undefined,
  origin: undefined,
  snapshotStamp,
});
const snapshot = (id: string): Snapshot => {
  const [of = '', name = ''] = id.split('@');
  return { dataset: of, name, used: 0, referenced: 1, created: 0, deferred: false };
};

/** A machine with these snapshots, which writes down what it is asked for. */
function machine(...ids: readonly string[]) {
  const asked: (readonly string[] | undefined)[] = [];
  const list = async (datasets?: readonly string[]) => {
    asked.push(datasets);
    return ids.map(snapshot).filter((one) => datasets?.includes(one.dataset) ?? true);
  };
  return { asked, list };
}

test('only the snapshots of datasets with another stamp are listed anew', async () => {
  const first = machine('a@1', 'b@1', 'b@2');
  const index = await SnapshotIndex.empty.renewed([dataset('a', 'x'), dataset('b', 'x')], first.list);
  assert.deepEqual(first.asked, [undefined]);
  assert.deepEqual(
    index.all.map(({ id, newest }) => [id, newest]),
    [
      ['a@1', true],
      ['b@1', false],
      ['b@2', true],
    ],
  );

  const second = machine('a@1', 'a@3', 'b@other');
  const renewed = await index.renewed([dataset('a', 'y'), dataset('b', 'x')], second.list);
  assert.deepEqual(second.asked, [['a']]);
  assert.deepEqual(
    renewed.all.map(({ id }) => id),
    ['a@1', 'a@3', 'b@1', 'b@2'],
  );
  assert.equal(renewed.find('b@2'), index.find('b@2'));
});

test('where nothing changed, nothing is asked and the index is the same', async () => {
  const { asked, list } = machine('a@1');
  const index = await SnapshotIndex.empty.renewed([dataset('a', 'x')], list);
  assert.equal(await index.renewed([dataset('a', 'x')], list), index);
  assert.equal(asked.length, 1);
});

test('the snapshots of a dataset that is gone are gone', async () => {
  const { list } = machine('a@1', 'b@1');
  const index = await SnapshotIndex.empty.renewed([dataset('a', 'x'), dataset('b', 'x')], list);
  const after = await index.renewed([dataset('b', 'x')], list);
  assert.equal(after.find('a@1'), undefined);
  assert.deepEqual(after.of('a'), []);
  assert.deepEqual(
    after.all.map(({ id }) => id),
    ['b@1'],
  );
});

test('what is no snapshot is not found', async () => {
  const { list } = machine('a@1');
  const index = await SnapshotIndex.empty.renewed([dataset('a', 'x')], list);
  for (const id of ['', 'a', '@', 'a@', '@1', 'a@2', 'a@1@1', '__proto__@1']) assert.equal(index.find(id), undefined, id);
});
