import assert from 'node:assert/strict';
import { test } from 'node:test';
import { receivedDatasetProblems } from '../../../src/areas/storage/received-datasets.ts';
import type { Dataset } from '../../../src/host/ports/zfs.ts';
import { freshConfiguration, machine } from '../../subsystems/support/configuration.ts';

const tank = machine.storage.datasets.get('tank') ?? assert.fail('no dataset');
const problemsWith = (...datasets: readonly Partial<Dataset>[]) => {
  const all = datasets.map((one) => ({
    ...tank,
    mountpoint: undefined,
    properties: { readonly: 'on' },
    inherited: [],
    ...one,
  }));
  const storage = { ...machine.storage, datasets: new Map(all.map((one) => [one.name, one])) };
  return receivedDatasetProblems({ view: freshConfiguration(), facts: { ...machine, storage } });
};

test('datasets that a replication received and that are not mounted are named, once for each volume', () => {
  const [only, ...none] = problemsWith({ name: 'tank/copy' });
  assert.deepEqual(none, []);
  assert.deepEqual([only?.about, only?.severity], ['storage/volume/tank', 'info']);
  assert.match(only?.message ?? '', /^The dataset tank\/copy was received .*zfs mount -a\.$/);
  const [several, ...others] = problemsWith({ name: 'tank/a' }, { name: 'tank/b' }, { name: 'tank/c' });
  assert.deepEqual(others, []);
  assert.match(several?.message ?? '', /^3 datasets of the volume tank, such as tank\/a, /);
});

test('what is mounted, locked, writable, read-only by its parent or a zvol is not such a dataset', () => {
  for (const other of [
    { mountpoint: '/mnt/tank/a' },
    { key: 'unavailable' },
    { properties: { readonly: 'off' } },
    { inherited: ['readonly'] },
    { kind: 'volume' },
  ] as const)
    assert.deepEqual(problemsWith({ name: 'tank/a', ...other }), []);
});
