/**
 * The law of a pair: whatever call to the host fails or is the last before a machine is switched off, while it takes or
 * releases the pool, at most one machine has the pool, a machine has it only under the lease, and one of them can take it and
 * guards it.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { holds, release, take } from '../../../src/engine/pair/hold.ts';
import { readPair } from '../../../src/engine/pair/pair.ts';
import { changeVote } from '../../../src/engine/pair/vote.ts';
import type { Host } from '../../../src/host/ports/index.ts';
import { type FaultyHost, withFaults } from '../../support/faults.ts';
import { scratchFolder, virtualHost } from '../../support/hosts.ts';

const nodes = { alpha: 'http://127.0.0.1:1', beta: 'http://127.0.0.1:2' };

/** Two machines on one shelf. The first has the pool with a file. */
async function pairOn(t: TestContext) {
  const folder = scratchFolder(t);
  const open = async (node: string) => {
    const machine = await virtualHost(t, {
      folder: join(folder, node),
      shelf: { folder: join(folder, 'shelf'), node },
    });
    return { machine, faults: withFaults(machine) };
  };
  const [alpha, beta] = [await open('alpha'), await open('beta')];
  const { zfs, files } = alpha.machine;
  await zfs.createPool({ name: 'tank', mountpoint: '/mnt/tank', groups: [{ kind: 'stripe', disks: ['ada0'] }] });
  await zfs.createDataset('tank/media');
  await files.write('/mnt/tank/media/a.txt', 'kept');
  const guid = (await zfs.pools())[0]?.guid ?? '';
  const pair = readPair({ pool: 'tank', guid, nodes }) ?? assert.fail('it is no pair');
  await take(alpha.machine, pair);
  return { alpha, beta, pair, open };
}

type World = Awaited<ReturnType<typeof pairOn>>;

const hasPool = async ({ zfs }: Host) => (await zfs.pools()).some(({ name }) => name === 'tank');
const holderOf = async ({ lease }: Host) => (await lease.look())?.holder;

/** Never two, and never one without the lease. */
async function assertOneHolder({ alpha, beta }: World, told: string): Promise<void> {
  const with_ = [];
  for (const [name, { machine }] of [
    ['alpha', alpha],
    ['beta', beta],
  ] as const) {
    if (!(await hasPool(machine))) continue;
    with_.push(name);
    assert.equal(await holderOf(machine), name, `${told}: ${name} has the pool without the lease`);
  }
  assert.ok(with_.length <= 1, `${told}: both have the pool`);
}

async function assertServes(host: Host, told: string): Promise<void> {
  assert.equal(await hasPool(host), true, told);
  assert.equal(await host.zfs.isGuarded('tank'), true, told);
  assert.equal(await host.files.read('/mnt/tank/media/a.txt'), 'kept', told);
}

/** Each call that the work makes, as `port.method`. */
async function callsOf({ faults }: { faults: FaultyHost }, work: (host: Host) => Promise<void>) {
  faults.heal();
  await work(faults.host);
  return [...faults.titles];
}

test('a pool moves from one machine to the other and back', async (t) => {
  const world = await pairOn(t);
  const { alpha, beta, pair } = world;
  await assertServes(alpha.machine, 'at first');
  await assert.rejects(take(beta.machine, pair), /alpha holds the pool/);
  await assertServes(alpha.machine, 'after the other one was refused');
  for (let times = 0; times < 3; times += 1) {
    for (const [from, to] of [
      [alpha, beta],
      [beta, alpha],
    ] as const) {
      await release(from.machine, pair);
      await release(from.machine, pair);
      await take(to.machine, pair);
      await take(to.machine, pair);
      await assertServes(to.machine, 'after a switch');
      assert.deepEqual([await holds(from.machine, pair), await holds(to.machine, pair)], [false, true]);
      await assertOneHolder(world, 'after a switch');
    }
  }
});

for (const when of ['instead', 'afterwards'] as const) {
  test(`a take whose call fails ${when} leaves nothing, or the machine with both lease and pool`, async (t) => {
    const world = await pairOn(t);
    const { alpha, beta, pair } = world;
    await release(alpha.machine, pair);
    const calls = await callsOf(beta, (host) => take(host, pair));
    for (const call of ['lease.take', 'zfs.importPool', 'zfs.carryState'])
      assert.ok(calls.includes(call), calls.join());
    for (let n = 1; n <= calls.length; n += 1) {
      await release(beta.machine, pair);
      beta.faults.failAt(n, when);
      await assert.rejects(take(beta.faults.host, pair), /made to fail/);
      const told = `call ${n} (${calls[n - 1]}) fails ${when}`;
      await assertOneHolder(world, told);
      assert.deepEqual([await hasPool(beta.machine), await holderOf(beta.machine)], [false, undefined], told);
      beta.faults.heal();
      await take(beta.faults.host, pair);
      await assertServes(beta.machine, told);
    }
  });

  test(`a release whose call fails ${when} keeps the lease as long as the pool`, async (t) => {
    const world = await pairOn(t);
    const { alpha, beta, pair } = world;
    const calls = await callsOf(alpha, (host) => release(host, pair));
    for (const call of ['zfs.dropState', 'zfs.exportPool', 'lease.release'])
      assert.ok(calls.includes(call), calls.join());
    for (let n = 1; n <= calls.length; n += 1) {
      await take(alpha.machine, pair);
      alpha.faults.failAt(n, when);
      await assert.rejects(release(alpha.faults.host, pair), /made to fail/);
      const told = `call ${n} (${calls[n - 1]}) fails ${when}`;
      await assertOneHolder(world, told);
      if ((await holderOf(alpha.machine)) === 'alpha') await assert.rejects(take(beta.machine, pair), /alpha holds/);
      alpha.faults.heal();
      await release(alpha.faults.host, pair);
      await take(beta.machine, pair);
      await assertServes(beta.machine, told);
      await assertOneHolder(world, told);
      await release(beta.machine, pair);
    }
  });
}

for (const [order, work] of [
  ['take', take],
  ['release', release],
] as const) {
  for (const moment of ['before', 'after'] as const) {
    test(`after a machine is switched off ${moment} any call of a ${order}, the other one takes the pool`, async (t) => {
      for (let n = 1; ; n += 1) {
        const world = await pairOn(t);
        const { alpha, beta, pair, open } = world;
        const [dying, other] = order === 'take' ? [beta, alpha] : [alpha, beta];
        if (order === 'take') await release(alpha.machine, pair);
        const calls = await callUntil(dying.faults, n, moment, (host) => work(host, pair));
        if (calls.length < n) break;
        const told = `${order}, switched off ${moment} call ${n} (${calls[n - 1]})`;
        await assertOneHolder(world, told);
        const name = order === 'take' ? 'beta' : 'alpha';
        // Before it was fenced, nothing is taken from it.
        other.machine.lease.see(name, 'unknown');
        await assert.rejects(take(other.machine, pair), /is not seen and was not fenced/, told);
        assert.equal(await hasPool(other.machine), false, told);
        other.machine.lease.see(name, 'offline');
        await take(other.machine, pair);
        await assertServes(other.machine, told);
        // When it is there again, it has nothing and gets nothing.
        const again = await open(name);
        assert.equal(await holds(again.machine, pair), false, told);
        await assert.rejects(take(again.machine, pair), /holds the pool/, told);
        await assertServes(other.machine, told);
      }
    });
  }
}

/**
 * Does the work until its n-th call, which is the last thing that the machine does. Returns the calls until then, which
 * are fewer if the work makes fewer.
 */
async function callUntil(
  faults: FaultyHost,
  n: number,
  moment: 'before' | 'after',
  work: (host: Host) => Promise<void>,
): Promise<readonly string[]> {
  let left = n;
  faults.heal();
  faults.heed((_, when) => {
    if (left === 0 && when === 'before') throw new SwitchedOff();
    if (when !== moment || left === 0) return;
    left -= 1;
    if (left === 0) throw new SwitchedOff();
  });
  await work(faults.host).catch((error: unknown) => assert.ok(error instanceof SwitchedOff, String(error)));
  faults.heed();
  return faults.titles.slice(0, n - left);
}

test('a change of the third vote whose call fails is completed by the same change again', async (t) => {
  const { alpha, beta, pair } = await pairOn(t);
  const change = (vote: string | undefined) => (host: Host) => changeVote(host, pair, { processors: 1, vote });
  const hostOf = async () => (await alpha.machine.lease.vote())?.host;
  for (const vote of ['192.0.2.13', 'judge.example.org', undefined]) {
    const calls = await callsOf(alpha, change(vote));
    assert.ok(calls.includes('files.write') && calls.includes('lease.reread'), calls.join());
    for (const when of ['instead', 'afterwards'] as const)
      for (let n = 1; n <= calls.length; n += 1) {
        alpha.faults.heal();
        await change('192.0.2.99')(alpha.faults.host);
        alpha.faults.failAt(n, when);
        await assert.rejects(change(vote)(alpha.faults.host), /made to fail/);
        alpha.faults.heal();
        await change(vote)(alpha.faults.host);
        assert.equal(await hostOf(), vote);
      }
  }
  await change('192.0.2.13')(alpha.machine);
  assert.deepEqual((await alpha.machine.lease.vote())?.givenTo, ['alpha', 'beta']);
  alpha.machine.lease.seeVote(false);
  assert.deepEqual((await alpha.machine.lease.vote())?.givenTo, []);
  await change(undefined)(alpha.machine);
  // Alone, a machine could lose the majority by it.
  beta.machine.lease.see('beta', 'unknown');
  await assert.rejects(change('192.0.2.13')(alpha.machine), /does not see beta: .* Start beta first/);
  assert.equal(await hostOf(), undefined);
});

class SwitchedOff extends Error {}
