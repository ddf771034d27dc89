import assert from 'node:assert/strict';
import { fstatSync } from 'node:fs';
import { test } from 'node:test';
import pino from 'pino';
import { isJournal, withPriorities } from '../../src/cli/journal.ts';

test('each line begins with the priority of its level', () => {
  const lines: string[] = [];
  const log = pino({ level: 'debug', base: null }, withPriorities({ write: (line) => lines.push(line) }));
  log.debug('a');
  log.info('b');
  log.warn('c');
  log.error('d');
  log.fatal('e');
  assert.deepEqual(
    lines.map((line) => [line.slice(0, 3), JSON.parse(line.slice(3)).msg]),
    [
      ['<7>', 'a'],
      ['<6>', 'b'],
      ['<4>', 'c'],
      ['<3>', 'd'],
      ['<2>', 'e'],
    ],
  );
});

test('the journal is recognised by device and inode of standard output', () => {
  const { dev, ino } = fstatSync(1);
  assert.equal(isJournal(`${dev}:${ino}`), true);
  assert.equal(isJournal(`${dev}:${ino + 1}`), false);
  assert.equal(isJournal(undefined), false);
});
