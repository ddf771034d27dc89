import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { zfsEventLines, zfsEventReader } from '../../../src/host/linux/zfs/events.ts';
import type { ZfsEvent } from '../../../src/host/ports/zfs.ts';
import { anyCharacter } from '../../support/arbitrary.ts';

function eventsIn(text: string): readonly ZfsEvent[] {
  const read = zfsEventReader();
  return text
    .split('\n')
    .filter((line) => zfsEventLines.test(line))
    .flatMap((line) => read(line) ?? []);
}

const event = (lines: Readonly<Record<string, string>>) =>
  `Nov 22 2026 07:46:00.123456789\t${lines['class']}\n${Object.entries(lines)
    .map(([name, value]) => `        ${name} = ${value.startsWith('0x') ? value : `"${value}"`}\n`)
    .join('')}\n`;

const history = (what: string, dataset: string) =>
  event({
    version: '0x0',
    class: 'sysevent.fs.zfs.history_event',
    pool: 'tank',
    pool_guid: '0x8ab1d3d2a9d0b1c4',
    history_dsname: dataset,
    history_internal_str: ' = weird \\"text',
    history_internal_name: what,
    time: '0x65600000 0x1dcd6500 ',
  });

test('an event of a dataset or snapshot names it, in milliseconds', () => {
  assert.deepEqual(eventsIn(history('snapshot', 'tank/media@monday')), [
    { subject: { dataset: 'tank/media', snapshot: 'monday' }, at: 0x65600000 * 1000 + 500 },
  ]);
});

test('a change that the datasets below inherit or move with is an event of the whole tree', () => {
  const subjectOf = (what: string) => eventsIn(history(what, 'tank/media'))[0]?.subject;
  assert.deepEqual(subjectOf('create'), { dataset: 'tank/media' });
  assert.deepEqual(subjectOf('destroy'), { dataset: 'tank/media', below: true });
  assert.deepEqual(subjectOf('finish receiving'), { dataset: 'tank/media', below: true });
  assert.deepEqual(subjectOf('rename'), { dataset: 'tank', below: true });
});

test('a setting is an event of what is known below, and one of a snapshot concerns it alone', () => {
  const subjectOf = (what: string, dataset: string) => eventsIn(history(what, dataset))[0]?.subject;
  for (const what of ['set', 'inherit']) {
    assert.deepEqual(subjectOf(what, 'tank/media'), { dataset: 'tank/media', below: 'known' });
    assert.deepEqual(subjectOf(what, 'tank/media@monday'), { dataset: 'tank/media', snapshot: 'monday' });
    assert.deepEqual(subjectOf(what, 'tank/media#monday'), { dataset: 'tank/media' });
  }
  assert.deepEqual(subjectOf('destroy', 'tank/media@monday'), { dataset: 'tank/media', snapshot: 'monday' });
  // What changes others too is looked at as a whole.
  assert.deepEqual(subjectOf('rollback', 'tank/media@monday'), { dataset: 'tank/media', below: true });
  assert.deepEqual(subjectOf('release', 'tank/media@monday'), { dataset: 'tank/media' });
});

test('an event of a pool names the pool, and a new or removed pool concerns all pools', () => {
  const subjectOf = (name: string) => eventsIn(event({ class: name, pool: 'tank', time: '0x1 0x0 ' }))[0]?.subject;
  assert.deepEqual(subjectOf('resource.fs.zfs.statechange'), { pool: 'tank' });
  assert.deepEqual(subjectOf('sysevent.fs.zfs.scrub_start'), { pool: 'tank' });
  assert.equal(subjectOf('sysevent.fs.zfs.pool_import'), 'everything');
  assert.equal(subjectOf('sysevent.fs.zfs.pool_destroy'), 'everything');
});

test('an event without a pool or a time is not ignored', () => {
  assert.deepEqual(eventsIn(event({ class: 'sysevent.fs.zfs.unheard_of' })), [
    { subject: 'everything', at: Number.MAX_SAFE_INTEGER },
  ]);
});

test('no text breaks the reader, and each complete event is read', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constant(history('create', 'tank/a')), fc.string(), fc.string({ unit: anyCharacter }))),
      (parts) => {
        const events = eventsIn(parts.join('\n\n'));
        assert.ok(
          events.filter(({ subject }) => subject !== 'everything' && 'dataset' in subject).length >=
            parts.filter((part) => part.startsWith('Nov')).length,
        );
      },
    ),
  );
});
