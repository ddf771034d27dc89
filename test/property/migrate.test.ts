import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { kindsOf } from '../../src/areas/file/kinds.ts';
import { State } from '../../src/areas/file/state.ts';
import { commentedYaml, parsedYaml } from '../../src/areas/file/text.ts';
import { catalogue } from '../../src/areas/index.ts';
import { cellName } from '../../src/areas/migrate/carry.ts';
import { mappings } from '../../src/areas/migrate/mappings.ts';
import { migrated } from '../../src/areas/migrate/migration.ts';
import { secretColumns } from '../../src/areas/migrate/secrets.ts';
import { anyCharacter } from '../support/arbitrary.ts';
import {
  type OldRow,
  type OldTables,
  type OldVersion,
  oldDatabase,
  oldKey,
  oldSecret,
  readDatabase,
} from '../support/old-appliance.ts';

const kinds = kindsOf(catalogue);
const nothingYet = new State(kinds, { all: () => [], world: undefined });

async function migration(database: Buffer) {
  const old = readDatabase(database, oldKey);
  const found = await migrated(
    old,
    kinds,
    {
      state: nothingYet,
      pools: new Set(['tank']),
      ...{ storage: { pools: new Map(), datasets: new Map() }, importable: [], absent: new Set<string>() },
      machine: { users: [{ name: 'games', uid: 5 }], groups: [{ name: 'games', gid: 60 }] },
      interfaces: new Map([['em0', 'eth0']]),
      nics: [
        { name: 'eth0', kind: '', up: true, carrier: true, mtu: 1500, master: undefined, addresses: ['192.0.2.7/24'] },
      ],
      disks: [{ id: '{serial}ABC', serial: 'ABC' }],
      withRoot: false,
    },
    {
      fresh: nothingYet,
      secret: (_purpose, value) => ({ sealed: `hf1:${JSON.stringify(value).length}` }),
      write: async (content, comments, head) => commentedYaml(content, comments, head),
    },
  );
  return { old, found };
}

const known = new Map(mappings.map((mapping) => [mapping.table, Object.keys(mapping.columns)]));
const secretText = 'a-secret-that-must-not-show';

const cell = fc.oneof(
  fc.constantFrom<string | number | null>(null, '', 0, 1, 7, '1', 'true', '*', '/mnt/tank/x', '/mnt/gone/x', 'em0'),
  fc.constantFrom<string | number | null>(
    'tank',
    'anna',
    '$6$abcdefgh$ijklmnopqrst',
    '["a"]',
    '{}',
    '00:00:00',
    'PUSH',
  ),
  fc.constantFrom<string | number | null>(
    'a: b\n# c',
    '{broken',
    '\u0000\u0007',
    '- x\n\u2028',
    '~',
    '\ttab',
    oldSecret(secretText),
  ),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
  fc.integer({ min: -5, max: 70_000 }),
);

const tables: fc.Arbitrary<OldTables> = fc
  .uniqueArray(fc.constantFrom(...known.keys(), 'mystery', 'another "table"'), { minLength: 1, maxLength: 12 })
  .chain((names) =>
    fc.record(
      Object.fromEntries(
        names.map((name) => [
          name,
          fc
            .subarray([...(known.get(name) ?? []), 'unknown_column'], { minLength: 1 })
            .chain((columns) =>
              fc.array(fc.record(Object.fromEntries(columns.map((column) => [column, cell]))), { maxLength: 3 }),
            )
            .map((rows): readonly OldRow[] => rows.map((row, index) => ({ ...row, id: index + 1 }))),
        ]),
      ),
    ),
  );

test('every column of every row is carried, named, as usual or without meaning; the file can be read', () =>
  fc.assert(
    fc.asyncProperty(tables, fc.constantFrom<OldVersion>('9.3', '11.2', '13.0'), async (content, version) => {
      const { old, found } = await migration(oldDatabase(version, content));
      for (const rows of old.tables.values())
        for (const row of rows)
          for (const column of row.columns) {
            const outcome = found.account.get(cellName(row, column));
            assert.ok(outcome !== undefined, `${cellName(row, column)} was dropped in silence`);
            if (outcome === 'named')
              assert.ok(
                found.left.some(
                  (one) =>
                    one.table === row.table &&
                    (one.row === '' || (one.row === row.id && (one.column === '' || one.column === column))),
                ),
                `${cellName(row, column)} is not named`,
              );
          }
      const { problems, root } = parsedYaml(found.text);
      assert.deepEqual(problems, [], found.text);
      assert.ok(root?.members !== undefined);
      for (const one of found.left) assert.ok(one.reason !== '' && one.remedy !== '', JSON.stringify(one));
    }),
    { numRuns: 150, seed: 24 },
  ));

test('a secret is nowhere in clear', async () => {
  const content: OldTables = Object.fromEntries(
    Object.entries(secretColumns).map(([table, columns]) => [
      table,
      [
        {
          id: 1,
          ...Object.fromEntries((known.get(table) ?? []).map((column) => [column, ''])),
          ...Object.fromEntries(columns.map((column) => [column, oldSecret(secretText)])),
          ...{ keytab_name: 'k', cert_name: 'c', cert_certificate: 'x', iscsi_target_auth_user: 'u', disk_serial: 'S' },
        },
      ],
    ]),
  );
  const { found } = await migration(oldDatabase('13.0', content));
  assert.doesNotMatch(found.text, new RegExp(secretText));
  assert.doesNotMatch(JSON.stringify(found.left), new RegExp(secretText));
});

test('each table has one mapping that accounts for it, and each resource that is named exists', () => {
  const first = mappings.filter(({ isSecondReading }) => isSecondReading !== true).map(({ table }) => table);
  assert.equal(new Set(first).size, first.length);
  for (const { to, table } of mappings)
    assert.ok(to === undefined || kinds.some(({ resource }) => resource.path === to), `${table}: ${to}`);
});

test('each column that becomes a field has one', () => {
  const missing = mappings.flatMap(({ table, to, columns }) => {
    const kind = kinds.find(({ resource }) => resource.path === to);
    return Object.entries(columns).flatMap(([column, one]) =>
      kind === undefined || one.does !== 'becomes' || kind.fields.some(({ wire }) => wire === (one.field ?? column))
        ? []
        : [`${table}.${column}`],
    );
  });
  // Kinds of id maps share a list of columns, of which each has some.
  assert.deepEqual(
    missing.filter((one) => !one.startsWith('directoryservice_idmap_')),
    [],
  );
});
