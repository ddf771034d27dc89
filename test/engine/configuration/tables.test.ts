import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cifsShare } from '../../../src/areas/sharing/cifs.ts';
import { Table } from '../../../src/engine/configuration/tables.ts';
import { appliance } from '../../support/appliance.ts';

/** The records of a table with so many shares. */
async function shares(count: number) {
  await using box = await appliance();
  await box.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  for (let number = count; number > 0; number -= 1)
    await box.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank', cifs_name: `share-${number}` });
  return [...box.engine.table(cifsShare).all()].toSorted((a, b) => a.id - b.id);
}

const records = await shares(3);

/** A table that was given the records, and how many of them it has read. */
function tableOf(failure: () => Error | undefined = () => undefined) {
  let read = 0;
  const stored = Iterator.from({
    next(): IteratorResult<(typeof records)[number]> {
      const error = read === 1 ? failure() : undefined;
      if (error !== undefined) throw error;
      const value = records[read];
      if (value === undefined) return { done: true, value: undefined };
      read += 1;
      return { done: false, value };
    },
  });
  const table = new Table(cifsShare);
  table.load(stored, 7);
  return { table, read: () => read };
}

test('a table reads its records when one of them is first needed', () => {
  for (const [title, use] of [
    ['all', (table: Table<typeof cifsShare.fields>) => table.all().map(({ cifs_name }) => cifs_name)],
    ['size', (table: Table<typeof cifsShare.fields>) => table.size],
    ['get', (table: Table<typeof cifsShare.fields>) => table.get(3)?.cifs_name],
    ['having', (table: Table<typeof cifsShare.fields>) => table.having('cifs_name', 'share-1').length],
    ['groups', (table: Table<typeof cifsShare.fields>) => table.groups().get(0)?.length],
  ] as const) {
    const { table, read } = tableOf();
    assert.equal(table.lastId, 7);
    assert.equal(read(), 0, title);
    const expected = { all: ['share-1', 'share-2', 'share-3'], size: 3, get: 'share-1', having: 1, groups: 3 }[title];
    assert.deepEqual(use(table), expected);
    assert.equal(read(), 3, title);
  }
});

test('records that are read in pieces are whole for who needs them in between', () => {
  const { table, read } = tableOf();
  const loading = table.loading();
  loading.next();
  assert.equal(read(), 1);
  table.delete(1);
  assert.deepEqual(
    table.all().map(({ id }) => id),
    [3, 2],
  );
  assert.equal(loading.next().done, true);
});

test('a record that cannot be read is never left out', () => {
  let error: Error | undefined = new Error('damaged');
  const { table } = tableOf(() => error);
  for (let time = 0; time < 2; time += 1) {
    assert.throws(() => table.all(), /damaged/);
    assert.throws(() => [...table.loading()], /damaged/);
  }
  error = undefined;
  assert.equal(table.size, 3);
});

test('an index finds the same records as a search of all, after any changes', () => {
  const [record] = records;
  assert.ok(record !== undefined);
  const change = fc.record({ id: fc.integer({ min: 1, max: 4 }), name: fc.constantFrom('a', 'b', undefined) });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), (changes) => {
      const table = new Table(cifsShare);
      for (const { id, name } of changes) {
        table.ids('cifs_name', 'a');
        if (name === undefined) table.delete(id);
        else table.put({ ...record, id, cifs_name: name });
        for (const searched of ['a', 'b', 'c'])
          assert.deepEqual(
            [...table.ids('cifs_name', searched)].sort(),
            table
              .all()
              .filter((one) => one.cifs_name === searched)
              .map((one) => one.id)
              .sort(),
          );
      }
    }),
  );
});
