import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { appended, noSnapshots, sharing } from '../../../src/engine/facts/snapshot-columns.ts';
import { columnsOf, SnapshotIndex } from '../../../src/engine/facts/snapshot-index.ts';
import { type Dataset, emptyFigures, type Snapshot } from '../../../src/host/ports/zfs.ts';
import { inSlices } from '../../../src/lib/slices.ts';

const dataset = (name: string, snapshotStamp: string): Dataset => ({
  name,
  kind: 'filesystem',
  used: 0,
  available: 0,
  referenced: 0,
  figures: emptyFigures,
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

/** A machine with these snapshots, which records what is listed. */
function machine(...ids: readonly string[]) {
  const asked: (readonly string[] | undefined)[] = [];
  const list = async (datasets?: readonly string[]) => {
    asked.push(datasets);
    return ids.map(snapshot).filter((one) => datasets?.includes(one.dataset) ?? true);
  };
  return { asked, list };
}

/** What a look gives `renewed` that finds the snapshots of these datasets as they were. */
function recalled(names: readonly string[]): Parameters<SnapshotIndex['renewed']> {
  const datasets = names.map((name) => dataset(name, 'x'));
  const nothing = { of: new Set<string>(), columns: new Map(), named: new Map(), fitting: new Map() };
  return [new Map(datasets.map((one) => [one.name, one])), datasets, nothing];
}

/** The index after a look at all of these datasets. */
async function look(
  index: SnapshotIndex,
  datasets: readonly Dataset[],
  list: ReturnType<typeof machine>['list'],
): Promise<SnapshotIndex> {
  const stale = index.stale(datasets);
  const columns = await inSlices(columnsOf(stale.length === 0 ? [] : await list(stale)));
  return index.renewed(new Map(datasets.map((one) => [one.name, one])), datasets, {
    of: new Set(stale),
    columns,
    named: new Map(),
    fitting: new Map(),
  });
}

test('only the snapshots of datasets with a changed stamp are listed again', async () => {
  const first = machine('a@1', 'b@1', 'b@2');
  const index = await look(SnapshotIndex.empty, [dataset('a', 'x'), dataset('b', 'x')], first.list);
  assert.deepEqual(first.asked, [['a', 'b']]);
  assert.deepEqual(
    [...index.all].map(({ id, newest }) => [id, newest]),
    [
      ['a@1', true],
      ['b@1', false],
      ['b@2', true],
    ],
  );

  const second = machine('a@1', 'a@3', 'b@other');
  const renewed = await look(index, [dataset('a', 'y'), dataset('b', 'x')], second.list);
  assert.deepEqual(second.asked, [['a']]);
  assert.deepEqual(
    [...renewed.all].map(({ id }) => id),
    ['a@1', 'a@3', 'b@1', 'b@2'],
  );
  assert.deepEqual(renewed.find('b@2'), index.find('b@2'));
});

test('datasets that a recursive snapshot covers have its name, time and task once', async () => {
  const ids = ['a@1', 'a@2', 'a/b@1', 'a/b@2', 'a/c@1'];
  const names = ['a', 'a/b', 'a/c'];
  const index = await look(
    SnapshotIndex.empty,
    names.map((name) => dataset(name, 'x')),
    machine(...ids).list,
  );
  const common = (parts: SnapshotIndex['parts']) => {
    const [above, below, other] = parts.map(({ columns }) => columns);
    for (const name of ['starts', 'created', 'deferred', 'tasks'] as const) {
      assert.equal(below?.[name], above?.[name], name);
      assert.notEqual(other?.[name], above?.[name], name);
    }
    assert.notEqual(below?.used, above?.used);
  };
  common(index.parts);
  common(SnapshotIndex.recalling(structuredClone(index.parts)).renewed(...recalled(names)).parts);
  assert.deepEqual(
    [...index.all].map(({ id }) => id),
    ids,
  );
});

test('columns that are shared have the same values as before', () => {
  const columns = fc
    .array(
      fc.record({
        name: fc.constantFrom('a', 'b'),
        used: fc.nat(1),
        referenced: fc.nat(1),
        created: fc.nat(1),
        deferred: fc.boolean(),
        task: fc.option(fc.nat(1), { nil: undefined }),
      }),
      { maxLength: 3 },
    )
    .map((all) =>
      appended(
        noSnapshots,
        all.map(({ task, ...one }) => ({ dataset: 'x', ...one, ...(task !== undefined && { task }) })),
      ),
    );
  fc.assert(
    fc.property(columns, columns, (own, other) => {
      assert.deepEqual(sharing(own, other), own);
      assert.equal(sharing(own, undefined), own);
    }),
  );
});

test('without changes nothing is listed and the index is the same object', async () => {
  const { asked, list } = machine('a@1');
  const index = await look(SnapshotIndex.empty, [dataset('a', 'x')], list);
  assert.equal(await look(index, [dataset('a', 'x')], list), index);
  assert.equal(asked.length, 1);
});

test('the snapshots of a removed dataset are removed', async () => {
  const { list } = machine('a@1', 'b@1');
  const index = await look(SnapshotIndex.empty, [dataset('a', 'x'), dataset('b', 'x')], list);
  const after = await look(index, [dataset('b', 'x')], list);
  assert.equal(after.find('a@1'), undefined);
  assert.deepEqual(after.of('a'), []);
  assert.deepEqual(
    [...after.all].map(({ id }) => id),
    ['b@1'],
  );
});

test('the name of anything but a snapshot is not found', async () => {
  const { list } = machine('a@1');
  const index = await look(SnapshotIndex.empty, [dataset('a', 'x')], list);
  for (const id of ['', 'a', '@', 'a@', '@1', 'a@2', 'a@1@1', '__proto__@1'])
    assert.equal(index.find(id), undefined, id);
});

test('a dataset that became stale between the listing and the index is listed by the next look', async () => {
  const { list } = machine('a@1');
  const earlier = await look(SnapshotIndex.empty, [dataset('a', 'x')], list);
  // Nothing was stale when this look listed the snapshots; another look has replaced the index since then.
  const renewed = earlier.renewed(new Map([['a', dataset('a', 'y')]]), [dataset('a', 'y')], {
    of: new Set(),
    columns: new Map(),
    named: new Map(),
    fitting: new Map(),
  });
  assert.deepEqual(
    [...renewed.all].map(({ id }) => id),
    ['a@1'],
  );
  assert.deepEqual(renewed.stale([dataset('a', 'y')]), ['a']);
});

/** The index after a look at some snapshots of a dataset, where these of them were found. */
function lookAtSome(index: SnapshotIndex, of: string, asked: readonly string[], found: readonly Snapshot[]) {
  const now = dataset(of, 'now');
  return index.renewed(new Map([[of, now]]), [now], {
    of: new Set(),
    columns: new Map(),
    named: new Map([[of, { asked, found }]]),
    fitting: new Map(),
  });
}

test('a look at some snapshots adds, changes and removes these, and the next look lists all', async () => {
  const { list } = machine('a@1', 'a@2', 'a@3');
  const index = await look(SnapshotIndex.empty, [dataset('a', 'x')], list);
  assert.deepEqual(index.around('a', ['2']), ['2', '1', '3']);
  assert.deepEqual(index.around('a', ['4']), ['4']);
  assert.equal(index.around('b', ['1']), undefined);
  const made = lookAtSome(index, 'a', ['4'], [{ ...snapshot('a@4'), created: 7 }]);
  assert.deepEqual(
    made.of('a').map(({ id, created, newest }) => [id, created, newest]),
    [
      ['a@1', 0, false],
      ['a@2', 0, false],
      ['a@3', 0, false],
      ['a@4', 7, true],
    ],
  );
  const destroyed = lookAtSome(made, 'a', ['2', '1', '3'], [{ ...snapshot('a@1'), used: 5 }, snapshot('a@3')]);
  assert.deepEqual(
    destroyed.of('a').map(({ id, used }) => [id, used]),
    [
      ['a@1', 5],
      ['a@3', 0],
      ['a@4', 0],
    ],
  );
  assert.deepEqual(destroyed.stale([dataset('a', 'now')]), ['a']);
  assert.deepEqual(destroyed.parts, [], 'another run lists them');
});

test('a snapshot that has the name of one that is gone is the newest', async () => {
  const { list } = machine('a@1', 'a@2');
  const index = await look(SnapshotIndex.empty, [dataset('a', 'x')], list);
  const again = lookAtSome(index, 'a', ['1', '2'], [{ ...snapshot('a@1'), created: 9 }, snapshot('a@2')]);
  assert.deepEqual(
    again.of('a').map(({ id }) => id),
    ['a@2', 'a@1'],
  );
  const none = lookAtSome(index, 'a', ['1', '2'], []);
  assert.deepEqual(none.of('a'), []);
});

const nameOf = fc.stringMatching(/^[-a-zA-Z0-9_.: ]{1,20}$/);
const someSnapshots = fc.uniqueArray(
  fc.record(
    {
      dataset: fc.constantFrom('a', 'a/b', 'c'),
      name: nameOf,
      used: fc.maxSafeNat(),
      referenced: fc.maxSafeNat(),
      created: fc.nat(),
      deferred: fc.boolean(),
      task: fc.nat({ max: 3 }),
    },
    { requiredKeys: ['dataset', 'name', 'used', 'referenced', 'created', 'deferred'] },
  ),
  { selector: ({ dataset, name }) => `${dataset}@${name}`, maxLength: 30 },
);

test('a look at some snapshots gives what a list of all of them would', async () => {
  const one = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'hh', 'a b'),
    used: fc.nat({ max: 9 }),
    created: fc.nat({ max: 3 }),
    deferred: fc.boolean(),
    task: fc.nat({ max: 2 }),
  });
  const some = fc.uniqueArray(one, { selector: ({ name }) => name });
  await fc.assert(
    fc.asyncProperty(some, some, async (before, now) => {
      const full = (all: readonly { readonly name: string; readonly used: number; readonly created: number }[]) =>
        all.map((each): Snapshot => ({ deferred: false, ...each, dataset: 'a', referenced: each.used + 1 }));
      const index = await look(SnapshotIndex.empty, [dataset('a', 'x')], async () => full(before));
      const some = [...before, ...now].filter((_, at) => at % 2 === 0);
      const asked: readonly string[] = [...new Set(some.map(({ name }) => name))];
      const found = full(now).filter(({ name }) => asked.includes(name));
      const isAsItWas = ({ name, created }: Snapshot) =>
        !asked.includes(name) || found.some((other) => other.name === name && other.created === created);
      const kept = full(before)
        .filter(isAsItWas)
        // The task of a snapshot does not change.
        .map((was) => ({ ...was, ...found.find(({ name }) => name === was.name), task: was.task }));
      const made = found.filter(({ name }) => !kept.some((other) => other.name === name));
      const expected = [...kept, ...made.toSorted((a, b) => a.created - b.created)];
      const after = lookAtSome(index, 'a', asked, found);
      assert.deepEqual(
        after.of('a').map(({ id: _, kind: _kind, newest: _newest, ...rest }) => rest),
        expected.map((each) => ({ ...each })),
      );
      for (const { name } of expected) assert.equal(after.find(`a@${name}`)?.name, name);
    }),
  );
});

test('snapshots in columns are what a plain list of them is, in every question', async () => {
  const names = ['a', 'a/b', 'c'];
  await fc.assert(
    fc.asyncProperty(
      someSnapshots,
      fc.nat({ max: 31 }),
      fc.nat({ max: 31 }),
      nameOf,
      async (all, from, size, other) => {
        const found = names.flatMap((of) => all.filter((one) => one.dataset === of));
        const index = await look(
          SnapshotIndex.empty,
          [...names].map((name) => dataset(name, 'x')),
          async () => found,
        );
        const of = (name: string) => found.filter((one) => one.dataset === name);
        const plain = found.map((one) => ({
          ...one,
          id: `${one.dataset}@${one.name}`,
          kind: 'filesystem' as const,
          newest: of(one.dataset).at(-1) === one,
        }));
        assert.deepEqual([...index.all], plain);
        assert.equal(index.all.length, plain.length);
        const part = index.all.slice(from, from + size);
        assert.deepEqual(
          [[...part], part.length],
          [plain.slice(from, from + size), plain.slice(from, from + size).length],
        );
        assert.deepEqual([...part.slice(1, 3)], plain.slice(from, from + size).slice(1, 3));
        for (const one of plain) assert.deepEqual(index.find(one.id), one);
        const unknown = `a@${other}`;
        assert.deepEqual(
          index.find(unknown),
          plain.find(({ id }) => id === unknown),
        );
        for (const name of names) {
          const here = plain.filter((one) => one.dataset === name);
          assert.deepEqual(index.of(name), here);
          assert.deepEqual(index.summaryOf(name), { count: here.length, newest: here.at(-1) });
        }
        assert.deepEqual(
          [...index.among((name) => name !== 'a')],
          plain.filter((one) => one.dataset !== 'a'),
        );
        for (const task of [0, 1, 2, 3]) {
          const taken = plain.filter((one) => one.task === task);
          assert.deepEqual([...index.takenBy(task)], taken);
          const last = taken.length === 0 ? undefined : Math.max(...taken.map(({ created }) => created));
          assert.equal(index.newestByTask.get(task), last);
        }
      },
    ),
  );
});

test('a snapshot that is being taken is the newest of its dataset, which is listed again', async () => {
  const { list } = machine('a@1');
  const index = await look(SnapshotIndex.empty, [dataset('a', 'x')], list);
  const after = index.withNew({ dataset: 'a', name: '2' }, 'filesystem').withNew({ dataset: 'b', name: '1' }, 'volume');
  assert.deepEqual(
    Array.from(after.all, ({ id, newest, kind }) => [id, newest, kind]),
    [
      ['a@1', false, 'filesystem'],
      ['a@2', true, 'filesystem'],
      ['b@1', true, 'volume'],
    ],
  );
  assert.deepEqual(after.stale([dataset('a', 'x'), dataset('b', 'x')]), ['a', 'b']);
  assert.equal(index.find('a@2'), undefined);
});

test('an index recalls the snapshots of datasets that are as they were, and of no others', async () => {
  const before = machine('a@1', 'b@1', 'c@1', 'late@1');
  const known = await look(
    SnapshotIndex.empty,
    ['a', 'b', 'c', 'late'].map((name) => dataset(name, 'x')),
    before.list,
  );
  const now = machine('a@1', 'b@2', 'new@1', 'late@1');
  const [a, b, other] = [dataset('a', 'x'), dataset('b', 'y'), dataset('new', 'x')];
  const recalling = SnapshotIndex.recalling(known.parts);
  assert.equal(recalling.all.length, 0, 'nothing is said of datasets that have not been seen');
  const index = await look(recalling, [a, b, other], now.list);
  assert.deepEqual(now.asked, [['b', 'new']]);
  const idsOf = (of: SnapshotIndex) => Array.from(of.all, ({ id }) => id);
  assert.deepEqual(idsOf(index), ['a@1', 'b@2', 'new@1']);
  // The pool of this one is imported after the first look.
  const later = await look(index, [a, b, other, dataset('late', 'x')], now.list);
  assert.deepEqual(now.asked.slice(1), []);
  assert.deepEqual(idsOf(later), ['a@1', 'b@2', 'new@1', 'late@1']);
  assert.deepEqual(later.someRecalled({ datasets: 9, snapshots: 9 }), ['a', 'late'], 'the others were listed');
  assert.deepEqual(later.someRecalled({ datasets: 1, snapshots: 9 }), ['a']);
  assert.deepEqual(later.someRecalled({ datasets: 9, snapshots: 1 }), ['a']);
  assert.deepEqual(later.someRecalled({ datasets: 9, snapshots: 0 }), ['a'], 'at least one');
  const doubting = later.doubting(['a']);
  assert.deepEqual(idsOf(doubting), idsOf(later));
  assert.deepEqual(doubting.someRecalled({ datasets: 9, snapshots: 9 }), ['late']);
  assert.deepEqual(SnapshotIndex.recalling(doubting.parts).stale([a]), ['a'], 'what is in doubt is not kept');
  const again = await look(doubting, [a, b], now.list);
  assert.deepEqual(now.asked.slice(1), [['a']]);
  assert.deepEqual(idsOf(again), ['a@1', 'b@2']);
  assert.deepEqual(again.forgetting.stale([a, dataset('late', 'x')]), ['late']);
});
