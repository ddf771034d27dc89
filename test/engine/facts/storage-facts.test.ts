import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { StorageLooks } from '../../../src/engine/facts/storage-facts.ts';
import type { DatasetScope, Zfs, ZfsEvent } from '../../../src/host/ports/zfs.ts';
import { virtualHost } from '../../support/hosts.ts';

/**
 * ZFS of a virtual machine that records what is listed. With `slow`, a result is computed immediately and returned that many
 * turns of the event loop later, so that looks overtake one another.
 */
async function machineWithPool(
  t: TestContext,
  slow: () => number = () => 0,
  atRest: () => Promise<void> = async () => {},
) {
  const { disks, zfs } = await virtualHost(t);
  const [disk] = await disks.list();
  await zfs.createPool({
    name: 'tank',
    groups: [{ kind: 'stripe', disks: [disk?.name ?? ''] }],
    mountpoint: '/mnt/tank',
  });
  const listed: (DatasetScope | 'everything')[] = [];
  const asked: (readonly string[] | 'everything')[] = [];
  const named: (readonly string[])[] = [];
  const later = async <T>(answer: Promise<T>): Promise<T> => {
    const turns = slow();
    const it = await answer;
    for (let left = turns; left > 0; left -= 1) await turn();
    return it;
  };
  const watched: Zfs = Object.assign(Object.create(zfs), {
    pools: (names?: readonly string[]) => later(zfs.pools(names)),
    datasets: (scope?: DatasetScope) => {
      listed.push(scope ?? 'everything');
      return later(zfs.datasets(scope));
    },
    named: (names: readonly string[]) => {
      named.push(names);
      return later(zfs.named(names));
    },
    snapshots: (names?: readonly string[]) => {
      asked.push(names ?? 'everything');
      return later(zfs.snapshots(names));
    },
  });
  let clock = 0;
  const now = () => {
    clock += 1;
    return clock;
  };
  const looks = new StorageLooks(watched, { now, changed: () => {}, atRest });
  await looks.renewAll();
  listed.length = 0;
  asked.length = 0;
  const pass = (milliseconds: number) => {
    clock += milliseconds;
  };
  return { zfs, watched, looks, listed, asked, named, now, pass };
}

const namesIn = (looks: StorageLooks) => [...looks.storage.datasets.keys()];
const snapshotsIn = (looks: StorageLooks) => Array.from(looks.storage.snapshots.all, ({ id }) => id);

test('a look at a dataset lists only the dataset and its parents', async (t) => {
  const { zfs, looks, listed } = await machineWithPool(t);
  for (const name of ['tank/a', 'tank/a/b', 'tank/other']) await zfs.createDataset(name);
  await zfs.createSnapshot('tank/a/b@monday');
  await looks.renew([{ dataset: 'tank/a/b' }]);
  assert.deepEqual(listed, [{ names: ['tank', 'tank/a', 'tank/a/b'], trees: [] }]);
  assert.deepEqual(namesIn(looks), ['tank', 'tank/a', 'tank/a/b']);
  assert.deepEqual(snapshotsIn(looks), ['tank/a/b@monday']);
});

test('what was destroyed is not listed, unless it was made again', async (t) => {
  const { zfs, looks, listed, now } = await machineWithPool(t);
  const make = async () => {
    for (const name of ['tank/a', 'tank/a/b', 'tank/a/b/c']) await zfs.createDataset(name);
  };
  await make();
  await looks.renewAll();
  const at = now();
  await zfs.destroyDataset('tank/a/b', { recursive: true });
  await looks.renew([{ dataset: 'tank/a/b', below: true, isGone: true }]);
  assert.deepEqual(listed.slice(1), [{ names: ['tank', 'tank/a'], trees: [] }]);
  assert.deepEqual(namesIn(looks), ['tank', 'tank/a']);
  // Its own event has been covered, that of one that another program makes has not.
  await looks.heed([
    { subject: { dataset: 'tank/a/b', below: 'known' }, at },
    { subject: { dataset: 'tank/a/b/c', below: true }, at },
    { subject: { dataset: 'tank/a/b', below: true }, at },
  ]);
  assert.equal(listed.length, 2);
  await zfs.createDataset('tank/a/b');
  await looks.heed([{ subject: { dataset: 'tank/a/b' }, at: now() }]);
  assert.deepEqual(namesIn(looks), ['tank', 'tank/a', 'tank/a/b']);
  await zfs.destroyDataset('tank/a', { recursive: true });
  await make();
  await looks.renew([{ dataset: 'tank/a', below: true, isGone: true }, { dataset: 'tank/a/b' }]);
  assert.deepEqual(namesIn(looks), ['tank', 'tank/a', 'tank/a/b', 'tank/a/b/c']);
});

test('a look at a dataset with those below it that are known lists them by name, and covers the event of the change', async (t) => {
  const { zfs, looks, listed, now } = await machineWithPool(t);
  for (const name of ['tank/a', 'tank/a/b', 'tank/ab']) await zfs.createDataset(name);
  await looks.renewAll();
  await zfs.createDataset('tank/a/theirs');
  const at = now();
  await zfs.changeDataset('tank/a', { properties: { atime: 'off' } });
  await looks.renew([{ dataset: 'tank/a', below: 'known' }]);
  assert.deepEqual(listed.slice(1), [{ names: ['tank', 'tank/a', 'tank/a/b'], trees: [] }]);
  assert.equal(looks.storage.datasets.get('tank/a/b')?.properties.atime, 'off');
  await looks.heed([{ subject: { dataset: 'tank/a', below: 'known' }, at }]);
  assert.equal(listed.length, 2);
  // What moves something may bring what is not known.
  await looks.heed([{ subject: { dataset: 'tank/a', below: true }, at }]);
  assert.deepEqual(listed[2], { names: ['tank'], trees: ['tank/a'] });
  await looks.heed([{ subject: { dataset: 'tank/a/theirs' }, at: now() }]);
  assert.deepEqual(namesIn(looks), ['tank', 'tank/a', 'tank/a/b', 'tank/a/theirs', 'tank/ab']);
});

test('a look at those below a dataset that are known never hides what a look at everything finds', async (t) => {
  let isSlow = true;
  const { zfs, looks } = await machineWithPool(t, () => (isSlow ? 50 : 0));
  for (const name of ['tank/a', 'tank/a/b']) await zfs.createDataset(name);
  const everything = looks.renewAll();
  isSlow = false;
  await looks.renew([{ dataset: 'tank/a', below: 'known' }]);
  await everything;
  assert.deepEqual(namesIn(looks), ['tank', 'tank/a', 'tank/a/b']);
});

test('datasets of a suspended pool, which ZFS does not list, stay with their snapshots', async (t) => {
  const { zfs, watched, looks } = await machineWithPool(t);
  await zfs.createDataset('tank/a');
  await zfs.createSnapshot('tank/a@monday');
  await looks.renewAll();
  const pools = await zfs.pools();
  watched.pools = async () => pools.map((pool) => ({ ...pool, health: 'SUSPENDED' }));
  watched.datasets = async () => [];
  await looks.renewAll();
  assert.deepEqual(namesIn(looks), ['tank', 'tank/a']);
  assert.deepEqual(snapshotsIn(looks), ['tank/a@monday']);
  watched.pools = async () => pools;
  await looks.renewAll();
  assert.deepEqual(namesIn(looks), []);
});

test('a removed dataset is removed together with its children', async (t) => {
  const { zfs, looks } = await machineWithPool(t);
  for (const name of ['tank/a', 'tank/a/b', 'tank/ab']) await zfs.createDataset(name);
  await looks.renewAll();
  await zfs.destroyDataset('tank/a', { recursive: true });
  await looks.renew([{ dataset: 'tank/a' }]);
  assert.deepEqual(namesIn(looks), ['tank', 'tank/ab']);
});

test('a thousand events cost few looks, and events that a look has covered cost none', async (t) => {
  const { zfs, looks, listed, now } = await machineWithPool(t);
  const events: ZfsEvent[] = [];
  for (let index = 0; index < 1000; index += 1) events.push({ subject: { dataset: `tank/d${index % 50}` }, at: now() });
  for (let index = 0; index < 50; index += 1) await zfs.createDataset(`tank/d${index}`);
  await Promise.all(events.map((event) => looks.heed([event])));
  assert.equal(namesIn(looks).length, 51);
  assert.ok(listed.length <= 2, `${listed.length} looks`);
  const before = listed.length;
  await looks.heed(events);
  assert.equal(listed.length, before);
  await looks.heed([{ subject: { dataset: 'tank/d1' }, at: now() }]);
  assert.equal(listed.length, before + 1);
});

test('a change does not wait for the looks that events of other programs cause', async (t) => {
  let turns = 1000;
  const { zfs, looks, listed, now } = await machineWithPool(t, () => turns);
  let hasEnded = false;
  const heeded = looks.heed([{ subject: { dataset: 'tank' }, at: now() }]).then(() => {
    hasEnded = true;
  });
  while (listed.length === 0) await turn();
  turns = 0;
  await zfs.createDataset('tank/a');
  await looks.renew([{ dataset: 'tank/a' }]);
  assert.deepEqual([namesIn(looks), hasEnded], [['tank', 'tank/a'], false]);
  await heeded;
});

test('in a stream of events, a look is followed by a pause, and what changes look at meanwhile is not read again', async (t) => {
  const { looks, listed, now, pass } = await machineWithPool(t);
  const event = (dataset: string) => looks.heed([{ subject: { dataset }, at: now() }]);
  for (let count = 0; count < 5; count += 1) {
    await event('tank');
    pass(8000);
  }
  const before = listed.length;
  await event('tank');
  const second = event('tank/b');
  await looks.renew([{ dataset: 'tank/b' }]);
  await second;
  assert.equal(listed.length, before + 2);
});

test('the events of one program, such as a replication, are looked at without a pause', async (t) => {
  const { looks, listed, now, pass } = await machineWithPool(t);
  for (const dataset of ['tank/a', 'tank/b']) {
    await looks.heed([{ subject: { dataset }, at: now() }]);
    pass(8000);
  }
  assert.equal(listed.length, 2);
  pass(60_000);
  await looks.heed([{ subject: { dataset: 'tank' }, at: now() }]);
  const second = looks.heed([{ subject: { dataset: 'tank/c' }, at: now() }]);
  await looks.renew([{ dataset: 'tank/d' }]);
  await second;
  assert.deepEqual(
    listed
      .slice(3)
      .map((scope) => (scope === 'everything' ? [] : scope.names?.at(-1)))
      .toSorted(),
    ['tank/c', 'tank/d'],
  );
});

test('an event of a change that is being applied causes no look, because the change ends with one', async (t) => {
  const { promise: atRest, resolve: end } = Promise.withResolvers<void>();
  const { zfs, looks, listed, now } = await machineWithPool(t, undefined, () => atRest);
  await zfs.createDataset('tank/a');
  const heeded = looks.heed([{ subject: { dataset: 'tank/a' }, at: now() }]);
  await looks.renew([{ dataset: 'tank/a' }]);
  end();
  await heeded;
  assert.equal(listed.length, 1);
});

test('the snapshots of a dataset that was just created are listed only if ZFS has noted a change of them', async (t) => {
  const { zfs, watched, looks, asked } = await machineWithPool(t);
  const touched = new Set<string>();
  const { datasets } = watched;
  watched.datasets = async (scope) =>
    (await datasets(scope)).map((one) => ({ ...one, isUntouched: !touched.has(one.name) }));
  for (const name of ['tank/a', 'tank/b', 'tank/c']) await zfs.createDataset(name);
  await looks.renew([{ dataset: 'tank/a', isNew: true }]);
  assert.deepEqual(asked, []);
  await zfs.createSnapshot('tank/b@now');
  touched.add('tank/b');
  await looks.renew([{ dataset: 'tank/b', isNew: true }]);
  assert.deepEqual(snapshotsIn(looks), ['tank/b@now']);
  // One that another program has created can come from an older ZFS, with snapshots.
  await looks.renew([{ dataset: 'tank/c' }]);
  assert.deepEqual(asked, [['tank/b'], ['tank/c']]);
});

test('that only the space of its snapshots changed is no reason to list those of a dataset above', async (t) => {
  const { zfs, watched, looks, asked } = await machineWithPool(t);
  await zfs.createDataset('tank/a');
  await zfs.createSnapshot('tank@1', { recursive: true });
  await looks.renewAll();
  asked.length = 0;
  let space = 0;
  const { datasets } = watched;
  watched.datasets = async (scope) =>
    (await datasets(scope)).map((one) => ({ ...one, figures: { ...one.figures, usedBySnapshots: space } }));
  space = 512;
  await looks.renew([{ dataset: 'tank/a' }]);
  assert.deepEqual(asked, [['tank/a']]);
  await looks.renewAll();
  assert.deepEqual(asked, [['tank/a'], ['tank']]);
  space = 1024;
  await zfs.createSnapshot('tank@2');
  await looks.renew([{ dataset: 'tank/a' }]);
  assert.deepEqual(asked.slice(2), [['tank', 'tank/a']]);
  assert.deepEqual(snapshotsIn(looks), ['tank@1', 'tank@2', 'tank/a@1']);
});

test('a look at one snapshot reads it together with its dataset, and lists no others', async (t) => {
  const { zfs, looks, listed, asked, named, now } = await machineWithPool(t);
  await zfs.createDataset('tank/a');
  await zfs.createSnapshot('tank/a@1');
  await zfs.createSnapshot('tank/a@2');
  // Nothing is known of its other snapshots.
  await looks.renew([{ dataset: 'tank/a', snapshot: '2' }]);
  assert.deepEqual(asked, [['tank/a']]);
  assert.deepEqual(named, []);
  listed.length = 0;
  asked.length = 0;
  const at = now();
  await zfs.createSnapshot('tank/a@3');
  await looks.renew([{ dataset: 'tank/a', snapshot: '3' }]);
  await zfs.destroySnapshot('tank/a@1');
  await looks.renew([{ dataset: 'tank/a', snapshot: '1' }]);
  assert.deepEqual(named, [
    ['tank', 'tank/a', 'tank/a@3'],
    ['tank', 'tank/a', 'tank/a@1', 'tank/a@2'],
  ]);
  assert.deepEqual([listed, asked], [[], []]);
  assert.deepEqual(snapshotsIn(looks), ['tank/a@2', 'tank/a@3']);
  // Their events tell nothing new; that of a snapshot that another program made in between does.
  await looks.heed([
    { subject: { dataset: 'tank/a', snapshot: '3' }, at },
    { subject: { dataset: 'tank/a', snapshot: '1' }, at },
    { subject: { dataset: 'tank/a' }, at },
  ]);
  assert.equal(named.length, 2);
  await zfs.createSnapshot('tank/a@theirs');
  await looks.heed([{ subject: { dataset: 'tank/a', snapshot: 'theirs' }, at }]);
  assert.deepEqual(snapshotsIn(looks), ['tank/a@2', 'tank/a@3', 'tank/a@theirs']);
  await looks.renew([{ dataset: 'tank/a' }]);
  assert.deepEqual(asked, [['tank/a']]);
  await looks.heed([{ subject: { dataset: 'tank/a', snapshot: 'another' }, at }]);
  assert.equal(named.length, 3);
});

test('what destroys a dataset destroys its snapshots, and a look at it covers their events', async (t) => {
  const { zfs, looks, listed, asked, named, now } = await machineWithPool(t);
  await zfs.createDataset('tank/a');
  await zfs.createSnapshot('tank/a@1');
  await looks.renewAll();
  const at = now();
  await zfs.destroyDataset('tank/a', { recursive: true });
  await looks.renew([{ dataset: 'tank/a', below: true, isGone: true }]);
  listed.length = 0;
  await looks.heed([{ subject: { dataset: 'tank/a', snapshot: '1' }, at }]);
  assert.deepEqual([listed, named], [[], []]);
  assert.deepEqual(asked, [['tank/a']]);
});

test('for very many snapshots by name, all those of their dataset are listed', async (t) => {
  const { zfs, looks, listed, asked, named } = await machineWithPool(t);
  await zfs.createSnapshot('tank@1');
  await looks.renew(Array.from({ length: 500 }, (_, n) => ({ dataset: 'tank', snapshot: String(n) })));
  assert.deepEqual([listed, named, asked], [[{ names: ['tank'], trees: [] }], [], [['tank']]]);
});

test('an event that a look has seen does not make a look at everything due', async (t) => {
  const { looks, now } = await machineWithPool(t);
  const at = now();
  await looks.renewAll();
  await looks.heed([{ subject: { dataset: 'tank' }, at }]);
  assert.equal(looks.isPartial, false);
  await looks.heed([{ subject: { dataset: 'tank' }, at: now() }]);
  assert.equal(looks.isPartial, true);
  await looks.renewAll();
  assert.equal(looks.isPartial, false);
});

test('too many subjects for one look by name cause one look at everything', async (t) => {
  const { zfs, looks, listed } = await machineWithPool(t);
  await zfs.createDataset('tank/a');
  await looks.renew(Array.from({ length: 500 }, (_, index) => ({ dataset: `tank/${index}` })));
  assert.deepEqual(listed, ['everything']);
  assert.deepEqual(namesIn(looks), ['tank', 'tank/a']);
});

test('a look at everything never restores what a look at a subject found removed meanwhile', async (t) => {
  let isSlow = true;
  const { zfs, looks } = await machineWithPool(t, () => (isSlow ? 50 : 0));
  for (const name of ['tank/a', 'tank/a/b', 'tank/c']) await zfs.createDataset(name);
  // It lists what nothing else has seen yet.
  const everything = looks.renewAll();
  isSlow = false;
  await zfs.destroyDataset('tank/a', { recursive: true });
  await zfs.destroyDataset('tank/c');
  await looks.renew([{ dataset: 'tank/a' }, { dataset: 'tank/c' }]);
  await everything;
  assert.deepEqual(namesIn(looks), ['tank']);
});

test('looks that overtake one another never restore removed datasets or hide existing ones', async (t) => {
  const step = fc.record({
    what: fc.constantFrom('create', 'destroy', 'snapshot', 'destroy snapshot', 'snapshot of others', 'everything'),
    name: fc.constantFrom('tank/a', 'tank/a/b', 'tank/c'),
    waits: fc.boolean(),
  });
  const runs = fc.tuple(
    fc.array(step, { minLength: 5, maxLength: 25 }),
    fc.infiniteStream(fc.integer({ min: 0, max: 12 })),
  );
  await fc.assert(
    fc.asyncProperty(runs, async ([steps, delays]) => {
      const { zfs, looks, now } = await machineWithPool(t, () => delays.next().value ?? 0);
      const pending: Promise<void>[] = [];
      for (const [index, { what, name, waits }] of steps.entries()) {
        if (what === 'everything') {
          pending.push(looks.renewAll());
          continue;
        }
        const [oldest] = await zfs.snapshots([name]);
        const snapshot = what === 'destroy snapshot' ? (oldest?.name ?? 'none') : String(index);
        // An operation that is not possible on this machine changes nothing, but is read again all the same.
        const deed =
          what === 'create'
            ? zfs.createDataset(name)
            : what === 'destroy'
              ? zfs.destroyDataset(name, { recursive: true })
              : what === 'destroy snapshot'
                ? zfs.destroySnapshot(`${name}@${snapshot}`)
                : zfs.createSnapshot(`${name}@${snapshot}`);
        const isDone = await deed.then(
          () => true,
          () => false,
        );
        if (what === 'snapshot of others') {
          if (isDone) pending.push(looks.heed([{ subject: { dataset: name, snapshot }, at: now() }]));
          continue;
        }
        // A destruction names what lay below, too, so that children that it removed are missed also when the dataset
        // is there again by the time of the look.
        const isGone = what === 'destroy' && isDone;
        const isOfDataset = what === 'create' || what === 'destroy';
        const look = looks.renew([
          isOfDataset ? { dataset: name, below: what === 'destroy', isGone } : { dataset: name, snapshot },
        ]);
        if (waits) {
          await look;
          const there = (await zfs.datasets({ names: [name] })).length > 0;
          assert.equal(looks.storage.datasets.has(name), there, `${name} after ${what}`);
          // Those of others may not have been heeded yet.
          const known = looks.storage.snapshots.of(name).map((one) => one.name);
          if (!isOfDataset && there && isDone) assert.equal(known.includes(snapshot), what === 'snapshot');
        } else pending.push(look);
      }
      await Promise.all(pending);
      assert.deepEqual(
        namesIn(looks),
        (await zfs.datasets()).map(({ name }) => name),
      );
      assert.deepEqual(
        snapshotsIn(looks),
        (await zfs.snapshots()).map((one) => `${one.dataset}@${one.name}`),
      );
    }),
    { numRuns: 300 },
  );
});

for (const first of ['everything', 'one dataset'] as const) {
  test(`a look at ${first} that ends after a later look hides no result of the later look`, async (t) => {
    let turns = 20;
    const { zfs, looks } = await machineWithPool(t, () => turns);
    const slow = first === 'everything' ? looks.renewAll() : looks.renew([{ dataset: 'tank/a' }]);
    turns = 0;
    await zfs.createDataset('tank/a');
    await (first === 'everything' ? looks.renew([{ dataset: 'tank/a' }]) : looks.renewAll());
    assert.deepEqual(namesIn(looks), ['tank', 'tank/a']);
    await slow;
    assert.deepEqual(namesIn(looks), ['tank', 'tank/a']);
  });
}

test('an event of a whole tree is seen by a look at that tree or one above it, and at no other', async (t) => {
  const { looks, listed, now } = await machineWithPool(t);
  const at = now();
  await looks.renew([{ dataset: 'tank/a', below: true }]);
  listed.length = 0;
  await looks.heed([{ subject: { dataset: 'tank/a', below: true }, at }]);
  await looks.heed([{ subject: { dataset: 'tank/a/below', below: true }, at }]);
  assert.deepEqual(listed, []);
  await looks.heed([{ subject: { dataset: 'tank/b', below: true }, at }]);
  assert.equal(listed.length, 1);
});

test('after the clock was set back, an event is looked at although a look has a later time', async (t) => {
  const { looks, listed, now, pass } = await machineWithPool(t);
  await looks.renewAll();
  pass(-100);
  listed.length = 0;
  await looks.heed([{ subject: { dataset: 'tank/a' }, at: now() }]);
  assert.equal(listed.length, 1);
});
