import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HostUnderTest } from '../../support/hosts.ts';
import { freeDisks, poolOn } from './support.ts';

export function describeStatistics(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`statistics of the ${title} host`, () => {
      test('no counter decreases from one reading to the next', async (t) => {
        const { statistics } = await start(t);
        const first = await statistics.read();
        const second = await statistics.read();
        assert.ok(second.elapsed >= first.elapsed);
        assert.ok((second.processor?.total ?? 0) >= (first.processor?.total ?? 0));
        for (const [name, { received, sent }] of first.links) {
          const later = second.links.get(name) ?? assert.fail(`no interface ${name}`);
          assert.ok(later.received >= received && later.sent >= sent, name);
        }
        for (const [name, { reads, written, readTime }] of first.disks) {
          const later = second.disks.get(name) ?? assert.fail(`no disk ${name}`);
          assert.ok(later.reads >= reads && later.written >= written && later.readTime >= readTime, name);
        }
      });

      test('memory, processor and every disk are counted', async (t) => {
        const { statistics, disks } = await start(t);
        const { memory, processor, disks: counted } = await statistics.read();
        assert.ok(memory !== undefined && memory.available > 0 && memory.available <= memory.total);
        assert.ok(processor !== undefined && processor.busy >= 0 && processor.busy <= processor.total);
        for (const { name } of await disks.list()) assert.ok(counted.has(name), name);
      });

      test('the traffic of a pool is counted as long as it is imported', async (t) => {
        const host = await start(t);
        const [disk = ''] = await freeDisks(host, 1);
        const pool = await poolOn(host, t, [{ kind: 'stripe', disks: [disk] }]);
        const found = (await host.statistics.read()).pools.get(pool) ?? assert.fail('the pool is not counted');
        assert.ok(found.reads >= 0 && found.writes >= 0 && found.read >= 0 && found.written >= 0);
        await host.zfs.destroyPool(pool);
        assert.ok(!(await host.statistics.read()).pools.has(pool));
      });
    });
  }
}
