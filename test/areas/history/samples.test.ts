import assert from 'node:assert/strict';
import { test } from 'node:test';
import { valuesOf } from '../../../src/areas/history/samples.ts';
import { nameOf, seriesOf } from '../../../src/areas/history/series.ts';
import type { Reading } from '../../../src/host/ports/statistics.ts';

const reading = (seconds: number, factor: number): Reading => ({
  elapsed: seconds * 1000,
  processor: { busy: 10 * factor, total: 100 * factor },
  memory: { total: 1000, available: 400 },
  cache: { size: 77, hits: 90 * factor, misses: 10 * factor },
  pools: new Map([
    [
      'tank',
      { elapsed: seconds * 1000, reads: 10 * factor, writes: 20 * factor, read: 1000 * factor, written: 500 * factor },
    ],
  ]),
  disks: new Map([
    [
      'sda',
      {
        ...{ reads: 10 * factor, writes: 0, read: 0, written: 0 },
        ...{ readTime: 50 * factor, writeTime: 0, temperature: 33 },
      },
    ],
  ]),
  links: new Map([['eth0', { received: 2000 * factor, sent: 100 * factor }]]),
  connections: new Map([[445, 3]]),
});

const around = {
  pools: [{ name: 'tank', used: 100, size: 400, disks: ['sda'] }],
  disks: [{ name: 'sda', key: 'S/N 1', errors: 2 }],
  links: ['eth0'],
  services: [{ name: 'cifs', ports: [139, 445] }],
};

test('rates are those of the time between two readings', () => {
  assert.deepEqual(
    [...valuesOf(reading(0, 1), reading(10, 2), around)],
    [
      ['system/processor', 10],
      ['system/memory', 600],
      ['system/cache', 77],
      ['system/cache_hits', 90],
      ['pool/tank/used', 100],
      ['pool/tank/size', 400],
      ['pool/tank/read', 100],
      ['pool/tank/written', 50],
      ['pool/tank/reads', 1],
      ['pool/tank/writes', 2],
      ['pool/tank/read_latency', 5],
      ['disk/S_N_1/temperature', 33],
      ['disk/S_N_1/errors', 2],
      ['interface/eth0/received', 200],
      ['interface/eth0/sent', 10],
      ['service/cifs/sessions', 3],
    ],
  );
});

test('a first reading, and counters that began again, have levels and no rates', () => {
  const levels = [
    ...['system/memory', 'system/cache', 'pool/tank/used', 'pool/tank/size'],
    ...['disk/S_N_1/temperature', 'disk/S_N_1/errors', 'service/cifs/sessions'],
  ];
  assert.deepEqual([...valuesOf(undefined, reading(0, 1), around).keys()], levels);
  assert.deepEqual([...valuesOf(reading(0, 9), reading(10, 1), around).keys()], levels);
});

test('the name of a series says what it is of', () => {
  assert.deepEqual(seriesOf(nameOf('disk', 'S/N 1', 'temperature')), {
    ...{ subject: 'disk', of: 'S_N_1', metric: 'temperature', unit: 'celsius' },
  });
  assert.equal(seriesOf(nameOf('system', '', 'memory'))?.unit, 'bytes');
  for (const wrong of ['', 'pool', 'pool/tank', 'pool/tank/none', 'system/x/memory', 'pool/tank/constructor'])
    assert.equal(seriesOf(wrong), undefined, wrong);
});
