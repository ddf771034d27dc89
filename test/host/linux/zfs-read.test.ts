import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asking } from '../../../src/host/linux/zfs/properties.ts';
import { describing, ownValue, readDataset } from '../../../src/host/linux/zfs/read-datasets.ts';
import { readImportable, readLabel } from '../../../src/host/linux/zfs/read-labels.ts';
import { readPools } from '../../../src/host/linux/zfs/read-pools.ts';
import type { Pool } from '../../../src/host/ports/zfs.ts';
import { recording } from './support.ts';

const none = '{"pools":{}}';
const lastPart = (path: string) => path.slice(path.lastIndexOf('/') + 1).replace(/^lab-/, '');
const poolsOf = (status: string, properties = none) => readPools(status, properties, lastPart);
const scanOf = (name: string) => poolsOf(recording(name))[0]?.scan;
const groupsOf = (pool: Pool | undefined) =>
  pool?.groups.map(
    (group) =>
      `${group.kind} ${group.name} ${group.health}: ${group.devices.map((device) => `${device.disk} ${device.health}`).join(', ')}`,
  );

describe('pools', () => {
  const [old, tank] = poolsOf(recording('pools-status.json'), recording('pools-get.json'));

  test('a pool has its sizes, its health and a guid of more than 53 bits', () => {
    assert.equal(tank?.name, 'tank');
    assert.equal(tank.health, 'ONLINE');
    assert.equal(tank.guid, '5412414569266980540');
    assert.equal(tank.size, 1006632960);
    assert.equal(tank.size, tank.allocated + tank.free);
    assert.equal(tank.scan, undefined);
  });

  test('what only those who watch a pool need comes from the same output', () => {
    const usual = { freeing: 0, leaked: 0, fragmentation: 0.02, deduplication: 1, isReadonly: false };
    assert.deepEqual(tank?.figures, usual);
    const set = (name: string, value: string, text: string) =>
      text.replaceAll(new RegExp(`("${name}":\\{[^{}]*?"value":")[^"]*`, 'g'), `$1${value}`);
    const other = Object.entries({
      freeing: '8192',
      leaked: '512',
      fragmentation: '-',
      dedupratio: '2.50',
      readonly: 'on',
    });
    const text = other.reduce((all, [name, value]) => set(name, value, all), recording('pools-get.json'));
    assert.deepEqual(poolsOf(recording('pools-status.json'), text)[1]?.figures, {
      ...{ freeing: 8192, leaked: 512, fragmentation: undefined, deduplication: 2.5, isReadonly: true },
    });
  });

  test('the data groups come first, then logs, caches and spares', () => {
    assert.deepEqual(groupsOf(tank), [
      'mirror mirror-0 ONLINE: ubdc ONLINE, ubdd ONLINE',
      'log mirror-1 ONLINE: ubde ONLINE, ubdf ONLINE',
      'cache ubdg ONLINE: ubdg ONLINE',
      'spare ubdh ONLINE: ubdh AVAIL',
    ]);
    assert.equal(tank?.groups[0]?.devices[0]?.label, 'disk/by-id/lab-ubdc');
    assert.equal(tank?.groups[1]?.devices[0]?.label, 'ubde');
  });

  test('a single disk is a stripe of its name', () => {
    assert.deepEqual(groupsOf(old), ['stripe ubdi ONLINE: ubdi ONLINE']);
  });

  test('a pool that lacks a feature is not upgraded', () => {
    assert.equal(tank?.upgraded, true);
    assert.equal(old?.upgraded, false);
  });

  test('an empty output has no pools', () => {
    assert.deepEqual(poolsOf(none), []);
  });

  test('a missing disk is shown with its former path and addressed by its guid', () => {
    const [pool] = poolsOf(recording('gone-status.json'));
    assert.equal(pool?.health, 'DEGRADED');
    assert.deepEqual(groupsOf(pool)?.[0], 'mirror mirror-0 DEGRADED: ubdc ONLINE, disk/by-id/lab-ubdd OFFLINE');
    assert.equal(pool.groups[0]?.devices[1]?.label, '12775988554518596461');
  });

  test('a device that cannot be opened is UNAVAIL', () => {
    const [pool] = poolsOf(recording('unavailable-status.json'));
    assert.deepEqual(
      pool?.groups[0]?.devices.map((device) => device.health),
      ['ONLINE', 'UNAVAIL', 'ONLINE'],
    );
  });

  test('a spare in use is in the group of the disk that it replaces', () => {
    const [pool] = poolsOf(recording('spare-status.json'));
    assert.deepEqual(
      pool?.groups[0]?.devices.map((device) => device.disk),
      ['ubdc', 'disk/by-id/lab-ubdd', 'ubdh'],
    );
    assert.equal(pool.groups.at(-1)?.devices[0]?.health, 'INUSE');
    assert.deepEqual(pool.scan, { kind: 'resilver', state: 'finished', percent: 100, errors: 0, ended: 1_795_241_902 });
  });

  test('raidz groups are recognised by their name', () => {
    const kinds = (name: string) =>
      poolsOf(recording('unavailable-status.json').replaceAll('raidz1-0', name))[0]?.groups[0]?.kind;
    assert.deepEqual(['raidz1-0', 'raidz2-0', 'raidz3-0', 'draid2:4d:8c:1s-0'].map(kinds), [
      'raidz',
      'raidz2',
      'raidz3',
      'raidz2',
    ]);
  });

  test('a scrub runs, is paused, is cancelled', () => {
    const current = { kind: 'scrub', percent: 0, errors: 0, began: 1_795_241_911 };
    assert.deepEqual(scanOf('running-status.json'), { ...current, state: 'running' });
    assert.deepEqual(scanOf('paused-status.json'), { ...current, state: 'paused' });
    assert.deepEqual(scanOf('cancelled-status.json'), { kind: 'scrub', state: 'cancelled', percent: 0, errors: 0 });
    const half = recording('running-status.json').replace('"issued":"0"', '"issued":"315348992"');
    assert.equal(poolsOf(half)[0]?.scan?.percent, 50);
  });

  test('a partition is shown as the disk that it is on', () => {
    const status = recording('pools-status.json').replaceAll(
      '/dev/disk/by-id/lab-ubdi',
      '/dev/disk/by-id/ata-MAKER_S1-part1',
    );
    const [pool] = readPools(status, none, (path) => (path.endsWith('ata-MAKER_S1-part1') ? 'sdb' : undefined));
    const device = pool?.groups[0]?.devices[0];
    assert.equal(device?.disk, 'sdb');
    assert.equal(device.label, 'disk/by-id/ata-MAKER_S1-part1');
  });
});

describe('datasets', () => {
  const question = asking(describing, 'holdfast:end');
  const datasets = new Map(
    Array.from(question.read(recording('datasets-get.txt')), ([name, properties]) => [
      name,
      readDataset(name, properties, { now: 2_000_000_000, look: 1 }),
    ]),
  );

  test('what was asked is what was recorded', () => {
    const asked = question.argv([]).at(-1)?.split(',');
    const lines = recording('datasets-get.txt').split('\n');
    assert.deepEqual(
      lines.filter((line) => line.startsWith('tank\t')).map((line) => line.split('\t')[1]),
      asked,
    );
    assert.deepEqual([...datasets.keys()].slice(0, 4), ['old', 'tank', 'tank/a', 'tank/a/b c']);
  });

  test('a property that a dataset sets is not inherited', () => {
    const dataset = datasets.get('tank/a');
    assert.equal(dataset?.properties.quota, '104857600');
    assert.equal(dataset.properties.compression, 'on');
    assert.ok(!dataset.inherited.includes('quota'));
    assert.ok(dataset.inherited.includes('compression'));
    assert.equal(dataset.mountpoint, '/mnt/tank/a');
  });

  test('a comment is not inherited', () => {
    assert.equal(datasets.get('tank/a')?.comment, 'Fotos & "x", ä\tb 😀');
    assert.equal(datasets.get('tank/v')?.comment, 'two\nlines');
    assert.equal(datasets.get('tank/a/b c')?.comment, undefined);
  });

  test('a volume has no mountpoint and no properties of filesystems', () => {
    const volume = datasets.get('tank/v');
    assert.equal(volume?.kind, 'volume');
    assert.equal(volume.mountpoint, undefined);
    assert.equal(volume.properties.volsize, '10485760');
    assert.equal(volume.properties.quota, undefined);
    assert.equal(volume.properties.casesensitivity, undefined);
    assert.ok(!volume.inherited.includes('casesensitivity'));
  });

  test('a dataset that is not mounted has no mountpoint', () => {
    assert.equal(datasets.get('tank/unmounted')?.mountpoint, undefined);
  });

  test('a mount point is read whole', () => {
    assert.equal(datasets.get('tank/odd')?.mountpoint, '/mnt/x\ny');
  });

  test('a clone has an origin and settings of its own', () => {
    const clone = datasets.get('tank/clone');
    assert.equal(clone?.origin, 'tank/a@s');
    assert.equal(clone.properties.atime, 'off');
    assert.ok(!clone.inherited.includes('atime'));
    assert.equal(clone.isUntouched, true);
    assert.equal(datasets.get('tank/a')?.isUntouched, false);
  });

  test('only properties that the dataset itself sets are its settings', () => {
    const asked = asking(['quota', 'compression', 'holdfast:comment'], 'holdfast:end');
    const settings = new Map(asked.read(recording('own-settings.txt'))).get('tank/a') ?? new Map();
    assert.equal(ownValue(settings, 'quota'), '104857600');
    assert.equal(ownValue(settings, 'compression'), undefined);
    assert.equal(ownValue(settings, 'holdfast:comment'), 'Fotos & "x", ä\tb 😀');
  });
});

test('a label is read for an importable pool, not for a destroyed one', () => {
  assert.deepEqual(readLabel(recording('label-exported.txt')), {
    pool: 'tank',
    guid: '5412414569266980540',
    hostname: 'nas0',
    isInUse: false,
    version: '5000',
  });
  for (const name of ['destroyed', 'none', 'cache', 'spare'])
    assert.equal(readLabel(recording(`label-${name}.txt`)), undefined, name);
});

test('importable pools are read from the output of zpool import, with their missing devices', () => {
  const text = `   pool: tank
     id: 9930174748043525076
  state: DEGRADED
status: One or more devices contains corrupted data.
 action: The pool can be imported despite missing or damaged devices.  The
\tfault tolerance of the pool may be compromised if imported.
   see: https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-4J
 config:

\ttank                     DEGRADED
\t  mirror-0               DEGRADED
\t    ubdc                 ONLINE
\t    4815162342           UNAVAIL  corrupted data
\tcache
\t  ubde
\tspares
\t  ubdf
\tlogs
\t  ubdg                   ONLINE

   pool: two
     id: 11
  state: ONLINE
 action: The pool can be imported using its name or numeric identifier.
 config:

\ttwo         ONLINE
\t  raidz2-0  ONLINE
\t    ubdh    ONLINE
`;
  assert.deepEqual(
    readImportable(text).map(({ status }) => status),
    ['One or more devices contains corrupted data.', undefined],
  );
  const pools = readImportable(text).map(({ name, guid, health, groups }) => [
    name,
    guid,
    health,
    groups.map(
      (group) =>
        `${group.kind} ${group.name} ${group.health}: ${group.devices.map((device) => `${device.name} ${device.health}`).join(', ')}`,
    ),
  ]);
  assert.deepEqual(pools, [
    [
      'tank',
      '9930174748043525076',
      'DEGRADED',
      [
        'mirror mirror-0 DEGRADED: ubdc ONLINE, 4815162342 UNAVAIL',
        'cache ubde ONLINE: ubde ONLINE',
        'spare ubdf ONLINE: ubdf ONLINE',
        'log ubdg ONLINE: ubdg ONLINE',
      ],
    ],
    ['two', '11', 'ONLINE', ['raidz2 raidz2-0 ONLINE: ubdh ONLINE']],
  ]);
});

test('what ZFS says of a pool before its import is read with the features that this machine lacks', () => {
  const [pool] = readImportable(`   pool: old
     id: 12
  state: UNAVAIL
status: The pool uses the following feature(s) not supported on this system:
\torg.example:future (Something that is not known here.)
action: The pool cannot be imported. Access the pool on a system that supports
\tthe required feature(s), or recreate the pool from backup.
 config:

\told         UNAVAIL  unsupported feature(s)
\t  ubdh      ONLINE
`);
  assert.equal(
    pool?.status,
    'The pool uses the following feature(s) not supported on this system: org.example:future (Something that is not known here.)',
  );
});
