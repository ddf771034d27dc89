import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import fc from 'fast-check';
import type { AuditEntry } from '../../src/engine/services.ts';
import { AuditLog, type AuditOptions, verifyAudit } from '../../src/store/audit-log.ts';
import { smallDisk } from '../support/small-disk.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-audit-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const newFolder = () => {
  count += 1;
  return join(folder, String(count));
};

const digest = (text: string) => createHmac('sha256', 'a key').update(text).digest('base64url').slice(0, 22);
const entry = (path: string): AuditEntry => ({
  ...{ at: '2027-01-01T00:00:00.000Z', actor: 'root', credential: 'password', address: '192.0.2.1', method: 'PUT' },
  ...{ path, status: 200, request: `r-${path}`, revision: 7 },
});
const open = (at: string, options: Partial<AuditOptions> = {}) =>
  new AuditLog(at, { digest, now: Date.now, fileBytes: 1200, ...options });
const verified = (at: string) => verifyAudit(at, digest);
const filesIn = (at: string) =>
  readdirSync(at)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted();

/** Appends an entry and writes it at once. */
function write(log: AuditLog, path: string): void {
  log.append(entry(path));
  log.flush();
}

function written(entries: number): string {
  const at = newFolder();
  const log = open(at);
  for (let index = 1; index <= entries; index += 1) log.append(entry(`p${index}`));
  log.close();
  return at;
}

test('a log that is as it was written is verified, over files and starts', async () => {
  const at = newFolder();
  for (let start = 0; start < 3; start += 1) {
    const log = open(at);
    for (let index = 0; index < 10; index += 1) write(log, `s${start}-${index}`);
    assert.deepEqual(verified(at), { entries: start * 10 + 10, first: 1, last: start * 10 + 10, problems: [] });
    log.close();
  }
  assert.ok(filesIn(at).length > 3);
  const log = open(at);
  const all = await log.list(100, {});
  assert.deepEqual(
    all.map(({ number, path }) => `${number} ${path}`),
    Array.from({ length: 30 }, (_, index) => `${30 - index} s${Math.floor((29 - index) / 10)}-${(29 - index) % 10}`),
  );
  for (const [limit, before, after] of [
    [4, 30, 0],
    [100, 13, 5],
    [3, 2, 0],
    [7, 31, 28],
  ] as const)
    assert.deepEqual(
      await log.list(limit, { before, after }),
      all.filter(({ number }) => number < before && number > after).slice(0, limit),
    );
  log.close();
});

test('entries of one turn of the event loop are in the files before the next one, in files of their size', async () => {
  const at = newFolder();
  const log = open(at);
  for (let index = 0; index < 20; index += 1) log.append(entry(`p${index}`));
  await immediate();
  assert.deepEqual(verified(at), { entries: 20, first: 1, last: 20, problems: [] });
  assert.ok(filesIn(at).length > 3, String(filesIn(at)));
  log.close();
});

test('any changed, removed, inserted or exchanged entry is found', () => {
  const original = written(25);
  const lines = filesIn(original).flatMap((name) => {
    const text = readFileSync(join(original, name), 'utf8').trimEnd().split('\n');
    return text.map((_, index) => ({ name, index }));
  });
  const place = fc.nat(lines.length - 1);
  const damage = fc.oneof(
    fc.record({
      kind: fc.constant('change' as const),
      at: place,
      where: fc.nat(10_000),
      to: fc.constantFrom(...'x0 "{'),
    }),
    fc.record({
      kind: fc.constantFrom('remove' as const, 'repeat' as const, 'cut' as const, 'exchange' as const),
      at: place,
    }),
    fc.record({ kind: fc.constantFrom('file' as const, 'head' as const), at: place }),
  );
  fc.assert(
    fc.property(damage, (change) => {
      const at = newFolder();
      cpSync(original, at, { recursive: true });
      const { name, index } = lines[change.at] ?? { name: '', index: 0 };
      const path = join(at, name);
      const text = readFileSync(path, 'utf8').trimEnd().split('\n');
      const line = text[index] ?? '';
      if (change.kind === 'change') {
        const where = change.where % line.length;
        if (line[where] === change.to) return;
        text[index] = line.slice(0, where) + change.to + line.slice(where + 1);
      } else if (change.kind === 'remove') text.splice(index, 1);
      else if (change.kind === 'repeat') text.splice(index, 0, line);
      else if (change.kind === 'cut') text.splice(index);
      else if (change.kind === 'exchange') {
        if (text.length < 2) return;
        const other = index === 0 ? 1 : index - 1;
        [text[index], text[other]] = [text[other] ?? '', line];
      }
      writeFileSync(path, text.map((one) => `${one}\n`).join(''));
      if (change.kind === 'file') rmSync(path);
      if (change.kind === 'head') rmSync(join(at, 'head.json'));
      assert.notDeepEqual(verified(at).problems, [], JSON.stringify(change));
      // What was damaged stays visible when the daemon goes on.
      const log = open(at);
      log.append(entry('later'));
      log.close();
      if (change.kind !== 'head') assert.notDeepEqual(verified(at).problems, [], `later: ${JSON.stringify(change)}`);
    }),
    { numRuns: 150 },
  );
});

test('who lacks the key cannot write an entry that fits', () => {
  const at = written(3);
  const [name = ''] = filesIn(at);
  const last = readFileSync(join(at, name), 'utf8').trimEnd().split('\n').at(-1) ?? '';
  appendFileSync(join(at, name), `${last.replace('"number":3', '"number":4')}\n`);
  assert.match(verified(at).problems.join(), /changed/);
});

test('the oldest files are removed by size and age, and the rest is still verified', () => {
  const at = newFolder();
  const log = open(at, { bytes: 5000 });
  for (let index = 0; index < 100; index += 1) write(log, `p${index}`);
  const { first, last, problems } = verified(at);
  assert.deepEqual([last, problems], [100, []]);
  assert.ok(first > 60 && first < 95, String(first));
  log.close();
  const later = open(at, { now: () => Date.now() + 500 * 86_400_000 });
  for (let index = 0; index < 10; index += 1) write(later, `q${index}`);
  assert.deepEqual([verified(at).problems, verified(at).first > 100], [[], true]);
  later.close();
});

test('a line that a loss of power cut is left out, and the log goes on', () => {
  const at = written(3);
  const [name = ''] = filesIn(at);
  appendFileSync(join(at, name), '{"number":4,"at":"2027');
  const log = open(at);
  log.append(entry('later'));
  log.close();
  assert.deepEqual(verified(at), { entries: 4, first: 1, last: 4, problems: [] });
});

test('entries wait while the folder cannot be written', () => {
  const at = newFolder();
  writeFileSync(at, 'a file in the place of the folder');
  const failures: string[] = [];
  const log = open(at, { failed: (why) => failures.push(why) });
  for (let index = 0; index < 3; index += 1) write(log, `p${index}`);
  assert.ok(failures.length >= 3);
  rmSync(at);
  log.append(entry('p3'));
  log.close();
  assert.deepEqual(verified(at), { entries: 4, first: 1, last: 4, problems: [] });
});

test('on a full disk the system writes a part of a line, which is removed and written again when there is space', async () => {
  const at = newFolder();
  mkdirSync(at);
  await using disk = await smallDisk(at, 1);
  const failures: string[] = [];
  const log = open(disk.path, { fileBytes: 1024 ** 2, failed: (why) => failures.push(why) });
  write(log, 'before');
  await disk.fill();
  // The page that the file has already is filled, and the line that ends in the next one is written in part.
  for (let index = 0; index < 30; index += 1) write(log, `full-${index}`);
  assert.ok(failures.length > 0);
  await disk.empty();
  log.append(entry('after'));
  log.close();
  assert.deepEqual(verified(disk.path), { entries: 32, first: 1, last: 32, problems: [] });
});
