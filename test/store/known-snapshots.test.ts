import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { appended, noSnapshots } from '../../src/engine/facts/snapshot-columns.ts';
import type { SnapshotPart } from '../../src/engine/facts/snapshot-index.ts';
import type { Host } from '../../src/host/ports/index.ts';
import { KnownSnapshots, knownSnapshotsFile } from '../../src/store/known-snapshots.ts';
import { type Appliance, appliance, GiB } from '../support/appliance.ts';
import { scratchFolder } from '../support/hosts.ts';
import { withPorts } from '../support/ports.ts';

const columns = appended(noSnapshots, [
  { dataset: 'tank', name: 'monday', used: 2 ** 50, referenced: 1, created: 1_700_000_000, deferred: false, task: 3 },
  { dataset: 'tank', name: 'dimanche – été', used: 0, referenced: 7, created: 1_700_000_001, deferred: true },
]);
const parts: readonly SnapshotPart[] = [
  { dataset: 'tank', kind: 'filesystem', stamp: '42', space: 512, columns },
  { dataset: 'tank/v', kind: 'volume', stamp: '43 ', space: 0, columns: noSnapshots },
];

async function known(t: TestContext) {
  const folder = await scratchFolder(t);
  const warnings: string[] = [];
  const note = (_fields: object, message: string) => void warnings.push(message);
  const log = { debug: note, info: note, warn: note, error: note };
  return { folder, file: knownSnapshotsFile(folder), warnings, store: new KnownSnapshots(folder, log) };
}

test('what a run knew is read by the next one', async (t) => {
  const { store, warnings } = await known(t);
  assert.deepEqual(store.read(), []);
  store.write(parts);
  assert.deepEqual(store.read(), parts);
  assert.deepEqual(warnings, []);
});

test('a run that saw no dataset leaves what was known before', async (t) => {
  const { store } = await known(t);
  store.write(parts);
  store.write([]);
  assert.deepEqual(store.read(), parts);
});

test('nothing is read from a file that is damaged or cut short at any place, and the log says so', async (t) => {
  const { store, file, warnings } = await known(t);
  store.write(parts);
  const whole = readFileSync(file);
  fc.assert(
    fc.property(fc.nat({ max: whole.length - 1 }), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, bits, cuts) => {
      const damaged = cuts ? whole.subarray(0, at) : Buffer.from(whole);
      if (!cuts) damaged[at] = (damaged[at] ?? 0) ^ bits;
      writeFileSync(file, damaged);
      warnings.length = 0;
      assert.deepEqual(store.read(), []);
      assert.equal(warnings.length, 1);
    }),
  );
});

/** Tells `asks` the arguments of each list of snapshots. */
function noting(asks: (names: readonly string[] | 'all') => void): (host: Host) => Host {
  return (host) =>
    withPorts(host, (name, port) =>
      name !== 'zfs'
        ? port
        : Object.assign(Object.create(port), {
            snapshots: (names?: readonly string[]) => {
              asks(names ?? 'all');
              return host.zfs.snapshots(names);
            },
          }),
    );
}

test('a start lists the snapshots of changed datasets only, and what it recalled afterwards', async () => {
  const first = await appliance({ disks: [GiB] });
  const { api, folder } = first;
  await api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
  for (const name of ['a', 'b']) {
    await api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
    await api.expect(201, 'POST', 'storage/snapshot/', { dataset: `tank/${name}`, name: 'first' });
    // A look at a snapshot does not tell what else its dataset has.
    await api.expect(200, 'PUT', `storage/dataset/tank/${name}/`, { comments: name });
  }
  await first.app.close();
  assert.ok(existsSync(knownSnapshotsFile(folder)));
  const asked: (readonly string[] | 'all')[] = [];
  const verified = Promise.withResolvers<void>();
  await using second = await appliance({
    folder,
    around: noting((names) => {
      asked.push(names);
      if (names.includes('tank/a')) verified.resolve();
    }),
    // Between the two runs, by another program.
    before: (machine) => machine.zfs.createSnapshot('tank/b@second'),
  });
  assert.deepEqual(asked, [['tank/b']]);
  const all = ['tank/a@first', 'tank/b@first', 'tank/b@second'];
  assert.deepEqual(await idsIn(second), all);
  await verified.promise;
  assert.deepEqual(asked.slice(1), [['tank', 'tank/a']]);
  assert.deepEqual(await idsIn(second), all);
});

async function idsIn({ api }: Appliance): Promise<readonly unknown[]> {
  return (await api.list('storage/snapshot/')).map(({ id }) => id);
}
