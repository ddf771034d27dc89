import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { refused } from './support.ts';

export function describeMachine(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`the machine as a whole on the ${title} host`, () => {
      test('the time zone is changed and restored, and an unknown one is refused', async (t) => {
        const { machine } = await start(t);
        const before = await machine.zone();
        finallyOf(t, () => machine.setZone(before));
        await machine.setZone('Asia/Tokyo');
        assert.equal(await machine.zone(), 'Asia/Tokyo');
        await refused(machine.setZone('Mars/Olympus'), /time zone/i);
        assert.equal(await machine.zone(), 'Asia/Tokyo');
      });

      test('a kernel parameter is set and read back', async (t) => {
        const { machine } = await start(t);
        const before = (await machine.parameter('vm.swappiness')) ?? '';
        assert.match(before, /^\d+$/);
        finallyOf(t, () => machine.setParameter('vm.swappiness', before));
        const other = before === '17' ? '18' : '17';
        await machine.setParameter('vm.swappiness', other);
        assert.equal(await machine.parameter('vm.swappiness'), other);
      });

      test('an unknown kernel parameter is undefined, and an invalid value is refused', async (t) => {
        const { machine } = await start(t);
        assert.equal(await machine.parameter('kern.no.such'), undefined);
        await refused(machine.setParameter('kern.no.such', '1'), /./);
        const before = await machine.parameter('vm.swappiness');
        await refused(machine.setParameter('vm.swappiness', 'many'), /./);
        assert.equal(await machine.parameter('vm.swappiness'), before);
      });

      test('no time server answers at an invalid name', async (t) => {
        assert.equal(await (await start(t)).machine.answersTime('time.invalid'), false);
      });

      test('an update names a package and its new version', async (t) => {
        for (const { name, to } of await (await start(t)).machine.updates()) {
          assert.match(name, /^[a-z0-9][a-z0-9.+:-]*$/);
          assert.notEqual(to, '');
        }
      });

      test('the offset of the clock is in seconds, or undefined', async (t) => {
        const offset = await (await start(t)).machine.clockOffset();
        assert.ok(offset === undefined || Number.isFinite(offset));
      });
    });
  }
}
