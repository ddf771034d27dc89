import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { coarsest, finest, type HistoryRow, middle, tallyOf, tiers } from '../../src/engine/declare/history.ts';
import { HistoryFile, historyFile } from '../../src/store/history-file.ts';
import { scratchFolder } from '../support/hosts.ts';

const minute = 60_000;
const begin = Date.UTC(2026, 0, 1);
const used = new Set(['pool/tank/used']);
const rowOf = (at: number, value: number): HistoryRow => ({
  at,
  tallies: new Map([['pool/tank/used', tallyOf(value)]]),
});

function opened(t: TestContext, folder: string) {
  const messages: string[] = [];
  const note = (_: object, message: string) => void messages.push(message);
  const file = new HistoryFile(folder, { debug: note, info: note, warn: note, error: note });
  t.after(() => file.close());
  return { file, messages };
}

const rowsOf = (file: HistoryFile, ...which: Parameters<HistoryFile['rows']>) => [...file.rows(...which)];

const sumOf = (rows: readonly HistoryRow[]) =>
  rows.reduce((sum, { tallies }) => sum + [...tallies.values()].reduce((all, tally) => all + tally.sum, 0), 0);

test('what was added is in every tier, also after a restart', (t) => {
  const folder = scratchFolder(t);
  const first = opened(t, folder);
  assert.deepEqual(first.messages, []);
  for (let index = 0; index < 40; index += 1) first.file.add([rowOf(begin + index * minute, index)]);
  assert.deepEqual(first.messages, ['history: a new file begins']);
  first.file.close();
  const { file, messages } = opened(t, folder);
  assert.deepEqual(file.series(), new Map([['pool/tank/used', begin]]));
  assert.deepEqual(messages, []);
  for (const tier of tiers) assert.equal(sumOf(rowsOf(file, tier, 0, begin * 2, used)), 780);
  assert.equal(rowsOf(file, finest, 0, begin * 2, used).length, 40);
  assert.deepEqual(
    rowsOf(file, middle, 0, begin * 2, used).map(({ tallies }) => tallies.get('pool/tank/used')),
    [
      { count: 15, sum: 105, min: 0, max: 14 },
      { count: 15, sum: 330, min: 15, max: 29 },
      { count: 10, sum: 345, min: 30, max: 39 },
    ],
  );
  assert.deepEqual(rowsOf(file, finest, 0, begin * 2, new Set(['pool/other/used'])), []);
});

test('each tier keeps its maximum of rows, and the file stops growing', (t) => {
  const folder = scratchFolder(t);
  const { file } = opened(t, folder);
  const days = (from: number, to: number) => {
    for (let day = from; day < to; day += 1)
      file.add(Array.from({ length: 1440 }, (_, index) => rowOf(begin + (day * 1440 + index) * minute, 1)));
  };
  days(0, 40);
  const size = statSync(historyFile(folder)).size;
  days(40, 60);
  assert.equal(rowsOf(file, finest, 0, 2 * begin, used).length, finest.rows);
  assert.equal(rowsOf(file, middle, 0, 2 * begin, used).length, middle.rows);
  assert.equal(rowsOf(file, coarsest, 0, 2 * begin, used).length, 120);
  assert.ok(statSync(historyFile(folder)).size < size * 1.2);
});

test('a clock that was wrong for a while does not displace what is measured after it', (t) => {
  const { file } = opened(t, scratchFolder(t));
  const century = 100 * 366 * 1440 * minute;
  const at = (minutes: number) => begin + minutes * minute;
  file.add(Array.from({ length: 1440 }, (_, index) => rowOf(at(index), 1)));
  file.add(Array.from({ length: 1440 }, (_, index) => rowOf(at(index) + century, 2)));
  file.add([rowOf(at(1500), 3)]);
  file.add([rowOf(at(1500), 4)]);
  const found = rowsOf(file, finest, at(1500), at(1501), used);
  assert.deepEqual(found[0]?.tallies.get('pool/tank/used'), { count: 2, sum: 7, min: 3, max: 4 });
  assert.equal(rowsOf(file, finest, 0, 2 * century, used).length, finest.rows);
});

for (const [what, damage] of [
  [
    'is no database',
    (file: string) => writeFileSync(file, 'no database at all, but long enough for a header'.repeat(99)),
  ],
  ['was cut', (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 5000))],
  [
    'lacks its tables',
    (file: string) => {
      const database = new Database(file);
      database.exec('DROP TABLE rows');
      database.close();
    },
  ],
  [
    'has tables of another version',
    (file: string) => {
      const database = new Database(file);
      database.pragma('user_version = 99');
      database.close();
    },
  ],
] as const)
  test(`a file that ${what} is set aside, and an empty history begins`, (t) => {
    const folder = scratchFolder(t);
    const first = opened(t, folder);
    for (let index = 0; index < 40; index += 1) first.file.add([rowOf(begin + index * minute, index)]);
    first.file.close();
    damage(historyFile(folder));
    const { file, messages } = opened(t, folder);
    file.add([rowOf(begin, 1)]);
    assert.equal(rowsOf(file, finest, 0, 2 * begin, used).length, 1);
    assert.ok(messages.includes('history: the file is damaged, an empty history begins'), messages.join());
    assert.ok(existsSync(`${historyFile(folder)}.damaged`));
    file.close();
    const again = opened(t, folder);
    assert.equal(rowsOf(again.file, finest, 0, 2 * begin, used).length, 1);
  });

test('a file that cannot be opened is no error for readers, and is used as soon as it can be', (t) => {
  const folder = scratchFolder(t);
  const place = `${folder}/later`;
  const { file } = opened(t, place);
  assert.deepEqual(rowsOf(file, finest, 0, begin * 2, used), []);
  assert.throws(() => file.add([rowOf(begin, 1)]));
  rmSync(place, { recursive: true, force: true });
  const { file: other } = opened(t, folder);
  other.add([rowOf(begin, 1)]);
  assert.equal(rowsOf(other, finest, 0, begin * 2, used).length, 1);
});

test('a process that is killed while it writes leaves a whole file, in which all tiers agree', async (t) => {
  for (const pause of [0, 13, 40]) {
    const folder = scratchFolder(t);
    const writer = fileURLToPath(new URL('./history-writer.ts', import.meta.url));
    const child = spawn(process.execPath, [writer, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    await wait(pause);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const { file, messages } = opened(t, folder);
    assert.deepEqual(messages, []);
    const all = new Set(Array.from({ length: 40 }, (_, index) => `disk/${index}/temperature`));
    const [fine = 0, ...others] = tiers.map((tier) => sumOf(rowsOf(file, tier, 0, Number.MAX_SAFE_INTEGER, all)));
    assert.ok(fine >= 51 * 780);
    for (const other of others) assert.equal(other, fine);
  }
});
