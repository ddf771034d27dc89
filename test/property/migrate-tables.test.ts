import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { kindsOf } from '../../src/areas/file/kinds.ts';
import { State } from '../../src/areas/file/state.ts';
import { catalogue } from '../../src/areas/index.ts';
import { carry, cellName } from '../../src/areas/migrate/carry.ts';
import { mappings } from '../../src/areas/migrate/mappings.ts';
import { readDatabase } from '../support/old-appliance.ts';

/**
 * All tables and columns of the releases 9.10.2 to 11.3, each with the default of a new row. One table a line: its name,
 * the releases (9, 0, 1, 2, 3), then `name:type`, or `name:type|type` where it changed; `=` is the default and `~` the
 * releases that have it. Lines of the release `d` are what 13.0 changes in 11.3: columns with a minus are gone, tables
 * without a line in 11.3 are new. Those of `o` and `p` are what the first 9.3 and that of 2016 have otherwise than 9.10.
 */
const lines = readFileSync(new URL('../support/old-appliance-columns.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '');

const releases = ['o', 'p', '9', '0', '1', '2', '3', 'd'];
const titles: Readonly<Record<string, string>> = { o: '9.3', p: '9.3 of 2016', 9: '9.10', d: '13.0' };
const titleOf = (release: string) => titles[release] ?? `11.${release}`;
const isOfSouth = (release: string) => 'op9'.includes(release);

type Value = string | number | null;
interface Column {
  readonly name: string;
  readonly initial: Value;
  /** A value that is not the default. */
  readonly other: Value;
}

function columnsOf(words: readonly string[], release: string): readonly Column[] {
  const there = words.filter((word) => !word.startsWith('-'));
  return there.flatMap((word) => {
    const [, name = '', all = ''] = /^(\w+):(.*)$/s.exec(word) ?? [];
    const form = all.split('|').find((one) => {
      const marks = /~(\d+)$/.exec(one)?.[1];
      return marks === undefined || marks.includes(release);
    });
    if (form === undefined) return [];
    const plain = form.replace(/~\d+$/, '');
    const at = plain.indexOf('=');
    const type = (at < 0 ? plain : plain.slice(0, at)).replace(/^PK/, '');
    const given = at < 0 ? undefined : plain.slice(at + 1).replace(/^'(.*)'$/, '$1');
    const isText = /^(?:c\d|t|j|a|d|h)/.test(type);
    assert.match(type, /^(?:c\d+|t|j|a|d|h|f|b|i|u|s|us|r)/, `${word}: a type that is not known`);
    const initial =
      given === undefined ? (type.includes('?') ? null : isText ? '' : 0) : isText ? given : Number(given);
    const other = type.startsWith('b') ? (initial === 1 ? 0 : 1) : isText ? 'zebra' : 11;
    return [{ name, initial, other }];
  });
}

/** The words of a line; a default in quotes can have blanks. */
const wordsOf = (line: string) => line.match(/(?:'[^']*'|[^\s'])+/g) ?? [];

interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
}

function tablesOf(release: string): readonly Table[] {
  const parts = lines.map((line) => {
    const [name = '', releases = '', ...words] = wordsOf(line);
    return { name, releases, words };
  });
  const of = (letter: string) =>
    parts
      .filter(({ releases }) => releases.includes(letter))
      .map(({ name, words }) => ({ name, columns: columnsOf(words, letter) }));
  const derived = derivations[release];
  if (derived === undefined) return of(release);
  const before = of(derived.from).filter(({ name }) => !derived.gone.test(name));
  const changes = parts.filter(({ releases }) => releases === release);
  const changed = before.map(({ name, columns }) => {
    const words = changes.filter((one) => one.name === name).flatMap((one) => one.words);
    return {
      name,
      columns: [
        ...columns.filter((column) => !words.some((word) => word.split(':')[0]?.replace('-', '') === column.name)),
        ...columnsOf(words, release),
      ],
    };
  });
  const fresh = changes.filter(({ name }) => !before.some((one) => one.name === name));
  return [...changed, ...fresh.map(({ name, words }) => ({ name, columns: columnsOf(words, release) }))];
}

/** The release that another one is described by, and the tables that it does not have. */
const derivations: Readonly<Record<string, { readonly from: string; readonly gone: RegExp }>> = {
  d: {
    from: '3',
    gone: /^(?:django_|south_|jails_|plugins_|vcp_|directoryservice_idmap_(?!domain$)|sharing_nfs_share_path$)/,
  },
  o: {
    from: '9',
    gone: /^(?:services_iscsitargetgroups|services_fibrechanneltotarget|directoryservice_kerberos(?:principal|settings)|system_cloudcredentials|tasks_cloudsync|system_backup|vcp_\w+)$/,
  },
  p: { from: '9', gone: /^(?:system_cloudcredentials|tasks_cloudsync)$/ },
};

const kinds = kindsOf(catalogue);
const nothingYet = new State(kinds, { all: () => [], world: undefined });

async function carried(release: string, tables: readonly Table[], cellFor: (table: string, column: Column) => Value) {
  const database = new Database(':memory:');
  for (const { name, columns } of tables) {
    // In 9.3 disks have numbers.
    const isKeyed = columns.some((column) => column.name === 'disk_identifier') && !/[op]/.test(release);
    const all = [...(isKeyed ? [] : ['id']), ...columns.map((column) => column.name)];
    database.exec(`CREATE TABLE "${name}" (${all.map((one) => `"${one}"`).join(', ')})`);
    const values = [...(isKeyed ? [] : [1]), ...columns.map((column) => cellFor(name, column))];
    database.prepare(`INSERT INTO "${name}" VALUES (${all.map(() => '?').join(', ')})`).run(values);
  }
  if (release === 'd') database.exec("CREATE TABLE alembic_version AS SELECT '88bfe11b5be5' AS version_num");
  else if (isOfSouth(release))
    database
      .prepare("INSERT INTO south_migrationhistory (id, app_name, migration) VALUES (2, 'system', ?)")
      .run(release === 'o' ? '0092_auto' : '0108_auto');
  else database.exec("INSERT INTO django_migrations (id, app, name) VALUES (2, 'system', '0047_auto')");
  const bytes = database.serialize();
  database.close();
  const old = readDatabase(bytes, undefined);
  return {
    old,
    ...(await carry(old, mappings, kinds, {
      state: nothingYet,
      pools: new Set(['tank']),
      ...{ storage: { pools: new Map(), datasets: new Map() }, importable: [], absent: new Set<string>() },
      machine: { users: [], groups: [] },
      interfaces: new Map(),
      nics: [],
      disks: [],
      withRoot: false,
    })),
  };
}

for (const release of releases)
  test(`${titleOf(release)}: each table has a mapping, and each column is declared`, () => {
    const tables = tablesOf(release);
    assert.ok(tables.length > 75, `${tables.length} tables were read`);
    const known = new Map(
      mappings.filter(({ isSecondReading }) => isSecondReading !== true).map((one) => [one.table, one]),
    );
    const unknown = tables.filter(({ name }) => !known.has(name) && !/^(?:django|south)_/.test(name));
    assert.deepEqual(
      unknown.map(({ name }) => name),
      [],
    );
    // Tables whose rows stay behind as a whole, or are state, need no word on each column.
    const missing = tables.flatMap(({ name, columns }) => {
      const mapping = known.get(name);
      if (mapping === undefined || Object.keys(mapping.columns).length === 0) return [];
      return columns
        .filter((column) => mapping.columns[column.name] === undefined)
        .map((column) => `${name}.${column.name}`);
    });
    assert.deepEqual(missing, []);
  });

for (const release of releases)
  test(`${titleOf(release)}: no value that was changed is dropped in silence`, async () => {
    const tables = tablesOf(release);
    // One column at a time is changed in each table, and the others are as in a new row.
    const most = Math.max(...tables.map(({ columns }) => columns.length));
    const silent = new Set<string>();
    for (let index = 0; index < most; index += 1) {
      const changed = (table: string) => tables.find(({ name }) => name === table)?.columns[index];
      const { old, account, left } = await carried(release, tables, (table, column) =>
        column === changed(table) ? column.other : (needed[column.name] ?? column.initial),
      );
      for (const { name } of tables) {
        const column = changed(name);
        const row = old.rows(name)[0];
        if (column === undefined || row === undefined || column.name in needed) continue;
        const outcome = account.get(cellName(row, column.name));
        const isTold =
          outcome === 'carried' ||
          outcome === 'no meaning' ||
          isWithoutMeaning(name, column.name) ||
          (outcome === 'named' && left.some((one) => one.table === name && ['', row.id].includes(one.row)));
        if (!isTold) silent.add(`${name}.${column.name}: ${outcome}`);
      }
    }
    assert.deepEqual([...silent].toSorted(), usual.filter((one) => silent.has(one)).toSorted());
  });

const isWithoutMeaning = (table: string, column: string) =>
  mappings.some((one) => one.table === table && one.columns[column]?.does === 'nothing');

/** What makes a row one that is in use; without it the other columns say nothing. */
const needed: Readonly<Record<string, Value>> = {
  ad_domainname: 'example.com',
  ldap_hostname: 'ldap.example.com',
  nis_domain: 'example',
  dc_realm: 'EXAMPLE.COM',
  nt4_enable: 1,
  srv_enable: 1,
  enabled: 1,
  jc_path: '/mnt/tank/jails',
  vc_ip: '192.0.2.1',
  sys_pool: 'tank',
};

/** Changed values that say nothing. */
const usual: readonly string[] = [
  // Both values were the default of some release, and the console of another machine is not carried.
  ...['system_advanced.adv_consolemenu', 'system_advanced.adv_ixalert', 'system_settings.stg_guihttpsredirect'],
  // They name a disk, about which nothing was chosen.
  ...['storage_disk.disk_identifier', 'storage_disk.disk_serial'],
].map((name) => `${name}: usual`);
