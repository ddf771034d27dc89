import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { abilities } from '../../../src/host/ports/disks.ts';
import type { HostUnderTest } from '../../support/hosts.ts';
import { freeDisks, poolOn, refused } from './support.ts';

export function describeDisks(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`disks on the ${title} host`, () => {
      test('each disk has a unique name and a size', async (t) => {
        const disks = await (await start(t)).disks.list();
        assert.ok(disks.length > 0);
        assert.equal(new Set(disks.map((disk) => disk.name)).size, disks.length);
        for (const disk of disks) {
          assert.match(disk.name, /^[a-z0-9-]+$/);
          assert.ok(Number.isSafeInteger(disk.size) && disk.size > 0, `${disk.name} has a size`);
        }
      });

      test('each disk has a path that leads to it, and reports the settings that it supports', async (t) => {
        for (const disk of await (await start(t)).disks.list()) {
          assert.match(disk.path, /^\/dev\//);
          for (const ability of disk.can) assert.ok(abilities.includes(ability), ability);
        }
      });

      test('what is reported by SMART is about disks that are there', async (t) => {
        const { disks } = await start(t);
        const names = (await disks.list()).map(({ name }) => name);
        assert.deepEqual(
          (await disks.health()).filter(({ name }) => !names.includes(name)),
          [],
        );
      });

      test('a disk accepts the settings that it supports, and an unknown disk is refused', async (t) => {
        const { disks } = await start(t);
        const able = (await disks.list()).find((disk) => disk.can.includes('standby'));
        if (able !== undefined) await disks.tune(able.name, { standby: 30 });
        await refused(disks.tune('hf-none', { standby: 30 }), /No such file|hf-none/);
      });

      test('a disk of a pool is in use, and free again when the pool is destroyed', async (t) => {
        const host = await start(t);
        const [disk = ''] = await freeDisks(host, 1);
        const usedBy = async () => (await host.disks.list()).find((one) => one.name === disk)?.usedBy;
        const pool = await poolOn(host, t, [{ kind: 'stripe', disks: [disk] }]);
        assert.match((await usedBy()) ?? '', new RegExp(pool));
        await host.zfs.destroyPool(pool);
        assert.equal(await usedBy(), undefined);
      });
    });
  }
}
