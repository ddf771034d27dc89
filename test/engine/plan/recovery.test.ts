import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import {
  cloneSnapshot,
  createDataset,
  createFilledDataset,
  createSnapshot,
  createVolume,
  destroyDataset,
  storageStepKinds,
} from '../../../src/areas/storage/steps.ts';
import { EventBus } from '../../../src/engine/declare/events.ts';
import { OpenPlan, type PlanStore, unfinishedPlans } from '../../../src/engine/plan/journal.ts';
import { recover } from '../../../src/engine/plan/recovery.ts';
import { type Done, StepRunner, unwatched } from '../../../src/engine/plan/runner.ts';
import type { Step, StepKind } from '../../../src/engine/plan/steps.ts';
import { type Host, HostError } from '../../../src/host/ports/index.ts';
import { isObject, type JsonObject } from '../../../src/lib/json.ts';
import { virtualHost } from '../../support/hosts.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

/** A journal in memory, which survives the daemon as the database does. */
function journal(): PlanStore {
  const plans = new Map<number, string>();
  let last = 0;
  return {
    addPlan(body: JsonObject) {
      last += 1;
      plans.set(last, JSON.stringify(body));
      return last;
    },
    putPlan: (id, body) => void plans.set(id, JSON.stringify(body)),
    endPlan: (id) => void plans.delete(id),
    plans: () =>
      [...plans].map(([id, body]) => {
        const parsed: unknown = JSON.parse(body);
        return { id, body: parsed };
      }),
  };
}

async function machine(t: TestContext): Promise<Host> {
  const host = await virtualHost(t);
  const [disk] = await host.disks.list();
  await host.zfs.createPool({
    name: 'tank',
    groups: [{ kind: 'stripe', disks: [disk?.name ?? ''] }],
    mountpoint: '/mnt/tank',
  });
  await host.zfs.createDataset('tank/old');
  return host;
}

async function seen({ zfs }: Host): Promise<readonly string[]> {
  const snapshots = (await zfs.snapshots()).map(({ dataset, name }) => `${dataset}@${name}`);
  return [...(await zfs.datasets()).map(({ name }) => name), ...snapshots];
}

async function start(host: Host, store: PlanStore, kinds: readonly StepKind[] = storageStepKinds) {
  const kept: number[] = [];
  const events = new EventBus(Date.now);
  const failures: string[] = [];
  events.listen(({ name }) => {
    if (name === 'undo.failed') failures.push(name);
  });
  const keep = ({ id }: { readonly id: number }) => {
    kept.push(id);
    store.endPlan(id);
  };
  await recover(unfinishedPlans(store, []), { host, kinds, events, log, keep, drop: ({ id }) => store.endPlan(id) });
  return { kept, failures };
}

/** Performs the steps, but for the end of the process right before or after the work of one of them. */
async function performUntil(host: Host, store: PlanStore, steps: readonly Step[], cut: number, isDone: boolean) {
  const runner = new StepRunner({ host, events: new EventBus(Date.now), log });
  const plan = new OpenPlan(store, { title: 'a plan', actor: 'root', request: '1' }, steps);
  const done: Done[] = [];
  for (const step of steps.slice(0, cut)) await runner.take(step, done, plan);
  const last = steps[cut];
  if (last === undefined) return;
  const found = await last.look(host);
  plan.begin(last, found);
  if (isDone) await last.perform(host, found, unwatched);
}

const snapshotOf = (dataset: string) => createSnapshot({ dataset, name: 'now', scope: 'one' });
const datasetCalled = (name: string) => createDataset({ name, settings: {} });
const destruction = destroyDataset({ name: 'tank/old', with: 'children' });

test('a plan that is cut short anywhere is as before or as after once the next start has seen its journal', async (t) => {
  const made = fc.uniqueArray(fc.constantFrom('tank/a', 'tank/b', 'tank/a/c', 'tank@', 'tank/old@'), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(made, fc.boolean(), fc.nat(5), fc.boolean(), async (names, destroys, cut, isDone) => {
      // Parents before children.
      const ordered = names.includes('tank/a/c') && !names.includes('tank/a') ? ['tank/a', ...names] : names.toSorted();
      const steps: Step[] = ordered.map((name) =>
        name.endsWith('@') ? snapshotOf(name.slice(0, -1)) : datasetCalled(name),
      );
      if (destroys) steps.push(destruction);
      const host = await machine(t);
      const before = await seen(host);
      const store = journal();
      await performUntil(host, store, steps, cut, isDone);
      const wasActBegun = destroys && cut >= steps.length - 1;
      const { kept, failures } = await start(host, store);
      assert.deepEqual(failures, []);
      assert.deepEqual(store.plans(), []);
      assert.equal(kept.length, wasActBegun ? 1 : 0);
      const found = await seen(host);
      if (wasActBegun) assert.ok(!found.includes('tank/old'));
      else assert.deepEqual(found, before);
    }),
    { numRuns: 60 },
  );
});

test('what was there before the step is not taken back', async (t) => {
  const host = await machine(t);
  const store = journal();
  await performUntil(host, store, [datasetCalled('tank/old')], 0, false);
  await start(host, store);
  assert.ok((await seen(host)).includes('tank/old'));
});

test('what another one has made since is not taken back, neither by a start nor by a step that fails', async (t) => {
  const steps = [
    datasetCalled('tank/new'),
    createVolume({ name: 'tank/new', bytes: 1024 ** 2, settings: {} }),
    createFilledDataset({ name: 'tank/new', most: 1024 ** 2 }),
    snapshotOf('tank/old'),
    cloneSnapshot({ snapshot: 'tank/old@first', name: 'tank/new', with: 'children' }),
  ];
  for (const step of steps) {
    const host = await machine(t);
    await host.zfs.createSnapshot('tank/old@first');
    const store = journal();
    // The daemon has ended before the step had begun to work.
    await performUntil(host, store, [step], 0, false);
    await host.zfs.createDataset('tank/new');
    await host.zfs.createSnapshot('tank/old@now');
    const theirs = await seen(host);
    assert.deepEqual((await start(host, store)).failures, []);
    assert.deepEqual(await seen(host), theirs, step.title);
    const done: Done[] = [];
    const runner = new StepRunner({ host, events: new EventBus(Date.now), log });
    const plan = new OpenPlan(store, { title: 'a plan', actor: 'root', request: '2' }, [step]);
    await assert.rejects(runner.take(step, done, plan), /exists/);
    assert.equal(await runner.takeBack(done), true);
    assert.deepEqual(await seen(host), theirs, step.title);
  }
});

test('a step that has succeeded takes back only what it has made itself', async (t) => {
  const host = await machine(t);
  const done: Done[] = [];
  const runner = new StepRunner({ host, events: new EventBus(Date.now), log });
  const step = datasetCalled('tank/new');
  await runner.take(step, done, new OpenPlan(journal(), { title: 'a plan', actor: 'root', request: '1' }, [step]));
  await host.zfs.destroyDataset('tank/new');
  await host.zfs.createDataset('tank/new');
  assert.equal(await runner.takeBack(done), true);
  assert.ok((await seen(host)).includes('tank/new'));
});

test('the journal of an earlier version, which has looked and has no mark, is taken back as it was then', async (t) => {
  const host = await machine(t);
  const [store, others] = [journal(), journal()];
  const steps = [datasetCalled('tank/new'), snapshotOf('tank/old')];
  await performUntil(host, store, steps, 1, true);
  for (const { body } of store.plans()) {
    assert.ok(isObject(body) && Array.isArray(body['steps']));
    const noted = body['steps'].map((step: unknown) => (isObject(step) ? { ...step, was: false, before: '' } : null));
    others.addPlan(JSON.parse(JSON.stringify({ ...body, steps: noted })));
  }
  assert.deepEqual((await start(host, others)).failures, []);
  assert.deepEqual(await seen(host), ['tank', 'tank/old']);
});

test('a plan that cannot be taken back is reported, and no later start touches what is there by then', async (t) => {
  const host = await machine(t);
  const store = journal();
  await performUntil(host, store, [datasetCalled('tank/new')], 0, true);
  const destroy = host.zfs.destroyDataset.bind(host.zfs);
  host.zfs.destroyDataset = async () => {
    throw new HostError('the dataset is busy');
  };
  assert.deepEqual((await start(host, store)).failures, ['undo.failed']);
  host.zfs.destroyDataset = destroy;
  await start(host, store);
  assert.ok((await seen(host)).includes('tank/new'));
});

test('the journal keeps names and no settings', async (t) => {
  const host = await machine(t);
  const store = journal();
  const step = createDataset({ name: 'tank/new', settings: { comment: 'a secret remark' } });
  await performUntil(host, store, [step], 0, false);
  assert.doesNotMatch(JSON.stringify(store.plans()), /secret/);
});
