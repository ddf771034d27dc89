import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { leaveLostPool } from '../../../src/cli/lost-pool.ts';
import { readPair } from '../../../src/engine/pair/pair.ts';
import type { Host } from '../../../src/host/ports/index.ts';
import { subsystems } from '../../../src/subsystems/index.ts';
import { appliance } from '../../support/appliance.ts';
import { furnished, furnishedOptions } from '../../support/furnished.ts';
import { finallyOf } from '../../support/hosts.ts';

test('a machine that leaves the pool serves nothing of it, keeps its network, and is as before when it has it again', async (t) => {
  const world = await furnished();
  const { appliance: first, machine } = world;
  const { folder, app, engine } = first;
  finallyOf(t, () => rm(folder, { recursive: true, force: true }));
  await world.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await world.api.expect(200, 'PUT', 'services/services/ssh/', { srv_enable: true });
  const { view, facts } = engine.world;
  const ofPool = subsystems.filter(({ followsPool }) => followsPool === true);
  const names = ofPool.flatMap((one) => one.render(view, facts).services?.map(({ name }) => name) ?? []);
  assert.ok(names.includes('smbd') && names.includes('nfs-server') && !names.includes('ssh'), names.join());
  const running = async () =>
    [...(await machine.services.states([...names, 'ssh', 'systemd-networkd']))]
      .filter(([, state]) => state.running)
      .map(([name]) => name)
      .toSorted();
  const before = await running();
  assert.ok(before.includes('smbd') && before.includes('ssh'), before.join());
  const pictures = async () => ({
    network: (await machine.network.look()).links.map(({ name, addresses }) => ({ name, addresses })),
    groups: (await machine.accounts.owned()).users.map(({ name }) => name),
  });
  const kept = await pictures();

  await app.close({ leavesPool: true });
  // The state of a pair is on the pool, which could not be exported with an open file.
  assert.deepEqual(openBelow(folder), []);
  const left = await running();
  assert.deepEqual(
    left,
    ['cron', 'ssh', 'systemd-networkd'].filter((name) => before.includes(name)),
  );
  assert.equal((await machine.targets.look()).serving, false);
  assert.deepEqual([...(await machine.jails.look()).keys()], []);
  assert.deepEqual(await machine.files.beginning('/etc/samba/holdfast/'), []);
  // Lines that begin with a time.
  assert.doesNotMatch((await machine.files.read('/etc/cron.d/holdfast')) ?? '', /^[@*\d]/m);
  assert.deepEqual(await pictures(), kept);
  // Nothing of it is busy any more.
  for (const { name } of await machine.zfs.pools()) {
    await machine.zfs.exportPool(name);
  }
  for (const { guid, name } of await machine.zfs.importable())
    await machine.zfs.importPool(guid, { mountpoint: `/mnt/${name}` });

  const again = await appliance({ ...furnishedOptions, folder });
  finallyOf(t, () => again.app.close());
  const states = await again.machine.services.states([...names, 'ssh', 'systemd-networkd']);
  assert.deepEqual(
    before,
    [...states]
      .filter(([, { running }]) => running)
      .map(([name]) => name)
      .toSorted(),
  );
  const drift = await again.api.list('/api/holdfast/v1/drift');
  assert.deepEqual(
    drift.filter((one) => one['degraded'] !== null || (Array.isArray(one['drift']) && one['drift'].length > 0)),
    [],
  );
});

test('a machine that lost the pool and knows nothing of the configuration serves nothing of it either', async (t) => {
  const world = await furnished();
  const { appliance: first, machine } = world;
  const { folder, app, engine } = first;
  finallyOf(t, () => rm(folder, { recursive: true, force: true }));
  for (const service of ['cifs', 'ssh', 'ftp'])
    await world.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable: true });
  const { view, facts } = engine.world;
  const names = subsystems.flatMap((one) =>
    one.followsPool === true ? (one.render(view, facts).services?.map(({ name }) => name) ?? []) : [],
  );
  const running = async (on: Host) =>
    [...(await on.services.states([...names, 'ssh']))]
      .flatMap(([name, state]) => (state.running || state.enabled ? [name] : []))
      .toSorted();
  const before = await running(machine);
  const served = engine.ofPool().filter((name) => name !== 'ftp');
  // Its services go on, as they would start with the machine.
  await app.close();
  assert.ok(before.includes('smbd'), before.join());
  const pair = readPair({ pool: 'tank', guid: '1', nodes: { alpha: 'http://192.0.2.1', beta: 'http://192.0.2.2' } });
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  for (let times = 0; times < 2; times += 1)
    await leaveLostPool({ host: machine, pair: pair ?? assert.fail('it is no pair'), served, log, now: Date.now });
  assert.deepEqual(await running(machine), ['cron', 'proftpd', 'ssh'], 'FTP was not served for the pair');
  assert.equal((await machine.targets.look()).serving, false);
  assert.deepEqual([...(await machine.jails.look()).keys()], []);
  assert.doesNotMatch((await machine.files.read('/etc/cron.d/holdfast')) ?? '', /^[@*\d]/m);
  const again = await appliance({ ...furnishedOptions, folder });
  finallyOf(t, () => again.app.close());
  assert.deepEqual(await running(again.machine), before);
});

/** The files below a folder that this process has open. */
function openBelow(folder: string): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(`${folder}/`) ? [path] : [];
    } catch {
      // The descriptor of the list itself.
      return [];
    }
  });
}
