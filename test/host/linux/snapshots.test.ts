import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hdparmArgv, readAbilities } from '../../../src/host/linux/disks-read.ts';
import { readDataset } from '../../../src/host/linux/zfs/read-datasets.ts';
import { readDifference } from '../../../src/host/linux/zfs/read-differences.ts';
import { snapshotsIn } from '../../../src/host/linux/zfs/read-snapshots.ts';
import { standbyCode } from '../../../src/lib/disk.ts';

describe('snapshots', () => {
  test('each line is a snapshot, and a name may contain blanks', () => {
    const [first, second, ...others] = snapshotsIn(
      'tank/a@first\t0\t98304\t1763707283\toff\t-\ntank/a@second one\t57344\t98304\t1763707290\ton\t12\n',
    );
    assert.deepEqual(first, {
      dataset: 'tank/a',
      name: 'first',
      used: 0,
      referenced: 98304,
      created: 1763707283,
      deferred: false,
    });
    assert.deepEqual(second, {
      dataset: 'tank/a',
      name: 'second one',
      used: 57344,
      referenced: 98304,
      created: 1763707290,
      deferred: true,
      task: 12,
    });
    assert.deepEqual(others, []);
    assert.deepEqual([...snapshotsIn('')], []);
    assert.deepEqual(
      Array.from(snapshotsIn('tank@a\t\n\ntank@b'), ({ name }) => name),
      ['a', 'b'],
    );
  });

  const stamp = (members: Readonly<Record<string, string>>, look: number, now: number) => {
    const properties = new Map(
      Object.entries({ guid: '7', origin: '-', snapshots_changed: '1000', ...members }).map(([name, value]) => [
        name,
        { value, source: '-' },
      ]),
    );
    return readDataset('tank/a', properties, { look, now }).snapshotStamp;
  };

  test('a stamp stays the same while nothing but space changes, and differs after any other change', () => {
    const before = stamp({}, 1, 2000);
    assert.equal(stamp({ usedbysnapshots: '512' }, 2, 2001), before);
    for (const change of [{ snapshots_changed: '1001' }, { origin: 'tank/b@s' }, { guid: '8' }])
      assert.notEqual(stamp(change, 1, 2000), before);
  });

  test('while the second of the last change is recent, every look gives another stamp', () => {
    assert.notEqual(stamp({}, 1, 1000.5), stamp({}, 2, 1001));
    assert.equal(stamp({}, 3, 1003.5), stamp({}, 4, 1004));
  });
});

describe('differences', () => {
  const read = (line: string) => readDifference(line, '/mnt/tank');

  test('a line is a change of a file, with its path in the dataset', () => {
    assert.deepEqual(read('M\t/\t/mnt/tank/'), { change: 'changed', kind: 'folder', path: '' });
    assert.deepEqual(read('-\tF\t/mnt/tank/a/b'), { change: 'removed', kind: 'file', path: 'a/b' });
    assert.deepEqual(read('+\t@\t/mnt/tank/link'), { change: 'added', kind: 'link', path: 'link' });
    assert.deepEqual(read('+\t|\t/mnt/tank/pipe'), { change: 'added', kind: 'other', path: 'pipe' });
    assert.deepEqual(read('M\tF\t/mnt/tank/both\t(+1)'), { change: 'changed', kind: 'file', path: 'both' });
    assert.deepEqual(read('R\tF\t/mnt/tank/a\t/mnt/tank/b'), {
      change: 'renamed',
      kind: 'file',
      path: 'a',
      to: 'b',
    });
    assert.equal(read(''), undefined);
  });

  test('bytes that ZFS escapes are read back, also those of a letter of several bytes', () => {
    assert.equal(read('+\tF\t/mnt/tank/a\\0040b\\0303\\0274\\0134')?.path, 'a bü\\');
    assert.equal(read('+\tF\t/mnt/tank/a\\0011b\\0012')?.path, 'a\tb\n');
  });
});

describe('settings of disks', () => {
  test('a disk has the abilities that udev found', () => {
    const database =
      'S:disk/by-id/ata-X\nE:ID_ATA=1\nE:ID_ATA_FEATURE_SET_PM=1\nE:ID_ATA_FEATURE_SET_APM=1\nE:ID_ATA_FEATURE_SET_APM_ENABLED=0\nE:ID_ATA_FEATURE_SET_SMART=1\n';
    assert.deepEqual(readAbilities(database), ['standby', 'power', 'smart']);
    assert.deepEqual(readAbilities('E:ID_ATA_FEATURE_SET_AAM=0\n'), []);
    assert.deepEqual(readAbilities(''), []);
  });

  test('hdparm gets only the given settings', () => {
    assert.deepEqual(hdparmArgv({ standby: 30, power: 255, acoustics: 0 }), ['-S', '241', '-B', '255', '-M', '0']);
    assert.deepEqual(hdparmArgv({ smart: { on: true, options: [] } }), []);
  });

  test('minutes of standby are written as ATA counts them', () => {
    assert.deepEqual(
      [0, 5, 10, 20, 30, 60, 120, 180, 240, 300, 330].map(standbyCode),
      [0, 60, 120, 240, 241, 242, 244, 246, 248, 250, 251],
    );
  });
});
