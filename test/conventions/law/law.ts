/**
 * The law: a change that fails leaves the machine and what is kept as they were.
 *
 * Each change that the catalogue offers is tried once to learn how many calls to the host it makes. Then each of these
 * calls fails in turn, once without being done (`instead`) and once after it was done (`afterwards`). Then
 * - either the answer is an error, and machine, records and numbers that come next are what they were;
 * - or the answer is a success although a call failed, which only calls may do that look at the machine when all is
 *   done, and those of a job that goes on after the answer and is reported as failed;
 * - or what was done although its answer was lost cannot be taken back (steps that come last: a pool is destroyed or
 *   extended, a device replaced, a scrub begun, permissions given). Then machine and records agree: no unit drifts, and the interface
 *   answers of the machine what the machine is.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isInBin } from '../../../src/host/ports/zfs.ts';
import { isHarmless, type Maker, resourcesAt, type Sending, type Trial, trials } from '../../support/catalogue.ts';
import { takesHardware } from '../../support/examples.ts';
import { type Furnished, furnished, picturesOf } from '../../support/furnished.ts';

/** Calls whose effect cannot be taken back once it is there. */
const irrevocable =
  /^(bootEnvironments\.destroy|zfs\.(destroyPool|extendPool|destroyDataset|destroySnapshot|rollback|startScrub|stopScrub|upgradePool|replaceDevice|detachDevice|removeDevice|importPool)|machine\.update|files\.setPermissions|commands\.run)$/;

/** What is never done: builtin accounts stay, and a dataset is made below another. */
const refused: readonly string[] = ['DELETE account/users', 'DELETE account/groups', 'POST storage/dataset'];

/** How many trials share a machine that take disks or network interfaces, of which it has a limited number. */
const onOneMachine = 2;

/** States the law of every resource at or below a path, as `storage`, except those at or below another. */
export function lawOf(path: string, { except }: { readonly except?: string } = {}): void {
  for (const resource of resourcesAt(path, except)) {
    test(`a change of ${resource.path} that fails anywhere on the way leaves machine and records as they were`, async (t) => {
      const all = (maker: Maker) => trials(maker).filter((one) => one.resource === resource);
      let count = Number.POSITIVE_INFINITY;
      for (let from = 0; from < count; ) {
        await using world = await furnished();
        const own = all(world.maker);
        count = own.length;
        const end = takesHardware.has(resource.path) ? from + onOneMachine : count;
        const some = own.slice(from, end);
        from = end;
        for (const trial of some) await t.test(trial.title, () => assertLaw(world, trial));
        await assertAgreement(world, 'in the end');
        const before = await everything(world);
        await world.restart();
        assertSame(await everything(world), before, 'what is on disk is not what was in memory');
        await assertAgreement(world, 'after a restart');
      }
    });
  }
}

async function assertLaw(world: Furnished, trial: Trial): Promise<void> {
  const first = await trial.prepare();
  const before = await everything(world);
  world.faults.heal();
  const answer = await send(world, first);
  const calls = world.faults.titles;
  assert.equal(
    answer.status >= 400,
    refused.includes(trial.title),
    `${first.method} ${first.path} answered ${answer.status}: ${answer.text}`,
  );
  if (answer.status >= 400) {
    assert.ok(answer.status < 500, `${first.method} ${first.path} answered ${answer.status}: ${answer.text}`);
    assertSame(await everything(world), before, `refused with ${answer.text}`);
    return;
  }
  await assertAgreement(world, 'without a fault');
  for (const when of ['instead', 'afterwards'] as const) await failEverywhere(world, trial.prepare, calls, when);
}

/** States the law of one request. `prepare` returns it with names of its own each time. */
export function lawOfRequest(title: string, prepare: (world: Furnished) => Promise<Sending>): void {
  test(`${title}, failing anywhere on the way, leaves machine and records as they were`, async () => {
    await using world = await furnished();
    const first = await prepare(world);
    world.faults.heal();
    const answer = await send(world, first);
    const calls = world.faults.titles;
    assert.ok(answer.status < 300, answer.text);
    await assertAgreement(world, 'without a fault');
    for (const when of ['instead', 'afterwards'] as const)
      await failEverywhere(world, () => prepare(world), calls, when);
    await assertAgreement(world, 'in the end');
  });
}

type When = 'instead' | 'afterwards';

/**
 * Lets the first call fail, then the second, and so on, until the change gets through. `calls` are those that it makes
 * when none fails. The machine and what is kept are compared after every failed call, and so are the answers of the
 * interface after the last call that can be taken back, for by then the most has happened: to ask for all lists costs
 * fifty times as much as the rest.
 */
async function failEverywhere(
  world: Furnished,
  prepare: () => Promise<Sending>,
  calls: readonly string[],
  when: When,
): Promise<void> {
  const last = calls.findLastIndex((call) => !isHarmless(call) && (when === 'instead' || !irrevocable.test(call))) + 1;
  // What is asked, and all there is before it. Both stay as long as nothing happens.
  let ready: { readonly sending: Sending; readonly before: Picture } | undefined;
  for (let n = 1; n <= calls.length + 20; n += 1) {
    ready ??= { sending: await prepare(), before: await beneath(world) };
    const { sending, before } = ready;
    const shown = n === last ? await answers(world) : undefined;
    world.faults.failAt(n, when);
    const answer = await send(world, sending);
    const titles = [...world.faults.titles];
    world.faults.heal();
    const call = titles[n - 1];
    const told = `${sending.method} ${sending.path} with call ${n} (${call}) failing ${when} answered ${answer.status} ${answer.text.slice(0, 300)}`;
    if (call === undefined) {
      assert.ok(answer.status < 300, told);
      return;
    }
    if (answer.status < 300) {
      assert.ok(isHarmless(call) || (await isToldByJob(world, n)), `${told}: a failure was passed over`);
      await assertAgreement(world, told);
      ready = undefined;
    } else {
      // The problems of the requests of a transaction are collected.
      assert.equal(answer.status, sending.path.endsWith('/transactions') && answer.status === 409 ? 409 : 400, told);
      assert.match(
        answer.text,
        new RegExp(`made to fail at call ${n}`),
        `${told}: the answer does not say what happened`,
      );
      if (when === 'afterwards' && irrevocable.test(call)) {
        await assertAgreement(world, told);
        ready = undefined;
      } else {
        assertSame(await beneath(world), before, told);
        if (shown !== undefined) assertSame(await answers(world), shown, told);
      }
    }
    assert.deepEqual(
      world.engine.problems.filter(({ kind }) => kind === 'subsystem'),
      [],
      told,
    );
  }
  assert.fail(`the change never got through: it makes more than ${calls.length + 20} calls`);
}

async function send({ api }: Furnished, { method, path, body }: Sending) {
  return api.send(method, path, body);
}

/** What there is, as texts that can be compared. */
type Picture = readonly string[];

/** Of the machine, and of what is kept. */
async function beneath(world: Furnished): Promise<Picture> {
  return [...picturesOf(await world.machineState()), JSON.stringify(world.keptState())];
}

/**
 * Of every list and setting that the interface answers. What a change touched was looked at again, but not the space that
 * is left to other datasets; and plugins are looked at a while after the start.
 */
async function answers(world: Furnished): Promise<Picture> {
  await world.engine.renew('storage', 'plugins');
  return [...(await world.answers())].map(([path, text]) => `${path}: ${text}`);
}

async function everything(world: Furnished): Promise<Picture> {
  return [...(await beneath(world)), ...(await answers(world))];
}

/** Differences are told in a few short pieces. */
function assertSame(now: Picture, before: Picture, told: string): void {
  if (now.length === before.length && now.every((text, index) => text === before[index])) return;
  const pieces = (picture: Picture) =>
    new Set(picture.flatMap((text) => text.split(/(?<=,)(?=[{"])/).map((piece) => piece.slice(0, 400))));
  const [known, there] = [pieces(before), pieces(now)];
  const differences = [
    ...[...known].filter((piece) => !there.has(piece)).map((piece) => `- ${piece}`),
    ...[...there].filter((piece) => !known.has(piece)).map((piece) => `+ ${piece}`),
  ];
  assert.fail(`${told}\n${differences.slice(0, 20).join('\n')}`);
}

async function isToldByJob(world: Furnished, n: number): Promise<boolean> {
  const [newest] = await world.api.list('/api/holdfast/v1/jobs?limit=1');
  return newest?.['state'] === 'failed' && String(newest['error']).includes(`made to fail at call ${n}`);
}

/** No unit would have to do anything, and the answers are those that a fresh look at the machine gives. */
export async function assertAgreement(world: Furnished, told: string): Promise<void> {
  const drift = await world.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    drift.filter((one) => one['degraded'] !== null || (Array.isArray(one['drift']) && one['drift'].length > 0)),
    [],
    told,
  );
  const pools = await world.machine.zfs.pools();
  const volumes = await world.api.list('storage/volume/?limit=0');
  for (const pool of pools)
    assert.ok(
      volumes.some(
        (volume) =>
          volume['vol_guid'] === pool.guid &&
          [pool.health === 'ONLINE' ? 'HEALTHY' : pool.health, 'LOCKED'].includes(String(volume['status'])),
      ),
      `${told}: the pool ${pool.name} is not a volume`,
    );
  for (const volume of volumes)
    assert.equal(
      pools.some((pool) => pool.guid === volume['vol_guid']),
      volume['status'] !== 'UNKNOWN',
      `${told}: ${String(volume['name'])} is not what its status says`,
    );
  const datasets = (await world.machine.zfs.datasets())
    .filter(({ kind, name }) => kind === 'filesystem' && !isInBin(name))
    .map(({ name }) => name);
  const listed = (await world.api.list('storage/dataset/?limit=0')).map((one) => one['name']);
  assert.deepEqual(listed, datasets, told);
  const snapshots = (await world.machine.zfs.snapshots())
    .filter(({ dataset }) => !isInBin(dataset))
    .map(({ dataset, name }) => `${dataset}@${name}`);
  const shown = (await world.api.list('storage/snapshot/?limit=0')).map((one) => one['id']);
  assert.deepEqual(shown, snapshots, told);
  const zvols = (await world.machine.zfs.datasets())
    .filter(({ kind, name }) => kind === 'volume' && name.startsWith('tank/') && !isInBin(name))
    .map(({ name }) => name);
  const listedZvols = pools.some(({ name }) => name === 'tank')
    ? (await world.api.list('storage/volume/tank/zvols/?limit=0')).map((one) => `tank/${String(one['name'])}`)
    : [];
  assert.deepEqual(listedZvols, zvols, told);
  const free = (await world.machine.disks.list()).filter(({ usedBy }) => usedBy === undefined).map(({ name }) => name);
  const known = world.engine.world.facts.disks.filter(({ usedBy }) => usedBy === undefined).map(({ name }) => name);
  assert.deepEqual(known, free, told);
}
