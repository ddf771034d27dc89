import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { BootEnvironment } from '../../../src/host/ports/boot-environments.ts';
import type { Host } from '../../../src/host/ports/index.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { freshName, refused } from './support.ts';

async function environmentsOf({ bootEnvironments }: Host): Promise<readonly BootEnvironment[]> {
  return (await bootEnvironments.list()) ?? assert.fail('the machine does not run from ZFS');
}

const namesOf = async (host: Host) => (await environmentsOf(host)).map(({ name }) => name);

async function runningOn(host: Host): Promise<string> {
  return (await environmentsOf(host)).find(({ now }) => now)?.name ?? assert.fail('none is running');
}

const nextOf = async (host: Host) =>
  (await environmentsOf(host)).filter(({ onReboot }) => onReboot).map(({ name }) => name);

/** A clone of the running environment, which is destroyed after the test. */
async function cloneOn(host: Host, t: TestContext): Promise<string> {
  const name = freshName('be');
  await host.bootEnvironments.create(name, await runningOn(host));
  finallyOf(t, async () => {
    if ((await namesOf(host)).includes(name)) await host.bootEnvironments.destroy(name);
  });
  return name;
}

export function describeBootEnvironments(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`boot environments on the ${title} host`, () => {
      test('the machine runs from one environment, and starts from one next time', async (t) => {
        const host = await start(t);
        const all = await environmentsOf(host);
        assert.equal(all.filter(({ now }) => now).length, 1);
        assert.deepEqual(await nextOf(host), [await runningOn(host)]);
        for (const { created, space } of all) {
          assert.ok(created > 0 && created <= Date.now() / 1000 + 1, String(created));
          assert.ok(space > 0, String(space));
        }
      });

      test('their pool has its devices, and is no pool for volumes', async (t) => {
        const host = await start(t);
        const pool = (await host.bootEnvironments.pool()) ?? assert.fail('there is no pool');
        assert.equal(pool.health, 'ONLINE');
        assert.ok(pool.groups.flatMap(({ devices }) => devices).length > 0);
        assert.ok(pool.size > pool.allocated && pool.allocated > 0);
      });

      test('a new environment is a clone that is not used yet', async (t) => {
        const host = await start(t);
        const name = await cloneOn(host, t);
        const clone = (await environmentsOf(host)).find((one) => one.name === name) ?? assert.fail('it is not listed');
        assert.deepEqual([clone.now, clone.onReboot], [false, false]);
        await refused(host.bootEnvironments.create(name, await runningOn(host)), /already exists/);
        await refused(
          host.bootEnvironments.create(freshName('be'), freshName('none')),
          /does not exist|could not find/,
        );
      });

      test('one is renamed, unless another has the name', async (t) => {
        const host = await start(t);
        const name = await cloneOn(host, t);
        const other = await cloneOn(host, t);
        await refused(host.bootEnvironments.rename(name, other), /already exists/);
        const fresh = freshName('be');
        await host.bootEnvironments.rename(name, fresh);
        finallyOf(t, () => host.bootEnvironments.destroy(fresh));
        const names = await namesOf(host);
        assert.deepEqual([names.includes(fresh), names.includes(name)], [true, false]);
        await refused(host.bootEnvironments.rename(name, freshName('be')), /does not exist/);
      });

      test('the one for the next start is selected, and cannot be destroyed', async (t) => {
        const host = await start(t);
        const running = await runningOn(host);
        const name = await cloneOn(host, t);
        finallyOf(t, () => host.bootEnvironments.activate(running));
        await host.bootEnvironments.activate(name);
        assert.deepEqual(await nextOf(host), [name]);
        assert.equal(await runningOn(host), running);
        await refused(host.bootEnvironments.destroy(name), /starts from the boot environment/);
        await host.bootEnvironments.activate(running);
        assert.deepEqual(await nextOf(host), [running]);
        await refused(host.bootEnvironments.activate(freshName('none')), /does not exist|no such|not a filesystem/);
      });

      test('one is destroyed, its clones stay, and the running one is refused', async (t) => {
        const host = await start(t);
        const name = await cloneOn(host, t);
        const clone = freshName('be');
        await host.bootEnvironments.create(clone, name);
        finallyOf(t, () => host.bootEnvironments.destroy(clone));
        await host.bootEnvironments.destroy(name);
        const names = await namesOf(host);
        assert.deepEqual([names.includes(name), names.includes(clone)], [false, true]);
        await refused(host.bootEnvironments.destroy(name), /does not exist/);
        await refused(host.bootEnvironments.destroy(await runningOn(host)), /runs from the boot environment/);
      });
    });
  }
}
