import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absence, datasetOf, mountState } from '../../../src/engine/facts/places.ts';
import type { Storage } from '../../../src/engine/facts/storage-facts.ts';
import { machine } from '../../subsystems/support/configuration.ts';

const [tank] = machine.storage.datasets.values();
assert.ok(tank !== undefined);
const dataset = (name: string, mountpoint: string | undefined, kind: 'filesystem' | 'volume' = 'filesystem') =>
  [name, { ...tank, name, mountpoint, kind }] as const;

const storage: Storage = {
  ...machine.storage,
  datasets: new Map([
    ...machine.storage.datasets,
    dataset('tank/papers', '/mnt/tank/papers'),
    dataset('tank/secret', undefined),
    dataset('tank/secret/below', '/mnt/tank/secret/below'),
    dataset('tank/elsewhere', '/mnt/tank/moved'),
    dataset('tank/disk', undefined, 'volume'),
  ]),
};

test('what lies in a place is there while the dataset that holds it is mounted', () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['/mnt/tank', undefined],
    ['/mnt/tank/papers/a', undefined],
    ['/mnt/tank/secret', 'the dataset tank/secret is not mounted'],
    ['/mnt/tank/secret/a/b', 'the dataset tank/secret is not mounted'],
    ['/mnt/tank/secret/below/a', undefined],
    ['/mnt/tank/disk', undefined],
    ['/mnt/locked/a', 'the volume locked is not mounted'],
    ['/mnt/away/a', 'the volume away is missing'],
  ];
  for (const [path, why] of cases) assert.equal(absence({ path }, storage), why, path);
  assert.equal(absence({ dataset: 'tank/none' }, storage), 'the dataset tank/none is missing');
  assert.equal(absence({ dataset: 'tank/disk' }, storage), undefined);
});

test('the dataset of a path is the one that is mounted deepest above it', () => {
  assert.equal(datasetOf('/mnt/tank/papers/a', storage), 'tank/papers');
  assert.equal(datasetOf('/mnt/tank/moved/a', storage), 'tank/elsewhere');
  assert.equal(datasetOf('/mnt/tank/a', storage), 'tank');
  assert.equal(datasetOf('/mnt/locked/a', storage), undefined);
  assert.equal(datasetOf('/dev/ada0', storage), undefined);
});

test('the state of the mounts changes when a dataset is mounted, and not when one fills up', () => {
  const [name, secret] = dataset('tank/secret', '/mnt/tank/secret');
  const fuller = {
    ...storage,
    datasets: new Map([...storage.datasets].map(([key, one]) => [key, { ...one, used: 7 }])),
  };
  assert.equal(mountState(fuller), mountState(storage));
  assert.notEqual(
    mountState({ ...storage, datasets: new Map([...storage.datasets, [name, secret]]) }),
    mountState(storage),
  );
});
