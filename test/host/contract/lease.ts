import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Lease } from '../../../src/host/ports/lease.ts';
import type { HostUnderTest } from '../../support/hosts.ts';
import { finallyOf } from '../../support/hosts.ts';
import { refused } from './support.ts';

const holderOf = async (lease: Lease) => (await lease.look())?.holder;
const stateOf = async (lease: Lease, name: string) =>
  (await lease.look())?.nodes.find((one) => one.name === name)?.state;

export function describeLease(hosts: readonly HostUnderTest[]): void {
  for (const { title, start, startPair } of hosts) {
    describe(`the lease on the ${title} host`, () => {
      test('a machine in no pair holds nothing, and cannot', async (t) => {
        const { lease } = await start(t);
        assert.equal(await lease.look(), undefined);
        await refused(lease.take(), /not part of a pair/);
        await refused(lease.release(), /not part of a pair/);
      });

      if (startPair === undefined) return;

      test('both machines of a pair see each other, and that none holds the lease at first', async (t) => {
        const { hosts, names } = await startPair(t);
        for (const [index, { lease }] of hosts.entries()) {
          const state = await lease.look();
          assert.equal(state?.self, names[index]);
          assert.deepEqual(
            state?.nodes,
            names.map((name) => ({ name, state: 'online' })),
          );
          assert.deepEqual([state?.holder, state?.hasQuorum], [undefined, true]);
        }
      });

      test('one machine holds it at a time', async (t) => {
        const {
          hosts: [one, other],
          names: [first, second],
        } = await startPair(t);
        await one.lease.take();
        await one.lease.take();
        assert.deepEqual([await holderOf(one.lease), await holderOf(other.lease)], [first, first]);
        await refused(other.lease.take(), new RegExp(`${first} holds the pool`));
        await other.lease.release();
        assert.equal(await holderOf(one.lease), first, 'the other one released nothing');
        await one.lease.release();
        await one.lease.release();
        assert.equal(await holderOf(other.lease), undefined);
        await other.lease.take();
        assert.equal(await holderOf(one.lease), second);
        await refused(one.lease.take(), new RegExp(`${second} holds the pool`));
      });

      test('of two that take it at the same moment, one holds it', async (t) => {
        const { hosts } = await startPair(t);
        const outcomes = await Promise.allSettled(hosts.map(({ lease }) => lease.take()));
        assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
      });

      test('it is taken from a machine that is off, and not from one that is only not seen', async (t) => {
        const {
          hosts: [one, other],
          names: [first, second],
          fence,
        } = await startPair(t);
        await one.lease.take();
        await fence(first, 'unknown');
        assert.equal(await stateOf(other.lease, first), 'unknown');
        await refused(other.lease.take(), new RegExp(`${first} is not seen and was not fenced`));
        await fence(first, 'offline');
        assert.deepEqual([await stateOf(other.lease, first), await holderOf(other.lease)], ['offline', first]);
        await other.lease.take();
        assert.equal(await holderOf(other.lease), second);
        await refused(one.lease.take(), /switched off|holds the pool/);
      });

      test('without a holder, nothing is taken beside a machine that is not seen', async (t) => {
        const {
          hosts: [, other],
          names: [first],
          fence,
        } = await startPair(t);
        await fence(first, 'unknown');
        await refused(other.lease.take(), /is not seen and was not fenced/);
        assert.equal(await holderOf(other.lease), undefined);
      });

      test('what a machine says of itself reaches the other one, and maintenance is seen by both', async (t) => {
        const {
          hosts: [one, other],
          names: [first],
        } = await startPair(t);
        const about = { version: '1.2', hostId: '0000000a', missingDisks: ['sda'] };
        await one.lease.publish(about);
        const seen = (await other.lease.fencing()).find(({ node }) => node === first);
        assert.deepEqual(seen?.about, about);
        await one.lease.maintain(true);
        assert.equal((await other.lease.look())?.isMaintained, true);
        await other.lease.maintain(false);
        assert.equal((await one.lease.look())?.isMaintained, false);
      });

      test('when a machine was ended by its device is known, and it is never the own one', async (t) => {
        const {
          hosts: [one, other],
          names: [first, second],
        } = await startPair(t);
        const ended = async () => (await other.lease.fencing()).find(({ node }) => node === second)?.lastEnded;
        assert.equal(await ended(), undefined);
        await refused(one.lease.fence(first), /no other machine/);
        await one.lease.fence(second);
        assert.ok(Number(await ended()) > 0);
      });

      test('a third vote is that of the machine that the file of Corosync names, and none without it', async (t) => {
        const {
          hosts: [one],
        } = await startPair(t);
        assert.equal(await one.lease.vote(), undefined);
        await one.lease.reread();
      });

      test('a machine that is not in the pair gets no pool', async (t) => {
        const { hosts } = await startPair(t);
        await refused(hosts[0].lease.move('nobody'), /no machine nobody/);
      });

      test('that another machine is not seen, and is seen again, is reported until the watch ends', async (t) => {
        const {
          hosts: [, other],
          names: [first],
          fence,
        } = await startPair(t);
        const reports: boolean[] = [];
        let reported = Promise.withResolvers<void>();
        const stop = other.lease.watchOthers((isMissing) => {
          reports.push(isMissing);
          reported.resolve();
        });
        finallyOf(t, stop);
        await fence(first, 'unknown');
        await reported.promise;
        reported = Promise.withResolvers();
        await fence(first, 'online');
        await reported.promise;
        stop();
        await fence(first, 'unknown');
        assert.deepEqual(reports, [true, false]);
      });

      test('a change of the holder is reported until the watch ends', async (t) => {
        const {
          hosts: [one, other],
        } = await startPair(t);
        let reports = 0;
        let reported = Promise.withResolvers<void>();
        const stop = other.lease.watch(() => {
          reports += 1;
          reported.resolve();
        });
        finallyOf(t, stop);
        await one.lease.take();
        await reported.promise;
        reported = Promise.withResolvers();
        await one.lease.release();
        await reported.promise;
        stop();
        const before = reports;
        await one.lease.take();
        assert.equal(reports, before);
      });
    });
  }
}
